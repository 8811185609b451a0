//! Shows the transient state of a running turn: the draft of the answer, progress, the typing indicator.
//!
//! Each thread has a worker that owns what is shown of its turn. Frames may be dropped: a later one replaces an earlier
//! one. The delivery of the answer first ends the draft, so that no late frame can follow it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::draft_state::{DraftFrame, DraftState, DraftTiming, DraftView};
use super::live_messages::{LiveMessage, LiveMessages};
use crate::domain::{CorrelationId, OutboundIntent, ThreadId};
use crate::ports::Durability;

/// Most queued frames; further ones are dropped.
const BACKLOG: usize = 1024;
/// Capacity of one thread's queue, and the part of it that is reserved for commands other than frames.
const FRAMES: usize = 32;
const RESERVED: usize = 8;
/// How long a delivery waits for the end of a draft, and how much of that for a view in flight.
const PATIENCE: Duration = Duration::from_secs(12);
const VIEW_WITHIN: Duration = Duration::from_secs(9);
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
    Fleeting,
    /// This message shows it.
    In(LiveMessage),
    /// A message with it may have been sent, and cannot be edited.
    Lost,
}

/// Shows drafts on one platform.
pub trait DraftTarget: Send + Sync + 'static {
    /// A view as the platform renders it.
    type Picture: Clone + PartialEq + Send + Sync + 'static;

    fn live_messages(&self) -> &LiveMessages;

    fn timing(&self, thread: &ThreadId) -> DraftTiming;

    /// Renders a view; `None` where it has nothing to show.
    fn picture(&self, view: &DraftView) -> Option<Self::Picture>;

    /// Shows a picture in the growing message, or in a new one where there is none. An edit must end within a bounded
    /// time; a new message is waited for, so that its id is known.
    fn show_view(
        &self,
        turn: &DraftTurn,
        picture: &Self::Picture,
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

enum DraftCommand {
    Show(Box<OutboundIntent>),
    Take(ThreadId, CorrelationId, oneshot::Sender<()>),
    Over(ThreadId, CorrelationId),
}

/// A handle of the scheduler. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DraftScheduler {
    commands: mpsc::Sender<DraftCommand>,
}

/// The scheduler's task, to be run by its owner.
pub struct DraftTask {
    commands: mpsc::Receiver<DraftCommand>,
}

impl std::fmt::Debug for DraftTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DraftTask")
    }
}

impl DraftScheduler {
    /// A handle and the task to run.
    pub fn new() -> (Self, DraftTask) {
        let (commands, receiver) = mpsc::channel(BACKLOG);
        (Self { commands }, DraftTask { commands: receiver })
    }

    /// Shows a transient intent; ignores any other. Never waits.
    pub fn show(&self, intent: OutboundIntent) {
        // The rest of the queue is for the commands that end a draft.
        if self.commands.capacity() > RESERVED {
            drop(self.commands.try_send(DraftCommand::Show(Box::new(intent))));
        } else {
            tracing::debug!(thread = %intent.thread_id, reason = "queue full", "draft frame dropped");
        }
    }

    /// Removes the draft of a turn that ended without an answer. Never waits; a later delivery waits for the removal.
    pub fn over(&self, thread: &ThreadId, run: &CorrelationId) {
        if self.commands.try_send(DraftCommand::Over(thread.clone(), run.clone())).is_err() {
            tracing::warn!(%thread, reason = "queue full", "draft not removed");
        }
    }

    /// Ends the draft of a turn: nothing of the turn so far is shown afterwards, and its growing message is known.
    pub async fn take(&self, thread: &ThreadId, run: &CorrelationId) {
        let (reply, answer) = oneshot::channel();
        let command = DraftCommand::Take(thread.clone(), run.clone(), reply);
        let taken = async {
            self.commands.send(command).await.ok()?;
            answer.await.ok()
        };
        // The task does not run while the adapter restarts: then nothing is shown.
        let _taken = tokio::time::timeout(PATIENCE, taken).await;
    }
}

/// A command for one thread's worker.
enum DraftWork {
    Show { run: CorrelationId, reply_to: Option<String>, frame: DraftFrame },
    Take(CorrelationId, oneshot::Sender<()>),
    Over(CorrelationId),
}

impl DraftTask {
    /// Shows drafts until stopped or dropped. It can be run again.
    pub async fn run<T: DraftTarget>(&mut self, target: Arc<T>, stop: CancellationToken) {
        let mut workers = DraftWorkers { target, workers: HashMap::new(), tasks: JoinSet::new() };
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Some(ended) = workers.tasks.join_next() => workers.ended(ended.ok()),
                command = self.commands.recv() => match command {
                    Some(DraftCommand::Show(intent)) => workers.show(*intent),
                    Some(DraftCommand::Take(thread, run, reply)) => workers.take(&thread, run, reply),
                    Some(DraftCommand::Over(thread, run)) => workers.over(thread, run),
                    None => return,
                },
            }
        }
    }
}

/// The workers, one for each thread with something to show.
struct DraftWorkers<T> {
    target: Arc<T>,
    workers: HashMap<ThreadId, mpsc::Sender<DraftWork>>,
    tasks: JoinSet<ThreadId>,
}

impl<T: DraftTarget> DraftWorkers<T> {
    fn show(&mut self, intent: OutboundIntent) {
        let Some(frame) = DraftFrame::of(intent.intent) else { return };
        let worker = self.worker(intent.thread_id);
        // A slow worker gets fewer frames; there is always room for the command that takes its draft.
        if worker.capacity() > RESERVED {
            let (run, reply_to) = (intent.correlation_id, intent.reply_to);
            drop(worker.try_send(DraftWork::Show { run, reply_to, frame }));
        }
    }

    fn take(&self, thread: &ThreadId, run: CorrelationId, reply: oneshot::Sender<()>) {
        // Without a worker, and where the queue is full, `reply` is dropped, and the caller goes on.
        if let Some(worker) = self.workers.get(thread) {
            drop(worker.try_send(DraftWork::Take(run, reply)));
        }
    }

    fn over(&mut self, thread: ThreadId, run: CorrelationId) {
        // Also where no frame was rendered yet: an earlier process may have left the message.
        drop(self.worker(thread).try_send(DraftWork::Over(run)));
    }

    fn worker(&mut self, thread: ThreadId) -> mpsc::Sender<DraftWork> {
        match self.workers.get(&thread).filter(|worker| !worker.is_closed()) {
            Some(worker) => worker.clone(),
            None => self.start(thread),
        }
    }

    fn start(&mut self, thread: ThreadId) -> mpsc::Sender<DraftWork> {
        let (work, receiver) = mpsc::channel(FRAMES);
        self.workers.insert(thread.clone(), work.clone());
        let worker = DraftWorker {
            thread,
            target: self.target.clone(),
            turn: None,
            typing: false,
            next_at: Instant::now(),
            view: None,
            views: JoinSet::new(),
            started: 0,
        };
        self.tasks.spawn(worker.run(receiver));
        work
    }

    fn ended(&mut self, thread: Option<ThreadId>) {
        // A thread that got a new worker meanwhile keeps it.
        if let Some(thread) = thread
            && self.workers.get(&thread).is_some_and(mpsc::Sender::is_closed)
        {
            self.workers.remove(&thread);
        }
    }
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
    picture: P,
    shown: Shown,
}

/// Shows the turn of one thread: one view at a time, only the latest, and never faster than the platform's interval.
struct DraftWorker<T: DraftTarget> {
    thread: ThreadId,
    target: Arc<T>,
    turn: Option<DraftState<T::Picture>>,
    /// Repeated typing frames are shown once, after all other queued commands are read.
    typing: bool,
    next_at: Instant,
    /// The view of the turn that is in flight.
    view: Option<ViewInFlight>,
    /// It, and those of turns that have ended: each is awaited, so that no message is left behind.
    views: JoinSet<EndedView<T::Picture>>,
    started: u64,
}

impl<T: DraftTarget> DraftWorker<T> {
    async fn run(mut self, mut work: mpsc::Receiver<DraftWork>) -> ThreadId {
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
                heard = work.recv() => match heard {
                    Some(heard) => self.hear(heard).await,
                    None => return self.thread,
                },
                () = std::future::ready(()), if self.typing => self.type_in(timing).await,
                () = tokio::time::sleep_until(at.unwrap_or_else(Instant::now)), if at.is_some() => {
                    let view = self.turn.as_mut().map(DraftState::take_view);
                    if let Some(view) = view {
                        self.start_view(&view, false).await;
                    }
                }
                () = tokio::time::sleep(FORGET_AFTER), if at.is_none() && self.views.is_empty() => return self.thread,
            }
        }
    }

    async fn hear(&mut self, work: DraftWork) {
        match work {
            DraftWork::Show { run, reply_to, frame } => {
                let now = Instant::now();
                if self.turn.as_ref().is_none_or(|turn| turn.run != run) {
                    self.turn = Some(DraftState::new(run, now));
                    self.view = None;
                }
                let Some(turn) = &mut self.turn else { return };
                turn.reply_to = reply_to.or(turn.reply_to.take());
                self.typing |= frame == DraftFrame::Typing;
                turn.apply(frame, now);
            }
            DraftWork::Take(run, reply) => {
                self.end(&run).await;
                // The caller may be gone.
                let _heard = reply.send(()).is_ok();
            }
            DraftWork::Over(run) => {
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
            match timeout_at(view.since + VIEW_WITHIN, self.views.join_next()).await {
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

    async fn type_in(&mut self, timing: DraftTiming) {
        self.typing = false;
        let Some(turn) = self.turn.as_ref().map(|turn| self.named(turn)) else { return };
        self.target.show_typing(&turn).await;
        let refreshed = self.turn.as_ref().and_then(|turn| turn.refreshed(timing, Instant::now()));
        if let Some(view) = refreshed.filter(|_| self.view.is_none()) {
            self.start_view(&view, true).await;
        }
    }

    fn named(&self, turn: &DraftState<T::Picture>) -> DraftTurn {
        DraftTurn { thread: self.thread.clone(), run: turn.run.clone(), reply_to: turn.reply_to.clone() }
    }

    async fn start_view(&mut self, view: &DraftView, again: bool) {
        let Some(turn) = &self.turn else { return };
        let Some(picture) = self.target.picture(view) else { return };
        if turn.is_on_screen(&picture) && !again {
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
            let shown = target.show_view(&turn, &picture, live).await;
            EndedView { number, picture, shown }
        });
    }

    async fn view_ended(&mut self, ended: EndedView<T::Picture>) {
        let EndedView { number, picture, shown } = ended;
        let now = Instant::now();
        let current = self.view.is_some_and(|view| view.number == number);
        let Some(turn) = self.turn.as_mut().filter(|_| current) else {
            // The answer was sent without it.
            if let Shown::In(live) = shown {
                self.target.discard(&self.thread, live).await;
            }
            return;
        };
        self.view = None;
        self.next_at = now + self.target.timing(&self.thread).between;
        match shown {
            Shown::No => {}
            Shown::Lost => turn.lost = true,
            Shown::Fleeting => turn.shown(picture, now),
            Shown::In(live) => {
                turn.shown(picture, now);
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::domain::Intent;
    use crate::store::memory::InMemoryNotes;

    /// Records the views; the first view of a turn creates a message, later ones edit it.
    struct RecordingTarget {
        seen: Mutex<Vec<String>>,
        messages: LiveMessages,
    }

    impl RecordingTarget {
        fn new() -> Self {
            let notes = Arc::new(InMemoryNotes::default());
            Self { seen: Mutex::default(), messages: LiveMessages::new(notes, "live:") }
        }

        fn note(&self, what: String) {
            self.seen.lock().unwrap().push(what);
        }
    }

    impl DraftTarget for RecordingTarget {
        type Picture = String;

        fn live_messages(&self) -> &LiveMessages {
            &self.messages
        }

        fn timing(&self, _: &ThreadId) -> DraftTiming {
            DraftTiming { hold: Duration::ZERO, between: Duration::from_secs(1), silence: None, lasts: None }
        }

        fn picture(&self, view: &DraftView) -> Option<String> {
            Some(view.line.clone().unwrap_or_else(|| view.text.clone()))
        }

        async fn show_view(&self, turn: &DraftTurn, picture: &String, live: Option<LiveMessage>) -> Shown {
            let run = &turn.run;
            self.note(format!("{}: {picture}", if live.is_some() { "edit" } else { "new" }));
            match picture.as_str() {
                "slow" => tokio::time::sleep(VIEW_WITHIN * 3).await,
                "lost" => return Shown::Lost,
                _ => {}
            }
            Shown::In(live.unwrap_or_else(|| LiveMessage::new(run.clone(), format!("m-{run}"))))
        }

        async fn show_typing(&self, _: &DraftTurn) {
            self.note("typing".to_owned());
        }

        async fn discard(&self, thread: &ThreadId, live: LiveMessage) {
            self.note(format!("discard: {}", live.correlation));
            self.messages.remove(thread, &live).await;
        }
    }

    struct SchedulerScene {
        drafts: DraftScheduler,
        target: Arc<RecordingTarget>,
        stop: CancellationToken,
        task: JoinSet<DraftTask>,
    }

    fn scene() -> SchedulerScene {
        let (drafts, task) = DraftScheduler::new();
        let (target, stop) = (Arc::new(RecordingTarget::new()), CancellationToken::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(showing(task, target.clone(), stop.clone()));
        SchedulerScene { drafts, target, stop, task: tasks }
    }

    async fn showing(
        mut task: DraftTask,
        target: Arc<RecordingTarget>,
        stop: CancellationToken,
    ) -> DraftTask {
        task.run(target, stop).await;
        task
    }

    fn run(name: &str) -> CorrelationId {
        CorrelationId::made("run_", name)
    }

    fn thread() -> ThreadId {
        "fake:chat:1".parse().unwrap()
    }

    fn intent(run: &CorrelationId, intent: Intent) -> OutboundIntent {
        OutboundIntent { thread_id: thread(), correlation_id: run.clone(), reply_to: None, intent }
    }

    impl SchedulerScene {
        async fn draft(&self, run: &CorrelationId, text: &str) {
            self.drafts.show(intent(run, Intent::AssistantDelta { text: text.to_owned() }));
            self.settle().await;
        }

        /// Time is paused: all other tasks run before this returns.
        async fn settle(&self) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }

        /// Ends a draft, and returns its message.
        async fn take(&self, run: &CorrelationId) -> Option<String> {
            self.drafts.take(&thread(), run).await;
            let live = self.target.messages.growing(&thread()).await?;
            live.message.filter(|_| live.correlation == *run)
        }

        fn seen(&self) -> Vec<String> {
            self.target.seen.lock().unwrap().clone()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_latest_of_many_frames_is_shown_and_on_the_same_message() {
        let scene = scene();
        for text in ["a", "ab", "abc", "abcd"] {
            scene.draft(&run("1"), text).await;
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(scene.seen(), ["new: a", "edit: abcd"]);
        scene.draft(&run("1"), "abcd").await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(scene.seen().len(), 2, "it is on the screen");
    }

    #[tokio::test(start_paused = true)]
    async fn no_frame_follows_a_draft_that_was_taken() {
        let scene = scene();
        scene.draft(&run("1"), "a").await;
        scene.draft(&run("1"), "ab").await;
        assert_eq!(scene.take(&run("1")).await.as_deref(), Some("m-run_1"));
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(scene.seen(), ["new: a"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_draft_is_removed_also_behind_more_frames_than_the_queue_takes() {
        let scene = scene();
        scene.draft(&run("1"), "a").await;
        for _ in 0..2 * BACKLOG {
            scene.drafts.show(intent(&run("1"), Intent::AssistantDelta { text: "ab".to_owned() }));
        }
        scene.drafts.over(&thread(), &run("1"));
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(scene.seen().last().unwrap(), "discard: run_1");
    }

    #[tokio::test(start_paused = true)]
    async fn the_draft_of_another_turn_stays() {
        let scene = scene();
        scene.draft(&run("1"), "a").await;
        assert_eq!(scene.take(&run("status")).await, None);
        assert!(scene.take(&run("1")).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_scheduler_that_was_stopped_can_be_run_again() {
        let mut scene = scene();
        scene.draft(&run("1"), "a").await;
        scene.stop.cancel();
        let task = scene.task.join_next().await.unwrap().unwrap();
        scene.task.spawn(showing(task, scene.target.clone(), CancellationToken::new()));
        scene.draft(&run("2"), "b").await;
        assert_eq!(scene.seen(), ["new: a", "discard: run_1", "new: b"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_comes_behind_the_answer_is_discarded() {
        let scene = scene();
        scene.draft(&run("1"), "slow").await;
        let began = Instant::now();
        assert_eq!(scene.take(&run("1")).await, None);
        assert!(began.elapsed() <= PATIENCE);
        tokio::time::sleep(VIEW_WITHIN * 3).await;
        assert_eq!(scene.seen(), ["new: slow", "discard: run_1"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_whose_end_nobody_knows_is_not_sent_again() {
        let scene = scene();
        for text in ["lost", "more"] {
            scene.draft(&run("1"), text).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        assert_eq!(scene.seen(), ["new: lost"]);
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_turn_that_is_over_nothing_is_shown_behind_what_is_said_next() {
        let scene = scene();
        scene.draft(&run("1"), "a").await;
        scene.draft(&run("1"), "ab").await;
        scene.drafts.over(&thread(), &run("1"));
        assert_eq!(scene.take(&run("stop")).await, None);
        assert_eq!(scene.seen(), ["new: a", "discard: run_1"]);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(scene.seen().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn typing_that_waits_is_shown_once_and_not_at_all_behind_the_answer() {
        let scene = scene();
        for _ in 0..20 {
            scene.drafts.show(intent(&run("1"), Intent::Typing));
        }
        scene.settle().await;
        assert_eq!(scene.seen(), ["typing"]);
        for _ in 0..20 {
            scene.drafts.show(intent(&run("1"), Intent::Typing));
        }
        scene.take(&run("1")).await;
        scene.settle().await;
        assert_eq!(scene.seen().len(), 1);
    }
}
