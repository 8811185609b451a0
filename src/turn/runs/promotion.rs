//! Asks a person which notes go into core memory: a run of its own, with one call and one question. The model takes no
//! part in it. It never holds the conversation up, and it is asked only while nothing else is to be done.

use serde_json::{Value, json};

use super::run::{Run, RunPhase};
use crate::domain::{
    AuthorId, CorrelationId, MemoryScope, MessageId, Origin, ScopeKey, ThreadId, Timestamp, ToolCallId,
};
use crate::render::Phrase;
use crate::turn::Effect;
use crate::turn::context::TurnContext;
use crate::uimessage::{Part, RunStatus, ToolPart, ToolState};

/// The name of the call in the thread file. No tool has it, and a model that calls it is refused.
pub const PROMOTION: &str = "memory_keep";
/// The key in a message's metadata of the person who is asked.
const ASKED: &str = "asked";

/// Notes that may go into core memory, and who is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The run that asks. It is known before the notes are written, so that the question is asked once.
    pub run: CorrelationId,
    /// The memory of the person or group. What it may write is what the notes go into.
    pub memory_scope: MemoryScope,
    pub items: Vec<ProposedItem>,
    /// A person who may answer.
    pub asked: AuthorId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedItem {
    /// The id of the note.
    pub note: String,
    pub text: String,
    /// The messages it was taken from.
    pub from: Vec<MessageId>,
}

impl Proposal {
    /// The arguments of the call.
    fn input(&self) -> Value {
        let item = |item: &ProposedItem| json!({ "note": item.note, "text": item.text, "from": item.from });
        let items: Vec<Value> = self.items.iter().map(item).collect();
        json!({ "scope": self.memory_scope.write(), "items": items })
    }

    /// The scope and the items of a call's arguments.
    pub fn read(input: &Value) -> Option<(ScopeKey, Vec<ProposedItem>)> {
        let scope = serde_json::from_value(input.get("scope")?.clone()).ok()?;
        let item = |item: &Value| {
            Some(ProposedItem {
                note: item.get("note")?.as_str()?.to_owned(),
                text: item.get("text")?.as_str()?.to_owned(),
                from: serde_json::from_value(item.get("from")?.clone()).ok()?,
            })
        };
        let items: Option<Vec<ProposedItem>> = input.get("items")?.as_array()?.iter().map(item).collect();
        Some((scope, items?))
    }

    /// The message that asks, in the thread's file.
    pub fn message(run: &CorrelationId) -> MessageId {
        MessageId::made(run.as_str(), ".1")
    }
}

impl Run {
    /// A run that asks which notes go into core memory. It needs no permit until it is answered.
    pub(in crate::turn) fn promotion(thread: &ThreadId, proposal: &Proposal, now: Timestamp) -> Self {
        let call = ToolCallId::made(proposal.run.as_str(), "-keep");
        let mut run = Self::new(thread, proposal.run.clone(), None, now);
        run.message.set_memory_scope(&proposal.memory_scope, Origin::Member);
        run.message.metadata.extra.insert(ASKED.to_owned(), proposal.asked.as_str().into());
        let state = ToolState::InputAvailable { input: proposal.input() };
        run.message.parts =
            vec![Part::StepStart, Part::Tool(Box::new(ToolPart::new(PROMOTION, call, state)))];
        run.steps = 1;
        run.phase = RunPhase::Acting;
        run
    }

    /// Whether it asks which notes go into core memory.
    pub(in crate::turn) fn is_promotion(&self) -> bool {
        let keeps = |part: &Part| matches!(part, Part::Tool(tool) if tool.tool.name() == PROMOTION);
        self.message.metadata.extra.contains_key(ASKED) && self.message.parts.iter().any(keeps)
    }

    /// The person whom a promotion asks.
    pub(in crate::turn) fn asked_person(&self) -> Option<AuthorId> {
        let asked = self.message.metadata.extra.get(ASKED).filter(|_| self.is_promotion())?;
        asked.as_str()?.parse().ok()
    }

    /// The memory that a promotion is about.
    pub(in crate::turn) fn own_memory_scope(&self) -> Option<MemoryScope> {
        self.message.memory_scope().filter(|_| self.is_promotion())
    }

    /// Ends a promotion. Where a person wanted something kept that could not be, they are told.
    pub(super) fn end_promotion(&mut self, ctx: &TurnContext<'_>) -> Vec<Effect> {
        let failed = self.message.parts.iter().find_map(|part| match part {
            Part::Tool(tool) => match &tool.state {
                ToolState::OutputError { error_text, approval: Some(_), .. } => Some(error_text.clone()),
                _ => None,
            },
            _ => None,
        });
        if let Some(why) = failed {
            self.message.parts.push(Part::text(Phrase::NotKept(why).say(ctx.language())));
        }
        self.finish(RunStatus::Done, ctx)
    }
}
