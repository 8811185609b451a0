//! The one task that reads and writes the reply budgets, thread by thread. A grant is stored before it is returned.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::compose::TextForm;
use super::reply_budget::{Key, ReplyBudget, ReplyPriority, Reservation};
use super::scene::Scene;
use crate::domain::{ThreadId, Timestamp};
use crate::ports::{Durability, KeyValueStore};

/// How many budgets are cached; all of them are on disk.
const IN_MEMORY: usize = 512;
const BACKLOG: usize = 64;

/// A request to send a part of a delivery.
#[derive(Clone, Debug)]
pub(super) struct SendRequest {
    pub(super) thread: ThreadId,
    /// The name of the part: the same for every retry.
    pub(super) part: String,
    pub(super) reply_to: Option<String>,
    pub(super) priority: ReplyPriority,
    pub(super) form: TextForm,
    pub(super) now: Timestamp,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SendGrant {
    /// Send it under this pair.
    Send {
        scene: Scene,
        key: Key,
        seq: u32,
        form: TextForm,
    },
    Done,
    /// The budget is used up until the next message of a person.
    Wait,
    /// The budget could not be stored.
    NotStored,
}

/// The outcome of a granted part.
#[derive(Clone, Debug)]
pub(super) enum SendOutcome {
    Done,
    /// Refused, and used no reply.
    Released,
    /// Refused in its form; the next attempt uses this one.
    FormRefused(TextForm),
    /// The platform accepts no more replies to the target.
    Closed(Key),
}

#[derive(Debug)]
enum BudgetCommand {
    InboundMessage { thread: ThreadId, scene: Scene, key: Key, at: Timestamp, reply: oneshot::Sender<()> },
    Ask { request: SendRequest, reply: oneshot::Sender<SendGrant> },
    Tell { thread: ThreadId, part: String, outcome: SendOutcome, reply: oneshot::Sender<()> },
}

/// A handle of the actor. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct ReplyBudgetHandle {
    commands: mpsc::Sender<BudgetCommand>,
}

impl ReplyBudgetHandle {
    /// A handle and the actor's future, which ends when the last handle is dropped.
    pub(super) fn new(notes: Arc<dyn KeyValueStore>) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (commands, inbox) = mpsc::channel(BACKLOG);
        let actor = ReplyBudgetActor { notes, budgets: HashMap::new() };
        (Self { commands }, actor.run(inbox))
    }

    /// Adds a reply target.
    pub(super) async fn allow_replies(&self, thread: &ThreadId, scene: Scene, key: Key, at: Timestamp) {
        let thread = thread.clone();
        // The actor ends only when the daemon stops.
        let _noted = self.ask(|reply| BudgetCommand::InboundMessage { thread, scene, key, at, reply }).await;
    }

    /// Requests to send a part.
    pub(super) async fn request_send(&self, request: SendRequest) -> SendGrant {
        self.ask(|reply| BudgetCommand::Ask { request, reply }).await.unwrap_or(SendGrant::NotStored)
    }

    /// Reports the outcome of a part.
    pub(super) async fn tell(&self, thread: &ThreadId, part: &str, outcome: SendOutcome) {
        let (thread, part) = (thread.clone(), part.to_owned());
        let _noted = self.ask(|reply| BudgetCommand::Tell { thread, part, outcome, reply }).await;
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> BudgetCommand) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.ok()?;
        answer.await.ok()
    }
}

/// A required message is sent exactly once; a passing one may be lost or sent twice.
const fn durability_of(priority: ReplyPriority) -> Durability {
    match priority {
        ReplyPriority::Needed => Durability::Synced,
        ReplyPriority::Passing => Durability::Written,
    }
}

struct ReplyBudgetActor {
    notes: Arc<dyn KeyValueStore>,
    budgets: HashMap<ThreadId, ReplyBudget>,
}

impl ReplyBudgetActor {
    async fn run(mut self, mut inbox: mpsc::Receiver<BudgetCommand>) {
        while let Some(command) = inbox.recv().await {
            self.execute(command).await;
        }
    }

    /// Executes a command. The caller may be gone; the change stays stored.
    async fn execute(&mut self, command: BudgetCommand) {
        match command {
            BudgetCommand::InboundMessage { thread, scene, key, at, reply } => {
                let mut budget = self.load(&thread).await.unwrap_or_else(|| ReplyBudget::new(scene));
                budget.open(scene, key, at);
                // After a crash the resumed session repeats the message, so the target is added again.
                self.store(&thread, budget, Durability::Written).await;
                let _heard = reply.send(()).is_ok();
            }
            BudgetCommand::Ask { request, reply } => drop(reply.send(self.grant(request).await)),
            BudgetCommand::Tell { thread, part, outcome, reply } => {
                if let Some(mut budget) = self.load(&thread).await {
                    let changes_form = matches!(outcome, SendOutcome::FormRefused(_));
                    match outcome {
                        SendOutcome::Done => budget.done(&part),
                        SendOutcome::Released => budget.release(&part),
                        SendOutcome::FormRefused(next) => budget.change_form(&part, next),
                        SendOutcome::Closed(key) => budget.close(&key),
                    }
                    // A new sequence number is as binding as the first one.
                    let durability = if changes_form { Durability::Synced } else { Durability::Written };
                    self.store(&thread, budget, durability).await;
                }
                let _heard = reply.send(()).is_ok();
            }
        }
    }

    async fn grant(&mut self, request: SendRequest) -> SendGrant {
        // Without a budget not even the scene is known; the next message brings both.
        let Some(mut budget) = self.load(&request.thread).await else { return SendGrant::Wait };
        let scene = budget.scene;
        let SendRequest { thread, part, reply_to, priority, form, now } = request;
        match budget.reserve(&part, reply_to.as_deref(), priority, form, now) {
            Reservation::Send { key, seq, form } => {
                if self.store(&thread, budget, durability_of(priority)).await {
                    SendGrant::Send { scene, key, seq, form }
                } else {
                    SendGrant::NotStored
                }
            }
            Reservation::Done => SendGrant::Done,
            Reservation::Wait => SendGrant::Wait,
        }
    }

    async fn load(&mut self, thread: &ThreadId) -> Option<ReplyBudget> {
        if let Some(known) = self.budgets.get(thread) {
            return Some(known.clone());
        }
        let note = self.notes.get(&name_of(thread)).await;
        let note = note.unwrap_or_else(|error| {
            tracing::warn!(%thread, %error, "reply budget not readable");
            None
        });
        note.and_then(|note| serde_json::from_value(note).ok())
    }

    /// Stores a budget; true on success.
    async fn store(&mut self, thread: &ThreadId, budget: ReplyBudget, durability: Durability) -> bool {
        if self.budgets.len() >= IN_MEMORY {
            self.budgets.clear();
        }
        if self.budgets.get(thread).is_some_and(|known| *known == budget) {
            return true;
        }
        let written = match serde_json::to_value(&budget) {
            Ok(note) => {
                let written = self.notes.put(&name_of(thread), note, durability).await;
                written.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        match written {
            Ok(()) => {
                self.budgets.insert(thread.clone(), budget);
                true
            }
            Err(error) => {
                tracing::warn!(%thread, error, "reply budget not stored");
                // The cache must not be ahead of the disk.
                self.budgets.remove(thread);
                false
            }
        }
    }
}

fn name_of(thread: &ThreadId) -> String {
    format!("thread-{thread}")
}
