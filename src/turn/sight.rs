//! What people can have seen when they spoke. A bare yes is an answer only to a question that was before somebody's
//! eyes by then; one that was still on its way to us, or was typed for another question, must not be taken for it.
//!
//! Two clocks meet here: the platform says when somebody spoke, ours says when a question was shown. How far they are
//! apart is learned from the messages themselves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::domain::{Approval, ApprovalId, AuthorId, CorrelationId, Intent, Timestamp};
use crate::ports::ThreadRecord;
use crate::uimessage::Role;

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
    at: Timestamp,
    run: CorrelationId,
}

/// What people can have seen.
#[derive(Debug, Default)]
pub(super) struct Sight {
    /// Questions that are not before anybody's eyes yet.
    hidden: BTreeSet<ApprovalId>,
    /// Since when the others can be seen, where that is later than when they were asked.
    since: BTreeMap<ApprovalId, Timestamp>,
    /// Which question a message of the platform shows; the oldest first.
    posts: VecDeque<(String, ApprovalId)>,
    /// How much later than its own time each of the last messages came.
    lags: VecDeque<i64>,
    settled: Option<Settled>,
}

impl Sight {
    /// What can be told of a thread that is taken up: what was not delivered was not seen.
    pub(super) fn resumed(record: &ThreadRecord) -> Self {
        let hidden = record.undelivered.iter().filter_map(|entry| asked_by(&entry.intent.intent)).cloned();
        let mut sight = Self { hidden: hidden.collect(), ..Self::default() };
        // A run begins when the first of its messages comes.
        for (said, answer) in record.tail.iter().zip(record.tail.iter().skip(1)) {
            let same_run = said.metadata.correlation_id == answer.metadata.correlation_id;
            if same_run && said.role == Role::User && answer.role == Role::Assistant {
                sight.hear(said.metadata.timestamp, answer.metadata.timestamp);
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
        self.since.remove(question);
        self.hidden.insert(question.clone());
    }

    /// A question is being sent: from now on it may be seen.
    pub(super) fn show(&mut self, question: &ApprovalId, now: Timestamp) {
        self.hidden.remove(question);
        self.since.insert(question.clone(), now);
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
        self.settled = Some(Settled { by: by.cloned(), at: now, run: question.correlation.clone() });
    }

    /// When something that came now was said, by our clock and at the latest. `before` is when the request was said that
    /// led to what it answers: a platform that gives both the same time gives everything the same time, or as good as.
    pub(super) fn said_at(&self, at: Timestamp, before: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let lag = self.lags.iter().copied().min().filter(|lag| lag.unsigned_abs() <= FARTHEST_MS);
        let Some(lag) = lag.filter(|_| before != Some(at)) else { return now };
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
        let requested = requested.map(|at| self.said_at(at, None, question.created_at));
        let crosses = self.crosses(question, requested, since, by, said);
        !self.hidden.contains(&question.id) && said >= since && !crosses
    }

    /// Whether words may be for another question that has just gone, and not by the hand of whoever says them. What was
    /// requested only since then is plainly something else.
    fn crosses(
        &self,
        question: &Approval,
        requested: Option<Timestamp>,
        since: Timestamp,
        by: &AuthorId,
        said: Timestamp,
    ) -> bool {
        let Some(gone) = self.settled.as_ref().filter(|gone| gone.by.as_ref() != Some(by)) else {
            return false;
        };
        let new = question.correlation != gone.run && requested.is_some_and(|at| at >= gone.at);
        let after = question.created_at >= gone.at;
        let soon = question.created_at.millis_since(gone.at) < CROSSING_MS;
        let until = gone.at.plus_millis(CROSSING_MS).max(since.plus_millis(READING_MS));
        after && soon && !new && said < until
    }
}

/// The question that an intent asks.
pub(super) const fn asked_by(intent: &Intent) -> Option<&ApprovalId> {
    match intent {
        Intent::ApprovalRequest { approval_id, .. } => Some(approval_id),
        _ => None,
    }
}
