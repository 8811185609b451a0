//! The status of a thread, for `/status`.

use crate::domain::{Language, ThreadState};
use crate::phrases::conversation;

/// The status of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub state: ThreadState,
    /// The seconds and the step of the turn, from 1.
    pub running: Option<(u64, u32)>,
    /// Messages that wait for the next turn.
    pub queued: usize,
    pub model: String,
    /// What was spent, in one line.
    pub spent: Option<String>,
    /// Replies that are not delivered yet.
    pub undelivered: usize,
    /// Entries that the platform refused until the next inbound message.
    pub held: usize,
    /// Replies that could not be delivered at all.
    pub dead: usize,
    /// The other agents in this group that are here.
    pub others: Vec<String>,
}

impl Status {
    pub(super) fn say(&self, language: Language) -> String {
        let mut lines = vec![match (self.state, self.running) {
            (ThreadState::Running, Some((seconds, step))) => {
                conversation::status_working(&duration(seconds, language), step, language)
            }
            (state, _) => conversation::status(state, language).to_owned(),
        }];
        if self.queued > 0 {
            lines.push(conversation::status_queued(self.queued, language));
        }
        if !self.model.is_empty() {
            lines.push(conversation::model(&self.model, language));
        }
        lines.extend(self.spent.clone());
        if self.undelivered > 0 {
            lines.push(conversation::status_undelivered(self.undelivered, language));
        }
        if self.held > 0 {
            lines.push(conversation::status_held(self.held, language));
        }
        if self.dead > 0 {
            lines.push(conversation::status_dead(self.dead, language));
        }
        if !self.others.is_empty() {
            lines.push(conversation::status_others(&self.others.join(", "), language));
        }
        lines.join("\n")
    }
}

/// A length of time in minutes and seconds.
pub(super) fn duration(seconds: u64, language: Language) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => conversation::seconds(seconds, language),
        (minutes, seconds) => conversation::minutes(minutes, seconds, language),
    }
}
