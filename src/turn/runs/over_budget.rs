//! A run whose next model call does not fit into a spend cap: it asks owners, waits for the answer to the question of
//! another thread, or ends.
//!
//! The question is a call that the model never made. Its input names the cap; once it is approved, it raises the cap.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::run::{Run, RunPhase};
use crate::domain::{
    Approval, ApprovalId, CapState, Currency, ErrorKind, Intent, RAISE_CALL, Shortage, ThreadId, ToolCallId,
};
use crate::render::Phrase;
use crate::turn::context::TurnContext;
use crate::turn::runs::steps::progress;
use crate::turn::{Effect, Spoken};
use crate::uimessage::{Part, ToolPart, ToolState, UiMessage};

/// The key in a message's metadata of the question that a run waits for, where another thread asked it.
const JOINED: &str = "budgetQuestion";

/// The key in a message's metadata of how many of its parts were sent before it ended.
const PARTIAL: &str = "saidParts";

/// The cap that owners are asked to raise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapQuestion {
    pub cap: CapState,
    /// The most that the next call may use.
    pub needed: u64,
    pub currency: Currency,
    /// Further threads where it is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask_in: Vec<ThreadId>,
}

impl CapQuestion {
    /// The question of a call's arguments.
    pub fn read(input: &Value) -> Option<Self> {
        serde_json::from_value(input.clone()).ok()
    }

    fn shortage(self) -> Shortage {
        Shortage::Cap { state: self.cap, needed: self.needed, currency: self.currency }
    }
}

/// What becomes of a run whose next call does not fit.
#[derive(Clone, Debug, PartialEq)]
pub enum OverBudget {
    /// It asks owners.
    Ask(CapQuestion),
    /// It waits: another thread asks about the same cap. `None` where that question has no number yet.
    Join(Option<Box<Approval>>),
    End(Box<Shortage>),
}

impl Run {
    pub(in crate::turn) fn over_budget(&mut self, what: OverBudget, ctx: &TurnContext<'_>) -> Vec<Effect> {
        let waits = std::mem::take(&mut self.waits_for_budget) && self.phase == RunPhase::AwaitingApproval;
        if self.phase != RunPhase::Thinking && !waits {
            return Vec::new();
        }
        self.forget_step();
        match what {
            OverBudget::Ask(question) => self.ask_for_raise(&question, ctx),
            OverBudget::Join(approval) => self.join_question(approval.as_deref(), ctx),
            OverBudget::End(shortage) => self.end_over_budget(*shortage, ctx),
        }
    }

    fn ask_for_raise(&mut self, question: &CapQuestion, ctx: &TurnContext<'_>) -> Vec<Effect> {
        let mut effects: Vec<Effect> = self.say_partial().into_iter().collect();
        let call = ToolCallId::made(self.correlation.as_str(), &format!("-budget{}", self.steps));
        let state = ToolState::InputAvailable { input: serde_json::to_value(question).unwrap_or_default() };
        self.message.parts.push(Part::Tool(Box::new(ToolPart::new(RAISE_CALL, call, state))));
        self.phase = RunPhase::Acting;
        effects.extend(self.advance_calls(ctx));
        effects.push(Effect::Publish);
        effects
    }

    /// Sends what it has said so far, before people wait: once, also where it waits at several caps.
    fn say_partial(&mut self) -> Option<Effect> {
        let told = self.message.metadata.extra.get(PARTIAL).and_then(Value::as_u64).unwrap_or(0);
        let parts = u64::try_from(self.message.parts.len()).unwrap_or(u64::MAX);
        let text = self.said_since(usize::try_from(told).unwrap_or(usize::MAX));
        if text.is_empty() {
            return None;
        }
        self.message.metadata.extra.insert(PARTIAL.to_owned(), parts.into());
        let source = format!("{}.partial{}", self.message.id, self.steps);
        Some(self.commit_saying(vec![(source, Intent::AssistantText { text })]))
    }

    /// Its words behind so many parts of the message.
    fn said_since(&self, parts: usize) -> String {
        let texts = self.message.parts.iter().skip(parts).filter_map(|part| match part {
            Part::Text(text) if !text.text.trim().is_empty() => Some(text.text.trim()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// Waits for the answer to a question of another thread. People are told once for each question.
    fn join_question(&mut self, approval: Option<&Approval>, ctx: &TurnContext<'_>) -> Vec<Effect> {
        let mut effects: Vec<Effect> = self.say_partial().into_iter().collect();
        self.phase = RunPhase::AwaitingApproval;
        self.waits_for_budget = true;
        let id = approval.map_or("", |approval| approval.id.as_str());
        let told = self.message.metadata.extra.get(JOINED).and_then(Value::as_str).map(str::to_owned);
        if told.is_none() {
            self.message.metadata.extra.insert(JOINED.to_owned(), id.into());
            let text = Phrase::BudgetAsked(approval.map(|approval| approval.number)).say(ctx.language());
            let intent = Intent::AssistantText { text: text.clone() };
            effects.push(progress(text));
            effects.push(self.commit_saying(vec![(format!("{}.budget", self.message.id), intent)]));
        }
        effects.extend([Effect::ReleaseSlot, Effect::Parked(self.correlation.clone()), Effect::Publish]);
        effects
    }

    /// Whether it waits for the answer to a question of another thread.
    pub(in crate::turn) const fn waits_for_budget(&self) -> bool {
        self.waits_for_budget
    }

    /// The cap may have room again: a run that waits for it tries once more.
    pub(in crate::turn) fn budget_changed(&mut self) -> Vec<Effect> {
        if self.phase != RunPhase::AwaitingApproval || !std::mem::take(&mut self.waits_for_budget) {
            return Vec::new();
        }
        self.phase = RunPhase::WaitingForSlot;
        vec![Effect::AcquireSlot, Effect::Publish]
    }

    /// Ends it where owners did not raise the cap. Where the cap begins anew meanwhile, it goes on.
    pub(super) fn end_unraised(&mut self, ctx: &TurnContext<'_>) -> Option<Vec<Effect>> {
        let start = self.step_start();
        let asked = self.message.parts.iter().skip(start).rev().find_map(|part| match part {
            Part::Tool(tool) if tool.tool.name() == RAISE_CALL => Some(tool.as_ref()),
            _ => None,
        })?;
        if matches!(asked.state, ToolState::OutputAvailable { .. }) {
            return None;
        }
        let question = CapQuestion::read(asked.state.input()?)?;
        let ends = question.cap.ends;
        (ctx.now < ends).then(|| self.end_over_budget(question.shortage(), ctx))
    }

    /// Ends it with what it has said so far.
    fn end_over_budget(&mut self, shortage: Shortage, ctx: &TurnContext<'_>) -> Vec<Effect> {
        let told = self.message.metadata.extra.get(PARTIAL).and_then(Value::as_u64).unwrap_or(0);
        let partial = self.said_since(usize::try_from(told).unwrap_or(usize::MAX));
        let detail = Some(shortage.to_string());
        let mut effects = self.fail_saying(&Phrase::OverBudget(shortage), ErrorKind::Budget, detail, ctx);
        let commit = effects.iter_mut().find_map(|effect| match effect {
            Effect::Commit { say, .. } => Some(say),
            _ => None,
        });
        if let Some(say) = commit.filter(|_| !partial.is_empty()) {
            let (correlation, reply_to) = (self.correlation.clone(), self.reply_to.clone());
            let intent = Intent::AssistantText { text: partial };
            let source = format!("{}.partial", self.message.id);
            say.insert(0, Spoken { source, correlation, reply_to, intent });
        }
        effects
    }
}

/// The further threads where a question about a cap is asked, from the messages of its run.
pub(in crate::turn) fn cap_asked_in<'a>(
    messages: impl Iterator<Item = &'a UiMessage>,
    approval: &ApprovalId,
) -> Vec<ThreadId> {
    let asks = |tool: &ToolPart| {
        let id = match &tool.state {
            ToolState::ApprovalRequested { approval, .. } => Some(&approval.id),
            ToolState::ApprovalResponded { approval, .. } | ToolState::OutputDenied { approval, .. } => {
                Some(&approval.id)
            }
            ToolState::OutputAvailable { approval, .. } | ToolState::OutputError { approval, .. } => {
                approval.as_ref().map(|approval| &approval.id)
            }
            ToolState::InputStreaming { .. } | ToolState::InputAvailable { .. } => None,
        };
        tool.tool.name() == RAISE_CALL && id.is_some_and(|id| id == approval.as_str())
    };
    let tool = messages.flat_map(|message| &message.parts).find_map(|part| match part {
        Part::Tool(tool) if asks(tool) => Some(tool.as_ref()),
        _ => None,
    });
    let question = tool.and_then(|tool| CapQuestion::read(tool.state.input()?));
    question.map(|question| question.ask_in).unwrap_or_default()
}
