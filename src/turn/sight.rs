//! What people can have seen when they spoke. A bare yes is an answer only to a question that was before somebody's
//! eyes by then; one that was still on its way to us, or was typed for another question, must not be taken for it.
//!
//! Two clocks meet here: the platform says when somebody spoke, ours says when a question was shown. How far they are
//! apart is learned from the messages themselves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use crate::domain::{Approval, ApprovalId, AuthorId, CorrelationId, Intent, Timestamp};
use crate::ports::ThreadRecord;
use crate::uimessage::{Part, Role, ToolState, UiMessage};

/// Two people who answer the same question do so within this time, or one of them has seen what came of it.
const CROSSING_MS: u64 = 10_000;
/// Nobody reads a question and answers it faster, where another one has just gone.
const READING_MS: u64 = 3_000;
/// A platform whose clock is further off than this tells no time at all.
const FARTHEST_MS: u64 = 10 * 60 * 1000;
/// A time without a part of a second was cut to the second.
const SECOND_MS: i64 = 1000;
/// How many messages tell how far the clocks are apart.
const LAGS: usize = 8;
/// How many questions are known by the message that shows them.
const POSTS: usize = 64;

/// How the last question that went was settled.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Settled {
    /// By whom; nobody where it expired.
    by: Option<AuthorId>,
    /// Whether they held the operator's token.
    operator: bool,
    at: Timestamp,
    run: CorrelationId,
}

impl Settled {
    fn is_by(&self, somebody: &AuthorId) -> bool {
        let name = |id: &AuthorId| id.as_str().rsplit(':').next().map(str::to_owned);
        let one = |by: &AuthorId| by == somebody || (self.operator && name(by) == name(somebody));
        self.by.as_ref().is_some_and(one)
    }
}

/// What people can have seen.
#[derive(Debug, Default)]
pub(super) struct Sight {
    /// Questions that are not before anybody's eyes yet.
    hidden: BTreeSet<ApprovalId>,
    /// Since when the others can be seen, where that is later than when they were asked.
    since: BTreeMap<ApprovalId, Timestamp>,
    /// Questions that were sent without a word on whether they came through.
    unsure: BTreeSet<ApprovalId>,
    /// Which question a message of the platform shows; the oldest first.
    posts: VecDeque<(String, ApprovalId)>,
    /// How much later than its own time each of the last messages came.
    lags: VecDeque<i64>,
    settled: Option<Settled>,
    /// From when until when people may have spoken of questions that wait no more.
    gone: Option<RangeInclusive<Timestamp>>,
}

impl Sight {
    /// What can be told of a thread that is taken up. Which of its questions was being sent when it was left, nobody
    /// knows: any of them may have been seen.
    pub(super) fn resumed(record: &ThreadRecord) -> Self {
        let mut sight = Self::default();
        let mut runs = BTreeSet::new();
        for message in &record.tail {
            let run = &message.metadata.correlation_id;
            if message.role != Role::User || !runs.insert(run) {
                continue;
            }
            let answers =
                |other: &&UiMessage| other.role == Role::Assistant && other.metadata.correlation_id == *run;
            // A run begins when the first of its messages comes, and never before it was said.
            if let Some(answer) = record.tail.iter().find(answers) {
                let (at, began) = (message.metadata.timestamp, answer.metadata.timestamp);
                if began >= at {
                    sight.hear(at, began);
                }
            }
        }
        sight
    }

    /// A message came now that was said then, by the platform's clock.
    pub(super) fn hear(&mut self, at: Timestamp, now: Timestamp) {
        if self.lags.len() >= LAGS {
            self.lags.pop_front();
        }
        self.lags.push_back(now.as_millis().saturating_sub(at.as_millis()));
    }

    /// A question is asked that has to be sent first.
    pub(super) fn hide(&mut self, question: &ApprovalId) {
        self.hidden.insert(question.clone());
    }

    /// A question is being sent: from now on it may be seen, unless it was before.
    pub(super) fn show(&mut self, question: &ApprovalId, now: Timestamp) {
        self.hidden.remove(question);
        self.since.entry(question.clone()).or_insert(now);
    }

    /// Nobody knows whether a question came through.
    pub(super) fn doubt(&mut self, question: &ApprovalId) {
        self.unsure.insert(question.clone());
    }

    /// A question did not come through this time.
    pub(super) fn take_back(&mut self, question: &ApprovalId) {
        if !self.unsure.contains(question) {
            self.since.remove(question);
            self.hide(question);
        }
    }

    /// A question is shown by this message of the platform's.
    pub(super) fn post(&mut self, question: &ApprovalId, platform_message: &str) {
        if self.posts.len() >= POSTS {
            self.posts.pop_front();
        }
        self.posts.push_back((platform_message.to_owned(), question.clone()));
    }

    /// The question that a message of the platform's shows.
    pub(super) fn shown_by(&self, platform_message: &str) -> Option<&ApprovalId> {
        self.posts.iter().rev().find(|(post, _)| post == platform_message).map(|(_, question)| question)
    }

    /// A question waits no more.
    pub(super) fn settle(&mut self, question: &Approval, by: Option<&AuthorId>, now: Timestamp) {
        self.hidden.remove(&question.id);
        self.since.remove(&question.id);
        self.unsure.remove(&question.id);
        let run = question.correlation.clone();
        self.settled = Some(Settled { by: by.cloned(), operator: false, at: now, run });
        self.went(question.created_at, now.plus_millis(CROSSING_MS));
    }

    /// Whoever settled the last one holds the operator's token: they go by the same name on every surface.
    pub(super) const fn settled_by_operator(&mut self) {
        if let Some(settled) = &mut self.settled {
            settled.operator = true;
        }
    }

    /// A thread is taken up now. What became of its earlier questions, and when, is not known any more.
    pub(super) fn take_up(&mut self, history: &[UiMessage], now: Timestamp) {
        let asked = history.iter().find(|message| message.parts.iter().any(has_gone));
        if let Some(first) = asked {
            self.went(first.metadata.timestamp, now);
        }
    }

    /// Questions were open from then on that nobody speaks of any more after that.
    fn went(&mut self, first: Timestamp, last: Timestamp) {
        self.gone = Some(match &self.gone {
            Some(known) => first.min(*known.start())..=last.max(*known.end()),
            None => first..=last,
        });
    }

    /// When something that came now was said, by our clock and at the latest. `before` is when the request was said that
    /// led to what it answers: a platform that gives both the same time gives everything the same time, or as good as, and
    /// what is said before its request tells no time, unless it is late and about something else.
    pub(super) fn said_at(&self, at: Timestamp, before: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let lag = self.lags.iter().copied().min().filter(|lag| lag.unsigned_abs() <= FARTHEST_MS);
        let Some(lag) = lag.filter(|_| before != Some(at)) else { return now };
        let cut = if at.as_millis() % SECOND_MS == 0 { SECOND_MS - 1 } else { 0 };
        let said = Timestamp::from_millis(at.as_millis().saturating_add(cut).saturating_add(lag)).min(now);
        let timeless = before.is_some_and(|before| at < before) && !self.may_be_for_one_gone(said);
        if timeless { now } else { said }
    }

    /// Whether words said by somebody then can be an answer to this question. `requested` is when the request that led to
    /// it was said, by the platform's clock; `others` is since when others are open.
    pub(super) fn can_answer(
        &self,
        question: &Approval,
        requested: Option<Timestamp>,
        others: Option<Timestamp>,
        by: &AuthorId,
        said: Timestamp,
    ) -> bool {
        let since = self.since.get(&question.id).copied().unwrap_or(question.created_at);
        let requested = requested.map(|at| self.said_at(at, None, question.created_at));
        // Where there never was another one, what seems to be said before it is an answer by a clock that is off.
        let another = self.may_be_for_one_gone(said) || others.is_some_and(|others| said >= others);
        let before = said < since && another;
        let crosses = self.crosses(question, requested, since, by, said);
        !self.hidden.contains(&question.id) && !before && !crosses
    }

    /// Whether words said then may have been for a question that waits no more.
    fn may_be_for_one_gone(&self, said: Timestamp) -> bool {
        self.gone.as_ref().is_some_and(|gone| gone.contains(&said))
    }

    /// Whether words may be for another question that has just gone, and not by the hand of whoever says them. What was
    /// requested only since then is plainly something else to whoever did, and to others once they can have read it.
    fn crosses(
        &self,
        question: &Approval,
        requested: Option<Timestamp>,
        since: Timestamp,
        by: &AuthorId,
        said: Timestamp,
    ) -> bool {
        let Some(gone) = self.settled.as_ref().filter(|gone| !gone.is_by(by)) else {
            return false;
        };
        let new = question.correlation != gone.run && requested.is_some_and(|at| at >= gone.at);
        let after = question.created_at >= gone.at;
        let soon = question.created_at.millis_since(gone.at) < CROSSING_MS;
        let read = since.plus_millis(READING_MS);
        let until = if new { read } else { gone.at.plus_millis(CROSSING_MS).max(read) };
        let their_own = new && question.requested_by == *by;
        after && soon && !their_own && said < until
    }
}

/// Whether a part of a message is a call that somebody was asked about, and is not any more.
const fn has_gone(part: &Part) -> bool {
    let Part::Tool(tool) = part else { return false };
    match &tool.state {
        ToolState::ApprovalResponded { .. } | ToolState::OutputDenied { .. } => true,
        ToolState::OutputAvailable { approval, .. } | ToolState::OutputError { approval, .. } => {
            approval.is_some()
        }
        _ => false,
    }
}

/// The question that an intent asks.
pub(super) const fn asked_by(intent: &Intent) -> Option<&ApprovalId> {
    match intent {
        Intent::ApprovalRequest { approval_id, .. } => Some(approval_id),
        _ => None,
    }
}
