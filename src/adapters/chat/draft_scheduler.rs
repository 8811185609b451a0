//! What is shown while a turn runs: the answer so far, what is going on, that somebody is writing.
//!
//! Nothing here is ever lost by being left out: a later frame replaces an earlier one, and whoever delivers the real
//! answer first takes the thread's draft away, so that no late frame can come behind it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::domain::{CorrelationId, Intent, OutboundIntent, ThreadId};
use crate::ports::BoxFuture;

/// How many frames may wait for the screen; more are left out.
const BACKLOG: usize = 1024;
/// How much work may wait for one thread's worker, and how much of it is kept free of frames.
const FRAMES: usize = 32;
const RESERVED: usize = 8;
/// How long a frame that is being shown is waited for.
const PATIENCE: Duration = Duration::from_secs(12);
/// A thread without frames for so long is forgotten, draft and all.
const FORGET_AFTER: Duration = Duration::from_secs(3600);

/// What is to be seen now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The answer so far.
    Draft(String),
    /// What is going on.
    Progress(String),
    Typing,
}

/// What the frames of a turn have left in the chat, in the platform's own terms: a message that can be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftMessage {
    /// The turn it belongs to.
    pub correlation: CorrelationId,
    /// The platform's id of the message.
    pub message: String,
}

/// Shows frames on one platform.
pub trait DraftTarget: Send + Sync + 'static {
    /// Shows a frame of a turn, on the message that its earlier frames left, if any. Gives the message that is there
    /// now. Must end by itself within a bounded time.
    fn render_draft(
        &self,
        thread: ThreadId,
        correlation: CorrelationId,
        frame: Frame,
        message: Option<String>,
    ) -> BoxFuture<'_, Option<String>>;

    /// How long to wait between two frames of a thread that change a message.
    fn interval(&self, thread: &ThreadId) -> Duration;

    /// A turn is over and nothing takes the place of what was shown of it: the message that its frames left, if any, goes
    /// away. Must end by itself within a bounded time.
    fn over(&self, _thread: ThreadId, _correlation: CorrelationId) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Whether it is also said that somebody is writing while the answer is seen to grow.
    fn types_throughout(&self) -> bool {
        false
    }
}

enum DraftCommand {
    Show(Box<OutboundIntent>),
    Take(ThreadId, CorrelationId, oneshot::Sender<Option<DraftMessage>>),
    Over(ThreadId, CorrelationId),
}

/// The way to the screen. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DraftScheduler {
    orders: mpsc::Sender<DraftCommand>,
}

/// The screen itself, to be run by whoever owns it.
pub struct DraftTask {
    orders: mpsc::Receiver<DraftCommand>,
}

impl std::fmt::Debug for DraftTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DraftTask")
    }
}

impl DraftScheduler {
    /// A screen and the task that must be run for it.
    pub fn new() -> (Self, DraftTask) {
        let (orders, receiver) = mpsc::channel(BACKLOG);
        (Self { orders }, DraftTask { orders: receiver })
    }

    /// Shows an intent that is fleeting; any other is passed over. Never waits.
    pub fn show(&self, intent: OutboundIntent) {
        // A full screen shows less.
        drop(self.orders.try_send(DraftCommand::Show(Box::new(intent))));
    }

    /// Takes away what is shown for a turn that has ended without a word. Never waits; whatever is delivered afterwards
    /// waits for it.
    pub fn over(&self, thread: &ThreadId, correlation: &CorrelationId) {
        drop(self.orders.try_send(DraftCommand::Over(thread.clone(), correlation.clone())));
    }

    /// Ends what is shown for a turn, and gives what it left in the chat. Afterwards no frame of it appears.
    pub async fn take(&self, thread: &ThreadId, correlation: &CorrelationId) -> Option<DraftMessage> {
        let (reply, answer) = oneshot::channel();
        let order = DraftCommand::Take(thread.clone(), correlation.clone(), reply);
        let taken = async {
            self.orders.send(order).await.ok()?;
            answer.await.ok().flatten()
        };
        // Nobody runs the screen while the adapter starts anew: then there is nothing to take.
        tokio::time::timeout(PATIENCE, taken).await.ok().flatten()
    }
}

/// Work for one thread's worker.
enum Work {
    Show(CorrelationId, Frame),
    Take(CorrelationId, oneshot::Sender<Option<DraftMessage>>),
    Over(CorrelationId),
}

impl DraftTask {
    /// Shows what comes until told to stop, or until this is dropped. It can be run again.
    pub async fn run(&mut self, target: Arc<dyn DraftTarget>, stop: CancellationToken) {
        let mut stage = DraftWorkers { target, workers: HashMap::new(), tasks: JoinSet::new() };
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Some(ended) = stage.tasks.join_next() => stage.ended(ended.ok()),
                order = self.orders.recv() => match order {
                    Some(DraftCommand::Show(intent)) => stage.show(*intent),
                    Some(DraftCommand::Take(thread, correlation, reply)) => stage.take(&thread, correlation, reply),
                    Some(DraftCommand::Over(thread, correlation)) => stage.over(thread, correlation),
                    None => return,
                },
            }
        }
    }
}

/// The workers, one for each thread that has something to show.
struct DraftWorkers {
    target: Arc<dyn DraftTarget>,
    workers: HashMap<ThreadId, mpsc::Sender<Work>>,
    tasks: JoinSet<ThreadId>,
}

impl DraftWorkers {
    fn show(&mut self, intent: OutboundIntent) {
        let Some(frame) = frame_of(intent.intent) else { return };
        let worker = self.worker(intent.thread_id);
        // A worker that is behind shows less; room is always left for taking its draft away.
        if worker.capacity() > RESERVED {
            drop(worker.try_send(Work::Show(intent.correlation_id, frame)));
        }
    }

    fn take(
        &self,
        thread: &ThreadId,
        correlation: CorrelationId,
        reply: oneshot::Sender<Option<DraftMessage>>,
    ) {
        match self.workers.get(thread) {
            // What cannot be sent drops the reply, and whoever waits hears that there is nothing.
            Some(worker) => drop(worker.try_send(Work::Take(correlation, reply))),
            None => drop(reply.send(None)),
        }
    }

    fn over(&mut self, thread: ThreadId, correlation: CorrelationId) {
        // Also where nothing was shown yet: the message may be one that the daemon before has left.
        drop(self.worker(thread).try_send(Work::Over(correlation)));
    }

    fn worker(&mut self, thread: ThreadId) -> mpsc::Sender<Work> {
        match self.workers.get(&thread).filter(|worker| !worker.is_closed()) {
            Some(worker) => worker.clone(),
            None => self.start(thread),
        }
    }

    fn start(&mut self, thread: ThreadId) -> mpsc::Sender<Work> {
        let (work, receiver) = mpsc::channel(FRAMES);
        self.workers.insert(thread.clone(), work.clone());
        self.tasks.spawn(serve(thread, self.target.clone(), receiver));
        work
    }

    fn ended(&mut self, thread: Option<ThreadId>) {
        // A thread that was given a new worker meanwhile keeps it.
        if let Some(thread) = thread
            && self.workers.get(&thread).is_some_and(mpsc::Sender::is_closed)
        {
            self.workers.remove(&thread);
        }
    }
}

/// Shows the frames of one thread, one at a time, the latest only, never faster than the platform likes.
async fn serve(thread: ThreadId, target: Arc<dyn DraftTarget>, mut work: mpsc::Receiver<Work>) -> ThreadId {
    let mut draft: Option<DraftMessage> = None;
    let mut next_at = Instant::now();
    let mut due: Option<(CorrelationId, Frame)> = None;
    // However often it was said that somebody is writing, it is shown once, and not before all else that waits is heard.
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
                let left = target.render_draft(thread.clone(), correlation.clone(), Frame::Typing, message).await;
                // Whoever writes for long may have left a line about it.
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
            Some(Work::Show(correlation, Frame::Typing)) => {
                // It changes no message, so it needs no turn.
                if target.types_throughout() || (draft.is_none() && due.is_none()) {
                    typing = Some(correlation);
                }
            }
            Some(Work::Show(correlation, frame)) => due = Some((correlation, frame)),
            Some(Work::Take(correlation, reply)) => {
                due = due.filter(|(other, _)| *other != correlation);
                typing = typing.filter(|other| *other != correlation);
                let mine = draft.as_ref().is_some_and(|known| known.correlation == correlation);
                // Whoever asked may be gone; then the message stays as it is.
                drop(reply.send(if mine { draft.take() } else { None }));
            }
            Some(Work::Over(correlation)) => {
                due = due.filter(|(other, _)| *other != correlation);
                typing = typing.filter(|other| *other != correlation);
                draft = draft.filter(|known| known.correlation != correlation);
                target.over(thread.clone(), correlation).await;
            }
            None => return thread,
        }
    }
}

fn frame_of(intent: Intent) -> Option<Frame> {
    match intent {
        Intent::AssistantDelta { text } => Some(Frame::Draft(text)),
        Intent::Progress { text, .. } => Some(Frame::Progress(text)),
        Intent::Typing => Some(Frame::Typing),
        Intent::AssistantText { .. }
        | Intent::ApprovalRequest { .. }
        | Intent::ApprovalAskBack { .. }
        | Intent::ApprovalResolved { .. }
        | Intent::Attachment { .. }
        | Intent::Error { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Writes down what it shows; the first frame of a turn makes a message, later ones change it.
    #[derive(Default)]
    struct Sketch(Mutex<Vec<String>>);

    impl DraftTarget for Sketch {
        fn render_draft(
            &self,
            _: ThreadId,
            correlation: CorrelationId,
            frame: Frame,
            message: Option<String>,
        ) -> BoxFuture<'_, Option<String>> {
            let shown = message.as_deref().unwrap_or("new").to_owned();
            self.0.lock().unwrap().push(format!("{shown}: {frame:?}"));
            let message = message.or_else(|| Some(format!("m-{correlation}")));
            Box::pin(async move { if frame == Frame::Typing { None } else { message } })
        }

        fn interval(&self, _: &ThreadId) -> Duration {
            Duration::from_secs(1)
        }

        fn over(&self, _: ThreadId, correlation: CorrelationId) -> BoxFuture<'_, ()> {
            self.0.lock().unwrap().push(format!("over: {correlation}"));
            Box::pin(std::future::ready(()))
        }
    }

    struct Theatre {
        screen: DraftScheduler,
        sketch: Arc<Sketch>,
        stop: CancellationToken,
        task: JoinSet<DraftTask>,
    }

    fn theatre() -> Theatre {
        let (screen, task) = DraftScheduler::new();
        let (sketch, stop) = (Arc::new(Sketch::default()), CancellationToken::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(showing(task, sketch.clone(), stop.clone()));
        Theatre { screen, sketch, stop, task: tasks }
    }

    async fn showing(mut task: DraftTask, sketch: Arc<Sketch>, stop: CancellationToken) -> DraftTask {
        task.run(sketch, stop).await;
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

    impl Theatre {
        async fn draft(&self, correlation: &CorrelationId, text: &str) {
            self.screen.show(intent(correlation, Intent::AssistantDelta { text: text.to_owned() }));
            // Time is paused: everybody else runs before this returns.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }

        async fn take(&self, correlation: &CorrelationId) -> Option<DraftMessage> {
            self.screen.take(&"fake:chat:1".parse().unwrap(), correlation).await
        }

        fn seen(&self) -> Vec<String> {
            self.sketch.0.lock().unwrap().clone()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_latest_of_many_frames_is_shown_and_on_the_same_message() {
        let theatre = theatre();
        for text in ["a", "ab", "abc", "abcd"] {
            theatre.draft(&run("1"), text).await;
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(theatre.seen(), ["new: Draft(\"a\")", "m-run_1: Draft(\"abcd\")"]);
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_canvas_is_taken_no_frame_comes_behind_it() {
        let theatre = theatre();
        theatre.draft(&run("1"), "a").await;
        theatre.draft(&run("1"), "ab").await;
        let draft = theatre.take(&run("1")).await;
        assert_eq!(draft, Some(DraftMessage { correlation: run("1"), message: "m-run_1".to_owned() }));
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(theatre.seen().len(), 1);
        assert_eq!(theatre.take(&run("1")).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn another_turns_canvas_stays() {
        let theatre = theatre();
        theatre.draft(&run("1"), "a").await;
        assert_eq!(theatre.take(&run("status")).await, None);
        assert!(theatre.take(&run("1")).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_screen_that_was_stopped_can_be_run_again() {
        let mut theatre = theatre();
        theatre.draft(&run("1"), "a").await;
        theatre.stop.cancel();
        let task = theatre.task.join_next().await.unwrap().unwrap();
        theatre.task.spawn(showing(task, theatre.sketch.clone(), CancellationToken::new()));
        theatre.draft(&run("2"), "b").await;
        assert_eq!(theatre.seen().last().unwrap(), "new: Draft(\"b\")");
    }

    #[tokio::test(start_paused = true)]
    async fn typing_is_shown_only_while_nothing_else_is() {
        let theatre = theatre();
        theatre.screen.show(intent(&run("1"), Intent::Typing));
        theatre.draft(&run("1"), "a").await;
        theatre.screen.show(intent(&run("1"), Intent::Typing));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(theatre.seen().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_turn_that_is_over_nothing_is_shown_behind_what_is_said_next() {
        let theatre = theatre();
        theatre.draft(&run("1"), "a").await;
        theatre.draft(&run("1"), "ab").await;
        theatre.screen.over(&"fake:chat:1".parse().unwrap(), &run("1"));
        assert_eq!(theatre.take(&run("stop")).await, None);
        assert_eq!(theatre.seen(), ["new: Draft(\"a\")", "over: run_1"]);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(theatre.seen().len(), 2);
        assert_eq!(theatre.take(&run("1")).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn typing_that_waits_is_shown_once_and_not_at_all_behind_the_answer() {
        let theatre = theatre();
        for _ in 0..20 {
            theatre.screen.show(intent(&run("1"), Intent::Typing));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(theatre.seen(), ["new: Typing"]);
        for _ in 0..20 {
            theatre.screen.show(intent(&run("1"), Intent::Typing));
        }
        theatre.take(&run("1")).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(theatre.seen().len(), 1);
    }
}
