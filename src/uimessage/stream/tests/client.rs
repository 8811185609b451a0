//! A strict client of the stream, and messages to send to it.

use crate::domain::Timestamp;
use crate::uimessage::{Chunk, Metadata, Part, Role, RunStatus, UiMessage};

/// The client's state. It panics on events that the format forbids.
#[derive(Debug, Default)]
pub(super) struct Client {
    started: usize,
    step: bool,
    open: Vec<String>,
    /// Steps, text and reasoning, in order of appearance.
    pub(super) parts: Vec<(&'static str, String, String)>,
    calls: Vec<(String, &'static str)>,
    pub(super) ended: bool,
}

impl Client {
    pub(super) fn read(&mut self, chunks: Vec<Chunk>) {
        for chunk in chunks {
            assert!(!self.ended, "nothing comes behind the end: {chunk:?}");
            assert_eq!(self.started == 0, matches!(chunk, Chunk::Start { .. }), "one start, and first");
            self.take(chunk);
        }
    }

    fn take(&mut self, chunk: Chunk) {
        match chunk {
            Chunk::Start { .. } => self.started += 1,
            Chunk::StartStep => {
                assert!(!std::mem::replace(&mut self.step, true), "a step inside a step");
                self.parts.push(("step", String::new(), String::new()));
            }
            Chunk::FinishStep => {
                assert!(std::mem::take(&mut self.step), "no step to finish");
                assert!(self.open.is_empty(), "texts are closed before their step");
            }
            Chunk::TextStart { id } => self.begin("text", id),
            Chunk::ReasoningStart { id } => self.begin("reasoning", id),
            Chunk::TextDelta { id, delta } => self.grow("text", &id, &delta),
            Chunk::ReasoningDelta { id, delta } => self.grow("reasoning", &id, &delta),
            Chunk::TextEnd { id } | Chunk::ReasoningEnd { id } => {
                let at = self.open.iter().position(|open| *open == id).expect("ends a text that is open");
                self.open.remove(at);
            }
            Chunk::ToolInputStart { tool_call_id, .. } => self.calls.push((tool_call_id, "streaming")),
            Chunk::ToolInputDelta { tool_call_id, .. } => {
                self.call(&tool_call_id, &["streaming"], "streaming")
            }
            Chunk::ToolInputAvailable { tool_call_id, .. } => {
                if !self.calls.iter().any(|(id, _)| *id == tool_call_id) {
                    self.calls.push((tool_call_id.clone(), "streaming"));
                }
                self.call(&tool_call_id, &["streaming"], "available");
            }
            Chunk::ToolOutputAvailable { tool_call_id, .. } | Chunk::ToolOutputError { tool_call_id, .. } => {
                self.call(&tool_call_id, &["available"], "settled");
            }
            Chunk::Finish { .. } | Chunk::Error { .. } => {
                assert!(self.open.is_empty() && !self.step, "the end leaves nothing open");
                self.ended = true;
            }
            other => {
                assert!(matches!(other, Chunk::MessageMetadata { .. } | Chunk::Abort { .. }), "{other:?}")
            }
        }
    }

    fn begin(&mut self, kind: &'static str, id: String) {
        assert!(!self.open.contains(&id), "an id is open once");
        self.open.push(id.clone());
        self.parts.push((kind, id, String::new()));
    }

    fn grow(&mut self, kind: &str, id: &str, delta: &str) {
        assert!(self.open.iter().any(|open| open == id), "a delta needs an open text");
        let part = self.parts.iter_mut().rfind(|part| part.0 == kind && part.1 == id);
        part.expect("a delta of the right kind").2.push_str(delta);
    }

    fn call(&mut self, id: &str, from: &[&str], to: &'static str) {
        let call = self.calls.iter_mut().find(|call| call.0 == id).expect("a call that was told");
        assert!(from.contains(&call.1), "{id} goes from {} to {to}", call.1);
        call.1 = to;
    }
}

pub(super) fn message(id: &str, parts: Vec<Part>) -> UiMessage {
    let metadata = Metadata {
        platform: "web".to_owned(),
        thread_id: "web:chat:1".parse().unwrap(),
        author_id: None,
        author_name: None,
        message_id: None,
        timestamp: Timestamp::from_millis(1),
        correlation_id: "run_1".parse().unwrap(),
        status: Some(RunStatus::Running),
        command: false,
        context: false,
        checkpoint: false,
        extra: serde_json::Map::new(),
    };
    UiMessage { id: id.parse().unwrap(), role: Role::Assistant, metadata, parts }
}

pub(super) fn lines(chunks: &[Chunk]) -> String {
    chunks.iter().map(|chunk| serde_json::to_string(chunk).unwrap() + "\n").collect()
}
