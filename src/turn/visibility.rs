//! What people can have seen when they spoke. Words that were said before a question was shown are no answer to it,
//! however late they come in; nor are words that were typed for another question that has just gone.
//!
//! Two clocks meet here: the platform says when somebody spoke, ours says when a question was shown. How far they are
//! apart is learned from the messages themselves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::domain::{Approval, ApprovalId, AuthorId, CorrelationId, Intent, Timestamp};
use crate::ports::ThreadRecord;
use crate::uimessage::{Role, UiMessage};

/// Two people who answer the same question do so within this time, or one of them has seen what came of it.
const CROSSING_MS: u64 = 10_000;
/// Nobody reads a question and answers it faster, where another one has just gone.
const READING_MS: u64 = 3_000;
/// A platform whose clock is further behind than this tells no time at all.
const FARTHEST_MS: i64 = 10 * 60 * 1000;
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
pub(super) struct QuestionVisibility {
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
}

impl QuestionVisibility {
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

    /// A question was asked before a restart: it may have been seen from then on, though it is sent again.
    pub(super) fn may_be_seen(&mut self, question: &Approval) {
        self.since.entry(question.id.clone()).or_insert(question.created_at);
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
    }

    /// Whoever settled the last one holds the operator's token: they go by the same name on every surface.
    pub(super) const fn settled_by_operator(&mut self) {
        if let Some(settled) = &mut self.settled {
            settled.operator = true;
        }
    }

    /// When something that came now was said, by our clock and at the latest. No message comes before it is said, so the
    /// least lag of the last messages is more than the clocks are apart.
    pub(super) fn said_at(&self, at: Timestamp, now: Timestamp) -> Timestamp {
        let lag = self.lags.iter().copied().min().filter(|lag| *lag <= FARTHEST_MS);
        let Some(lag) = lag else { return now };
        let cut = if at.as_millis() % SECOND_MS == 0 { SECOND_MS - 1 } else { 0 };
        Timestamp::from_millis(at.as_millis().saturating_add(cut).saturating_add(lag)).min(now)
    }

    /// Whether words said by somebody then can be an answer to this question. `requested` is when the request that led to
    /// it was said, by the platform's clock.
    pub(super) fn can_answer(
        &self,
        question: &Approval,
        requested: Option<Timestamp>,
        by: &AuthorId,
        said: Timestamp,
    ) -> bool {
        let since = self.since.get(&question.id).copied().unwrap_or(question.created_at);
        let requested = requested.map(|at| self.said_at(at, question.created_at));
        let crosses = self.crosses(question, requested, since, by, said);
        !self.hidden.contains(&question.id) && said >= since && !crosses
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

/// The question that an intent asks.
pub(super) const fn asked_by(intent: &Intent) -> Option<&ApprovalId> {
    match intent {
        Intent::ApprovalRequest { approval_id, .. } => Some(approval_id),
        _ => None,
    }
}
