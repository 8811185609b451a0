//! What comes in, made ready for the machine: whether it is known, who speaks, and what the machine cannot know by itself.

use tokio::sync::oneshot;

use super::actor::{Actor, outcome_of};
use crate::domain::{Author, Command, IngressEvent, IngressKind, MessageId, Role, Standing};
use crate::ports::{Acceptance, RunOutcome, Saying, StoreError};
use crate::turn::{Brought, Conversation, Event, Ticket};

impl Actor {
    /// Takes something in that came from outside.
    pub(super) async fn arrive(&mut self, mut event: Box<IngressEvent>, reply: oneshot::Sender<Acceptance>) {
        let refused = |why: String| Acceptance::StorageFailed(why);
        if self.wounded {
            drop(reply.send(refused("the state directory cannot be written".to_owned())));
            return;
        }
        let known = match self.knows(&event.message).await {
            Ok(known) => known,
            Err(error) => {
                drop(reply.send(refused(error.to_string())));
                return;
            }
        };
        if known && matches!(event.kind, IngressKind::Said(_) | IngressKind::Command(_)) {
            // It was said before: nobody speaks now, and nothing of it is done again.
            let (ticket, brought) = (self.ticket(reply), Brought::default());
            self.upcoming.push_back(Event::Arrived { event, ticket, known, brought });
            return;
        }
        event.author.standing = self.standing_of(&event.author).await;
        let brought = match self.look_up(&event).await {
            Ok(brought) => brought,
            Err(error) => {
                drop(reply.send(refused(error.to_string())));
                return;
            }
        };
        self.conversation.note_held(self.deliveries.hear());
        let ticket = self.ticket(reply);
        self.upcoming.push_back(Event::Arrived { event, ticket, known, brought });
    }

    /// How somebody stands, once the access book was asked as well. While nobody can read it, those who speak may talk
    /// and no more.
    async fn standing_of(&self, author: &Author) -> Standing {
        match self.shop.access.role_of(&author.id).await {
            Ok(role) => author.standing.with(role),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the access book is out of reach");
                author.standing.with(Some(Role::Guest))
            }
        }
    }

    /// What the machine cannot know by itself, for this event.
    async fn look_up(&self, event: &IngressEvent) -> Result<Brought, StoreError> {
        let mut brought = Brought::default();
        match &event.kind {
            IngressKind::Decision(decision) => {
                brought.approvals.extend(self.shop.approvals.get(&decision.approval).await?);
            }
            IngressKind::Said(said) => {
                brought.approvals = self.decided_again(said.decision_text()).await?;
                brought.approvals.extend(self.replied_to(said, &brought.approvals).await?);
            }
            IngressKind::Command(order) => match order.command {
                Command::Grants => brought.words = Some(self.govern(&order.words, &event.author).await),
                Command::Memory => brought.words = Some(self.tell_memory(event).await),
                Command::Tasks => brought.words = Some(self.tell_tasks().await),
                Command::Approve | Command::Deny => {
                    brought.approvals = self.decided_again(&order.to_string()).await?;
                }
                _ => {}
            },
            IngressKind::Edited(_) | IngressKind::Revised(_) | IngressKind::Regenerate(_) => {}
        }
        Ok(brought)
    }

    /// Takes something in that a tool says.
    pub(super) async fn say(&mut self, saying: Box<Saying>, reply: oneshot::Sender<Acceptance>) {
        let id = Conversation::said_by(&saying);
        let known = match self.knows(&id).await {
            _ if self.wounded => Err("the state directory cannot be written".to_owned()),
            Ok(known) => Ok(known),
            Err(error) => Err(error.to_string()),
        };
        match known {
            Ok(known) => {
                let ticket = self.ticket(reply);
                self.upcoming.push_back(Event::Voiced { saying, ticket, known });
            }
            Err(why) => drop(reply.send(Acceptance::StorageFailed(why))),
        }
    }

    fn ticket(&mut self, reply: oneshot::Sender<Acceptance>) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.tickets.insert(ticket, reply);
        ticket
    }

    async fn knows(&self, id: &MessageId) -> Result<bool, StoreError> {
        if self.conversation.remembers(id) {
            return Ok(true);
        }
        if !self.conversation.has_older() {
            return Ok(false);
        }
        self.shop.store.contains(&self.id, id).await
    }

    /// Tells somebody how the run of a message ends, once it does.
    pub(super) async fn wait_for(&mut self, message: MessageId, reply: oneshot::Sender<RunOutcome>) {
        let found = match self.conversation.run_of(&message) {
            Some((correlation, _)) if self.conversation.is_parked(&correlation) => {
                drop(reply.send(self.parked_outcome(&correlation)));
                return;
            }
            Some((correlation, _)) if self.conversation.is_pending(&correlation) => {
                self.waiters.add(correlation, message, reply);
                return;
            }
            Some((_, messages)) => messages,
            None => match self.shop.store.run_of(&self.id, &message).await {
                Ok(messages) => messages,
                Err(error) => {
                    let cause = std::error::Error::source(&error);
                    tracing::error!(thread = %self.id, %error, ?cause, "a run cannot be read");
                    drop(reply.send(self.storage_failure(None)));
                    return;
                }
            },
        };
        drop(reply.send(outcome_of(found)));
    }
}
