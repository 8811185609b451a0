//! What of a run is shown, in which order, and when it is over. Pure: events in, things to show out.
//!
//! An answer is heard twice, growing and then whole, and sometimes again from its beginning. Whatever was shown
//! once is not shown again, and what was missed while it grew is shown when it is whole.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::line::Heard;
use crate::commands::terminal::call_line;
use crate::domain::{CorrelationId, MessageId};
use crate::ports::RunOutcome;
use crate::uimessage::{Chunk, Role, RunStatus, UiMessage, replay};

/// Something to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// More of the agent's words.
    Words(String),
    /// What follows is no longer part of the same paragraph.
    Paragraph,
    /// A tool is called.
    Call(String),
    /// The call did not work.
    CallFailed(String),
    /// A file.
    File(String),
    /// The daemon's own words, in reply to a command.
    Reply(String),
    /// What is going on, in passing.
    Progress(String),
    /// Something went wrong.
    Trouble(String),
}

/// A run that is followed.
#[derive(Debug)]
struct Run {
    correlation: CorrelationId,
    ended: Option<RunStatus>,
}

/// What was shown of one message.
#[derive(Debug, Default)]
struct Told {
    /// How many steps have begun.
    step: usize,
    texts: HashMap<String, Text>,
    calls: HashSet<String>,
    failed: HashSet<String>,
    /// Parts that come in one piece: how many were heard, and how many were shown.
    pieces_heard: usize,
    pieces_shown: usize,
}

#[derive(Debug, Default)]
struct Text {
    heard: String,
    shown: String,
}

/// Follows some runs.
#[derive(Debug, Default)]
pub(super) struct Teller {
    runs: Vec<Run>,
    told: HashMap<MessageId, Told>,
    written: Vec<Arc<UiMessage>>,
    /// Where the last words stood: their message and step.
    words_at: Option<(MessageId, usize)>,
    asks: bool,
}

impl Teller {
    /// Follows one more run. The first one is the question, later ones are commands in its way.
    pub(super) fn follow(&mut self, correlation: CorrelationId) {
        self.runs.push(Run { correlation, ended: None });
    }

    /// Whether all that is followed has ended.
    pub(super) fn is_over(&self) -> bool {
        self.runs.iter().all(|run| run.ended.is_some())
    }

    /// Whether a tool waits for a person's decision.
    pub(super) fn asks(&self) -> bool {
        self.asks
    }

    /// How the first run ended, or where it stands.
    pub(super) fn outcome(&self) -> RunOutcome {
        let Some(run) = self.runs.first() else { return RunOutcome::default() };
        let of_run = |message: &&Arc<UiMessage>| message.metadata.correlation_id == run.correlation;
        RunOutcome {
            status: run.ended.or(Some(RunStatus::Running)),
            messages: self.written.iter().filter(of_run).cloned().collect(),
            error: None,
            correlation: Some(run.correlation.clone()),
        }
    }

    /// Takes an event in and says what is to be shown.
    pub(super) fn hear(&mut self, heard: Heard) -> Vec<Shown> {
        let mut out = Vec::new();
        match heard {
            Heard::Chunk { message, chunk } => self.hear_chunk(&message, chunk, &mut out),
            Heard::Written(message) => self.hear_message(message, &mut out),
            Heard::Progress(text) => out.push(Shown::Progress(text)),
            Heard::Trouble(text) => out.push(Shown::Trouble(text)),
            Heard::Reload | Heard::Gone => {}
        }
        out
    }

    fn hear_message(&mut self, message: Arc<UiMessage>, out: &mut Vec<Shown>) {
        let correlation = &message.metadata.correlation_id;
        if message.role != Role::Assistant || !self.follows(correlation.as_str()) {
            return;
        }
        for chunk in replay(&message) {
            self.hear_chunk(&message.id, chunk, out);
        }
        let status = message.metadata.status.filter(|status| status.is_final());
        if let Some(run) = self.runs.iter_mut().find(|run| run.correlation == *correlation) {
            run.ended = status.or(run.ended);
        }
        match self.written.iter_mut().find(|known| known.id == message.id) {
            Some(known) => *known = message,
            None => self.written.push(message),
        }
    }

    fn follows(&self, correlation: &str) -> bool {
        self.runs.iter().any(|run| run.correlation.as_str() == correlation)
    }

    fn hear_chunk(&mut self, message: &MessageId, chunk: Chunk, out: &mut Vec<Shown>) {
        if let Chunk::Start { message_metadata, .. } = &chunk {
            let run = message_metadata
                .as_ref()
                .and_then(|facts| facts.get("correlationId"))
                .and_then(Value::as_str);
            if run.is_some_and(|run| self.follows(run)) {
                self.told.entry(message.clone()).or_default().rewind();
            }
            return;
        }
        let Some(told) = self.told.get_mut(message) else { return };
        match chunk {
            Chunk::StartStep => told.step += 1,
            Chunk::TextDelta { id, delta } => {
                let step = told.step;
                if let Some(growth) = told.texts.entry(id).or_default().grow(&delta) {
                    self.say(message, step, growth, out);
                }
            }
            Chunk::ToolInputAvailable { tool_call_id, tool_name, input, .. } => {
                told.call(tool_call_id, &tool_name, &input, out);
            }
            Chunk::ToolInputError { tool_call_id, tool_name, input, error_text, .. } => {
                told.call(tool_call_id.clone(), &tool_name, &input, out);
                told.fail(tool_call_id, error_text, out);
            }
            Chunk::ToolOutputError { tool_call_id, error_text } => told.fail(tool_call_id, error_text, out),
            Chunk::ToolApprovalRequest { .. } => self.asks = true,
            Chunk::File { url, .. } => told.piece(Shown::File(url), out),
            Chunk::DataCommand { data } => told.piece(Shown::Reply(word(&data, "reply")), out),
            Chunk::DataError { data } => told.piece(Shown::Trouble(word(&data, "text")), out),
            _ => {}
        }
    }

    fn say(&mut self, message: &MessageId, step: usize, growth: Growth, out: &mut Vec<Shown>) {
        let here = (message.clone(), step);
        let same_step = self.words_at.as_ref() == Some(&here);
        let (words, anew) = match growth {
            Growth::More(words) => (words, false),
            Growth::Anew(words) => (words, true),
        };
        let begins = anew || !same_step;
        // A step begins with its first word, not with the blank lines before it.
        let words = if begins { words.trim_start_matches(['\n', '\r']).to_owned() } else { words };
        if words.is_empty() {
            return;
        }
        if begins && self.words_at.is_some() {
            out.push(Shown::Paragraph);
        }
        self.words_at = Some(here);
        out.push(Shown::Words(words));
    }
}

impl Told {
    /// The message is told from its beginning.
    fn rewind(&mut self) {
        self.step = 0;
        self.pieces_heard = 0;
        self.texts = std::mem::take(&mut self.texts)
            .into_iter()
            .map(|(id, text)| (id, Text { heard: String::new(), ..text }))
            .collect();
    }

    fn call(&mut self, id: String, name: &str, input: &Value, out: &mut Vec<Shown>) {
        if self.calls.insert(id) {
            out.push(Shown::Call(call_line(name, input)));
        }
    }

    fn fail(&mut self, id: String, why: String, out: &mut Vec<Shown>) {
        if self.failed.insert(id) {
            out.push(Shown::CallFailed(why));
        }
    }

    fn piece(&mut self, piece: Shown, out: &mut Vec<Shown>) {
        self.pieces_heard += 1;
        if self.pieces_heard > self.pieces_shown {
            self.pieces_shown = self.pieces_heard;
            out.push(piece);
        }
    }
}

/// What is new in a text.
enum Growth {
    /// It goes on.
    More(String),
    /// It is another one than before, and begins anew.
    Anew(String),
}

impl Text {
    fn grow(&mut self, delta: &str) -> Option<Growth> {
        self.heard.push_str(delta);
        if self.shown.starts_with(&self.heard) {
            return None;
        }
        match self.heard.strip_prefix(&self.shown) {
            Some(more) => {
                let more = more.to_owned();
                self.shown.push_str(&more);
                Some(Growth::More(more))
            }
            None => {
                self.shown.clone_from(&self.heard);
                Some(Growth::Anew(self.heard.clone()))
            }
        }
    }
}

fn word(data: &Value, key: &str) -> String {
    data.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::uimessage::Cursor;

    fn answer(id: &str, run: &str, status: &str, parts: Value) -> UiMessage {
        let metadata = json!({ "platform": "cli", "threadId": "cli:chat:t", "timestamp": 1, "correlationId": run,
            "status": status });
        let message = json!({ "id": id, "role": "assistant", "metadata": metadata, "parts": parts });
        serde_json::from_value(message).unwrap()
    }

    fn text(text: &str) -> Value {
        json!({ "type": "text", "text": text, "state": "streaming" })
    }

    fn step() -> Value {
        json!({ "type": "step-start" })
    }

    fn following(run: &str) -> Teller {
        let mut teller = Teller::default();
        teller.follow(run.parse().unwrap());
        teller
    }

    fn live(teller: &mut Teller, cursor: &mut Cursor, message: &UiMessage) -> Vec<Shown> {
        let heard = cursor.advance(message).into_iter();
        heard.flat_map(|chunk| teller.hear(Heard::Chunk { message: message.id.clone(), chunk })).collect()
    }

    fn written(teller: &mut Teller, message: UiMessage) -> Vec<Shown> {
        teller.hear(Heard::Written(Arc::new(message)))
    }

    fn words(text: &str) -> Shown {
        Shown::Words(text.to_owned())
    }

    #[test]
    fn what_grew_is_not_shown_again_when_it_is_whole_and_what_was_missed_is() {
        let (mut teller, mut cursor) = (following("run_1"), Cursor::default());
        let growing = answer("m1", "run_1", "running", json!([step(), text("\n\nLet me")]));
        assert_eq!(live(&mut teller, &mut cursor, &growing), [words("Let me")]);
        assert!(!teller.is_over());
        let tool = json!({ "type": "tool-read_file", "toolCallId": "c1", "state": "output-error",
            "input": { "path": "a" }, "errorText": "no such file" });
        let whole = json!([step(), text("\n\nLet me look."), tool, step(), text("It is not there.")]);
        let shown = written(&mut teller, answer("m1", "run_1", "done", whole));
        let expected = [
            words(" look."),
            Shown::Call("read_file a".to_owned()),
            Shown::CallFailed("no such file".to_owned()),
            Shown::Paragraph,
            words("It is not there."),
        ];
        assert_eq!(shown, expected);
        assert!(teller.is_over());
        assert_eq!(teller.outcome().status, Some(RunStatus::Done));
        assert_eq!(teller.outcome().messages.len(), 1);
    }

    #[test]
    fn an_older_state_that_comes_late_shows_nothing() {
        let mut teller = following("run_1");
        let whole = answer("m1", "run_1", "done", json!([step(), text("hello there")]));
        assert_eq!(written(&mut teller, whole.clone()), [words("hello there")]);
        let late = answer("m1", "run_1", "running", json!([step(), text("hello")]));
        assert_eq!(live(&mut teller, &mut Cursor::default(), &late), []);
        assert_eq!(written(&mut teller, whole), []);
    }

    #[test]
    fn a_turn_that_started_over_is_told_anew() {
        let mut teller = following("run_1");
        let first = answer("m1", "run_1", "running", json!([step(), text("one")]));
        assert_eq!(live(&mut teller, &mut Cursor::default(), &first), [words("one")]);
        let second = answer("m1", "run_1", "running", json!([step(), text("two")]));
        assert_eq!(live(&mut teller, &mut Cursor::default(), &second), [Shown::Paragraph, words("two")]);
    }

    #[test]
    fn a_run_of_several_messages_is_one_answer() {
        let mut teller = following("run_1");
        let first = answer("m1", "run_1", "continued", json!([step(), text("one")]));
        assert_eq!(written(&mut teller, first), [words("one")]);
        assert!(!teller.is_over());
        let second = answer("m2", "run_1", "done", json!([step(), text("two")]));
        assert_eq!(written(&mut teller, second), [Shown::Paragraph, words("two")]);
        assert!(teller.is_over());
    }

    #[test]
    fn runs_of_others_are_none_of_our_business() {
        let mut teller = following("run_1");
        let other = answer("m9", "run_9", "done", json!([step(), text("psst")]));
        assert_eq!(live(&mut teller, &mut Cursor::default(), &other), []);
        assert_eq!(written(&mut teller, other), []);
        assert!(!teller.is_over());
    }

    #[test]
    fn a_stop_is_over_when_both_the_run_and_the_command_are() {
        let mut teller = following("run_1");
        teller.follow("run_2".parse().unwrap());
        assert_eq!(written(&mut teller, answer("m1", "run_1", "stopped", json!([step()]))), []);
        assert!(!teller.is_over());
        let data = json!({ "command": "/stop", "author": "cli:user:operator", "reply": "Stopped." });
        let record = answer("c1", "run_2", "done", json!([{ "type": "data-command", "data": data }]));
        let reply = [Shown::Reply("Stopped.".to_owned())];
        assert_eq!(written(&mut teller, record.clone()), reply);
        assert_eq!(written(&mut teller, record), []);
        assert!(teller.is_over());
        assert_eq!(teller.outcome().status, Some(RunStatus::Stopped));
    }

    #[test]
    fn an_error_is_shown_once() {
        let mut teller = following("run_1");
        let data = json!({ "kind": "auth", "text": "The model refused the API key.", "retryable": false });
        let failed = answer("m1", "run_1", "failed", json!([step(), { "type": "data-error", "data": data }]));
        let trouble = [Shown::Trouble("The model refused the API key.".to_owned())];
        assert_eq!(live(&mut teller, &mut Cursor::default(), &failed), trouble);
        assert_eq!(written(&mut teller, failed), []);
        assert!(teller.is_over());
    }
}
