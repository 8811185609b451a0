//! Reads replies: which messages decide about pending questions, and what the daemon says about a decision.

use super::approvals::{AnswerOutcome, Approvals, Settlement};
use crate::domain::{
    Answer, Approval, ApprovalId, ApprovalKind, ApprovalNumber, ApprovalState, IngressEvent, ReadReplies,
    Said, Scope, ScopeKind, WhileWaiting,
};
use crate::policy::reply::{
    HintedReading, Meant, ModelHint, PendingApproval, ReadReply, ReplyQuestion, ReplyRuling,
    ask_back_from_model, chosen, raise, read,
};
use crate::policy::shell::is_plain_call;
use crate::render::Phrase;
use crate::turn::context::TurnContext;
use crate::turn::exchange::DaemonReply;
use crate::turn::runs::promotion::{PROMOTION, Proposal};
use crate::turn::runs::run::Run;
use crate::turn::{Effect, Lookups};

/// A longer text is not given to a model to classify; rules still read it.
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
        sure: Vec<(Approval, ReplyRuling)>,
        /// The approvals that it may not refer to.
        doubtful: Vec<Approval>,
    },
}

impl Approvals {
    /// Reads a message that may be an answer: approvals are pending here or were asked here, or it names settled ones.
    pub(in crate::turn) fn read(
        &self,
        said: &Said,
        event: &IngressEvent,
        lookups: &Lookups,
        ctx: &TurnContext<'_>,
    ) -> ReplyReading {
        let pending = self.pending();
        let open: Vec<Approval> = pending.iter().chain(&lookups.asked_here).cloned().collect();
        let waits = |id: &ApprovalId| open.iter().any(|asked| asked.id == *id);
        let settled = lookups.approvals.iter().filter(|named| !waits(&named.id)).cloned();
        let candidates: Vec<Approval> = open.iter().cloned().chain(settled).collect();
        if candidates.is_empty() {
            return ReplyReading::Message;
        }
        if !can_decide(event, said, &open, ctx) {
            return ReplyReading::NotADecision;
        }
        let pointed = self.pointed_at(said, &candidates);
        let reading = read_choice(said.decision_text(), pending)
            .or_else(|| read_raise(said.decision_text(), &open, pointed.place()))
            .unwrap_or_else(|| read_pointed(said.decision_text(), &candidates, pointed.place()));
        match reading {
            ReadReply::NotADecision | ReadReply::AskBack(_) if pending.is_empty() => ReplyReading::Message,
            ReadReply::NotADecision => ReplyReading::NotADecision,
            // A question about core memory is not asked again: a person who says something else has gone on.
            ReadReply::AskBack(_) if pending.iter().any(|asked| asked.tool == PROMOTION) => {
                ReplyReading::NotADecision
            }
            // A message that does not address the agent gets no question back.
            ReadReply::AskBack(_) if said.addressed.context_only => ReplyReading::Message,
            ReadReply::AskBack(question) => ReplyReading::AskBack(self.ask_back(&question, ctx)),
            ReadReply::Decide(rulings) if said.voice.is_some() => {
                self.heard(said, &rulings, &candidates, ctx)
            }
            ReadReply::Decide(rulings) => {
                self.separate(rulings, (&candidates, open.len()), pointed, event, ctx)
            }
        }
    }

    /// A decision in a transcript: recognisers confuse "approve" and "decline", so it only leads to a question back.
    fn heard(
        &self,
        said: &Said,
        rulings: &[ReplyRuling],
        candidates: &[Approval],
        ctx: &TurnContext<'_>,
    ) -> ReplyReading {
        let named = rulings.iter().filter_map(|ruling| candidates.get(ruling.index));
        let pending: Vec<&Approval> = named.filter(|approval| approval.is_pending()).collect();
        if pending.is_empty() || said.addressed.context_only {
            return ReplyReading::Message;
        }
        let question = ReplyQuestion::Heard {
            said: said.text.trim().to_owned(),
            about: pending.iter().map(|approval| approval.number).collect(),
            interrupted: pending.iter().any(|approval| approval.kind == ApprovalKind::UnknownOutcome),
        };
        ReplyReading::AskBack(self.ask_back(&question, ctx))
    }

    /// Separates the rulings that are certain from those that may not refer to the approval: a text from before the
    /// question was sent decides nothing, and an approval that is not named is meant only where no other can be, and
    /// where the author can have seen it.
    fn separate(
        &self,
        rulings: Vec<ReplyRuling>,
        (candidates, open): (&[Approval], usize),
        pointed: Pointed,
        event: &IngressEvent,
        ctx: &TurnContext<'_>,
    ) -> ReplyReading {
        let beside_settled = candidates.len() > open;
        let said = self.visibility.said_at(event.at, ctx.now);
        let seen = |question: &Approval| {
            let requested = ctx.history.requested_at(&question.correlation);
            self.visibility.can_answer(question, requested, &event.author.id, said)
        };
        let certain = |question: &Approval, ruling: &ReplyRuling| {
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
    fn ask_back(&self, question: &ReplyQuestion, ctx: &TurnContext<'_>) -> DaemonReply {
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
        let pending: Vec<PendingApproval<'_>> = self.pending().iter().map(as_pending).collect();
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

    /// Treats a message as ordinary while approvals are pending: it withdraws them, is classified by a model, or is
    /// answered with the reminder.
    pub(in crate::turn) fn not_a_decision(
        &mut self,
        said: &Said,
        event: &IngressEvent,
        run: &Run,
        ctx: &TurnContext<'_>,
    ) -> (Vec<Settlement>, Vec<Effect>) {
        if said.addressed.context_only || self.pending().is_empty() {
            return (Vec::new(), Vec::new());
        }
        // A transcript withdraws nothing that was asked for: it may have been meant as a yes.
        let supersedes = ctx.rules().while_waiting == WhileWaiting::Supersede && said.voice.is_none();
        if supersedes || run.is_promotion() {
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
            && !said.addressed.context_only
            && words
            && Self::may_answer_one(&event.author, self.pending(), ctx)
    }
}

/// The decision of a text that chooses some of the items that a promotion asks about.
fn read_choice(words: &str, pending: &[Approval]) -> Option<ReadReply> {
    let [question] = pending else { return None };
    let (_, items) = Proposal::read(&question.input).filter(|_| question.tool == PROMOTION)?;
    let kept = chosen(words, items.len())?;
    let kept = kept.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let answer = Answer::Approve(Scope::Once);
    let ruling =
        ReplyRuling { index: 0, answer, reason: Some(format!("only {kept}")), meant: Meant::Unnamed };
    Some(ReadReply::Decide(vec![ruling]))
}

/// The decision of a text that answers the question about a spend cap: the one that it names or replies to, or the only
/// question there is.
fn read_raise(words: &str, open: &[Approval], pointed: Option<usize>) -> Option<ReadReply> {
    let (number, answer) = raise(words)?;
    let named = number.map(|number| open.iter().position(|asked| asked.number == number));
    let index = match named.or(pointed.map(Some)) {
        Some(index) => index?,
        None if open.len() == 1 => 0,
        None => return None,
    };
    open.get(index).filter(|asked| asked.kind == ApprovalKind::Budget)?;
    let meant = if number.is_some() { Meant::ByItsName } else { Meant::Unnamed };
    Some(ReadReply::Decide(vec![ReplyRuling { index, answer, reason: None, meant }]))
}

/// Whether a text can be a decision at all. Forwarded or automatic messages, messages with files, messages to another
/// person, and unaddressed messages of people who may not decide are no decisions.
fn can_decide(event: &IngressEvent, said: &Said, open: &[Approval], ctx: &TurnContext<'_>) -> bool {
    let to_another = said.quoted.is_some() || said.text.trim_start().starts_with('/');
    let may = || Approvals::may_answer_one(&event.author, open, ctx);
    are_own_words(said) && (!said.addressed.context_only || (!to_another && may()))
}

fn are_own_words(said: &Said) -> bool {
    let plain = said.files.is_empty() || said.voice.is_some();
    said.forwarded_from.is_none() && !said.automatic && plain
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
fn read_pointed(words: &str, candidates: &[Approval], pointed: Option<usize>) -> ReadReply {
    let all: Vec<PendingApproval<'_>> = candidates.iter().map(as_pending).collect();
    let reading = read(words, &all);
    let names = |ruling: &ReplyRuling| ruling.meant != Meant::Unnamed;
    let named = matches!(&reading, ReadReply::Decide(rulings) if rulings.iter().any(names));
    match pointed.and_then(|index| Some((index, candidates.get(index)?))) {
        Some((index, one)) if !named => match read(words, &[as_pending(one)]) {
            ReadReply::Decide(mut rulings) => {
                rulings.iter_mut().for_each(|ruling| ruling.index = index);
                ReadReply::Decide(rulings)
            }
            _ => reading,
        },
        _ => reading,
    }
}

fn as_pending(approval: &Approval) -> PendingApproval<'_> {
    let command = approval.input.get("command").and_then(serde_json::Value::as_str);
    PendingApproval {
        number: approval.number,
        id: &approval.id,
        kind: approval.kind,
        tool: &approval.tool,
        command,
        plain: command.is_some_and(is_plain_call),
        program: approval.scopes.contains(&ScopeKind::Program),
    }
}
