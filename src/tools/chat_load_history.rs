//! `chat_load_history`: messages of this thread from before the model's context.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::arguments;
use super::bounds::{Budget, OUTPUT_BYTES};
use super::schema::schema_of;
use crate::domain::{Effects, MessageId, ToolSpec};
use crate::ports::{BoxFuture, Tool, ToolContext, ToolFailure, ToolOutcome};
use crate::uimessage::{Part, Role, UiMessage};

const DEFAULT_MESSAGES: usize = 20;
const MOST_MESSAGES: usize = 100;

/// Longest text of one message, in characters.
const MESSAGE_CHARS: usize = 4_000;

/// How many messages one call searches for a keyword; the next call continues from there.
const PAGE: usize = 200;
const PAGES: usize = 25;

/// Reads the thread's own history.
#[derive(Clone, Copy, Debug)]
pub struct ChatLoadHistory;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// How many messages to give at most. Default: 20, at most 100.
    limit: Option<u64>,
    /// Only messages that contain this text, upper and lower case alike.
    keyword: Option<String>,
    /// Only messages before the one with this id: the `before` of an earlier call, to go further back.
    before: Option<String>,
}

impl Tool for ChatLoadHistory {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "chat_load_history",
            description:
                "Gives earlier messages of this conversation, oldest first, ending with the newest or before \
                          a given one. When `hasMore` is true, call again with the `before` that was given."
                    .into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::ReadOnly,
        }
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        arguments::read::<Arguments>(arguments.clone()).map(drop)
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let arguments: Arguments = arguments::read(arguments)?;
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => Err(super::job::stopped()),
                output = load(arguments, &context) => output,
            }
        })
    }
}

async fn load(arguments: Arguments, context: &ToolContext) -> ToolOutcome {
    let asked = arguments.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(DEFAULT_MESSAGES);
    let keyword =
        arguments.keyword.map(|keyword| keyword.trim().to_lowercase()).filter(|word| !word.is_empty());
    let mut before =
        arguments.before.as_deref().map(str::trim).filter(|id| !id.is_empty()).map(id).transpose()?;
    let mut gathered = Gathered::new(asked.clamp(1, MOST_MESSAGES));
    for _ in 0..PAGES {
        let page = context
            .history
            .page(&context.thread, before.as_ref(), PAGE)
            .await
            .map_err(|error| ToolFailure::Failed(format!("the history cannot be read: {error}")))?;
        for message in page.iter().rev() {
            if !gathered.take(message, keyword.as_deref()) {
                return Ok(gathered.into_output(before.as_ref()));
            }
            before = Some(message.id.clone());
        }
        if page.len() < PAGE {
            return Ok(gathered.into_output(None));
        }
    }
    Ok(gathered.into_output(before.as_ref()))
}

fn id(text: &str) -> Result<MessageId, ToolFailure> {
    text.parse()
        .map_err(|_| ToolFailure::BadArguments(format!("`before` {text:?} is not the id of a message")))
}

/// Messages, newest first, up to the limits.
#[derive(Debug)]
struct Gathered {
    messages: Vec<Value>,
    most: usize,
    room: Budget,
}

impl Gathered {
    const fn new(most: usize) -> Self {
        Self { messages: Vec::new(), most, room: Budget::new(OUTPUT_BYTES) }
    }

    /// Adds a message that matches; `false` where a limit is reached.
    fn take(&mut self, message: &UiMessage, keyword: Option<&str>) -> bool {
        let text = message.text();
        let wanted = keyword.is_none_or(|keyword| text.to_lowercase().contains(keyword));
        let Some(shown) = shown(message, &text).filter(|_| wanted) else { return true };
        // The whole JSON is counted: names, ids and times take space as well.
        let fits = self.messages.len() < self.most && self.room.take(&shown.to_string());
        if fits {
            self.messages.push(shown);
        }
        fits
    }

    fn into_output(mut self, before: Option<&MessageId>) -> Value {
        self.messages.reverse();
        let mut output = Map::new();
        output.insert("messages".into(), self.messages.into());
        output.insert("hasMore".into(), before.is_some().into());
        if let Some(before) = before {
            output.insert("before".into(), before.as_str().into());
        }
        Value::Object(output)
    }
}

/// A message for the model; `None` where it has no content.
fn shown(message: &UiMessage, text: &str) -> Option<Value> {
    let tools: Vec<&str> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Tool(part) => Some(part.tool.name()),
            _ => None,
        })
        .collect();
    if text.trim().is_empty() && tools.is_empty() {
        return None;
    }
    let from = match message.role {
        Role::User => message.metadata.author_name.as_deref().unwrap_or("user"),
        Role::Assistant => "you",
        Role::System => "system",
    };
    let clipped: String = text.chars().take(MESSAGE_CHARS).collect();
    let mut shown = json!({
        "id": message.id.as_str(),
        "from": from,
        "time": message.metadata.timestamp.rfc3339(),
        "text": if clipped.len() < text.len() { format!("{clipped}…") } else { clipped },
    });
    if let Some(fields) = shown.as_object_mut().filter(|_| !tools.is_empty()) {
        fields.insert("tools".into(), tools.into());
    }
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use crate::tools::testing::Project;
    use crate::uimessage::Metadata;

    fn say(project: &Project, id: &str, role: Role, text: &str) {
        let metadata = Metadata {
            platform: "web".to_owned(),
            thread_id: project.thread(),
            author_id: None,
            author_name: (role == Role::User).then(|| "小明".to_owned()),
            message_id: None,
            timestamp: Timestamp::from_millis(0),
            correlation_id: "r1".parse().unwrap(),
            status: None,
            command: false,
            context: false,
            checkpoint: false,
            extra: Map::new(),
        };
        project.said(UiMessage { id: id.parse().unwrap(), role, metadata, parts: vec![Part::text(text)] });
    }

    async fn load(project: &Project, arguments: Value) -> Value {
        ChatLoadHistory.call(arguments, project.context()).await.unwrap()
    }

    fn ids(output: &Value) -> Vec<&str> {
        output["messages"].as_array().unwrap().iter().map(|message| message["id"].as_str().unwrap()).collect()
    }

    #[tokio::test]
    async fn the_newest_messages_come_first_and_older_ones_when_asked_for() {
        let project = Project::new();
        for number in 1..=5 {
            let role = if number % 2 == 1 { Role::User } else { Role::Assistant };
            say(&project, &format!("m{number}"), role, &format!("text {number}"));
        }
        let newest = load(&project, json!({"limit": 2})).await;
        assert_eq!((ids(&newest), &newest["hasMore"]), (vec!["m4", "m5"], &json!(true)));
        assert_eq!(
            newest["messages"][1],
            json!({"id": "m5", "from": "小明", "time": "1970-01-01T00:00:00Z", "text": "text 5"})
        );
        let older = load(&project, json!({"before": newest["before"]})).await;
        assert_eq!((ids(&older), older.get("before")), (vec!["m1", "m2", "m3"], None));
        assert_eq!(ids(&load(&project, json!(null)).await).len(), 5);
    }

    #[tokio::test]
    async fn a_keyword_is_found_however_far_back() {
        let project = Project::new();
        say(&project, "m0", Role::User, "Das Passwort der ÖBB");
        for number in 1..=500 {
            say(&project, &format!("m{number}"), Role::User, "nothing");
        }
        let found = load(&project, json!({"keyword": "öbb "})).await;
        assert_eq!((ids(&found), &found["hasMore"]), (vec!["m0"], &json!(false)));
    }

    #[tokio::test]
    async fn long_messages_are_clipped_and_the_whole_is_bounded() {
        let project = Project::new();
        for number in 0..100 {
            say(&project, &format!("m{number}"), Role::User, &"中\n".repeat(9_000));
        }
        let output = load(&project, json!({"limit": 1_000})).await;
        assert!(output.to_string().len() <= OUTPUT_BYTES + 200);
        assert_eq!(output["hasMore"], true);
        let older = load(&project, json!({"before": output["before"]})).await;
        let last = ids(&older).last().map(|id| (*id).to_owned()).unwrap();
        let next = output["before"].as_str().unwrap().trim_start_matches('m').parse::<u32>().unwrap() - 1;
        assert_eq!(last, format!("m{next}"), "no message is left out between two calls");
    }
}
