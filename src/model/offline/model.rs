//! The offline model: decides on text and calls, and streams them in pieces.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use super::answers;
use super::command::{OfflineCommand, commands};
use crate::domain::Language;
use crate::ports::{BoxFuture, CallDelta, Completion, Ids, Model, ModelDelta, ModelError, Prompt, ToolCall};
use crate::uimessage::{Content, ModelMessage, words_in};

/// Most pieces of an answer, so that a long one does not take long.
const MAX_PIECES: usize = 40;
/// Characters per piece in text without spaces.
const CJK_PIECE: usize = 4;

/// The streaming speed of the offline model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypingSpeed {
    /// All at once, for tests and benchmarks.
    Instant,
    /// With this much time between two pieces.
    PerPiece(Duration),
}

impl Default for TypingSpeed {
    /// Slow enough to be visible, too fast to wait for.
    fn default() -> Self {
        Self::PerPiece(Duration::from_millis(15))
    }
}

#[derive(Debug)]
pub struct OfflineModel {
    ids: Arc<dyn Ids>,
    pace: TypingSpeed,
}

impl OfflineModel {
    /// With this speed; `ids` are for its tool calls.
    pub fn new(ids: Arc<dyn Ids>, pace: TypingSpeed) -> Self {
        Self { ids, pace }
    }

    async fn speak(&self, answer: OfflineAnswer, live: &mpsc::Sender<ModelDelta>) -> Completion {
        for piece in pieces(&answer.text) {
            // A closed receiver does not end the answer.
            drop(live.send(ModelDelta::Text(piece)).await);
            if let TypingSpeed::PerPiece(pause) = self.pace {
                sleep(pause).await;
            }
        }
        let mut tool_calls = Vec::new();
        for (index, command) in answer.calls.into_iter().enumerate() {
            let id = self.ids.tool_call();
            let delta = CallDelta {
                index,
                id: id.clone(),
                name: command.tool.to_owned(),
                arguments: command.arguments.to_string(),
            };
            drop(live.send(ModelDelta::ToolInput(Box::new(delta))).await);
            tool_calls.push(ToolCall { id, name: command.tool.to_owned(), arguments: Ok(command.arguments) });
        }
        Completion { text: answer.text, tool_calls, ..Completion::default() }
    }
}

impl Model for OfflineModel {
    fn complete(
        &self,
        prompt: Prompt,
        live: mpsc::Sender<ModelDelta>,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(async move { Ok(self.speak(answer(&prompt), &live).await) })
    }

    fn name(&self) -> &'static str {
        "offline"
    }
}

/// The text and the calls of an answer.
struct OfflineAnswer {
    text: String,
    calls: Vec<OfflineCommand>,
}

fn answer(prompt: &Prompt) -> OfflineAnswer {
    let message = last_words(&prompt.messages);
    let language = Language::of(&message);
    let results = last_results(&prompt.messages);
    if !results.is_empty() {
        let told: Vec<String> =
            results.iter().map(|(tool, content)| answers::result(tool, content, language)).collect();
        return OfflineAnswer { text: told.join("\n\n"), calls: Vec::new() };
    }
    let wanted = commands(&message);
    if wanted.is_empty() {
        return OfflineAnswer { text: answers::chat(&message, language), calls: Vec::new() };
    }
    let (calls, missing): (Vec<OfflineCommand>, Vec<OfflineCommand>) =
        wanted.into_iter().partition(|command| prompt.tools.iter().any(|tool| tool.name == command.tool));
    let text = answers::before_calls(&names(&calls), &names(&missing), language);
    OfflineAnswer { text, calls }
}

fn names(commands: &[OfflineCommand]) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = commands.iter().map(|command| command.tool).collect();
    names.dedup();
    names
}

/// The messages of people since the model's last answer; before a result, what the call was about.
fn last_words(messages: &[ModelMessage]) -> String {
    let mut said = Vec::new();
    for message in messages.iter().rev() {
        match message {
            ModelMessage::User { content, .. } => said.push(text_of(content)),
            ModelMessage::Assistant { .. } if !said.is_empty() => break,
            ModelMessage::Assistant { .. } | ModelMessage::Tool { .. } | ModelMessage::System(_) => {}
        }
    }
    said.reverse();
    said.join("\n")
}

fn text_of(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|content| match content {
        Content::Text(text) => Some(words_in(text)),
        Content::Image { .. } | Content::File { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The results at the end of the conversation, each with its tool's name.
fn last_results(messages: &[ModelMessage]) -> Vec<(String, String)> {
    let called = |id: &str| {
        messages.iter().rev().find_map(|message| match message {
            ModelMessage::Assistant { tool_calls, .. } => {
                tool_calls.iter().find(|call| call.id == id).map(|call| call.name.clone())
            }
            ModelMessage::System(_) | ModelMessage::User { .. } | ModelMessage::Tool { .. } => None,
        })
    };
    let results = messages.iter().rev().map_while(|message| match message {
        ModelMessage::Tool { call_id, content } => {
            Some((called(call_id).unwrap_or_else(|| "tool".to_owned()), content.clone()))
        }
        ModelMessage::System(_) | ModelMessage::User { .. } | ModelMessage::Assistant { .. } => None,
    });
    let mut results: Vec<_> = results.collect();
    results.reverse();
    results
}

/// A text in a few pieces, split after words and, where there are no spaces, every few characters.
fn pieces(text: &str) -> Vec<String> {
    let mut small = Vec::new();
    for word in text.split_inclusive(char::is_whitespace) {
        let letters: Vec<char> = word.chars().collect();
        let wide = letters.iter().any(|c| u32::from(*c) >= 0x2E80);
        small.extend(
            letters.chunks(if wide { CJK_PIECE } else { letters.len().max(1) }).map(String::from_iter),
        );
    }
    let each = small.len().div_ceil(MAX_PIECES).max(1);
    small.chunks(each).map(|group| group.concat()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::domain::{Effects, ToolSpec};
    use crate::ports::RandomIds;
    use crate::uimessage::ModelToolCall;

    fn user(text: &str) -> ModelMessage {
        ModelMessage::User { content: vec![Content::Text(text.into())], name: None }
    }

    fn called(name: &str) -> ModelMessage {
        let call = ModelToolCall { id: name.into(), name: name.into(), arguments: "{}".into() };
        ModelMessage::Assistant { text: String::new(), reasoning: String::new(), tool_calls: vec![call] }
    }

    fn returned(name: &str, content: &str) -> ModelMessage {
        ModelMessage::Tool { call_id: name.into(), content: content.into() }
    }

    fn tool(name: &'static str) -> ToolSpec {
        ToolSpec { name, description: String::new(), parameters: json!({}), effects: Effects::ReadOnly }
    }

    async fn ask(messages: Vec<ModelMessage>, tools: &[&'static str]) -> (Completion, Vec<ModelDelta>) {
        let (live, mut deltas) = mpsc::channel(100);
        let model = OfflineModel::new(Arc::new(RandomIds), TypingSpeed::Instant);
        let tools = tools.iter().map(|name| tool(name)).collect();
        let completion = model.complete(Prompt { messages, tools, ..Prompt::default() }, live).await.unwrap();
        let mut shown = Vec::new();
        while let Some(delta) = deltas.recv().await {
            shown.push(delta);
        }
        (completion, shown)
    }

    #[tokio::test]
    async fn it_talks_in_small_pieces_that_make_up_the_answer() {
        let (completion, shown) = ask(vec![user("hello")], &[]).await;
        let text: String = shown
            .iter()
            .map(|delta| match delta {
                ModelDelta::Text(text) => text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(text, completion.text);
        assert!((2..=MAX_PIECES).contains(&shown.len()), "{}", shown.len());
    }

    #[tokio::test]
    async fn every_line_with_a_command_is_a_call_in_one_step() {
        let (completion, shown) =
            ask(vec![user("read: a.txt\nlist: src")], &["read_file", "list_files"]).await;
        let calls: Vec<_> =
            completion.tool_calls.iter().map(|call| (call.name.as_str(), &call.arguments)).collect();
        assert_eq!(
            calls,
            [("read_file", &Ok(json!({"path": "a.txt"}))), ("list_files", &Ok(json!({"path": "src"})))]
        );
        assert_eq!(completion.text, "I will use `read_file`, `list_files`.");
        let inputs = shown.iter().filter(|delta| matches!(delta, ModelDelta::ToolInput(_))).count();
        assert_eq!(inputs, 2);
    }

    #[tokio::test]
    async fn a_tool_it_was_not_given_is_said_to_be_missing() {
        let (completion, _) = ask(vec![user("运行：ls")], &["read_file"]).await;
        assert_eq!(completion.tool_calls, vec![]);
        assert_eq!(completion.text, "我没有 `exec_shell` 这个工具，所以做不到。");
    }

    #[tokio::test]
    async fn results_are_told_and_not_asked_for_again() {
        let messages = vec![user("read: a.txt"), called("read_file"), returned("read_file", "hi")];
        let (completion, _) = ask(messages, &["read_file"]).await;
        assert_eq!(completion.tool_calls, vec![]);
        assert_eq!(completion.text, "read_file gave one line:\n\n```\nhi\n```");
    }

    #[tokio::test]
    async fn only_what_was_said_since_counts() {
        let done =
            ModelMessage::Assistant { text: "ok".into(), reasoning: String::new(), tool_calls: vec![] };
        let (completion, _) =
            ask(vec![user("time"), done, user("so"), user("读：a")], &["read_file", "current_time"]).await;
        let tools: Vec<_> = completion.tool_calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(tools, ["read_file"]);
    }

    proptest! {
        #[test]
        fn pieces_lose_nothing_and_are_few(text in "(word |字字字字字|\n|x){0,120}") {
            let pieces = pieces(&text);
            prop_assert_eq!(pieces.concat(), text);
            prop_assert!(pieces.len() <= MAX_PIECES);
        }
    }
}
