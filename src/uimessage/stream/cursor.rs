//! Tracks what was sent to a client of a message, and computes what to send next.

use super::call::SentCall;
use crate::uimessage::{Chunk, FinishReason, Part, RunStatus, TextPart, TextState, UiMessage};

#[derive(Clone, Debug)]
enum SentPart {
    Text { id: String, kind: TextKind, bytes: usize, open: bool },
    Call(SentCall),
    Whole,
}

/// What was sent so far.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    message: Option<String>,
    parts: Vec<SentPart>,
    step_open: bool,
    texts: usize,
    error: Option<String>,
}

impl Cursor {
    /// Assumes that the client knows all of `message`, from a response that has ended; returns the chunk that begins
    /// the next one.
    pub fn go_on_from(&mut self, message: &UiMessage) -> Chunk {
        drop(self.advance(message));
        self.step_open = false;
        Chunk::Start { message_id: message.id.as_str().to_owned(), message_metadata: None }
    }

    /// Emits what is new in `message`. A further message of the same run continues the last one: the client sees one
    /// answer.
    pub fn advance(&mut self, message: &UiMessage) -> Vec<Chunk> {
        let mut out = Vec::new();
        let id = message.id.as_str();
        match &self.message {
            None => out.push(Chunk::Start {
                message_id: id.to_owned(),
                message_metadata: serde_json::to_value(&message.metadata).ok(),
            }),
            Some(known) if known != id => out.extend(self.start_over()),
            Some(_) => {}
        }
        self.message = Some(id.to_owned());
        for (index, part) in message.parts.iter().enumerate() {
            self.tell(index, part, &mut out);
        }
        out
    }

    /// Whether `message` is a later state of what was sent, so that [`Cursor::advance`] can continue. A turn that
    /// started over, or another message, needs a new cursor.
    pub fn fits(&self, message: &UiMessage) -> bool {
        let same = self.message.as_deref().is_none_or(|known| known == message.id.as_str());
        same && self.parts.len() <= message.parts.len()
            && self.parts.iter().zip(&message.parts).all(|(told, part)| match (told, part) {
                (SentPart::Text { kind: TextKind::Words, bytes, .. }, Part::Text(text))
                | (SentPart::Text { kind: TextKind::Thinking, bytes, .. }, Part::Reasoning(text)) => {
                    *bytes <= text.text.len()
                }
                (SentPart::Text { .. }, _) => false,
                (SentPart::Call(told), Part::Tool(tool)) => told.is(&tool.call_id),
                (SentPart::Call(_), _) => false,
                (SentPart::Whole, part) => {
                    !matches!(part, Part::Text(_) | Part::Reasoning(_) | Part::Tool(_))
                }
            })
    }

    /// Keeps what was sent and sends the next message from its beginning, after it.
    pub fn start_over(&mut self) -> Vec<Chunk> {
        let mut out = Vec::new();
        self.close_texts(&mut out);
        self.parts.clear();
        out
    }

    pub fn finish(&mut self, status: Option<RunStatus>) -> Vec<Chunk> {
        let mut out = Vec::new();
        self.close_texts(&mut out);
        if std::mem::take(&mut self.step_open) {
            out.push(Chunk::FinishStep);
        }
        let finish = |reason| Chunk::Finish {
            finish_reason: Some(reason),
            message_metadata: status.map(|status| serde_json::json!({ "status": status })),
        };
        match status {
            Some(RunStatus::Done) => out.push(finish(FinishReason::Stop)),
            // Clients ignore an abort; the finish event ends the message for them.
            Some(RunStatus::Stopped) => {
                out.push(Chunk::Abort { reason: Some("stopped".to_owned()) });
                out.push(finish(FinishReason::Other));
            }
            // Clients read nothing after an error, so the status is sent before it.
            Some(RunStatus::Failed) => {
                let error_text = self.error.clone().unwrap_or_else(|| "the turn failed".to_owned());
                if self.message.is_some() {
                    let message_metadata = serde_json::json!({ "status": RunStatus::Failed });
                    out.push(Chunk::MessageMetadata { message_metadata });
                }
                out.push(Chunk::Error { error_text });
            }
            Some(RunStatus::Running | RunStatus::Continued) => out.push(finish(FinishReason::ToolCalls)),
            None => out.push(finish(FinishReason::Other)),
        }
        out
    }

    fn tell(&mut self, index: usize, part: &Part, out: &mut Vec<Chunk>) {
        let fresh = index >= self.parts.len();
        match part {
            Part::Text(text) => self.tell_text(index, text, TextKind::Words, out),
            Part::Reasoning(text) => self.tell_text(index, text, TextKind::Thinking, out),
            Part::Tool(tool) => {
                if fresh {
                    self.parts.push(SentPart::Call(SentCall::new(&tool.call_id)));
                }
                if let Some(SentPart::Call(told)) = self.parts.get_mut(index) {
                    told.tell(tool, out);
                }
            }
            _ if !fresh => {}
            Part::StepStart => {
                self.close_texts(out);
                if self.step_open {
                    out.push(Chunk::FinishStep);
                }
                self.step_open = true;
                out.push(Chunk::StartStep);
                self.parts.push(SentPart::Whole);
            }
            Part::File(file) => {
                out.push(Chunk::File { url: file.url.clone(), media_type: file.media_type.clone() });
                self.parts.push(SentPart::Whole);
            }
            Part::Command(record) => {
                out.extend(serde_json::to_value(record).map(|data| Chunk::DataCommand { data }));
                self.parts.push(SentPart::Whole);
            }
            Part::Error(record) => {
                self.close_texts(out);
                self.error = Some(record.text.clone());
                out.extend(serde_json::to_value(record).map(|data| Chunk::DataError { data }));
                self.parts.push(SentPart::Whole);
            }
            Part::Checkpoint(_) | Part::Other(_) => self.parts.push(SentPart::Whole),
        }
    }

    fn tell_text(&mut self, index: usize, part: &TextPart, kind: TextKind, out: &mut Vec<Chunk>) {
        if index >= self.parts.len() {
            let id = self.texts.to_string();
            self.texts += 1;
            out.push(kind.start(id.clone()));
            self.parts.push(SentPart::Text { id, kind, bytes: 0, open: true });
        }
        let Some(SentPart::Text { id, bytes, open, .. }) = self.parts.get_mut(index) else { return };
        if !*open {
            return;
        }
        let delta = part.text.get(*bytes..).unwrap_or_default();
        if !delta.is_empty() {
            *bytes = part.text.len();
            out.push(kind.delta(id.clone(), delta.to_owned()));
        }
        // Text and reasoning may be interleaved, so a text ends by its own state, not when another part begins.
        if part.state != Some(TextState::Streaming) {
            *open = false;
            out.push(kind.end(id.clone()));
        }
    }

    /// Closes all texts: none may stay open after its step, because clients then forget the ids.
    fn close_texts(&mut self, out: &mut Vec<Chunk>) {
        for told in &mut self.parts {
            if let SentPart::Text { id, kind, open, .. } = told
                && std::mem::take(open)
            {
                out.push(kind.end(id.clone()));
            }
        }
    }
}

/// The stream of a complete message.
pub fn replay(message: &UiMessage) -> Vec<Chunk> {
    Cursor::default().advance(message)
}

/// Two kinds of text with the same events under different names.
#[derive(Clone, Copy, Debug)]
pub(super) enum TextKind {
    Words,
    Thinking,
}

impl TextKind {
    pub(super) const fn start(self, id: String) -> Chunk {
        match self {
            Self::Words => Chunk::TextStart { id },
            Self::Thinking => Chunk::ReasoningStart { id },
        }
    }

    pub(super) const fn delta(self, id: String, delta: String) -> Chunk {
        match self {
            Self::Words => Chunk::TextDelta { id, delta },
            Self::Thinking => Chunk::ReasoningDelta { id, delta },
        }
    }

    pub(super) const fn end(self, id: String) -> Chunk {
        match self {
            Self::Words => Chunk::TextEnd { id },
            Self::Thinking => Chunk::ReasoningEnd { id },
        }
    }
}
