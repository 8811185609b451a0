//! `/cancel`: withdrawing questions. Whoever led to one may, and whoever may answer it; others talk here too.

use super::{Conversation, Effect};
use crate::domain::{Approval, ApprovalState, Author, Timestamp};
use crate::render::Phrase;

impl Conversation {
    /// Withdraws what somebody may withdraw, and gives the words for it.
    pub(super) fn cancel(&mut self, by: &Author, now: Timestamp, out: &mut Vec<Effect>) -> String {
        let language = self.language();
        let rights = self.rules.rights.clone();
        let may = |asked: &Approval| {
            asked.requested_by == by.id || rights.may_answer(&asked.requested_by, &by.id, by.standing)
        };
        let (theirs, others): (Vec<Approval>, Vec<Approval>) =
            self.pending_approvals().into_iter().partition(may);
        let count = theirs.len();
        for approval in theirs {
            let reason = "the user withdrew the request".to_owned();
            self.turn_down(approval, ApprovalState::Cancelled { at: now, reason }, None, out);
        }
        self.go_on(now, out);
        let refused = (!others.is_empty()).then(|| {
            Phrase::NotTheirsToWithdraw(others.iter().map(|asked| asked.number).collect()).say(language)
        });
        let withdrawn = (count > 0 || refused.is_none()).then(|| Phrase::Withdrawn(count).say(language));
        withdrawn.into_iter().chain(refused).collect::<Vec<_>>().join("\n")
    }
}
