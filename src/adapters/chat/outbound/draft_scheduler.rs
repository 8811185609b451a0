//! Shows the transient state of a running turn: the draft of the answer, progress, the typing indicator.
//!
//! Each thread has a worker that owns what is shown of its turn. Frames may be dropped: a later one replaces an earlier
//! one. The delivery of the answer first ends the draft, so that no late frame can follow it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::draft_state::DraftFrame;
use super::draft_worker::{DraftTarget, DraftWork, DraftWorker};
use crate::domain::{CorrelationId, OutboundIntent, ThreadId};

/// Most queued frames; further ones are dropped.
const BACKLOG: usize = 1024;
/// Capacity of one thread's queue, and the part of it that is reserved for commands other than frames.
const FRAMES: usize = 32;
const RESERVED: usize = 8;
/// How long a stop waits for the views in flight.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// How long a delivery waits for the end of a draft.
const END_TIMEOUT: Duration = Duration::from_secs(12);

enum DraftCommand {
    Show(Box<OutboundIntent>),
    End(ThreadId, CorrelationId, oneshot::Sender<()>),
    Remove(ThreadId, CorrelationId),
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
    pub fn remove(&self, thread: &ThreadId, run: &CorrelationId) {
        if self.commands.try_send(DraftCommand::Remove(thread.clone(), run.clone())).is_err() {
            tracing::warn!(%thread, reason = "queue full", "draft not removed");
        }
    }

    /// Ends the draft of a turn: nothing of the turn so far is shown afterwards, and its growing message is known.
    pub async fn end(&self, thread: &ThreadId, run: &CorrelationId) {
        let (reply, answer) = oneshot::channel();
        let command = DraftCommand::End(thread.clone(), run.clone(), reply);
        let ended = async {
            self.commands.send(command).await.ok()?;
            answer.await.ok()
        };
        // The task does not run while the adapter restarts: then nothing is shown.
        let _ended = tokio::time::timeout(END_TIMEOUT, ended).await;
    }
}

impl DraftTask {
    /// Shows drafts until stopped or dropped. It can be run again.
    pub async fn run<T: DraftTarget>(&mut self, target: Arc<T>, stop: CancellationToken) {
        let mut workers = DraftWorkers { target, workers: HashMap::new(), tasks: JoinSet::new() };
        loop {
            tokio::select! {
                () = stop.cancelled() => return workers.finish().await,
                Some(ended) = workers.tasks.join_next() => workers.ended(ended.ok()),
                command = self.commands.recv() => match command {
                    Some(DraftCommand::Show(intent)) => workers.show(*intent),
                    Some(DraftCommand::End(thread, run, reply)) => workers.end(&thread, run, reply),
                    Some(DraftCommand::Remove(thread, run)) => workers.remove(thread, run),
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

    fn end(&self, thread: &ThreadId, run: CorrelationId, reply: oneshot::Sender<()>) {
        // Without a worker, and where the queue is full, `reply` is dropped, and the caller goes on.
        if let Some(worker) = self.workers.get(thread) {
            drop(worker.try_send(DraftWork::End(run, reply)));
        }
    }

    fn remove(&mut self, thread: ThreadId, run: CorrelationId) {
        // Also where no frame was rendered yet: an earlier process may have left the message.
        drop(self.worker(thread).try_send(DraftWork::Remove(run)));
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
        let worker = DraftWorker::new(thread, self.target.clone());
        self.tasks.spawn(worker.run(receiver));
        work
    }

    /// Waits a short time for the views in flight: of a message that was sent, the id has to be stored.
    async fn finish(mut self) {
        self.workers.clear();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_GRACE, all).await.is_err() {
            tracing::debug!("draft views in flight given up");
        }
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::time::Instant;

    use super::super::draft_state::{DraftTiming, DraftView};
    use super::super::draft_worker::{DraftTurn, Shown, VIEW_TIMEOUT};
    use super::super::live_messages::{LiveMessage, LiveMessages};
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
        type Rendered = String;

        fn live_messages(&self) -> &LiveMessages {
            &self.messages
        }

        fn timing(&self, _: &ThreadId) -> DraftTiming {
            DraftTiming { hold: Duration::ZERO, between: Duration::from_secs(1), silence: None, lasts: None }
        }

        fn render(&self, view: &DraftView) -> Option<String> {
            Some(view.line.clone().unwrap_or_else(|| view.text.clone()))
        }

        async fn show_view(&self, turn: &DraftTurn, rendered: &String, live: Option<LiveMessage>) -> Shown {
            let run = &turn.run;
            self.note(format!("{}: {rendered}", if live.is_some() { "edit" } else { "new" }));
            match rendered.as_str() {
                "slow" => tokio::time::sleep(VIEW_TIMEOUT * 3).await,
                "second" => tokio::time::sleep(Duration::from_secs(1)).await,
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
        async fn end(&self, run: &CorrelationId) -> Option<String> {
            self.drafts.end(&thread(), run).await;
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
    async fn no_frame_follows_a_draft_that_was_ended() {
        let scene = scene();
        scene.draft(&run("1"), "a").await;
        scene.draft(&run("1"), "ab").await;
        assert_eq!(scene.end(&run("1")).await.as_deref(), Some("m-run_1"));
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
        scene.drafts.remove(&thread(), &run("1"));
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(scene.seen().last().unwrap(), "discard: run_1");
    }

    #[tokio::test(start_paused = true)]
    async fn the_draft_of_another_turn_stays() {
        let scene = scene();
        scene.draft(&run("1"), "a").await;
        assert_eq!(scene.end(&run("status")).await, None);
        assert!(scene.end(&run("1")).await.is_some());
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
    async fn a_stop_waits_for_the_message_of_a_view_in_flight() {
        let mut scene = scene();
        scene.draft(&run("1"), "second").await;
        scene.stop.cancel();
        scene.task.join_next().await.unwrap().unwrap();
        let live = scene.target.messages.growing(&thread()).await;
        assert_eq!(live.unwrap().message.as_deref(), Some("m-run_1"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_comes_behind_the_answer_is_discarded() {
        let scene = scene();
        scene.draft(&run("1"), "slow").await;
        let began = Instant::now();
        assert_eq!(scene.end(&run("1")).await, None);
        assert!(began.elapsed() <= END_TIMEOUT);
        tokio::time::sleep(VIEW_TIMEOUT * 3).await;
        assert_eq!(scene.seen(), ["new: slow", "discard: run_1"]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_that_is_slower_than_the_next_turn_takes_no_answer_away() {
        let scene = scene();
        scene.draft(&run("1"), "a").await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        scene.draft(&run("1"), "slow").await;
        scene.drafts.show(intent(&run("2"), Intent::Typing));
        let began = Instant::now();
        assert_eq!(scene.end(&run("1")).await.as_deref(), Some("m-run_1"));
        assert!(began.elapsed() >= VIEW_TIMEOUT / 2, "the delivery waits for the edit");
        tokio::time::sleep(VIEW_TIMEOUT * 3).await;
        assert_eq!(scene.seen(), ["new: a", "edit: slow", "typing"]);
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
        scene.drafts.remove(&thread(), &run("1"));
        assert_eq!(scene.end(&run("stop")).await, None);
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
        scene.end(&run("1")).await;
        scene.settle().await;
        assert_eq!(scene.seen().len(), 1);
    }
}
