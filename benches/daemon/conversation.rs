//! Messages one after the other, each timed against the model's own time.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply};

/// What the model takes for an answer of this length, which is nothing for one, but enough to be timed.
const MODEL_TIME: Duration = Duration::from_millis(5);
const ANSWER: &str = "One answer of twenty words, streamed word by word, which is about what people get when \
     they ask something small.";

/// A scratch project, its model and its daemon.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) project: Project,
    pub(crate) daemon: Daemon,
    model: FakeModel,
    asked: usize,
}

impl Conversation {
    pub(crate) async fn begin() -> Self {
        let model = FakeModel::start(Reply::text(ANSWER).after(MODEL_TIME)).await;
        let project = Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0 } }));
        let daemon = project.start().await;
        let mut conversation = Self { project, daemon, model, asked: 0 };
        conversation.ask("warm-up").await;
        conversation
    }

    /// Ends the daemon and starts another on the same project.
    pub(crate) async fn restart(self) -> Self {
        let Self { project, daemon, model, asked } = self;
        assert!(daemon.stop().await.success());
        let daemon = project.start().await;
        let mut conversation = Self { project, daemon, model, asked };
        conversation.ask("warm-up").await;
        conversation
    }

    /// Says something and waits for the answer: how long that took, without the model's own time.
    pub(crate) async fn ask(&mut self, chat: &str) -> Duration {
        self.asked += 1;
        let body = json!({ "instructions": format!("question {}", self.asked), "chatId": chat });
        let model_time = async {
            // On a busy machine the answer may be over before anybody sees it begin.
            tokio::select! {
                () = self.model.wait_for_answers(|under_way| under_way > 0) => {}
                () = self.model.wait_for_requests(self.asked) => {}
            }
            let begun = Instant::now();
            self.model.wait_until_idle().await;
            begun.elapsed()
        };
        let begun = Instant::now();
        let answered = async {
            let answer = self.daemon.execute(body).await;
            (answer, begun.elapsed())
        };
        let ((answer, elapsed), model_time) = tokio::join!(answered, model_time);
        assert_eq!(answer["output"], ANSWER, "{answer}");
        elapsed.saturating_sub(model_time)
    }

    /// What the daemon says of its waits for the disk.
    pub(crate) async fn waits(&self) -> DiskWaits {
        let text = self.daemon.get("/metrics").send().await.unwrap().text().await.unwrap();
        let number = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
        };
        DiskWaits {
            journal: number("shipagent_journal_syncs_total"),
            journal_time: Duration::from_secs_f64(number("shipagent_journal_sync_seconds_total")),
            ledger: number("shipagent_usage_syncs_total"),
        }
    }
}

/// How often a daemon waited for the disk since its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskWaits {
    pub(crate) journal: f64,
    pub(crate) journal_time: Duration,
    /// For the usage ledger.
    pub(crate) ledger: f64,
}

/// One answer's words.
pub(crate) fn output(answer: &Value) -> &str {
    answer["output"].as_str().unwrap_or_default()
}
