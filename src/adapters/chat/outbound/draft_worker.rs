//! Shows the running turn of one thread on its platform: a draft of the answer, progress, the typing indicator.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::draft_state::{DraftFrame, DraftState, DraftTiming, DraftView};
use super::live_messages::{LiveMessage, LiveMessages};
use crate::domain::{CorrelationId, ThreadId};
use crate::ports::Durability;

/// How long the end of a draft waits for a view in flight.
pub(super) const VIEW_TIMEOUT: Duration = Duration::from_secs(9);
/// Idle time after which a thread's worker ends and its draft is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(3600);

/// The turn that a view belongs to.
#[derive(Clone, Debug)]
pub struct DraftTurn {
    pub thread: ThreadId,
    pub run: CorrelationId,
    /// The platform's message that the turn answers.
    pub reply_to: Option<String>,
}

/// What became of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It is not on the screen; a later one may be.
    No,
    /// It is on the screen, and leaves no message.
    Transient,
    /// This message shows it.
    In(LiveMessage),
    /// A message with it may have been sent, and cannot be edited.
    Lost,
}

/// Shows drafts on one platform.
pub trait DraftTarget: Send + Sync + 'static {
    /// A view as the platform renders it.
    type Rendered: Clone + PartialEq + Send + Sync + 'static;

    fn live_messages(&self) -> &LiveMessages;

    fn timing(&self, thread: &ThreadId) -> DraftTiming;

    /// Renders a view; `None` where it has nothing to show.
    fn render(&self, view: &DraftView) -> Option<Self::Rendered>;

    /// Shows a rendered view in the growing message, or in a new one where there is none. An edit must end within a bounded
    /// time; a new message is waited for, so that its id is known.
    fn show_view(
        &self,
        turn: &DraftTurn,
        rendered: &Self::Rendered,
        live: Option<LiveMessage>,
    ) -> impl Future<Output = Shown> + Send;

    /// Shows the typing indicator. Must end within a bounded time.
    fn show_typing(&self, _turn: &DraftTurn) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Removes the message of a turn that will not become an answer. Must end within a bounded time.
    fn discard(&self, _thread: &ThreadId, _live: LiveMessage) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// A command for one thread's worker.
pub(super) enum DraftWork {
    Show { run: CorrelationId, reply_to: Option<String>, frame: DraftFrame },
    End(CorrelationId, oneshot::Sender<()>),
    Remove(CorrelationId),
}

/// A view in flight.
#[derive(Clone, Copy, Debug)]
struct ViewInFlight {
    number: u64,
    since: Instant,
}

/// A view that the platform has answered.
struct EndedView<P> {
    number: u64,
    rendered: P,
    shown: Shown,
}

/// Shows the turn of one thread: one view at a time, only the latest, and never faster than the platform's interval.
pub(super) struct DraftWorker<T: DraftTarget> {
    thread: ThreadId,
    target: Arc<T>,
    turn: Option<DraftState<T::Rendered>>,
    /// Repeated typing frames are shown once, after all other queued commands are read.
    typing: bool,
    next_at: Instant,
    /// The view of the turn that is in flight.
    view: Option<ViewInFlight>,
    /// It, and those of turns that have ended: each is awaited, so that no message is left behind.
    views: JoinSet<EndedView<T::Rendered>>,
    started: u64,
}

impl<T: DraftTarget> DraftWorker<T> {
    pub(super) fn new(thread: ThreadId, target: Arc<T>) -> Self {
        Self {
            thread,
            target,
            turn: None,
            typing: false,
            next_at: Instant::now(),
            view: None,
            views: JoinSet::new(),
            started: 0,
        }
    }

    /// Works until nothing was queued or shown for an hour, or its queue is closed.
    pub(super) async fn run(mut self, mut work: mpsc::Receiver<DraftWork>) -> ThreadId {
        loop {
            let timing = self.target.timing(&self.thread);
            let free = self.view.is_none();
            let due = self.turn.as_ref().and_then(|turn| turn.due(timing)).filter(|_| free);
            let at = due.map(|due| due.max(self.next_at));
            tokio::select! {
                biased;
                Some(ended) = self.views.join_next() => match ended {
                    Ok(ended) => self.view_ended(ended).await,
                    Err(error) => {
                        tracing::error!(%error, "draft task failed");
                        self.view = None;
                    }
                },
                received = work.recv() => match received {
                    Some(work) => self.handle(work).await,
                    None => break,
                },
                () = std::future::ready(()), if self.typing => self.show_typing(timing).await,
                () = tokio::time::sleep_until(at.unwrap_or_else(Instant::now)), if at.is_some() => {
                    let view = self.turn.as_mut().map(DraftState::take_view);
                    if let Some(view) = view {
                        self.start_view(&view, false).await;
                    }
                }
                () = tokio::time::sleep(FORGET_AFTER), if at.is_none() && self.views.is_empty() => return self.thread,
            }
        }
        while let Some(ended) = self.views.join_next().await {
            if let Ok(ended) = ended {
                self.view_ended(ended).await;
            }
        }
        self.thread
    }

    async fn handle(&mut self, work: DraftWork) {
        match work {
            DraftWork::Show { run, reply_to, frame } => {
                // A view in flight belongs to a turn whose answer is delivered next, perhaps in the same message.
                let before = self.turn.as_ref().map(|turn| turn.run.clone());
                if let Some(before) = before.filter(|before| *before != run) {
                    self.end(&before).await;
                }
                let now = Instant::now();
                let turn = self.turn.get_or_insert_with(|| DraftState::new(run, now));
                turn.reply_to = reply_to.or(turn.reply_to.take());
                self.typing |= frame == DraftFrame::Typing;
                turn.apply(frame, now);
            }
            DraftWork::End(run, reply) => {
                self.end(&run).await;
                // The caller may be gone.
                let _received = reply.send(()).is_ok();
            }
            DraftWork::Remove(run) => {
                self.end(&run).await;
                let live = self.target.live_messages().growing(&self.thread).await;
                if let Some(live) = live.filter(|live| live.correlation == run) {
                    self.target.discard(&self.thread, live).await;
                }
            }
        }
    }

    /// Ends what is shown of a turn. The turn may go on and show something new. A view in flight is waited for, also that of
    /// another turn: what is said next stands below it.
    async fn end(&mut self, run: &CorrelationId) {
        while let Some(view) = self.view {
            match timeout_at(view.since + VIEW_TIMEOUT, self.views.join_next()).await {
                Ok(Some(Ok(ended))) => self.view_ended(ended).await,
                Ok(Some(Err(_)) | None) => self.view = None,
                Err(_) => break,
            }
        }
        if self.turn.as_ref().is_some_and(|turn| turn.run == *run) {
            // What becomes of a view that is still in flight is discarded.
            (self.turn, self.view, self.typing) = (None, None, false);
        }
    }

    async fn show_typing(&mut self, timing: DraftTiming) {
        self.typing = false;
        let Some(turn) = self.turn.as_ref().map(|turn| self.named(turn)) else { return };
        self.target.show_typing(&turn).await;
        let refreshed = self.turn.as_ref().and_then(|turn| turn.refreshed(timing, Instant::now()));
        if let Some(view) = refreshed.filter(|_| self.view.is_none()) {
            self.start_view(&view, true).await;
        }
    }

    fn named(&self, turn: &DraftState<T::Rendered>) -> DraftTurn {
        DraftTurn { thread: self.thread.clone(), run: turn.run.clone(), reply_to: turn.reply_to.clone() }
    }

    async fn start_view(&mut self, view: &DraftView, again: bool) {
        let Some(turn) = &self.turn else { return };
        let Some(rendered) = self.target.render(view) else { return };
        if turn.is_on_screen(&rendered) && !again {
            return;
        }
        let (turn, lost) = (self.named(turn), turn.lost);
        let mut live = self.target.live_messages().growing(&self.thread).await;
        if let Some(stale) = live.take_if(|live| live.correlation != turn.run) {
            // A partial answer of a turn that never ended.
            self.target.discard(&self.thread, stale).await;
        }
        if lost && live.is_none() {
            return;
        }
        self.started += 1;
        let (number, target) = (self.started, self.target.clone());
        self.view = Some(ViewInFlight { number, since: Instant::now() });
        self.views.spawn(async move {
            let shown = target.show_view(&turn, &rendered, live).await;
            EndedView { number, rendered, shown }
        });
    }

    async fn view_ended(&mut self, ended: EndedView<T::Rendered>) {
        let EndedView { number, rendered, shown } = ended;
        let now = Instant::now();
        let current = self.view.is_some_and(|view| view.number == number);
        let Some(turn) = self.turn.as_mut().filter(|_| current) else {
            // The answer was sent without it, unless the message was known: then the answer is in it.
            if let Shown::In(live) = shown {
                let known = self.target.live_messages().get(&self.thread).await;
                if known.is_none_or(|known| known.message != live.message) {
                    self.target.discard(&self.thread, live).await;
                }
            }
            return;
        };
        self.view = None;
        self.next_at = now + self.target.timing(&self.thread).between;
        match shown {
            Shown::No => {}
            Shown::Lost => turn.lost = true,
            Shown::Transient => turn.shown(rendered, now),
            Shown::In(live) => {
                turn.shown(rendered, now);
                let messages = self.target.live_messages();
                if messages.get(&self.thread).await.as_ref() != Some(&live)
                    && let Err(error) = messages.put(&self.thread, live, Durability::Written).await
                {
                    tracing::debug!(thread = %self.thread, %error, "growing message not stored");
                }
            }
        }
    }
}
