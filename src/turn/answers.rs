//! Reading answers: a message that decides, a decision by its id, and everything else that comes while a question
//! waits.

use super::asking::{Authority, Heard};
use super::commands::record;
use super::effect::Spoken;
use super::intake::Arrival;
use super::{Conversation, Effect, Ticket};
use crate::domain::{
    Answer, Approval, ApprovalNumber, ApprovalState, CorrelationId, Decided, Decision, IngressEvent, Intent,
    Said, Timestamp, WhileWaiting,
};
use crate::policy::reply::{Pending, Reading, Ruling, read};
use crate::ports::{Acceptance, Durability};
use crate::render::Phrase;
use crate::uimessage::UiMessage;

/// What a message amounts to while questions wait.
pub(super) enum Reply {
    /// It was an answer, or a question back was needed: it is dealt with.
    Handled,
    /// It is an ordinary message.
    Message,
}

impl Conversation {
    /// Reads a message while questions wait. One that decides, decides; any other is an ordinary message.
    pub(super) fn hear(
        &mut self,
        event: &IngressEvent,
        said: &Said,
        ticket: Ticket,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
        out: &mut Vec<Effect>,
    ) -> Reply {
        let pending = self.pending_approvals();
        if !self.speaks_to_us(event, said, &pending) {
            return if said.overheard { Reply::Message } else { self.not_a_decision(said, now, out) };
        }
        let reading = read(&said.text, &pending.iter().map(as_pending).collect::<Vec<_>>());
        let (language, correlation) = (self.language(), fresh());
        let reply = match reading {
            Reading::NotADecision => return self.not_a_decision(said, now, out),
            // What was not meant for us is no question to us either.
            Reading::AskBack(_) if said.overheard => return Reply::Message,
            Reading::AskBack(question) => question.words(language),
            Reading::Decide(rulings) => {
                let told: Vec<String> = rulings
                    .into_iter()
                    .filter_map(|ruling| self.rule(&pending, ruling, event, now, out))
                    .collect();
                told.join("\n")
            }
        };
        let record = record(&said.text, event, &reply, &correlation, now);
        self.record_answer(record, reply, event, ticket, out);
        Reply::Handled
    }

    /// Whether words can be a decision at all. What somebody else wrote, what goes with files, and what was overheard
    /// from somebody who may not decide, or was said to somebody else, decides nothing.
    fn speaks_to_us(&self, event: &IngressEvent, said: &Said, pending: &[Approval]) -> bool {
        let own_words = said.forwarded_from.is_none() && said.files.is_empty();
        let rights = &self.rules.rights;
        let may = |asked: &Approval| {
            rights.may_answer(&asked.requested_by, &event.author.id, event.author.standing)
        };
        let to_another = said.quoted.is_some() || said.text.trim_start().starts_with('/');
        own_words && (!said.overheard || (!to_another && pending.iter().any(may)))
    }

    fn rule(
        &mut self,
        pending: &[Approval],
        ruling: Ruling,
        event: &IngressEvent,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) -> Option<String> {
        let approval = pending.get(ruling.index)?;
        let decided =
            Decided { by: event.author.id.clone(), at: now, via: "text".to_owned(), reason: ruling.reason };
        let authority = Authority::Speaker(event.author.standing);
        let heard = self.answer(&approval.id, &ruling.answer, decided, authority, now, out);
        Some(self.words_for(&heard, approval.number, &ruling.answer))
    }

    /// A decision by the question's own id.
    pub(super) fn decide(
        &mut self,
        decision: &Decision,
        arrival: &Arrival,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
        out: &mut Vec<Effect>,
    ) {
        let (event, settled) = (&arrival.event, arrival.brought.approval.as_deref());
        let number = self
            .pending_approvals()
            .iter()
            .find(|known| known.id == decision.approval)
            .map(|known| known.number);
        let decided = Decided {
            by: event.author.id.clone(),
            at: now,
            via: decision.via.clone(),
            reason: decision.reason.clone(),
        };
        let authority = match decision.operator {
            true => Authority::Operator,
            false => Authority::Speaker(event.author.standing),
        };
        let heard = self.answer(&decision.approval, &decision.answer, decided, authority, now, out);
        let words = match settled.filter(|_| heard == Heard::NotOpen) {
            Some(approval) => self.words_of_settled(approval),
            None => self.words_for(&heard, number.unwrap_or(ApprovalNumber(0)), &decision.answer),
        };
        if heard == Heard::Counted {
            let accepted = Acceptance::Accepted { message: event.message.clone(), correlation: fresh() };
            out.push(Effect::Answer(arrival.ticket, accepted));
        } else {
            out.push(Effect::Answer(arrival.ticket, Acceptance::Refused(words)));
        }
        out.push(Effect::Publish);
    }

    /// What became of a question that waits no more, and who decided.
    fn words_of_settled(&self, approval: &Approval) -> String {
        let by = match &approval.state {
            ApprovalState::Approved { decided, .. }
            | ApprovalState::Spent { decided, .. }
            | ApprovalState::Denied { decided } => Some(self.name_of(&decided.by)),
            // It waits by its record, and no run waits for it: whatever asked is gone.
            ApprovalState::Pending => return Phrase::NotOpen.say(self.language()),
            ApprovalState::Expired { .. } | ApprovalState::Cancelled { .. } => None,
        };
        Phrase::Resolved { approval: Box::new(approval.clone()), by }.say(self.language())
    }

    fn not_a_decision(&mut self, said: &Said, now: Timestamp, out: &mut Vec<Effect>) -> Reply {
        if said.overheard {
            return Reply::Message;
        }
        if self.rules.while_waiting == WhileWaiting::Supersede {
            self.withdraw("a new message took its place", now, out);
            self.go_on(now, out);
            return Reply::Message;
        }
        let text = Phrase::Reminder(self.pending_numbers()).say(self.language());
        if let Some(run) = self.run.as_mut().filter(|run| !run.reminded) {
            run.reminded = true;
            let source = format!("{}.reminder", run.correlation);
            let (correlation, reply_to) = (run.correlation.clone(), run.reply_to.clone());
            // Those who read the thread themselves see it in passing; everybody else is sent it.
            out.push(Effect::Show(Intent::Progress { text: text.clone(), call_id: None }));
            let say = vec![Spoken { source, correlation, reply_to, intent: Intent::AssistantText { text } }];
            out.push(Effect::Commit { messages: Vec::new(), say, durability: Durability::Written });
        }
        Reply::Message
    }

    pub(super) fn pending_numbers(&self) -> Vec<ApprovalNumber> {
        self.pending_approvals().iter().map(|approval| approval.number).collect()
    }

    fn words_for(&self, heard: &Heard, number: ApprovalNumber, answer: &Answer) -> String {
        let phrase = match heard {
            Heard::Counted => Phrase::Counted { number, answer: answer.clone() },
            Heard::NotOpen => Phrase::NotOpen,
            Heard::NotTheirs => Phrase::NotTheirs(number),
            Heard::TooLate => Phrase::TooLate(number),
            Heard::NotAnAnswer => Phrase::NotOpen,
        };
        phrase.say(self.language())
    }

    /// Keeps the answer and what was said to it, like a command: recognised when it comes again, seen by people,
    /// never by a model.
    fn record_answer(
        &mut self,
        record: UiMessage,
        reply: String,
        event: &IngressEvent,
        ticket: Ticket,
        out: &mut Vec<Effect>,
    ) {
        let correlation = record.metadata.correlation_id.clone();
        let mut lines: Vec<_> = self.place_held().into_iter().collect();
        lines.push(record);
        for line in &lines {
            self.remember(line);
        }
        let say = vec![Spoken {
            source: event.message.to_string(),
            correlation: correlation.clone(),
            reply_to: Some(event.platform_message.clone()),
            intent: Intent::AssistantText { text: reply },
        }];
        out.push(Effect::Commit { messages: lines, say, durability: Durability::Synced });
        let accepted =
            Acceptance::Accepted { message: event.message.clone(), correlation: correlation.clone() };
        out.push(Effect::Answer(ticket, accepted));
        out.push(Effect::Finished(correlation));
        out.push(Effect::Publish);
    }
}

fn as_pending(approval: &Approval) -> Pending<'_> {
    Pending {
        number: approval.number,
        id: &approval.id,
        kind: approval.kind,
        tool: &approval.tool,
        command: approval.input.get("command").and_then(serde_json::Value::as_str),
        argv: None,
    }
}
