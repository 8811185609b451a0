//! Reads replies: which messages decide about pending questions, and what the daemon says about a decision.

use super::approvals::{AnswerOutcome, Approvals, Settlement};
use crate::domain::{
    Answer, Approval, ApprovalId, ApprovalNumber, ApprovalState, IngressEvent, ReadReplies, Said, ScopeKind,
    WhileWaiting,
};
use crate::policy::reply::{
    HintedReading, Meant, ModelHint, Pending, Question, Reading, Ruling, ask_back_from_model, read,
};
use crate::render::Phrase;
use crate::turn::Effect;
use crate::turn::context::TurnContext;
use crate::turn::exchange::DaemonReply;
use crate::turn::runs::run::Run;

/// A longer text is a message, not an answer.
const LONGEST_REPLY: usize = 300;

/// What a message means while approvals are pending, or where it names a settled one.
pub(in crate::turn) enum ReplyReading {
    /// An ordinary message.
    Message,
    /// An ordinary message that may leave the questions open: see [`Approvals::not_a_decision`].
    NotADecision,
    /// It needs a question back.
    AskBack(DaemonReply),
    Decide {
        /// The approvals that it decides, each with the decision.
        sure: Vec<(Approval, Ruling)>,
        /// The approvals that it may not refer to.
        doubtful: Vec<Approval>,
    },
}

impl Approvals {
    /// Reads a message that may be an answer: approvals are pending, or it names settled ones.
    pub(in crate::turn) fn read(
        &self,
        said: &Said,
        event: &IngressEvent,
        named: &[Approval],
        ctx: &TurnContext<'_>,
    ) -> ReplyReading {
        let pending = self.pending();
        let waits = |id: &ApprovalId| pending.iter().any(|asked| asked.id == *id);
        let settled = named.iter().filter(|named| !waits(&named.id)).cloned();
        let candidates: Vec<Approval> = pending.iter().cloned().chain(settled).collect();
        if candidates.is_empty() {
            return ReplyReading::Message;
        }
        if !self.can_decide(event, said, ctx) {
            return ReplyReading::NotADecision;
        }
        let pointed = self.pointed_at(said, &candidates);
        match read_pointed(said.decision_text(), &candidates, pointed.place()) {
            Reading::NotADecision | Reading::AskBack(_) if pending.is_empty() => ReplyReading::Message,
            Reading::NotADecision => ReplyReading::NotADecision,
            // A message that does not address the agent gets no question back.
            Reading::AskBack(_) if said.context_only => ReplyReading::Message,
            Reading::AskBack(question) => ReplyReading::AskBack(self.ask_back(&question, ctx)),
            Reading::Decide(rulings) => self.separate(rulings, &candidates, pointed, event, ctx),
        }
    }

    /// Separates the rulings that are certain from those that may not refer to the approval: a text from before the
    /// question was sent decides nothing, and an approval that is not named is meant only where no other can be, and
    /// where the author can have seen it.
    fn separate(
        &self,
        rulings: Vec<Ruling>,
        candidates: &[Approval],
        pointed: Pointed,
        event: &IngressEvent,
        ctx: &TurnContext<'_>,
    ) -> ReplyReading {
        let beside_settled = candidates.len() > self.pending().len();
        let said = self.visibility.said_at(event.at, ctx.now);
        let seen = |question: &Approval| {
            let requested = ctx.history.requested_at(&question.correlation);
            self.visibility.can_answer(question, requested, &event.author.id, said)
        };
        let certain = |question: &Approval, ruling: &Ruling| {
            // A reply to a question is always later than it; a number may also be a guess.
            let known = said >= question.created_at;
            let meant = (ruling.meant == Meant::ByItsName && known) || pointed == Pointed::At(ruling.index);
            // The text distinguishes the approval from another one, but not whether it had been asked by then.
            let alone = ruling.meant == Meant::ByWords || !beside_settled;
            let other = !alone || pointed == Pointed::Elsewhere;
            // People who may not answer are told so in any case.
            let may = Self::may_answer_one(&event.author, std::slice::from_ref(question), ctx);
            meant || !may || (!other && seen(question))
        };
        let (mut sure, mut doubtful) = (Vec::new(), Vec::new());
        for ruling in rulings {
            let Some(question) = candidates.get(ruling.index) else { continue };
            if certain(question, &ruling) {
                sure.push((question.clone(), ruling));
            } else {
                doubtful.push(question.clone());
            }
        }
        ReplyReading::Decide { sure, doubtful }
    }

    /// A question back, with the ways to answer it on this platform.
    fn ask_back(&self, question: &Question, ctx: &TurnContext<'_>) -> DaemonReply {
        let buttons = ctx.rules().capabilities.buttons && ctx.is_push();
        let text = question.with_answers(ctx.language(), buttons);
        DaemonReply::asking(text, self.pending().iter().filter(|one| question.about().contains(&one.number)))
    }

    /// The question back that a model's classification of a reply leads to.
    pub(in crate::turn) fn ask_back_by_hint(
        &self,
        hint: &ModelHint,
        ctx: &TurnContext<'_>,
    ) -> Option<DaemonReply> {
        let pending: Vec<Pending<'_>> = self.pending().iter().map(as_pending).collect();
        match ask_back_from_model(hint, &pending) {
            HintedReading::AskBack(question) => Some(self.ask_back(&question, ctx)),
            _ => None,
        }
    }

    /// The approval whose question a message replies to.
    pub(in crate::turn) fn quoted_question(&self, said: &Said) -> Option<&ApprovalId> {
        said.quoted.as_ref().and_then(|quoted| self.visibility.shown_by(&quoted.platform_message))
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
    fn can_decide(&self, event: &IngressEvent, said: &Said, ctx: &TurnContext<'_>) -> bool {
        let to_another = said.quoted.is_some() || said.text.trim_start().starts_with('/');
        let may = || Self::may_answer_one(&event.author, self.pending(), ctx);
        are_own_words(said) && (!said.context_only || (!to_another && may()))
    }

    /// Treats a message as ordinary while approvals are pending: it withdraws them, is classified by a model, or is
    /// answered with the reminder.
    pub(in crate::turn) fn not_a_decision(
        &mut self,
        said: &Said,
        event: &IngressEvent,
        run: &Run,
        ctx: &TurnContext<'_>,
    ) -> (Vec<Settlement>, Vec<Effect>) {
        if said.context_only || self.pending().is_empty() {
            return (Vec::new(), Vec::new());
        }
        if ctx.rules().while_waiting == WhileWaiting::Supersede {
            return (self.withdraw("a new message took its place", &event.author.id, ctx), Vec::new());
        }
        if self.is_for_a_model(said, event, ctx) {
            let (message, words) = (event.message.clone(), said.text.clone());
            return (Vec::new(), vec![Effect::ReadReply { message, words }]);
        }
        (Vec::new(), self.remind(run, ctx))
    }

    /// Whether a model may classify a message without a decision: a short text of a person's own, addressed to the
    /// agent, from an author who may decide. Its result can only lead to a question back, or to the reminder that would
    /// have been sent anyway.
    fn is_for_a_model(&self, said: &Said, event: &IngressEvent, ctx: &TurnContext<'_>) -> bool {
        let short = (1..=LONGEST_REPLY).contains(&said.text.trim().chars().count());
        // `/approve` with unreadable arguments is answered as a command.
        let words = short && !said.text.trim_start().starts_with('/');
        ctx.rules().read_replies == ReadReplies::Model
            && are_own_words(said)
            && !said.context_only
            && words
            && Self::may_answer_one(&event.author, self.pending(), ctx)
    }
}

fn are_own_words(said: &Said) -> bool {
    said.forwarded_from.is_none() && !said.automatic && said.files.is_empty()
}

/// The text about a settled approval, and who decided.
pub(in crate::turn) fn words_of_settled(approval: &Approval, ctx: &TurnContext<'_>) -> String {
    let by = match &approval.state {
        ApprovalState::Approved { decided, .. }
        | ApprovalState::Spent { decided, .. }
        | ApprovalState::Denied { decided } => Some(ctx.history.name_of(&decided.by)),
        // Pending in the record, but no run waits for it: the run that asked is gone.
        ApprovalState::Pending => return Phrase::NotOpen.say(ctx.language()),
        ApprovalState::Expired { .. } | ApprovalState::Cancelled { .. } => None,
    };
    Phrase::Resolved { approval: Box::new(approval.clone()), by }.say(ctx.language())
}

/// The text about the outcome of an answer.
pub(in crate::turn) fn words_for(
    outcome: &AnswerOutcome,
    number: ApprovalNumber,
    answer: &Answer,
    ctx: &TurnContext<'_>,
) -> String {
    let phrase = match outcome {
        AnswerOutcome::Counted => Phrase::Counted { number, answer: answer.clone() },
        AnswerOutcome::CountedOnce => Phrase::ResolvedOnce { number, by: None },
        AnswerOutcome::NotOpen | AnswerOutcome::NotAnAnswer => Phrase::NotOpen,
        AnswerOutcome::NotTheirs => Phrase::NotTheirs(number),
        AnswerOutcome::TooLate => Phrase::TooLate(number),
    };
    phrase.say(ctx.language())
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

fn as_pending(approval: &Approval) -> Pending<'_> {
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
