//! An adapter that can be replaced while it runs, when its settings change.

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::{
    AgentAccount, AuthorId, Capabilities, CorrelationId, MessageId, OutboundIntent, Platform, Replaceable,
    ThreadId, Timestamp,
};
use crate::ports::{
    Adapter, AdapterIo, Attempt, BoxFuture, BuiltAdapter, Delivering, HistoryError, Hook, HookAnswer,
    HookRequest, MessageFacts, OutboxEntry, PastWords, Peers, Running,
};

/// Runs the newest of several adapters of one platform. Each ends before the next one begins, so that only one receives.
/// A delivery in progress stays with the adapter that began it.
pub struct ReloadableAdapter {
    built: Replaceable<BuiltAdapter>,
    /// Ends the run in progress for a replacement.
    running: Mutex<Option<CancellationToken>>,
    /// What the adapter was told of other agents last.
    peers: Mutex<Option<Peers>>,
}

impl ReloadableAdapter {
    pub fn new(built: BuiltAdapter) -> Arc<Self> {
        Arc::new(Self { built: Replaceable::new(built), running: Mutex::default(), peers: Mutex::default() })
    }

    /// The adapter and its hook for the supervisor and the listener.
    pub fn built(self: &Arc<Self>) -> BuiltAdapter {
        let hook = self.built.current().hook.as_ref().map(|hook| {
            Arc::new(ReloadableHook { path: hook.path().to_owned(), of: self.clone() }) as Arc<dyn Hook>
        });
        BuiltAdapter { adapter: self.clone(), hook }
    }

    /// Replaces the adapter: the run in progress ends as in a stop of the daemon, and the new one begins.
    pub fn replace(&self, built: BuiltAdapter) {
        {
            let peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(peers) = &*peers {
                built.adapter.know_peers(peers);
            }
            self.built.replace(built);
        }
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = &*running {
            token.cancel();
        }
    }

    /// Whether the platform's webhook is served at the path of this adapter.
    pub fn serves(&self, built: &BuiltAdapter) -> bool {
        let path = |built: &BuiltAdapter| built.hook.as_ref().map(|hook| hook.path().to_owned());
        path(built) == path(self.built.current())
    }

    fn adapter(&self) -> &Arc<dyn Adapter> {
        &self.built.current().adapter
    }

    /// Begins a run: the adapter, its version, and the token that a replacement cancels.
    fn begin(&self, stop: &CancellationToken) -> (Arc<dyn Adapter>, usize, CancellationToken) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let token = stop.child_token();
        *running = Some(token.clone());
        // Under the lock, so that a replacement either is this one already or finds the token.
        (self.adapter().clone(), self.built.version(), token)
    }
}

impl fmt::Debug for ReloadableAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.adapter().fmt(f)
    }
}

impl Adapter for ReloadableAdapter {
    fn platform(&self) -> Platform {
        self.adapter().platform()
    }

    fn capabilities(&self) -> Capabilities {
        self.adapter().capabilities()
    }

    fn stale_after(&self) -> Option<Duration> {
        self.adapter().stale_after()
    }

    fn run(self: Arc<Self>, io: AdapterIo, stop: CancellationToken) -> Running {
        Box::pin(async move {
            loop {
                let (adapter, version, token) = self.begin(&stop);
                let platform = adapter.platform();
                let ended = adapter.run(io.clone(), token).await;
                if stop.is_cancelled() || self.built.version() == version {
                    return ended;
                }
                tracing::info!(adapter = %platform, "adapter restarted with new settings");
            }
        })
    }

    fn deliver(&self, entry: OutboxEntry, attempt: Attempt) -> Delivering<'_> {
        self.adapter().deliver(entry, attempt)
    }

    fn message_id(&self, thread: &ThreadId, platform_message: &str) -> Option<MessageId> {
        self.adapter().message_id(thread, platform_message)
    }

    fn room(&self, thread: &ThreadId) -> Option<ThreadId> {
        self.adapter().room(thread)
    }

    fn is_group(&self, thread: &ThreadId) -> bool {
        self.adapter().is_group(thread)
    }

    fn shared_key(&self, thread: &ThreadId, message: MessageFacts<'_>) -> Option<MessageId> {
        self.adapter().shared_key(thread, message)
    }

    fn back_at(&self) -> Option<Timestamp> {
        self.adapter().back_at()
    }

    fn history(
        &self,
        thread: &ThreadId,
        most: usize,
    ) -> Option<BoxFuture<'_, Result<Vec<PastWords>, HistoryError>>> {
        self.adapter().history(thread, most)
    }

    fn account(&self) -> Option<AgentAccount> {
        self.adapter().account()
    }

    fn see_peer(&self, agent: &str, author: &AuthorId) {
        self.adapter().see_peer(agent, author);
    }

    fn know_peers(&self, peers: &Peers) {
        let mut known = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        // The own entry is told once.
        let me = peers.me.clone().or_else(|| known.take()?.me);
        *known = Some(Peers { me, ..peers.clone() });
        self.adapter().know_peers(peers);
    }

    fn show(&self, intent: OutboundIntent) {
        self.adapter().show(intent);
    }

    fn show_recording(&self, thread: &ThreadId) -> BoxFuture<'_, Infallible> {
        self.adapter().show_recording(thread)
    }

    fn over(&self, thread: &ThreadId, run: &CorrelationId) {
        self.adapter().over(thread, run);
    }
}

/// The webhook of the newest adapter.
#[derive(Debug)]
struct ReloadableHook {
    path: String,
    of: Arc<ReloadableAdapter>,
}

impl Hook for ReloadableHook {
    fn path(&self) -> &str {
        &self.path
    }

    fn call(&self, request: HookRequest) -> BoxFuture<'_, HookAnswer> {
        match &self.of.built.current().hook {
            Some(hook) => hook.call(request),
            None => Box::pin(async { HookAnswer::of(404) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;
    use tokio::task::JoinSet;

    use super::*;
    use crate::ports::{AdapterError, HealthReporter, Receipt, SystemClock, ThreadsHandle};

    /// Reports when it runs and when it was told to stop.
    #[derive(Debug)]
    struct Named(&'static str, mpsc::UnboundedSender<String>);

    impl Adapter for Named {
        fn platform(&self) -> Platform {
            "fake".parse().unwrap()
        }

        fn capabilities(&self) -> Capabilities {
            Capabilities::pull()
        }

        fn run(self: Arc<Self>, _: AdapterIo, stop: CancellationToken) -> Running {
            Box::pin(async move {
                self.1.send(format!("{} runs", self.0)).unwrap();
                stop.cancelled().await;
                self.1.send(format!("{} ends", self.0)).unwrap();
                match self.0 {
                    "broken" => Err(AdapterError::Broken("reset".to_owned())),
                    _ => Ok(()),
                }
            })
        }

        fn deliver(&self, _: OutboxEntry, _: Attempt) -> Delivering<'_> {
            let platform_message = Some(self.0.to_owned());
            Box::pin(async { Ok(Receipt { platform_message }) })
        }
    }

    #[tokio::test]
    async fn the_old_adapter_ends_before_the_new_one_runs() {
        let (events, mut seen) = mpsc::unbounded_channel();
        let built = |name| BuiltAdapter { adapter: Arc::new(Named(name, events.clone())), hook: None };
        let adapter = ReloadableAdapter::new(built("broken"));
        let io = AdapterIo {
            threads: ThreadsHandle::new(mpsc::channel(1).0),
            health: HealthReporter::new().0,
            clock: Arc::new(SystemClock),
        };
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        tasks.spawn(adapter.clone().run(io, stop.clone()));
        assert_eq!(seen.recv().await.unwrap(), "broken runs");
        adapter.replace(built("new"));
        assert_eq!(seen.recv().await.unwrap(), "broken ends");
        assert_eq!(seen.recv().await.unwrap(), "new runs");
        stop.cancel();
        assert_eq!(seen.recv().await.unwrap(), "new ends");
        assert!(tasks.join_next().await.unwrap().unwrap().is_ok());
    }
}
