//! `chat_send`: posts a message at once, here or in another conversation. The final answer of a turn needs no tool: it
//! is delivered automatically.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments;
use super::schema::schema_of;
use crate::domain::{Effects, Intent, ThreadId, ToolSpec};
use crate::ports::{BoxFuture, RunMessage, RunMessageSource, Tool, ToolContext, ToolFailure, ToolOutcome};

const MAX_CHARS: usize = 16_000;

/// Posts a message to a conversation.
#[derive(Clone, Copy, Debug)]
pub struct ChatSend;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// What to say, as Markdown.
    text: String,
    /// The conversation to say it in, such as telegram:chat:123. Left out: this one. Any other needs approval.
    thread: Option<String>,
}

impl Tool for ChatSend {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "chat_send",
            description:
                "Sends a message at once: to this conversation while you go on working, or to another \
                          one. Do not use it for your final answer, which is delivered by itself."
                    .into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::Speaks,
        }
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        parsed(arguments.clone()).map(drop)
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let (text, thread) = parsed(arguments)?;
            let thread = thread.unwrap_or_else(|| context.thread.clone());
            let shown = thread.to_string();
            say(&context, thread, Intent::AssistantText { text }).await?;
            Ok(json!({ "sent": true, "thread": shown }))
        })
    }
}

/// What to say, and where unless it is here.
fn parsed(arguments: Value) -> Result<(String, Option<ThreadId>), ToolFailure> {
    let Arguments { text, thread } = arguments::read(arguments)?;
    if text.trim().is_empty() {
        return Err(ToolFailure::BadArguments("`text` is empty".into()));
    }
    if text.chars().count() > MAX_CHARS {
        return Err(ToolFailure::BadArguments(format!("`text` is longer than {MAX_CHARS} characters")));
    }
    let given = thread.as_deref().map(str::trim).filter(|given| !given.is_empty());
    let thread = given.map(str::parse).transpose();
    let thread =
        thread.map_err(|error| ToolFailure::BadArguments(format!("`thread` is no conversation: {error}")))?;
    Ok((text, thread))
}

/// Posts a message, and waits until its delivery is stored.
pub(super) async fn say(context: &ToolContext, thread: ThreadId, intent: Intent) -> Result<(), ToolFailure> {
    let run_message = RunMessage {
        from: context.thread.clone(),
        correlation: context.correlation.clone(),
        source: RunMessageSource::Call(context.call.clone()),
        intent,
    };
    let accepted = context.threads.say(thread, run_message).await.into_result();
    accepted.map(drop).map_err(|rejection| ToolFailure::Failed(rejection.detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Project;

    async fn send(project: &mut Project, arguments: Value) -> (ToolOutcome, Option<(ThreadId, RunMessage)>) {
        let context = project.context();
        let (outcome, heard) = tokio::join!(ChatSend.call(arguments, context), project.hear());
        (outcome, heard)
    }

    #[tokio::test]
    async fn words_go_to_this_conversation_unless_another_is_named() {
        let mut project = Project::new();
        for (thread, expected) in [(None, "web:chat:t1"), (Some("telegram:chat:5"), "telegram:chat:5")] {
            let (outcome, heard) = send(&mut project, json!({ "text": "hi", "thread": thread })).await;
            assert_eq!(outcome, Ok(json!({ "sent": true, "thread": expected })));
            let (thread, run_message) = heard.unwrap();
            assert_eq!(thread.as_str(), expected);
            assert_eq!(run_message.from, project.thread());
            assert_eq!(run_message.intent, Intent::AssistantText { text: "hi".into() });
        }
    }

    #[tokio::test]
    async fn nothing_is_said_without_words_or_to_nowhere() {
        let project = Project::new();
        for arguments in [json!({ "text": " " }), json!({ "text": "hi", "thread": "nowhere" }), json!({})] {
            let outcome = ChatSend.call(arguments, project.context()).await;
            assert!(matches!(outcome, Err(ToolFailure::BadArguments(_))), "{outcome:?}");
        }
    }
}
