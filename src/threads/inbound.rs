//! Prepares inbound events for the state machine: deduplication, the author's role, and look-ups in stores.

use tokio::sync::oneshot;

use super::actor::{Actor, outcome_of};
use crate::domain::{Author, AuthorRole, ChatKind, Command, IngressEvent, IngressKind, MessageId, Role};
use crate::ports::{Acceptance, RunMessage, RunOutcome, StoreError, WaitUntil};
use crate::turn::{Conversation, Event, Lookups, ReplyToken};
use crate::uimessage::UiMessage;

impl Actor {
    /// Accepts an event from an adapter or a client.
    pub(super) async fn arrive(&mut self, event: Box<IngressEvent>, reply: oneshot::Sender<Acceptance>) {
        if self.history.is_busy() && is_stop(&event) {
            // What waits for the history came before the command, which stops it.
            self.history_told(Vec::new()).await;
        }
        if let Some((event, reply)) = self.wait_for_history(event, reply).await {
            self.take_up(event, reply).await;
        }
    }

    /// Prepares an event for the state machine.
    pub(super) async fn take_up(&mut self, mut event: Box<IngressEvent>, reply: oneshot::Sender<Acceptance>) {
        if self.storage_down {
            let why = "the state directory cannot be written".to_owned();
            drop(reply.send(Acceptance::StorageFailed(why)));
            return;
        }
        self.told_room = None;
        let mut refused_agent = None;
        if event.chat == ChatKind::Group {
            self.hear_room(&event).await;
            refused_agent = self.settle_peer(&mut event).await;
            self.settle_followup(&mut event).await;
        }
        self.accept_event(event, reply).await;
        if let Some(refused) = refused_agent {
            self.tell_stop(refused).await;
        }
    }

    async fn accept_event(&mut self, mut event: Box<IngressEvent>, reply: oneshot::Sender<Acceptance>) {
        let refused = |error: StoreError| Acceptance::StorageFailed(error.to_string());
        let known = match self.knows(&event.message).await {
            Ok(known) => known,
            Err(error) => {
                drop(reply.send(refused(error)));
                return;
            }
        };
        let known = known && !self.may_follow(&event);
        if known && matches!(event.kind, IngressKind::Said(_) | IngressKind::Command(_)) {
            // A replay: accepted again, without effects.
            self.tell_room_again(&event.message).await;
            let (ticket, lookups) = (self.reply_token(reply), Lookups::default());
            self.upcoming.push_back(Event::Arrived { event, ticket, known, lookups });
            return;
        }
        self.interrupt_compaction(&event);
        event.author.role = self.role_of(&event.author).await;
        self.note_direct_chat(&event).await;
        let lookups = match self.look_up(&event).await {
            Ok(lookups) => lookups,
            Err(error) => {
                drop(reply.send(refused(error)));
                return;
            }
        };
        self.conversation.note_held(self.deliveries.end_hold());
        if matches!(&event.kind, IngressKind::Command(order) if order.command == Command::Status) {
            let names = self.others_here().await.into_iter().map(|card| card.name).collect();
            self.conversation.note_others(names);
        }
        let ticket = self.reply_token(reply);
        self.upcoming.push_back(Event::Arrived { event, ticket, known, lookups });
    }

    /// Remembers where an owner is spoken with in private.
    async fn note_direct_chat(&self, event: &IngressEvent) {
        let (author, rights) = (&event.author, &self.runtime.settings().approval_rules.rights);
        // A decision may come from a chat other than the one of its thread.
        let here = !matches!(event.kind, IngressKind::Decision(_));
        if here && event.chat == ChatKind::Direct && rights.is_owner(&author.id, author.role) {
            self.runtime.direct_chats.note(&author.id, &event.thread).await;
        }
    }

    /// The author's role, combined with the role in the access records. If they cannot be read, the person may talk,
    /// but not decide.
    async fn role_of(&self, author: &Author) -> AuthorRole {
        match self.runtime.access.role_of(&author.id).await {
            Ok(role) => author.role.with(role),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "access records unavailable");
                author.role.with(Some(Role::Guest))
            }
        }
    }

    /// The look-ups in stores that the state machine needs for this event.
    async fn look_up(&mut self, event: &IngressEvent) -> Result<Lookups, StoreError> {
        let mut lookups = Lookups::default();
        match &event.kind {
            IngressKind::Decision(decision) => {
                lookups.approvals.extend(self.runtime.approvals.get(&decision.approval).await?);
            }
            IngressKind::Said(said) => {
                lookups.approvals = self.decided_again(said.decision_text()).await?;
                lookups.approvals.extend(self.replied_to(said, &lookups.approvals).await?);
                lookups.asked_here = self.asked_here().await?;
            }
            IngressKind::Command(order) => match order.command {
                Command::Grants => lookups.words = Some(self.govern(&order.words, &event.author).await),
                Command::Budget => lookups.words = Some(self.budget_command(&order.words, event).await),
                Command::Memory => lookups.words = Some(self.memory_command(&order.words, event).await),
                Command::Forget => {
                    let (words, anew) = self.forget_command(&order.words, event).await;
                    (lookups.words, lookups.begins_anew) = (Some(words), anew);
                }
                Command::Model => lookups.words = Some(self.model_command(&order.words, event).await),
                Command::Usage => lookups.words = Some(self.usage_command(event).await),
                Command::Status => {
                    lookups.model = Some(self.model_name().await);
                    lookups.spent = self.spent_line(event);
                }
                Command::Tasks => lookups.words = Some(self.tell_tasks(&order.words, event).await),
                Command::Approve | Command::Deny => {
                    lookups.approvals = self.decided_again(&order.to_string()).await?;
                    lookups.asked_here = self.asked_here().await?;
                }
                _ => {}
            },
            IngressKind::Edited(_) if !self.conversation.remembers(&event.message) => {
                let run = self.runtime.store.run_of(&self.id, &event.message).await?;
                let theirs = |message: &UiMessage| {
                    message.id == event.message
                        && message.metadata.author_id.as_ref() == Some(&event.author.id)
                };
                lookups.earlier = run.into_iter().find(theirs).map(Box::new);
            }
            IngressKind::Edited(_)
            | IngressKind::Revised(_)
            | IngressKind::Withdrawn
            | IngressKind::Regenerate(_)
            | IngressKind::StopRun(_) => {}
        }
        Ok(lookups)
    }

    /// Accepts a message of a run for this thread.
    pub(super) async fn say(&mut self, run_message: Box<RunMessage>, reply: oneshot::Sender<Acceptance>) {
        let id = Conversation::said_by(&run_message);
        let known = match self.knows(&id).await {
            _ if self.storage_down => Err("the state directory cannot be written".to_owned()),
            Ok(known) => Ok(known),
            Err(error) => Err(error.to_string()),
        };
        match known {
            Ok(known) => {
                // What is stored already was permitted then.
                let refusal = if known { None } else { self.refuses(&run_message).await };
                if let Some(why) = refusal {
                    tracing::warn!(thread = %self.id, from = %run_message.from, why, "message of another thread refused");
                    drop(reply.send(Acceptance::Refused(why)));
                    return;
                }
                self.note_asked_here(&run_message.source);
                let ticket = self.reply_token(reply);
                self.upcoming.push_back(Event::RunMessage { run_message, ticket, known });
            }
            Err(why) => drop(reply.send(Acceptance::StorageFailed(why))),
        }
    }

    fn reply_token(&mut self, reply: oneshot::Sender<Acceptance>) -> ReplyToken {
        let ticket = ReplyToken(self.next_ticket);
        self.next_ticket += 1;
        self.tickets.insert(ticket, reply);
        ticket
    }

    pub(super) async fn knows(&self, id: &MessageId) -> Result<bool, StoreError> {
        if self.conversation.remembers(id) {
            return Ok(true);
        }
        if !self.conversation.has_older() {
            return Ok(false);
        }
        self.runtime.store.contains(&self.id, id).await
    }

    /// Sends the outcome of a message's run, once it ends.
    pub(super) async fn wait_for(
        &mut self,
        message: MessageId,
        until: WaitUntil,
        reply: oneshot::Sender<RunOutcome>,
    ) {
        let found = match self.conversation.run_of(&message) {
            Some((correlation, _)) if self.conversation.is_parked(&correlation) => {
                drop(reply.send(self.parked_outcome(&correlation)));
                return;
            }
            Some((correlation, _))
                if until == WaitUntil::Begun && self.conversation.has_begun(&correlation) =>
            {
                drop(reply.send(RunOutcome { correlation: Some(correlation), ..RunOutcome::default() }));
                return;
            }
            Some((correlation, _)) if self.conversation.is_pending(&correlation) => {
                self.waiters.add(correlation, message, until, reply);
                return;
            }
            Some((_, messages)) => messages,
            None => match self.runtime.store.run_of(&self.id, &message).await {
                Ok(messages) => messages,
                Err(error) => {
                    let cause = std::error::Error::source(&error);
                    tracing::error!(thread = %self.id, %error, ?cause, "reading a run failed");
                    drop(reply.send(self.storage_failure(None)));
                    return;
                }
            },
        };
        drop(reply.send(outcome_of(found)));
    }
}

fn is_stop(event: &IngressEvent) -> bool {
    matches!(&event.kind, IngressKind::Command(invocation) if invocation.command == Command::Stop)
}
