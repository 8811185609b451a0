//! A sender with everything it needs in a temporary folder, and entries for it to deliver.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use shipagent::adapters::chat::{AnswerRights, ChatParts};
use shipagent::adapters::telegram::{Aliases, BotApi, TelegramSender};
use shipagent::domain::{DeliveryId, Intent, OutboundIntent, ThreadId, Timestamp};
use shipagent::metrics::Metrics;
use shipagent::ports::{
    Attempt, DeliveryError, KeyValueStore as _, OutboxEntry, RandomIds, Receipt, SystemClock,
};
use shipagent::store::memory::InMemoryAudit;
use shipagent::store::{AttachmentFiles, FileAccess, FileApprovals, FileNotes};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::fakes::telegram::server::FakeTelegram;
use crate::fakes::telegram::world::Environment;

/// The chats of most tests.
pub(crate) const ANN: i64 = 7;
pub(crate) const GROUP: i64 = -500;
pub(crate) const FORUM: i64 = -1_001_000_000_001;

/// A server, a folder, and a sender that can be restarted.
pub(crate) struct SenderScene {
    pub(crate) fake: FakeTelegram,
    pub(crate) dir: TempDir,
    pub(crate) sender: TelegramSender,
    pub(crate) metrics: Arc<Metrics>,
    _screen: JoinSet<()>,
}

impl SenderScene {
    /// With a person, a group and a forum.
    pub(crate) async fn new() -> Self {
        let fake = FakeTelegram::start().await;
        let ann = fake.user(ANN, "Ann");
        fake.private(&ann);
        fake.group(GROUP).say(&ann, "hello");
        drop(fake.group(FORUM).with_topics());
        let dir = tempfile::tempdir().unwrap();
        let (sender, metrics, screen) = seated(&fake, dir.path()).await;
        Self { fake, dir, sender, metrics, _screen: screen }
    }

    /// After a restart: only the state on the disk is left.
    pub(crate) async fn restarted(self) -> Self {
        let (sender, metrics, screen) = seated(&self.fake, self.dir.path()).await;
        Self { sender, metrics, _screen: screen, ..self }
    }

    pub(crate) async fn deliver(&self, entry: OutboxEntry) -> Result<Receipt, DeliveryError> {
        self.sender.deliver(entry, Attempt::nth(1)).await
    }

    /// Delivers an entry after an attempt that ended with an error.
    pub(crate) async fn deliver_again(&self, entry: OutboxEntry) -> Result<Receipt, DeliveryError> {
        self.sender.deliver(entry, Attempt::nth(2)).await
    }

    /// Delivers an entry after an attempt that was cut off.
    pub(crate) async fn deliver_after_cut(&self, entry: OutboxEntry) -> Result<Receipt, DeliveryError> {
        self.sender.deliver(entry, Attempt { number: 1, may_repeat: true }).await
    }

    /// Waits until the draft update in progress has ended, with its note.
    pub(crate) async fn settle(&self, thread: &ThreadId) {
        // It is queued after the draft update, like every delivery, and is refused.
        self.deliver(entry(thread, "nobody", 0, Intent::Typing)).await.unwrap_err();
    }

    /// The current texts of the bot's messages in a chat.
    pub(crate) fn texts(&self, chat: i64) -> Vec<String> {
        self.fake.read(|world| world.bot_texts(chat))
    }

    /// Shows draft after draft, as a stream does, until a condition holds.
    pub(crate) async fn show_until(&self, frames: &[OutboundIntent], so: impl Fn(&Environment) -> bool) {
        let stream = async {
            for frame in frames.iter().cycle() {
                self.sender.show(frame.clone());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            () = stream => panic!("there are no frames"),
            () = self.fake.wait_for(so) => {}
        }
    }
}

/// The parts of an adapter, in this folder.
pub(crate) fn parts(dir: &Path) -> ChatParts {
    ChatParts {
        approvals: Arc::new(FileApprovals::new(dir)),
        access: Arc::new(FileAccess::new(dir, Arc::new(InMemoryAudit::default()))),
        answer_rights: AnswerRights::new(|asked, by, _| asked.requested_by == *by),
        notes: Arc::new(FileNotes::new(dir, &"telegram".parse().unwrap())),
        http: reqwest::Client::builder().no_proxy().build().unwrap(),
        files: Arc::new(AttachmentFiles::new(dir)),
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
        language: None,
        enrich: Arc::default(),
    }
}

async fn seated(fake: &FakeTelegram, dir: &Path) -> (TelegramSender, Arc<Metrics>, JoinSet<()>) {
    let notes = Arc::new(FileNotes::new(dir, &"telegram".parse().unwrap()));
    let chats = Aliases::default();
    chats.load(&*notes).await.unwrap();
    assert_eq!(notes.get("nothing").await.unwrap(), None);
    let parts = parts(dir);
    let api = BotApi::new(parts.http.clone(), &fake.url(), SecretString::from(fake.token()));
    let metrics = Arc::new(Metrics::default());
    let (sender, mut screen) = TelegramSender::new(api, parts, chats);
    let sender = sender.counting(metrics.clone());
    let mut running = JoinSet::new();
    let target = sender.target();
    running.spawn(async move {
        screen.run(target, CancellationToken::new()).await;
    });
    (sender, metrics, running)
}

pub(crate) fn thread(chat: i64) -> ThreadId {
    format!("telegram:chat:{chat}").parse().unwrap()
}

pub(crate) fn topic(chat: i64, topic: i64) -> ThreadId {
    format!("telegram:chat:{chat}:topic:{topic}").parse().unwrap()
}

/// An intent of a run.
pub(crate) fn intent(thread: &ThreadId, run: &str, intent: Intent) -> OutboundIntent {
    OutboundIntent { thread_id: thread.clone(), correlation_id: run.parse().unwrap(), reply_to: None, intent }
}

/// An outbox entry: the `index`th part of a run's answer.
pub(crate) fn entry(thread: &ThreadId, run: &str, index: usize, meant: Intent) -> OutboxEntry {
    OutboxEntry {
        id: DeliveryId::new(run, index),
        // Later than any sender's start: an older one may have been sent by the sender before.
        at: Timestamp::from_millis(4_102_444_800_000),
        intent: intent(thread, run, meant),
        on_behalf_of: None,
    }
}

pub(crate) fn text(text: &str) -> Intent {
    Intent::AssistantText { text: text.to_owned() }
}

pub(crate) fn draft(thread: &ThreadId, run: &str, text: &str) -> OutboundIntent {
    intent(thread, run, Intent::AssistantDelta { text: text.to_owned() })
}

pub(crate) fn progress(thread: &ThreadId, run: &str, text: &str) -> OutboundIntent {
    intent(thread, run, Intent::Progress { text: text.to_owned(), call_id: None })
}

/// An entry that replies to a message.
pub(crate) fn replying(mut entry: OutboxEntry, message: i64) -> OutboxEntry {
    entry.intent.reply_to = Some(message.to_string());
    entry
}
