//! The one task that reads and writes the reply budgets, thread by thread. A grant is stored before it is returned.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::compose::TextForm;
use super::reply_budget::{Key, ReplyBudget, ReplyPriority, Reservation};
use super::scene::Scene;
use crate::domain::{ThreadId, Timestamp};
use crate::ports::KeyValueStore;

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
    pub(super) weight: ReplyPriority,
    /// The preferred form.
    pub(super) form: TextForm,
    pub(super) now: Timestamp,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SendGrant {
    /// Send it under this pair.
    Send {
        scene: Scene,
        /// The reply target.
        key: Key,
        seq: u32,
        form: TextForm,
    },
    Done,
    /// The budget is used up until the next message of a person.
    Wait,
    /// The budget could not be stored.
    Unsure,
}

/// The outcome of a granted part.
#[derive(Clone, Debug)]
pub(super) enum SendOutcome {
    Done,
    /// Refused, and used no reply.
    Released,
    /// Refused in its form, and sent in this one.
    Recast(TextForm),
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
    orders: mpsc::Sender<BudgetCommand>,
}

impl ReplyBudgetHandle {
    /// A handle and the actor's future, which ends when the last handle is dropped.
    pub(super) fn new(notes: Arc<dyn KeyValueStore>) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (orders, inbox) = mpsc::channel(BACKLOG);
        let actor = ReplyBudgetActor { notes, accounts: HashMap::new() };
        (Self { orders }, actor.work(inbox))
    }

    /// Adds a reply target.
    pub(super) async fn allow_replies(&self, thread: &ThreadId, scene: Scene, key: Key, at: Timestamp) {
        let thread = thread.clone();
        // The actor ends only when the daemon stops.
        let _noted = self.ask(|reply| BudgetCommand::InboundMessage { thread, scene, key, at, reply }).await;
    }

    /// Requests to send a part.
    pub(super) async fn request_send(&self, request: SendRequest) -> SendGrant {
        self.ask(|reply| BudgetCommand::Ask { request, reply }).await.unwrap_or(SendGrant::Unsure)
    }

    /// Reports the outcome of a part.
    pub(super) async fn tell(&self, thread: &ThreadId, part: &str, outcome: SendOutcome) {
        let (thread, part) = (thread.clone(), part.to_owned());
        let _noted = self.ask(|reply| BudgetCommand::Tell { thread, part, outcome, reply }).await;
    }

    async fn ask<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> BudgetCommand) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(order(reply)).await.ok()?;
        answer.await.ok()
    }
}

/// Which failure a stored budget must survive.
#[derive(Clone, Copy, Debug)]
enum BudgetDurability {
    /// A process crash.
    Process,
    /// A power loss.
    Disk,
}

/// A required message is sent exactly once; a passing one may be lost or sent twice.
const fn sure(weight: ReplyPriority) -> BudgetDurability {
    match weight {
        ReplyPriority::Needed => BudgetDurability::Disk,
        ReplyPriority::Passing => BudgetDurability::Process,
    }
}

struct ReplyBudgetActor {
    notes: Arc<dyn KeyValueStore>,
    accounts: HashMap<ThreadId, ReplyBudget>,
}

impl ReplyBudgetActor {
    async fn work(mut self, mut inbox: mpsc::Receiver<BudgetCommand>) {
        while let Some(order) = inbox.recv().await {
            self.obey(order).await;
        }
    }

    /// Executes a command. The caller may be gone; the change stays stored.
    async fn obey(&mut self, order: BudgetCommand) {
        match order {
            BudgetCommand::InboundMessage { thread, scene, key, at, reply } => {
                let mut account = self.account(&thread).await.unwrap_or_else(|| ReplyBudget::new(scene));
                account.open(scene, key, at);
                // After a crash the resumed session repeats the message, so the target is added again.
                self.keep(&thread, account, BudgetDurability::Process).await;
                let _heard = reply.send(()).is_ok();
            }
            BudgetCommand::Ask { request, reply } => drop(reply.send(self.grant(request).await)),
            BudgetCommand::Tell { thread, part, outcome, reply } => {
                if let Some(mut account) = self.account(&thread).await {
                    let recast = matches!(outcome, SendOutcome::Recast(_));
                    match outcome {
                        SendOutcome::Done => account.done(&part),
                        SendOutcome::Released => account.release(&part),
                        SendOutcome::Recast(form) => account.recast(&part, form),
                        SendOutcome::Closed(key) => account.close(&key),
                    }
                    // A new sequence number is as binding as the first one.
                    let how = if recast { BudgetDurability::Disk } else { BudgetDurability::Process };
                    self.keep(&thread, account, how).await;
                }
                let _heard = reply.send(()).is_ok();
            }
        }
    }

    async fn grant(&mut self, request: SendRequest) -> SendGrant {
        // Without a budget not even the scene is known; the next message brings both.
        let Some(mut account) = self.account(&request.thread).await else { return SendGrant::Wait };
        let scene = account.scene;
        let SendRequest { thread, part, reply_to, weight, form, now } = request;
        match account.reserve(&part, reply_to.as_deref(), weight, form, now) {
            Reservation::Send { key, seq, form } => {
                if self.keep(&thread, account, sure(weight)).await {
                    SendGrant::Send { scene, key, seq, form }
                } else {
                    SendGrant::Unsure
                }
            }
            Reservation::Done => SendGrant::Done,
            Reservation::Wait => SendGrant::Wait,
        }
    }

    async fn account(&mut self, thread: &ThreadId) -> Option<ReplyBudget> {
        if let Some(known) = self.accounts.get(thread) {
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
    async fn keep(&mut self, thread: &ThreadId, account: ReplyBudget, how: BudgetDurability) -> bool {
        if self.accounts.len() >= IN_MEMORY {
            self.accounts.clear();
        }
        if self.accounts.get(thread).is_some_and(|known| *known == account) {
            return true;
        }
        let written = match serde_json::to_value(&account) {
            Ok(note) => {
                let name = name_of(thread);
                let written = match how {
                    BudgetDurability::Process => self.notes.put(&name, note).await,
                    BudgetDurability::Disk => self.notes.keep(&name, note).await,
                };
                written.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        match written {
            Ok(()) => {
                self.accounts.insert(thread.clone(), account);
                true
            }
            Err(error) => {
                tracing::warn!(%thread, error, "reply budget not stored");
                // The cache must not be ahead of the disk.
                self.accounts.remove(thread);
                false
            }
        }
    }
}

fn name_of(thread: &ThreadId) -> String {
    format!("thread-{thread}")
}
