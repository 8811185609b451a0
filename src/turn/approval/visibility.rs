//! Tracks which questions people can have seen when they wrote. A text that was written before a question was shown is
//! no answer to it, however late it arrives; nor is a text that was typed for another question that was just settled.
//!
//! Two clocks are involved: the platform dates messages, and the daemon dates questions. Their difference is estimated
//! from the messages themselves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::domain::{Approval, ApprovalId, AuthorId, CorrelationId, Intent, Timestamp};
use crate::ports::ThreadRecord;
use crate::uimessage::{Role, UiMessage};

/// Two people answer the same question within this time, or the second has seen the first answer.
const CROSSING_MS: u64 = 10_000;
/// Shortest time to read and answer a question right after another one was settled.
const READING_MS: u64 = 3_000;
/// A platform clock that is further behind than this is ignored.
const FARTHEST_MS: i64 = 10 * 60 * 1000;
/// A time without milliseconds was truncated to the second.
const SECOND_MS: i64 = 1000;
/// How many messages the clock difference is estimated from.
const LAGS: usize = 8;
/// Most questions whose platform message is remembered.
const POSTS: usize = 64;

/// How the last question was settled.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Settled {
    /// By whom; `None` where it expired.
    by: Option<AuthorId>,
    /// Whether that person held the operator's token.
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

/// Which questions people can have seen.
#[derive(Debug, Default)]
pub(in crate::turn) struct QuestionVisibility {
    /// Questions that were not sent yet.
    hidden: BTreeSet<ApprovalId>,
    /// Since when the others can be seen, where that is later than when they were asked.
    since: BTreeMap<ApprovalId, Timestamp>,
    /// Questions that were sent without a response.
    unsure: BTreeSet<ApprovalId>,
    /// Which approval a platform message shows; oldest first.
    posts: VecDeque<(String, ApprovalId)>,
    /// The delay of each of the last messages.
    lags: VecDeque<i64>,
    settled: Option<Settled>,
}

impl QuestionVisibility {
    /// The state of a resumed thread. It is unknown which questions were being sent at the crash: any of them may have
    /// been seen.
    pub(in crate::turn) fn resumed(record: &ThreadRecord) -> Self {
        let mut visibility = Self::default();
        let mut runs = BTreeSet::new();
        for message in &record.tail {
            let run = &message.metadata.correlation_id;
            if message.role != Role::User || !runs.insert(run) {
                continue;
            }
            let answers =
                |other: &&UiMessage| other.role == Role::Assistant && other.metadata.correlation_id == *run;
            // A run begins when the first of its messages arrives, and never before it was written.
            if let Some(answer) = record.tail.iter().find(answers) {
                let (at, began) = (message.metadata.timestamp, answer.metadata.timestamp);
                if began >= at {
                    visibility.note_message(at, began);
                }
            }
        }
        visibility
    }

    /// Records the delay of a message that was written at `at` by the platform's clock.
    pub(super) fn note_message(&mut self, at: Timestamp, now: Timestamp) {
        if self.lags.len() >= LAGS {
            self.lags.pop_front();
        }
        self.lags.push_back(now.as_millis().saturating_sub(at.as_millis()));
    }

    /// A new question that must be sent first.
    pub(super) fn hide(&mut self, question: &ApprovalId) {
        self.hidden.insert(question.clone());
    }

    /// A question is being sent: from now on it may be seen.
    pub(super) fn show(&mut self, question: &ApprovalId, now: Timestamp) {
        self.hidden.remove(question);
        self.since.entry(question.clone()).or_insert(now);
    }

    /// A question from before a restart: it may have been seen since then, though it is sent again.
    pub(super) fn may_be_seen(&mut self, question: &Approval) {
        self.since.entry(question.id.clone()).or_insert(question.created_at);
    }

    /// A send without a response: the question may have been shown.
    pub(super) fn doubt(&mut self, question: &ApprovalId) {
        self.unsure.insert(question.clone());
    }

    /// A send failed: the question was not shown this time.
    pub(super) fn take_back(&mut self, question: &ApprovalId) {
        if !self.unsure.contains(question) {
            self.since.remove(question);
            self.hide(question);
        }
    }

    /// A platform message shows a question.
    pub(super) fn post(&mut self, question: &ApprovalId, platform_message: &str) {
        if self.posts.len() >= POSTS {
            self.posts.pop_front();
        }
        self.posts.push_back((platform_message.to_owned(), question.clone()));
    }

    /// The approval that a platform message shows.
    pub(super) fn shown_by(&self, platform_message: &str) -> Option<&ApprovalId> {
        self.posts.iter().rev().find(|(post, _)| post == platform_message).map(|(_, question)| question)
    }

    pub(super) fn settle(&mut self, question: &Approval, by: Option<&AuthorId>, now: Timestamp) {
        self.hidden.remove(&question.id);
        self.since.remove(&question.id);
        self.unsure.remove(&question.id);
        let run = question.correlation.clone();
        self.settled = Some(Settled { by: by.cloned(), operator: false, at: now, run });
    }

    /// The person who settled the last question holds the operator's token: they have the same name on every surface.
    pub(super) const fn settled_by_operator(&mut self) {
        if let Some(settled) = &mut self.settled {
            settled.operator = true;
        }
    }

    /// The latest time, by our clock, at which a message that arrived now can have been written. No message arrives
    /// before it is written, so the smallest delay of the last messages is an upper bound of the clock difference.
    pub(in crate::turn) fn said_at(&self, at: Timestamp, now: Timestamp) -> Timestamp {
        let lag = self.lags.iter().copied().min().filter(|lag| *lag <= FARTHEST_MS);
        let Some(lag) = lag else { return now };
        let cut = if at.as_millis() % SECOND_MS == 0 { SECOND_MS - 1 } else { 0 };
        Timestamp::from_millis(at.as_millis().saturating_add(cut).saturating_add(lag)).min(now)
    }

    /// Whether a text that a person wrote at that time can answer this question. `requested` is when the request that
    /// led to it was written, by the platform's clock.
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

    /// Whether a text may be meant for another question that a different person has just settled. A question whose
    /// request is newer than that settlement is clearly different for its requester, and for others once they can have
    /// read it.
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

/// The approval that an intent asks for.
pub(super) const fn asked_by(intent: &Intent) -> Option<&ApprovalId> {
    match intent {
        Intent::ApprovalRequest { approval_id, .. } => Some(approval_id),
        _ => None,
    }
}
