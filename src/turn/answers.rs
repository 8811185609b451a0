//! Reading answers: a message that decides, a decision by its id, and everything else that comes while a question
//! waits.

use super::asking::{Authority, Heard};
use super::effect::Spoken;
use super::intake::Arrival;
use super::replies::Exchange;
use super::{Conversation, Effect};
use crate::domain::{
    Answer, Approval, ApprovalId, ApprovalNumber, ApprovalState, CorrelationId, Decided, Decision,
    IngressEvent, Intent, Said, Timestamp, WhileWaiting,
};
use crate::policy::reply::{Named, Pending, Question, Reading, Ruling, decided_outright, read};
use crate::ports::{Acceptance, Durability};
use crate::render::Phrase;

/// Two people who answer the same question do so within this time, or one of them has seen what came of it.
const CROSSING_MS: u64 = 10_000;

/// What a message amounts to while questions wait.
pub(super) enum Reply {
    /// It was an answer, or a question back was needed: it is dealt with.
    Handled,
    /// It is an ordinary message.
    Message,
}

impl Conversation {
    /// Reads a message that may be an answer: questions wait, or it names one that was settled. One that decides,
    /// decides; one that decides again hears who did before; any other is an ordinary message.
    pub(super) fn hear(
        &mut self,
        said: &Said,
        arrival: &Arrival,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
        out: &mut Vec<Effect>,
    ) -> Reply {
        let event = &arrival.event;
        let pending = self.pending_approvals();
        let waits = |id: &ApprovalId| pending.iter().any(|asked| asked.id == *id);
        let settled = arrival.brought.approvals.iter().filter(|named| !waits(&named.id)).cloned();
        let candidates: Vec<Approval> = pending.iter().cloned().chain(settled).collect();
        if candidates.is_empty() {
            return Reply::Message;
        }
        if !self.speaks_to_us(event, said, &pending) {
            return self.not_a_decision(said, event, now, out);
        }
        let reading = read(&said.text, &candidates.iter().map(as_pending).collect::<Vec<_>>());
        let reply = match reading {
            Reading::NotADecision | Reading::AskBack(_) if pending.is_empty() => return Reply::Message,
            Reading::NotADecision => return self.not_a_decision(said, event, now, out),
            // What was not meant for us is no question to us either.
            Reading::AskBack(_) if said.overheard => return Reply::Message,
            Reading::AskBack(question) => question.words(self.language()),
            Reading::Decide(rulings) => {
                let (sure, doubtful) = self.apart(rulings, &pending, &candidates, event, &said.text, now);
                let told =
                    sure.into_iter().filter_map(|ruling| self.rule(&candidates, ruling, event, now, out));
                let told: Vec<String> = told.collect();
                let asked = doubtful.map(|question| question.words(self.language()));
                told.into_iter().chain(asked).collect::<Vec<_>>().join("\n")
            }
        };
        let exchange = Exchange::new(&said.text, event, reply, fresh(), now);
        let correlation = exchange.record.metadata.correlation_id.clone();
        self.reply_to(exchange, Vec::new(), arrival.ticket, out);
        out.push(Effect::Finished(correlation));
        out.push(Effect::Publish);
        Reply::Handled
    }

    /// Sets apart what words decide for certain from what they may have been said too early for: beside a question that is
    /// settled, or just after somebody else has settled one, only what is named is meant.
    fn apart(
        &self,
        rulings: Vec<Ruling>,
        pending: &[Approval],
        candidates: &[Approval],
        event: &IngressEvent,
        words: &str,
        now: Timestamp,
    ) -> (Vec<Ruling>, Option<Question>) {
        let beside_settled = candidates.len() > pending.len();
        if !beside_settled && !self.crossed(pending, event, now) {
            return (rulings, None);
        }
        let named = decided_outright(words);
        let is_named = |one: &Approval| {
            named.contains(&Named::Number(one.number)) || named.contains(&Named::Id(one.id.clone()))
        };
        let certain = |ruling: &Ruling| candidates.get(ruling.index).is_some_and(is_named);
        let (sure, doubtful): (Vec<Ruling>, Vec<Ruling>) = rulings.into_iter().partition(certain);
        let about: Vec<ApprovalNumber> =
            doubtful.iter().filter_map(|ruling| candidates.get(ruling.index)).map(|one| one.number).collect();
        (sure, (!about.is_empty()).then_some(Question::ApproveOrDeny { about }))
    }

    /// Whether an answer may have crossed another's on its way: somebody else has just settled a question, and what waits
    /// now was asked only then, by the same run.
    fn crossed(&self, pending: &[Approval], event: &IngressEvent, now: Timestamp) -> bool {
        self.last_decided.as_ref().is_some_and(|(by, at, run)| {
            *by != event.author.id
                && now.millis_since(*at) < CROSSING_MS
                && pending.iter().any(|asked| asked.created_at >= *at && asked.correlation == *run)
        })
    }

    /// Whether words can be a decision at all. What somebody else wrote, what goes with files, and what was overheard
    /// from somebody who may not decide, or was said to somebody else, decides nothing.
    fn speaks_to_us(&self, event: &IngressEvent, said: &Said, pending: &[Approval]) -> bool {
        let own_words = said.forwarded_from.is_none() && said.files.is_empty();
        let to_another = said.quoted.is_some() || said.text.trim_start().starts_with('/');
        own_words && (!said.overheard || (!to_another && self.may_answer_one(event, pending)))
    }

    /// Whether somebody may answer any of these questions.
    pub(super) fn may_answer_one(&self, event: &IngressEvent, pending: &[Approval]) -> bool {
        let (rights, author) = (&self.rules.rights, &event.author);
        pending.iter().any(|asked| rights.may_answer(&asked.requested_by, &author.id, author.standing))
    }

    fn rule(
        &mut self,
        candidates: &[Approval],
        ruling: Ruling,
        event: &IngressEvent,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) -> Option<String> {
        let approval = candidates.get(ruling.index)?;
        let decided =
            Decided { by: event.author.id.clone(), at: now, via: "text".to_owned(), reason: ruling.reason };
        let authority = Authority::Speaker(event.author.standing);
        let heard = self.answer(&approval.id, &ruling.answer, decided, authority, now, out);
        Some(match heard {
            Heard::NotOpen => self.words_of_settled(approval),
            heard => self.words_for(&heard, approval.number, &ruling.answer),
        })
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
        let (event, settled) = (&arrival.event, arrival.brought.approvals.first());
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

    /// It is an ordinary message, whatever becomes of the questions meanwhile.
    fn not_a_decision(
        &mut self,
        said: &Said,
        event: &IngressEvent,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) -> Reply {
        if said.overheard || self.pending_approvals().is_empty() {
            return Reply::Message;
        }
        if self.rules.while_waiting == WhileWaiting::Supersede {
            self.withdraw("a new message took its place", now, out);
            self.go_on(now, out);
            return Reply::Message;
        }
        if self.is_for_a_model(said, event) {
            out.push(Effect::ReadReply { message: event.message.clone(), words: said.text.clone() });
        } else {
            self.remind(out);
        }
        Reply::Message
    }

    /// Says once how the questions that wait can be answered.
    pub(super) fn remind(&mut self, out: &mut Vec<Effect>) {
        let text = Phrase::Reminder(self.pending_numbers()).say(self.language());
        let Some(run) = self.run.as_mut().filter(|run| !run.reminded) else { return };
        run.reminded = true;
        let source = format!("{}.reminder", run.correlation);
        let (correlation, reply_to) = (run.correlation.clone(), run.reply_to.clone());
        // Those who read the thread themselves see it in passing; everybody else is sent it.
        out.push(Effect::Show(Intent::Progress { text: text.clone(), call_id: None }));
        let say = vec![Spoken { source, correlation, reply_to, intent: Intent::AssistantText { text } }];
        out.push(Effect::Commit { messages: Vec::new(), say, durability: Durability::Written });
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
}

pub(super) fn as_pending(approval: &Approval) -> Pending<'_> {
    Pending {
        number: approval.number,
        id: &approval.id,
        kind: approval.kind,
        tool: &approval.tool,
        command: approval.input.get("command").and_then(serde_json::Value::as_str),
        argv: None,
    }
}
