//! Messages that a tool posts beside the answer: in this thread, or from another thread.
//!
//! The message is committed together with its delivery, so a call that is repeated after a crash posts nothing twice.

use serde_json::{Map, json};

use crate::domain::{CorrelationId, Intent, MessageId, Timestamp};
use crate::ports::{Acceptance, Durability, Saying};
use crate::turn::effect::Spoken;
use crate::turn::runs::run::TOOL_METADATA;
use crate::turn::{Conversation, Effect, ReplyToken};
use crate::uimessage::{FilePart, Metadata, Part, Role, RunStatus, TextPart, UiMessage};

/// Marks a call that has posted its message.
const SAID: &str = "said";

impl Conversation {
    /// The id under which a thread stores the message of a call in another thread.
    pub fn said_by(saying: &Saying) -> MessageId {
        MessageId::made(saying.correlation.as_str(), &format!(".said.{}", saying.call))
    }

    pub(in crate::turn) fn voice(
        &mut self,
        saying: Saying,
        ticket: ReplyToken,
        known: bool,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
        out: &mut Vec<Effect>,
    ) {
        let message = Self::said_by(&saying);
        if self.stopping {
            out.push(Effect::Answer(ticket, Acceptance::Stopping));
            return;
        }
        if known {
            out.push(Effect::Answer(ticket, Acceptance::Duplicate { message }));
            return;
        }
        let own = saying.from == self.thread;
        let correlation = match self.run.as_ref().filter(|_| own) {
            Some(run) if run.ledger.is_running(&saying.call) => run.correlation.clone(),
            Some(_) => return out.push(Effect::Answer(ticket, refused())),
            None if own => return out.push(Effect::Answer(ticket, refused())),
            None => fresh(),
        };
        let (lines, reply_to) = if own {
            match self.say_in_run(&saying) {
                Some(said) => said,
                None => return out.push(Effect::Answer(ticket, Acceptance::Duplicate { message })),
            }
        } else {
            let mut lines: Vec<UiMessage> = self.place_held().into_iter().collect();
            lines.push(self.guest(&saying, &correlation, now));
            (lines, None)
        };
        for line in &lines {
            self.remember(line);
        }
        let source = message.to_string();
        let say = vec![Spoken { source, correlation: correlation.clone(), reply_to, intent: saying.intent }];
        out.push(Effect::Commit { messages: lines, say, durability: Durability::Synced });
        out.push(Effect::Answer(ticket, Acceptance::Accepted { message, correlation }));
        out.push(Effect::Publish);
    }

    /// Marks the call in the run's message. `None` means that it had posted before.
    fn say_in_run(&mut self, saying: &Saying) -> Option<(Vec<UiMessage>, Option<String>)> {
        let run = self.run.as_mut()?;
        let part = run.tool_mut(&saying.call)?;
        let facts = part.extra.entry(TOOL_METADATA).or_insert_with(|| json!({}));
        if facts.get(SAID).is_some() {
            return None;
        }
        if let Some(facts) = facts.as_object_mut() {
            facts.insert(SAID.to_owned(), true.into());
        }
        if let Some(file) = file_part(&saying.intent) {
            run.message.parts.push(file);
        }
        run.placed = true;
        let (snapshot, reply_to) = (run.snapshot(), run.reply_to.clone());
        Some((vec![snapshot], reply_to))
    }

    /// The stored message of a call in another thread, as an assistant message that this thread's model reads too.
    fn guest(&self, saying: &Saying, correlation: &CorrelationId, now: Timestamp) -> UiMessage {
        let mut extra = Map::new();
        extra.insert("sentFrom".to_owned(), saying.from.as_str().into());
        let words = match &saying.intent {
            Intent::AssistantText { text } => Some(text),
            Intent::Attachment { caption, .. } => caption.as_ref(),
            _ => None,
        };
        let words = words.map(|text| Part::Text(TextPart::plain(text.clone())));
        UiMessage {
            id: Self::said_by(saying),
            role: Role::Assistant,
            metadata: Metadata {
                platform: self.thread.platform().as_str().to_owned(),
                thread_id: self.thread.clone(),
                author_id: None,
                author_name: None,
                message_id: None,
                timestamp: now,
                correlation_id: correlation.clone(),
                status: Some(RunStatus::Done),
                command: false,
                context: false,
                checkpoint: false,
                extra,
            },
            parts: words.into_iter().chain(file_part(&saying.intent)).collect(),
        }
    }
}

pub(in crate::turn) fn file_part(intent: &Intent) -> Option<Part> {
    let Intent::Attachment { file, name, media_type, .. } = intent else { return None };
    Some(Part::File(FilePart {
        media_type: media_type.clone(),
        url: file.url(),
        filename: Some(name.clone()),
        extra: Map::new(),
    }))
}

fn refused() -> Acceptance {
    Acceptance::Refused("the call that wants to speak is not running any more".to_owned())
}
