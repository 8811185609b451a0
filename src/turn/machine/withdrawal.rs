//! Who may end what: `/cancel` withdraws approvals, `/stop` ends a run, `/new` ends both and begins a conversation.
//! Allowed for the person who began it and for higher roles.

use crate::domain::{Approval, ApprovalState, Author, AuthorId, CorrelationId, IngressEvent, Timestamp};
use crate::render::Phrase;
use crate::turn::{Conversation, Effect};
use crate::uimessage::{Role, UiMessage};

impl Conversation {
    /// Whether a person may stop the run in flight: the authors of the messages it answers may. In a thread of one
    /// person, that person may.
    pub(in crate::turn) fn may_stop(&self, event: &IngressEvent) -> bool {
        let alone = event.chat.is_private() || self.thread.is_of_one_person();
        let Some(run) = self.run.as_ref().filter(|_| !alone) else { return true };
        let (rights, by) = (&self.rules.rights, &event.author);
        let theirs = self.who_said(&run.correlation).any(|who| *who == by.id);
        theirs || rights.may_end(self.requester().as_ref(), &by.id, by.role)
    }

    /// Whether a person may begin a new conversation, which also ends everything that waits.
    pub(in crate::turn) fn may_begin_anew(&self, event: &IngressEvent) -> bool {
        let alone = event.chat.is_private() || self.thread.is_of_one_person();
        let (rights, by) = (&self.rules.rights, &event.author);
        let mut waiting = self.waiting.iter().flat_map(|waiting| self.who_said(&waiting.correlation));
        let may_end = |who: &AuthorId| rights.may_end(Some(who), &by.id, by.role);
        alone || (self.may_stop(event) && waiting.all(may_end))
    }

    fn who_said<'a>(&'a self, run: &'a CorrelationId) -> impl Iterator<Item = &'a AuthorId> {
        let said = move |message: &&UiMessage| {
            let theirs = message.role == Role::User && !message.metadata.context;
            theirs && message.metadata.correlation_id == *run
        };
        self.history.iter().filter(said).filter_map(|message| message.metadata.author_id.as_ref())
    }

    /// Withdraws the approvals that a person may withdraw, and returns the reply text.
    pub(in crate::turn) fn cancel(&mut self, by: &Author, now: Timestamp, out: &mut Vec<Effect>) -> String {
        let language = self.language();
        let rights = self.rules.rights.clone();
        let may = |asked: &Approval| asked.requested_by == by.id || rights.may_decide(asked, &by.id, by.role);
        let (theirs, others): (Vec<Approval>, Vec<Approval>) =
            self.pending_approvals().into_iter().partition(may);
        let count = theirs.len();
        for approval in theirs {
            self.sight.settle(&approval, Some(&by.id), now);
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
