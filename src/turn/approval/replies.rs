//! Handles replies to approvals: messages that decide, decisions by id, and other messages while an approval is
//! pending.

use crate::domain::{
    Answer, Approval, ApprovalId, ApprovalNumber, ApprovalState, ChatKind, CorrelationId, Decided, Decision,
    Delivery, IngressEvent, Intent, Said, ScopeKind, Timestamp, WhileWaiting,
};
use crate::policy::reply::{Meant, Pending, Question, Reading, Ruling, read};
use crate::ports::{Acceptance, Durability};
use crate::render::Phrase;
use crate::turn::approval::approvals::{AnswerOutcome, Authority};
use crate::turn::effect::Spoken;
use crate::turn::exchange::{Answered, Exchange};
use crate::turn::queue::Arrival;
use crate::turn::{Conversation, Effect};
use crate::uimessage::{Role, UiMessage};

/// What a message means while approvals are pending.
pub(in crate::turn) enum Reply {
    /// It was an answer, or needed a question back; nothing is left to do.
    Handled,
    /// It is an ordinary message.
    Message,
}

impl Conversation {
    /// Reads a message that may be an answer: approvals are pending, or it names a settled one. A decision is applied;
    /// a second decision is told who decided before; anything else is an ordinary message.
    pub(in crate::turn) fn hear(
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
        let settled = arrival.lookups.approvals.iter().filter(|named| !waits(&named.id)).cloned();
        let candidates: Vec<Approval> = pending.iter().cloned().chain(settled).collect();
        if candidates.is_empty() {
            return Reply::Message;
        }
        if !self.speaks_to_us(event, said, &pending) {
            return self.not_a_decision(said, event, now, out);
        }
        let pointed = self.pointed_at(said, &candidates);
        let reading = read_pointed(said.decision_text(), &candidates, pointed.place());
        let reply = match reading {
            Reading::NotADecision | Reading::AskBack(_) if pending.is_empty() => return Reply::Message,
            Reading::NotADecision => return self.not_a_decision(said, event, now, out),
            // A message that does not address the agent gets no question back.
            Reading::AskBack(_) if said.context_only => return Reply::Message,
            Reading::AskBack(question) => self.ask_back(&question, &pending),
            Reading::Decide(rulings) => {
                let (sure, doubtful) = self.apart(rulings, &pending, &candidates, pointed, event, now);
                let told =
                    sure.into_iter().filter_map(|ruling| self.rule(&candidates, ruling, event, now, out));
                let told: Vec<String> = told.collect();
                let asked = (!doubtful.is_empty())
                    .then(|| Phrase::WhetherMeant(doubtful.clone()).say(self.language()));
                let text = told.into_iter().chain(asked).collect::<Vec<_>>().join("\n");
                Answered::asking(text, doubtful.iter().filter(|one| one.is_pending()))
            }
        };
        let exchange = Exchange::new(&said.text, event, reply, fresh(), now);
        let correlation = exchange.record.metadata.correlation_id.clone();
        self.reply_to(exchange, Vec::new(), arrival.ticket, out);
        out.push(Effect::Finished(correlation));
        out.push(Effect::Publish);
        Reply::Handled
    }

    /// Separates the rulings that are certain from those that may not refer to the approval: a text from before the
    /// question was sent decides nothing, and an approval that is not named is meant only where no other can be, and
    /// where the author can have seen it.
    fn apart(
        &self,
        rulings: Vec<Ruling>,
        pending: &[Approval],
        candidates: &[Approval],
        pointed: Pointed,
        event: &IngressEvent,
        now: Timestamp,
    ) -> (Vec<Ruling>, Vec<Approval>) {
        let beside_settled = candidates.len() > pending.len();
        let said = self.sight.said_at(event.at, now);
        let seen = |question: &Approval| {
            self.sight.can_answer(question, self.requested_at(question), &event.author.id, said)
        };
        let certain = |ruling: &Ruling| {
            let question = candidates.get(ruling.index);
            // A reply to a question is always later than it; a number may also be a guess.
            let known = question.is_some_and(|question| said >= question.created_at);
            let meant = (ruling.meant == Meant::ByItsName && known) || pointed == Pointed::At(ruling.index);
            // The text distinguishes the approval from another one, but not whether it had been asked by then.
            let alone = ruling.meant == Meant::ByWords || !beside_settled;
            let other = !alone || pointed == Pointed::Elsewhere;
            // People who may not answer are told so in any case.
            let may = question.is_some_and(|one| self.may_answer_one(event, std::slice::from_ref(one)));
            meant || !may || (!other && question.is_some_and(seen))
        };
        let (sure, doubtful): (Vec<Ruling>, Vec<Ruling>) = rulings.into_iter().partition(certain);
        let doubtful = doubtful.iter().filter_map(|ruling| candidates.get(ruling.index)).cloned().collect();
        (sure, doubtful)
    }

    /// A question back, with the ways to answer it on this platform.
    pub(in crate::turn) fn ask_back(&self, question: &Question, pending: &[Approval]) -> Answered {
        let capabilities = &self.rules.capabilities;
        let buttons = capabilities.buttons && capabilities.delivery == Delivery::Push;
        let text = question.with_answers(self.language(), buttons);
        Answered::asking(text, pending.iter().filter(|one| question.about().contains(&one.number)))
    }

    /// When the request that led to an approval was written, by the platform's clock.
    fn requested_at(&self, question: &Approval) -> Option<Timestamp> {
        let led_to_it = |message: &&UiMessage| {
            message.role == Role::User && message.metadata.correlation_id == question.correlation
        };
        self.history.iter().find(led_to_it).map(|message| message.metadata.timestamp)
    }

    /// The approval whose question a message replies to.
    pub fn quoted_question(&self, said: &Said) -> Option<&ApprovalId> {
        said.quoted.as_ref().and_then(|quoted| self.sight.shown_by(&quoted.platform_message))
    }

    /// What a message replies to. The mapping from platform messages to approvals is lost in a restart; then the quoted
    /// text identifies the approval.
    fn pointed_at(&self, said: &Said, candidates: &[Approval]) -> Pointed {
        let Some(quoted) = &said.quoted else { return Pointed::Nowhere };
        let post = self.quoted_question(said);
        let number = number_of(&quoted.text).filter(|_| post.is_none());
        if post.is_none() && number.is_none() {
            return Pointed::Nowhere;
        }
        let is_meant = |one: &Approval| post == Some(&one.id) || number == Some(one.number);
        candidates.iter().position(is_meant).map_or(Pointed::Elsewhere, Pointed::At)
    }

    /// Whether a text can be a decision at all. Forwarded or automatic messages, messages with files, messages to
    /// another person, and unaddressed messages of people who may not decide are no decisions.
    fn speaks_to_us(&self, event: &IngressEvent, said: &Said, pending: &[Approval]) -> bool {
        let own_words = said.forwarded_from.is_none() && !said.automatic && said.files.is_empty();
        let to_another = said.quoted.is_some() || said.text.trim_start().starts_with('/');
        own_words && (!said.context_only || (!to_another && self.may_answer_one(event, pending)))
    }

    /// Whether the author may answer any of these approvals.
    pub(in crate::turn) fn may_answer_one(&self, event: &IngressEvent, pending: &[Approval]) -> bool {
        let (rights, author) = (&self.rules.rights, &event.author);
        pending.iter().any(|asked| rights.may_decide(asked, &author.id, author.role))
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
        let authority = match event.chat {
            ChatKind::Operator if approval.owners_only => Authority::Operator,
            _ => Authority::Speaker(event.author.role),
        };
        let heard = self.answer(&approval.id, &ruling.answer, decided, authority, now, out);
        Some(match heard {
            AnswerOutcome::NotOpen => self.words_of_settled(approval),
            heard => self.words_for(&heard, approval.number, &ruling.answer),
        })
    }

    /// Applies a decision by the approval's id.
    pub(in crate::turn) fn decide(
        &mut self,
        decision: &Decision,
        arrival: &Arrival,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
        out: &mut Vec<Effect>,
    ) {
        let (event, settled) = (&arrival.event, arrival.lookups.approvals.first());
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
            false => Authority::Speaker(event.author.role),
        };
        let heard = self.answer(&decision.approval, &decision.answer, decided, authority, now, out);
        let words = match settled.filter(|_| heard == AnswerOutcome::NotOpen) {
            Some(approval) => self.words_of_settled(approval),
            None => self.words_for(&heard, number.unwrap_or(ApprovalNumber(0)), &decision.answer),
        };
        if matches!(heard, AnswerOutcome::Counted | AnswerOutcome::CountedOnce) {
            let accepted = Acceptance::Accepted { message: event.message.clone(), correlation: fresh() };
            out.push(Effect::Answer(arrival.ticket, accepted));
        } else {
            out.push(Effect::Answer(arrival.ticket, Acceptance::Refused(words)));
        }
        out.push(Effect::Publish);
    }

    /// The text about a settled approval, and who decided.
    fn words_of_settled(&self, approval: &Approval) -> String {
        let by = match &approval.state {
            ApprovalState::Approved { decided, .. }
            | ApprovalState::Spent { decided, .. }
            | ApprovalState::Denied { decided } => Some(self.name_of(&decided.by)),
            // Pending in the record, but no run waits for it: the run that asked is gone.
            ApprovalState::Pending => return Phrase::NotOpen.say(self.language()),
            ApprovalState::Expired { .. } | ApprovalState::Cancelled { .. } => None,
        };
        Phrase::Resolved { approval: Box::new(approval.clone()), by }.say(self.language())
    }

    /// Treats a message as ordinary while approvals are pending.
    fn not_a_decision(
        &mut self,
        said: &Said,
        event: &IngressEvent,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) -> Reply {
        if said.context_only || self.pending_approvals().is_empty() {
            return Reply::Message;
        }
        if self.rules.while_waiting == WhileWaiting::Supersede {
            self.withdraw("a new message took its place", &event.author.id, now, out);
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

    /// Tells people once how the pending approvals can be answered.
    pub(in crate::turn) fn remind(&mut self, out: &mut Vec<Effect>) {
        let (pending, language) = (self.pending_approvals(), self.language());
        let text = Phrase::Reminder(self.pending_numbers()).say(language);
        let Some(run) = self.run.as_mut().filter(|run| !run.reminded) else { return };
        run.reminded = true;
        let source = format!("{}.reminder", run.correlation);
        let (correlation, reply_to) = (run.correlation.clone(), run.reply_to.clone());
        // Clients that read the thread get it as progress; on other platforms it is sent.
        out.push(Effect::Show(Intent::Progress { text: text.clone(), call_id: None }));
        let intent = Answered::asking(text, &pending).intent(language);
        let say = vec![Spoken { source, correlation, reply_to, intent }];
        out.push(Effect::Commit { messages: Vec::new(), say, durability: Durability::Written });
    }

    pub(in crate::turn) fn pending_numbers(&self) -> Vec<ApprovalNumber> {
        self.pending_approvals().iter().map(|approval| approval.number).collect()
    }

    fn words_for(&self, heard: &AnswerOutcome, number: ApprovalNumber, answer: &Answer) -> String {
        let phrase = match heard {
            AnswerOutcome::Counted => Phrase::Counted { number, answer: answer.clone() },
            AnswerOutcome::CountedOnce => Phrase::ResolvedOnce { number, by: None },
            AnswerOutcome::NotOpen => Phrase::NotOpen,
            AnswerOutcome::NotTheirs => Phrase::NotTheirs(number),
            AnswerOutcome::TooLate => Phrase::TooLate(number),
            AnswerOutcome::NotAnAnswer => Phrase::NotOpen,
        };
        phrase.say(self.language())
    }
}

/// What a message replies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pointed {
    Nowhere,
    /// The approval at this index.
    At(usize),
    /// An approval that is none of these.
    Elsewhere,
}

impl Pointed {
    const fn place(self) -> Option<usize> {
        match self {
            Self::At(index) => Some(index),
            Self::Nowhere | Self::Elsewhere => None,
        }
    }
}

/// The approval number of a text in the form of a question: it begins with the number and a colon, after symbols at
/// most. The author of the quoted text is unknown, and people mention numbers too.
fn number_of(text: &str) -> Option<ApprovalNumber> {
    let head = text.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    let (number, _) = head.strip_prefix('A')?.split_once([':', '：'])?;
    number.parse().ok().map(ApprovalNumber)
}

/// Reads a text as a reply to these approvals. A reply to one of them is about it, unless it names another.
fn read_pointed(words: &str, candidates: &[Approval], pointed: Option<usize>) -> Reading {
    let all: Vec<Pending<'_>> = candidates.iter().map(as_pending).collect();
    let reading = read(words, &all);
    let names = |ruling: &Ruling| ruling.meant != Meant::Unnamed;
    let named = matches!(&reading, Reading::Decide(rulings) if rulings.iter().any(names));
    match pointed.and_then(|index| Some((index, candidates.get(index)?))) {
        Some((index, one)) if !named => match read(words, &[as_pending(one)]) {
            Reading::Decide(mut rulings) => {
                rulings.iter_mut().for_each(|ruling| ruling.index = index);
                Reading::Decide(rulings)
            }
            _ => reading,
        },
        _ => reading,
    }
}

pub(in crate::turn) fn as_pending(approval: &Approval) -> Pending<'_> {
    Pending {
        number: approval.number,
        id: &approval.id,
        kind: approval.kind,
        tool: &approval.tool,
        command: approval.input.get("command").and_then(serde_json::Value::as_str),
        argv: None,
        program: approval.scopes.contains(&ScopeKind::Program),
    }
}
