//! Where approvals meet the run: judged calls become questions, and settled questions go back to their calls.

use super::conversation::Conversation;
use super::inbound::accepted_as;
use crate::domain::{
    Approval, ApprovalId, ApprovalKind, ApprovalNumber, AuthorId, ChatKind, Class, CorrelationId, Decided,
    Decision, IngressEvent, IngressKind, Intent, MessageId, RAISE_CALL, Said, Timestamp, ToolCallId,
};
use crate::policy::reply::{self, ModelHint};
use crate::ports::{Acceptance, Judgement, Ruling};
use crate::render::{GrantPhrase, Phrase};
use crate::turn::approval::approvals::{AnswerCheck, AnswerOutcome, Answered, DecisionAuthority, Settlement};
use crate::turn::approval::audit;
use crate::turn::approval::question::QuestionRequest;
use crate::turn::approval::replies::{ReplyReading, words_for, words_of_settled};
use crate::turn::context::TurnContext;
use crate::turn::exchange::{DaemonReply, Exchange};
use crate::turn::runs::open_calls::Call;
use crate::turn::runs::over_budget::CapQuestion;
use crate::turn::runs::run::Run;
use crate::turn::runs::steps::progress;
use crate::turn::user_message::user_message;
use crate::turn::{ApprovalSlot, Effect, Lookups, ReplyToken};

/// What is left of a message after it was read as a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyRead {
    /// It was an answer, or needed a question back; nothing is left to do.
    Handled,
    /// It is an ordinary message.
    Message,
}

impl ReplyRead {
    pub(super) fn is_message(self) -> bool {
        self == Self::Message
    }
}

impl Conversation {
    /// A call was judged: it may run, is refused, or a person is asked.
    pub(super) fn judged(
        &mut self,
        call: &ToolCallId,
        judgement: Judgement,
        slot: Option<ApprovalSlot>,
        now: Timestamp,
    ) -> Vec<Effect> {
        let Some(run) = self.run.as_mut() else { return Vec::new() };
        let ctx = TurnContext { settings: &self.settings, history: &self.history, now };
        let mut effects = audit::verdict(run, &self.approvals, call, &judgement, slot.as_ref(), &ctx);
        match (run.call(call), judgement.ruling.clone()) {
            (Call::Judging, Ruling::Allow(class)) => run.clear_call(call, class),
            (Call::Judging, Ruling::Deny(why)) => run.refuse_call(call, &why),
            (Call::Judging, Ruling::Ask) if run.is_promotion() && !self.queue.is_empty() => {
                run.refuse_call(call, "the conversation went on");
            }
            (Call::Judging, Ruling::Ask) => {
                effects.extend(self.ask(call, judgement, ApprovalKind::Tool, slot, now));
            }
            (Call::JudgingLost, _) => {
                effects.extend(self.ask(call, judgement, ApprovalKind::UnknownOutcome, slot, now));
            }
            (Call::Checking, _) => {
                let Some((check, saved)) = self.approvals.check(call, &judgement, now) else {
                    return effects;
                };
                effects.extend(saved);
                match check {
                    AnswerCheck::Unchanged => {
                        let start = vec![(call.clone(), Class::ProjectWritable)];
                        effects.extend(self.with_run(now, |run, ctx| run.start_calls(start, ctx)));
                        return effects;
                    }
                    AnswerCheck::Changed => {
                        effects.extend(self.ask(call, judgement, ApprovalKind::Tool, slot, now));
                    }
                    AnswerCheck::Denied(why) => run.refuse_call(call, &why),
                }
            }
            _ => return effects,
        }
        effects.extend(self.with_run(now, Run::advance_calls));
        effects.push(Effect::Publish);
        effects
    }

    /// Asks a person about a call.
    fn ask(
        &mut self,
        call: &ToolCallId,
        judgement: Judgement,
        kind: ApprovalKind,
        slot: Option<ApprovalSlot>,
        now: Timestamp,
    ) -> Vec<Effect> {
        let Some(run) = self.run.as_mut() else { return Vec::new() };
        let requester = run.asked_person().or_else(|| self.history.requester(run.correlation()));
        let (Some(requested_by), Some(slot)) = (requester, slot) else {
            run.refuse_call(call, "nobody is there to be asked");
            return Vec::new();
        };
        let Some((tool, input)) = run.request_of(call) else { return Vec::new() };
        let kind = if tool == RAISE_CALL { ApprovalKind::Budget } else { kind };
        let mut asked_in = self.history.asks_in(run.correlation(), &self.settings.thread);
        let cap = CapQuestion::read(&input).filter(|_| kind == ApprovalKind::Budget);
        for thread in cap.map(|question| question.ask_in).unwrap_or_default() {
            if thread != self.settings.thread && !asked_in.contains(&thread) {
                asked_in.push(thread);
            }
        }
        let request = QuestionRequest {
            kind,
            run: run.correlation().clone(),
            call: call.clone(),
            tool,
            input,
            requested_by,
            memory_scope: run
                .own_memory_scope()
                .unwrap_or_else(|| self.history.memory_scope(Some(run.correlation()))),
            asked_in,
        };
        let ctx = TurnContext { settings: &self.settings, history: &self.history, now };
        let question = self.approvals.ask(request, judgement, slot, &ctx);
        self.with_run(now, |run, _| run.ask(question))
    }

    /// Passes settled questions to their calls.
    fn apply(&mut self, settled: Vec<Settlement>, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        for Settlement { approval, effects: saved, notice } in settled {
            effects.extend(saved);
            effects.extend(self.with_run(now, |run, _| vec![run.resolve(&approval, notice)]));
        }
        effects
    }

    /// The same, and the run goes on if it can.
    fn settle(&mut self, settled: Vec<Settlement>, now: Timestamp) -> Vec<Effect> {
        if settled.is_empty() {
            return Vec::new();
        }
        let mut effects = self.apply(settled, now);
        effects.extend(self.with_run(now, Run::go_on));
        effects
    }

    /// Rejects approvals that were not answered in time.
    pub(super) fn expire(&mut self, now: Timestamp) -> Vec<Effect> {
        let ctx = TurnContext { settings: &self.settings, history: &self.history, now };
        let late = self.approvals.expire(&ctx);
        let mut effects = self.settle(late, now);
        if !effects.is_empty() {
            effects.push(Effect::Publish);
        }
        effects
    }

    /// Withdraws every pending approval. The run does not go on by itself.
    pub(super) fn withdraw(&mut self, why: &str, by: &AuthorId, now: Timestamp) -> Vec<Effect> {
        let ctx = TurnContext { settings: &self.settings, history: &self.history, now };
        let settled = self.approvals.withdraw(why, by, &ctx);
        self.apply(settled, now)
    }

    /// Withdraws the approvals that a person may withdraw, and returns the reply text.
    pub(super) fn cancel(&mut self, event: &IngressEvent, now: Timestamp) -> (Vec<Effect>, String) {
        let ctx = TurnContext { settings: &self.settings, history: &self.history, now };
        let (settled, reply) = self.approvals.cancel_for(&event.author, &ctx);
        (self.settle(settled, now), reply)
    }

    /// A longer yes could not be kept: the record says what holds, and so does the chat.
    pub(super) fn not_granted(&mut self, id: &ApprovalId, now: Timestamp) -> Vec<Effect> {
        let Some((approval, reason)) = self.approvals.not_granted(id) else { return Vec::new() };
        let text = GrantPhrase::NotKept(approval.number).say(self.language());
        let save = Effect::SaveApproval(Box::new(approval.clone()));
        let mut effects = vec![progress(text.clone()), save];
        let notice = Intent::AssistantText { text };
        effects.extend(self.with_run(now, |run, _| vec![run.restrict(&approval, reason, notice)]));
        effects
    }

    /// Reads a message that may be an answer. A decision is applied; a second decision is told who decided before;
    /// anything else is an ordinary message.
    pub(super) fn read_reply(
        &mut self,
        said: &Said,
        event: &IngressEvent,
        ticket: ReplyToken,
        lookups: &Lookups,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> (ReplyRead, Vec<Effect>) {
        let (reply, mut effects) = match self.approvals.read(said, event, lookups, &self.at(now)) {
            ReplyReading::Message => return (ReplyRead::Message, Vec::new()),
            ReplyReading::NotADecision => return (ReplyRead::Message, self.not_a_decision(said, event, now)),
            ReplyReading::AskBack(reply) => (reply, Vec::new()),
            ReplyReading::Decide { sure, doubtful } => {
                let (mut told, mut effects) = (Vec::new(), Vec::new());
                for (approval, ruling) in sure {
                    let (words, ruled) = self.rule(&approval, ruling, event, now);
                    told.push(words);
                    effects.extend(ruled);
                }
                let language = self.language();
                let asked =
                    (!doubtful.is_empty()).then(|| Phrase::WhetherMeant(doubtful.clone()).say(language));
                let text = told.into_iter().chain(asked).collect::<Vec<_>>().join("\n");
                (DaemonReply::asking(text, doubtful.iter().filter(|one| one.is_pending())), effects)
            }
        };
        effects.extend(self.reply_to_said(said, event, reply, ticket, now, fresh()));
        (ReplyRead::Handled, effects)
    }

    /// Commits the daemon's reply to a message. The recording of a spoken one stays in the thread.
    pub(super) fn reply_to_said(
        &mut self,
        said: &Said,
        event: &IngressEvent,
        reply: DaemonReply,
        ticket: ReplyToken,
        now: Timestamp,
        correlation: CorrelationId,
    ) -> Vec<Effect> {
        let recorded = said.voice.as_ref().and_then(|_| {
            let message = user_message(event, said, &correlation, &self.at(now));
            Exchange::instead_of(&message, reply.clone(), correlation.clone(), now)
        });
        let mut effects = match recorded {
            Some((line, exchange)) => {
                let accepted = accepted_as(ticket, event.message.clone(), correlation.clone());
                vec![self.keep(exchange, vec![line]), accepted]
            }
            None => {
                let exchange = Exchange::new(&said.text, event, reply, correlation.clone(), now);
                self.reply(exchange, Vec::new(), ticket).into()
            }
        };
        effects.extend([Effect::Finished(correlation), Effect::Publish]);
        effects
    }

    /// Commits an exchange, and tells the sender that the message was accepted.
    pub(super) fn reply(
        &mut self,
        exchange: Exchange,
        lines: Vec<crate::uimessage::UiMessage>,
        ticket: ReplyToken,
    ) -> [Effect; 2] {
        let accepted = accepted_as(ticket, exchange.record().id.clone(), exchange.correlation().clone());
        [self.keep(exchange, lines), accepted]
    }

    fn keep(&mut self, exchange: Exchange, mut lines: Vec<crate::uimessage::UiMessage>) -> Effect {
        lines.extend(self.place_run());
        let language = self.language();
        self.recorded(exchange.commit(lines, language))
    }

    fn not_a_decision(&mut self, said: &Said, event: &IngressEvent, now: Timestamp) -> Vec<Effect> {
        let Some(run) = self.run.as_ref() else { return Vec::new() };
        let ctx = TurnContext { settings: &self.settings, history: &self.history, now };
        let (settled, effects) = self.approvals.not_a_decision(said, event, run, &ctx);
        self.settle(settled, now).into_iter().chain(effects).collect()
    }

    /// Applies a decision that was made in words, and returns the text about it.
    fn rule(
        &mut self,
        approval: &Approval,
        ruling: reply::ReplyRuling,
        event: &IngressEvent,
        now: Timestamp,
    ) -> (String, Vec<Effect>) {
        if approval.thread != self.settings.thread && approval.is_pending() {
            return self.rule_elsewhere(approval, ruling, event, now);
        }
        let decided =
            Decided { by: event.author.id.clone(), at: now, via: "text".to_owned(), reason: ruling.reason };
        let authority = match event.chat {
            ChatKind::Operator if approval.owners_only => DecisionAuthority::Operator,
            _ => DecisionAuthority::Speaker(event.author.role),
        };
        let (outcome, effects) = self.answer(&approval.id, &ruling.answer, decided, authority, now);
        let ctx = self.at(now);
        let words = match outcome {
            AnswerOutcome::NotOpen => words_of_settled(approval, &ctx),
            outcome => words_for(&outcome, approval.number, &ruling.answer, &ctx),
        };
        (words, effects)
    }

    /// Passes a decision on to the thread that asks, if the person may decide.
    fn rule_elsewhere(
        &self,
        approval: &Approval,
        ruling: reply::ReplyRuling,
        event: &IngressEvent,
        now: Timestamp,
    ) -> (String, Vec<Effect>) {
        let ctx = self.at(now);
        let operator = event.chat == ChatKind::Operator;
        let rights = &ctx.rules().rights;
        let outcome = if approval.expires_at <= now {
            AnswerOutcome::TooLate
        } else if operator || rights.may_decide(approval, &event.author.id, event.author.role) {
            AnswerOutcome::Counted
        } else {
            AnswerOutcome::NotTheirs
        };
        let words = words_for(&outcome, approval.number, &ruling.answer, &ctx);
        if outcome != AnswerOutcome::Counted {
            return (words, Vec::new());
        }
        let decision = Decision {
            approval: approval.id.clone(),
            answer: ruling.answer,
            reason: ruling.reason,
            via: "text".to_owned(),
            operator,
        };
        let decided = IngressEvent {
            thread: approval.thread.clone(),
            message: MessageId::made(event.message.as_str(), &format!(".{}", approval.number)),
            kind: IngressKind::Decision(decision),
            ..event.clone()
        };
        (words, vec![Effect::DecideElsewhere(Box::new(decided))])
    }

    /// Applies a decision by the approval's id.
    pub(super) fn apply_decision(
        &mut self,
        decision: &Decision,
        event: &IngressEvent,
        ticket: ReplyToken,
        lookups: &Lookups,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Vec<Effect> {
        let asked = self.approvals.pending().iter().find(|asked| asked.id == decision.approval);
        let number = asked.map_or(ApprovalNumber(0), |asked| asked.number);
        let decided = Decided {
            by: event.author.id.clone(),
            at: now,
            via: decision.via.clone(),
            reason: decision.reason.clone(),
        };
        let authority = match decision.operator {
            true => DecisionAuthority::Operator,
            false => DecisionAuthority::Speaker(event.author.role),
        };
        let (outcome, mut effects) =
            self.answer(&decision.approval, &decision.answer, decided, authority, now);
        if matches!(outcome, AnswerOutcome::Counted | AnswerOutcome::CountedOnce) {
            effects.push(accepted_as(ticket, event.message.clone(), fresh()));
        } else {
            let ctx = self.at(now);
            let words = match lookups.approvals.first().filter(|_| outcome == AnswerOutcome::NotOpen) {
                Some(approval) => words_of_settled(approval, &ctx),
                None => words_for(&outcome, number, &decision.answer, &ctx),
            };
            effects.push(Effect::Answer(ticket, Acceptance::Refused(words)));
        }
        effects.push(Effect::Publish);
        effects
    }

    fn answer(
        &mut self,
        id: &ApprovalId,
        answer: &crate::domain::Answer,
        decided: Decided,
        authority: DecisionAuthority,
        now: Timestamp,
    ) -> (AnswerOutcome, Vec<Effect>) {
        let ctx = TurnContext { settings: &self.settings, history: &self.history, now };
        let Answered { outcome, settled, refusal } =
            self.approvals.answer(id, answer, decided, authority, &ctx);
        let mut effects = self.settle(settled, now);
        effects.extend(refusal);
        (outcome, effects)
    }

    /// Processes a model's classification of a message that waits for the next run. If it seems to be an answer, it is
    /// removed from there, and the person gets a question back.
    pub(super) fn reply_classified(
        &mut self,
        message: &MessageId,
        words: &str,
        hint: Option<&ModelHint>,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Vec<Effect> {
        let Some(run) = self.run.as_ref() else { return Vec::new() };
        if self.approvals.pending().is_empty() || !self.queue.has_message(message) {
            return Vec::new();
        }
        let ctx = TurnContext { settings: &self.settings, history: &self.history, now };
        let reply = hint.and_then(|hint| self.approvals.ask_back_by_hint(hint, &ctx));
        // A text that was edited meanwhile is not the text that was classified.
        let known = self.history.find_said(message).filter(|known| known.text() == words);
        let Some((reply, known)) = reply.zip(known) else { return self.approvals.remind(run, &ctx) };
        let alone = self.queue.is_alone(message);
        // The other waiting messages keep their run id.
        let correlation = if alone { known.metadata.correlation_id.clone() } else { fresh() };
        let Some((line, exchange)) = Exchange::instead_of(known, reply, correlation.clone(), now) else {
            return Vec::new();
        };
        self.queue.remove(message);
        let mut effects = vec![self.keep(exchange, vec![line])];
        if !alone {
            effects.push(Effect::Moved { message: message.clone(), to: correlation.clone() });
        }
        effects.extend([Effect::Finished(correlation), Effect::Publish]);
        effects
    }
}
