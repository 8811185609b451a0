//! Taking a thread up after a restart: what was open goes on, nothing is guessed.

use super::conversation::Waiting;
use super::run::Run;
use super::{Conversation, Effect};
use crate::domain::{CorrelationId, Effects, Timestamp};
use crate::uimessage::{Part, Role, RunStatus, ToolState, UiMessage, unfinished_runs};

/// What the model is told of a call that changes things and was cut off.
const UNKNOWN_OUTCOME: &str = "The daemon was restarted while this call was running. Whether it took effect is unknown: \
     check before doing it again.";

impl Conversation {
    /// Goes on with what was open. The first open run is taken up where it was cut off; the others wait.
    pub(super) fn resume(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        let mut open = unfinished_runs(&self.history).into_iter();
        let Some(first) = open.next() else { return };
        self.waiting = open.map(|correlation| self.waiting_for(correlation)).collect();
        let reply_to = self.said_in(&first).last().and_then(|message| message.metadata.message_id.clone());
        let run = Run::new(&self.thread, first.clone(), reply_to, now);
        let answers = || {
            self.history.iter().filter(|m| m.role == Role::Assistant && m.metadata.correlation_id == first)
        };
        let steps = answers().map(UiMessage::steps).sum();
        let run = match answers().next_back() {
            Some(last) if last.metadata.status == Some(RunStatus::Running) => {
                let mut run = run.resumed(last.clone(), steps);
                run.steered = self.said_in(&first).last().is_some_and(|said| self.is_after(said, last));
                run
            }
            // It was about to go on in a further message.
            Some(last) => {
                let mut run = run.resumed(last.clone(), steps);
                run.turn_page(&self.thread, now);
                run
            }
            None => run,
        };
        self.run = Some(run);
        self.close_unknown();
        out.push(Effect::AcquireSlot);
        out.push(Effect::Publish);
    }

    /// A call that changes things and was cut off is never run again.
    fn close_unknown(&mut self) {
        let effects_of = self.effects_of.clone();
        let Some(run) = self.run.as_mut() else { return };
        for part in &mut run.message.parts {
            let Part::Tool(tool) = part else { continue };
            let acts = effects_of(tool.tool.name()) != Some(Effects::ReadOnly);
            if tool.state.is_settled() || !acts {
                continue;
            }
            let approval = match &tool.state {
                ToolState::ApprovalResponded { approval, .. } if approval.approved => Some(approval.clone()),
                _ => None,
            };
            let input = Some(tool.state.input().cloned().unwrap_or_default());
            tool.state = ToolState::OutputError {
                input,
                raw_input: None,
                error_text: UNKNOWN_OUTCOME.to_owned(),
                approval,
            };
        }
    }

    fn waiting_for(&self, correlation: CorrelationId) -> Waiting {
        let messages = self.said_in(&correlation).map(|message| message.id.clone()).collect();
        Waiting { correlation, messages }
    }

    fn is_after(&self, one: &UiMessage, other: &UiMessage) -> bool {
        let place = |message: &UiMessage| self.history.iter().position(|known| known.id == message.id);
        place(one) > place(other)
    }

    fn said_in<'a>(&'a self, correlation: &'a CorrelationId) -> impl Iterator<Item = &'a UiMessage> {
        self.history.iter().filter(move |m| {
            m.role == Role::User && !m.metadata.context && m.metadata.correlation_id == *correlation
        })
    }
}
