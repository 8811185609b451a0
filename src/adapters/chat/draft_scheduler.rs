//! Shows the transient state of a running turn: the draft of the answer, progress, the typing indicator.
//!
//! Frames may be dropped: a later frame replaces an earlier one. The delivery of the answer first takes the thread's
//! draft, so that no late frame can follow it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::domain::{CorrelationId, Intent, OutboundIntent, ThreadId};
use crate::ports::BoxFuture;

/// Most queued frames; further ones are dropped.
const BACKLOG: usize = 1024;
/// Capacity of one thread's queue, and the part of it that is reserved for commands other than frames.
const FRAMES: usize = 32;
const RESERVED: usize = 8;
/// How long to wait for a frame that is being rendered.
const PATIENCE: Duration = Duration::from_secs(12);
/// Idle time after which a thread's worker ends and its draft is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftFrame {
    /// The draft of the answer.
    Draft(String),
    Progress(String),
    Typing,
}

/// The message that the frames of a turn left in the chat; it can be edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftMessage {
    /// The turn of the message.
    pub correlation: CorrelationId,
    pub message: String,
}

/// Renders frames on one platform.
pub trait DraftTarget: Send + Sync + 'static {
    /// Renders a frame of a turn, into the message of its earlier frames, if any. Returns the current message. Must end
    /// within a bounded time.
    fn render_draft(
        &self,
        thread: ThreadId,
        correlation: CorrelationId,
        frame: DraftFrame,
        message: Option<String>,
    ) -> BoxFuture<'_, Option<String>>;

    /// The wait between two frames of a thread that edit a message.
    fn interval(&self, thread: &ThreadId) -> Duration;

    /// A turn has ended without an answer: deletes the message of its frames, if any. Must end within a bounded time.
    fn over(&self, _thread: ThreadId, _correlation: CorrelationId) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Whether the typing indicator is also shown beside a draft.
    fn types_throughout(&self) -> bool {
        false
    }
}

enum DraftCommand {
    Show(Box<OutboundIntent>),
    Take(ThreadId, CorrelationId, oneshot::Sender<Option<DraftMessage>>),
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
    pub fn over(&self, thread: &ThreadId, correlation: &CorrelationId) {
        if self.commands.try_send(DraftCommand::Over(thread.clone(), correlation.clone())).is_err() {
            tracing::warn!(%thread, reason = "queue full", "draft not removed");
        }
    }

    /// Ends the draft of a turn and returns its message. No frame of the turn is shown afterwards.
    pub async fn take(&self, thread: &ThreadId, correlation: &CorrelationId) -> Option<DraftMessage> {
        let (reply, answer) = oneshot::channel();
        let command = DraftCommand::Take(thread.clone(), correlation.clone(), reply);
        let taken = async {
            self.commands.send(command).await.ok()?;
            answer.await.ok().flatten()
        };
        // The task does not run while the adapter restarts: then there is no draft to take.
        tokio::time::timeout(PATIENCE, taken).await.ok().flatten()
    }
}

/// A command for one thread's worker.
enum DraftWork {
    Show(CorrelationId, DraftFrame),
    Take(CorrelationId, oneshot::Sender<Option<DraftMessage>>),
    Over(CorrelationId),
}

impl DraftTask {
    /// Renders frames until stopped or dropped. It can be run again.
    pub async fn run(&mut self, target: Arc<dyn DraftTarget>, stop: CancellationToken) {
        let mut workers = DraftWorkers { target, workers: HashMap::new(), tasks: JoinSet::new() };
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Some(ended) = workers.tasks.join_next() => workers.ended(ended.ok()),
                command = self.commands.recv() => match command {
                    Some(DraftCommand::Show(intent)) => workers.show(*intent),
                    Some(DraftCommand::Take(thread, correlation, reply)) => workers.take(&thread, correlation, reply),
                    Some(DraftCommand::Over(thread, correlation)) => workers.over(thread, correlation),
                    None => return,
                },
            }
        }
    }
}

/// The workers, one for each thread with something to show.
struct DraftWorkers {
    target: Arc<dyn DraftTarget>,
    workers: HashMap<ThreadId, mpsc::Sender<DraftWork>>,
    tasks: JoinSet<ThreadId>,
}

impl DraftWorkers {
    fn show(&mut self, intent: OutboundIntent) {
        let Some(frame) = frame_of(intent.intent) else { return };
        let worker = self.worker(intent.thread_id);
        // A slow worker gets fewer frames; there is always room for the command that takes its draft.
        if worker.capacity() > RESERVED {
            drop(worker.try_send(DraftWork::Show(intent.correlation_id, frame)));
        }
    }

    fn take(
        &self,
        thread: &ThreadId,
        correlation: CorrelationId,
        reply: oneshot::Sender<Option<DraftMessage>>,
    ) {
        match self.workers.get(thread) {
            // A failed send drops `reply`, and the caller gets `None`.
            Some(worker) => drop(worker.try_send(DraftWork::Take(correlation, reply))),
            None => drop(reply.send(None)),
        }
    }

    fn over(&mut self, thread: ThreadId, correlation: CorrelationId) {
        // Also where no frame was rendered yet: an earlier process may have left the message.
        drop(self.worker(thread).try_send(DraftWork::Over(correlation)));
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
        self.tasks.spawn(serve(thread, self.target.clone(), receiver));
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

/// Renders the frames of one thread, one at a time, only the latest, and never faster than the platform's interval.
async fn serve(
    thread: ThreadId,
    target: Arc<dyn DraftTarget>,
    mut work: mpsc::Receiver<DraftWork>,
) -> ThreadId {
    let mut draft: Option<DraftMessage> = None;
    let mut next_at = Instant::now();
    let mut due: Option<(CorrelationId, DraftFrame)> = None;
    // Repeated typing frames are shown once, after all other queued commands are read.
    let mut typing: Option<CorrelationId> = None;
    loop {
        let waiting = due.is_some();
        let heard = tokio::select! {
            biased;
            heard = work.recv() => heard,
            () = std::future::ready(()), if typing.is_some() => {
                let Some(correlation) = typing.take() else { continue };
                let mine = draft.as_ref().filter(|known| known.correlation == correlation);
                let message = mine.map(|known| known.message.clone());
                let left = target.render_draft(thread.clone(), correlation.clone(), DraftFrame::Typing, message).await;
                // A typing frame may have left a message about a long wait.
                draft = left.map(|message| DraftMessage { correlation, message }).or(draft);
                continue;
            }
            () = tokio::time::sleep_until(next_at), if waiting => {
                let Some((correlation, frame)) = due.take() else { continue };
                let message = draft.take().filter(|known| known.correlation == correlation);
                let message = message.map(|known| known.message);
                let left = target.render_draft(thread.clone(), correlation.clone(), frame, message).await;
                draft = left.map(|message| DraftMessage { correlation, message });
                next_at = Instant::now() + target.interval(&thread);
                continue;
            }
            () = tokio::time::sleep(FORGET_AFTER), if !waiting => None,
        };
        match heard {
            Some(DraftWork::Show(correlation, DraftFrame::Typing)) => {
                // It edits no message, so it needs no interval.
                if target.types_throughout() || (draft.is_none() && due.is_none()) {
                    typing = Some(correlation);
                }
            }
            Some(DraftWork::Show(correlation, frame)) => due = Some((correlation, frame)),
            Some(DraftWork::Take(correlation, reply)) => {
                due = due.filter(|(other, _)| *other != correlation);
                typing = typing.filter(|other| *other != correlation);
                let mine = draft.as_ref().is_some_and(|known| known.correlation == correlation);
                // The caller may be gone; then the message stays unchanged.
                drop(reply.send(if mine { draft.take() } else { None }));
            }
            Some(DraftWork::Over(correlation)) => {
                due = due.filter(|(other, _)| *other != correlation);
                typing = typing.filter(|other| *other != correlation);
                draft = draft.filter(|known| known.correlation != correlation);
                target.over(thread.clone(), correlation).await;
            }
            None => return thread,
        }
    }
}

fn frame_of(intent: Intent) -> Option<DraftFrame> {
    match intent {
        Intent::AssistantDelta { text } => Some(DraftFrame::Draft(text)),
        Intent::Progress { text, .. } => Some(DraftFrame::Progress(text)),
        Intent::Typing => Some(DraftFrame::Typing),
        Intent::AssistantText { .. }
        | Intent::ApprovalRequest { .. }
        | Intent::ApprovalAskBack { .. }
        | Intent::ApprovalResolved { .. }
        | Intent::Attachment { .. }
        | Intent::Speech { .. }
        | Intent::Error { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Records the frames; the first frame of a turn creates a message, later ones edit it.
    #[derive(Default)]
    struct RecordingTarget(Mutex<Vec<String>>);

    impl DraftTarget for RecordingTarget {
        fn render_draft(
            &self,
            _: ThreadId,
            correlation: CorrelationId,
            frame: DraftFrame,
            message: Option<String>,
        ) -> BoxFuture<'_, Option<String>> {
            let shown = message.as_deref().unwrap_or("new").to_owned();
            self.0.lock().unwrap().push(format!("{shown}: {frame:?}"));
            let message = message.or_else(|| Some(format!("m-{correlation}")));
            Box::pin(async move { if frame == DraftFrame::Typing { None } else { message } })
        }

        fn interval(&self, _: &ThreadId) -> Duration {
            Duration::from_secs(1)
        }

        fn over(&self, _: ThreadId, correlation: CorrelationId) -> BoxFuture<'_, ()> {
            self.0.lock().unwrap().push(format!("over: {correlation}"));
            Box::pin(std::future::ready(()))
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
        let (target, stop) = (Arc::new(RecordingTarget::default()), CancellationToken::new());
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

    fn intent(correlation: &CorrelationId, intent: Intent) -> OutboundIntent {
        OutboundIntent {
            thread_id: "fake:chat:1".parse().unwrap(),
            correlation_id: correlation.clone(),
            reply_to: None,
            intent,
        }
    }

    impl SchedulerScene {
        async fn draft(&self, correlation: &CorrelationId, text: &str) {
            self.drafts.show(intent(correlation, Intent::AssistantDelta { text: text.to_owned() }));
            // Time is paused: all other tasks run before this returns.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }

        async fn take(&self, correlation: &CorrelationId) -> Option<DraftMessage> {
            self.drafts.take(&"fake:chat:1".parse().unwrap(), correlation).await
        }

        fn seen(&self) -> Vec<String> {
            self.target.0.lock().unwrap().clone()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_latest_of_many_frames_is_shown_and_on_the_same_message() {
        let scene = scene();
        for text in ["a", "ab", "abc", "abcd"] {
            scene.draft(&run("1"), text).await;
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(scene.seen(), ["new: Draft(\"a\")", "m-run_1: Draft(\"abcd\")"]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_frame_follows_a_draft_that_was_taken() {
        let scene = scene();
        scene.draft(&run("1"), "a").await;
        scene.draft(&run("1"), "ab").await;
        let draft = scene.take(&run("1")).await;
        assert_eq!(draft, Some(DraftMessage { correlation: run("1"), message: "m-run_1".to_owned() }));
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(scene.seen().len(), 1);
        assert_eq!(scene.take(&run("1")).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_draft_is_removed_also_behind_more_frames_than_the_queue_takes() {
        let scene = scene();
        scene.draft(&run("1"), "a").await;
        for _ in 0..2 * BACKLOG {
            scene.drafts.show(intent(&run("1"), Intent::AssistantDelta { text: "ab".to_owned() }));
        }
        scene.drafts.over(&"fake:chat:1".parse().unwrap(), &run("1"));
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(scene.seen().last().unwrap(), "over: run_1");
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
        assert_eq!(scene.seen().last().unwrap(), "new: Draft(\"b\")");
    }

    #[tokio::test(start_paused = true)]
    async fn typing_is_shown_only_while_nothing_else_is() {
        let scene = scene();
        scene.drafts.show(intent(&run("1"), Intent::Typing));
        scene.draft(&run("1"), "a").await;
        scene.drafts.show(intent(&run("1"), Intent::Typing));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(scene.seen().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_turn_that_is_over_nothing_is_shown_behind_what_is_said_next() {
        let scene = scene();
        scene.draft(&run("1"), "a").await;
        scene.draft(&run("1"), "ab").await;
        scene.drafts.over(&"fake:chat:1".parse().unwrap(), &run("1"));
        assert_eq!(scene.take(&run("stop")).await, None);
        assert_eq!(scene.seen(), ["new: Draft(\"a\")", "over: run_1"]);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(scene.seen().len(), 2);
        assert_eq!(scene.take(&run("1")).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn typing_that_waits_is_shown_once_and_not_at_all_behind_the_answer() {
        let scene = scene();
        for _ in 0..20 {
            scene.drafts.show(intent(&run("1"), Intent::Typing));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(scene.seen(), ["new: Typing"]);
        for _ in 0..20 {
            scene.drafts.show(intent(&run("1"), Intent::Typing));
        }
        scene.take(&run("1")).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(scene.seen().len(), 1);
    }
}
