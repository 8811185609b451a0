//! What each platform is asked to show for every intent, as snapshots of the calls.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use shipagent::adapters::chat::inbound::InboundOptions;
use shipagent::adapters::chat::{AllowList, AnswerRights, ChatParts, GroupsSection};
use shipagent::adapters::feishu::{FeishuAdapter, FeishuMode, FeishuOptions};
use shipagent::adapters::qq::{QqAdapter, QqEvents, QqOptions};
use shipagent::adapters::telegram::{Acknowledge, TelegramAdapter, TelegramOptions};
use shipagent::domain::{
    ApprovalChoice, ApprovalId, ApprovalKind, AttachmentKind, CorrelationId, DeliveryId, ErrorKind, Intent,
    Language, OutboundIntent, Risk, ScopeKind, StoredFile, ThreadId,
};
use shipagent::ports::{
    Acceptance, Adapter, AdapterIo, Attempt, Clock as _, HealthReporter, OutboxEntry, RandomIds, SystemClock,
    ThreadRequest, ThreadsHandle,
};
use shipagent::render::lower;
use shipagent::store::memory::InMemoryAudit;
use shipagent::store::{AttachmentFiles, FileAccess, FileApprovals, FileNotes, replace_file};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;
use crate::fakes::qq::QqFake;
use crate::fakes::qq::people::Place;
use crate::fakes::recorder::Recorder;
use crate::fakes::telegram::server::FakeTelegram;

/// A running adapter behind the recorder, with threads that accept every event.
struct PlatformView {
    adapter: Arc<dyn Adapter>,
    recorder: Recorder,
    thread: ThreadId,
    heard: watch::Receiver<usize>,
    dir: TempDir,
    _tasks: JoinSet<()>,
}

fn parts(platform: &str, dir: &Path) -> ChatParts {
    ChatParts {
        approvals: Arc::new(FileApprovals::new(dir)),
        access: Arc::new(FileAccess::new(dir, Arc::new(InMemoryAudit::default()))),
        answer_rights: AnswerRights::new(|asked, by, _| asked.requested_by == *by),
        notes: Arc::new(FileNotes::new(dir, &platform.parse().unwrap())),
        http: reqwest::Client::builder().no_proxy().build().unwrap(),
        files: Arc::new(AttachmentFiles::new(dir)),
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
        language: None,
        enrich: Arc::default(),
    }
}

/// One person may write.
fn inbound(person: &str) -> InboundOptions {
    InboundOptions {
        allow: AllowList { people: vec![person.parse().unwrap()], ..AllowList::default() },
        groups: GroupsSection { followup_secs: 0, ..GroupsSection::default() },
        ..InboundOptions::default()
    }
}

impl PlatformView {
    async fn start(
        thread: &str,
        recorder: Recorder,
        build: impl FnOnce(&Recorder, ChatParts) -> Arc<dyn Adapter>,
    ) -> Self {
        let (dir, thread) = (tempfile::tempdir().unwrap(), thread.parse::<ThreadId>().unwrap());
        let adapter = build(&recorder, parts(thread.platform().as_str(), dir.path()));
        let (requests, mut inbox) = mpsc::channel(8);
        let (keep, heard) = watch::channel(0);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(request) = inbox.recv().await {
                let ThreadRequest::Deliver { event, reply } = request else { continue };
                let (message, correlation) =
                    (event.message.clone(), "run_0".parse::<CorrelationId>().unwrap());
                drop(reply.send(Acceptance::Accepted { message, correlation }));
                keep.send_modify(|count| *count += 1);
            }
        });
        let (health, mut signs) = HealthReporter::new();
        let io = AdapterIo { threads: ThreadsHandle::new(requests), health, clock: Arc::new(SystemClock) };
        let running = adapter.clone();
        tasks.spawn(async move { running.run(io, CancellationToken::new()).await.unwrap() });
        signs.wait_for(Option::is_some).await.unwrap();
        Self { adapter, recorder, thread, heard, dir, _tasks: tasks }
    }

    fn intent(&self, run: &str, reply_to: Option<&str>, intent: Intent) -> OutboundIntent {
        OutboundIntent {
            thread_id: self.thread.clone(),
            correlation_id: format!("run_{run}").parse().unwrap(),
            reply_to: reply_to.map(str::to_owned),
            intent,
        }
    }

    /// Delivers an intent as the thread does. Returns the calls.
    async fn deliver(&self, run: &str, reply_to: Option<&str>, intent: Intent) -> String {
        for (index, part) in lower(&intent, &self.adapter.capabilities()).into_iter().enumerate() {
            let (id, at) = (DeliveryId::new(run, index), SystemClock.now());
            let entry = OutboxEntry { id, at, intent: self.intent(run, reply_to, part), on_behalf_of: None };
            self.adapter.deliver(entry, Attempt::nth(1)).await.unwrap();
        }
        self.recorder.take()
    }

    /// Shows a draft until the platform got it, then delivers the answer. Returns the calls.
    async fn stream(&self, run: &str, draft: Intent, answer: &str) -> String {
        let (before, draft) = (self.recorder.count(), self.intent(run, None, draft));
        let showing = async {
            loop {
                self.adapter.show(draft.clone());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            () = showing => {}
            () = self.recorder.more_than(before) => {}
        }
        self.deliver(run, None, text(answer)).await
    }

    fn file(&self, name: &str, media_type: &str, kind: AttachmentKind, caption: Option<&str>) -> Intent {
        let file = StoredFile::new(self.thread.clone(), "", name);
        let path = self.dir.path().join("files").join(file.path());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        replace_file(&path, format!("content of {name}").as_bytes(), 0o600).unwrap();
        let (name, media_type, caption) =
            (name.to_owned(), media_type.to_owned(), caption.map(str::to_owned));
        Intent::Attachment { file, name, media_type, kind, caption }
    }

    /// Every intent, one after the other. `question` is the message that the answers reply to.
    async fn everything(&self, mut question: impl AsyncFnMut(&Self) -> Option<String>) -> String {
        let file = |name, media_type, kind, caption| self.file(name, media_type, kind, caption);
        let back = Intent::ApprovalAskBack {
            text: "Which one: A1 or A2?".to_owned(),
            language: Language::En,
            choices: vec![choice(1, ApprovalKind::Tool), choice(2, ApprovalKind::UnknownOutcome)],
        };
        let trouble = "The model is busy. Try again in a minute.".to_owned();
        let mut shown = String::new();
        for (title, intent) in [
            ("plain text", text("done")),
            (
                "markdown",
                text(
                    "# Done\n\n- **two** files <b>\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[docs](https://x.test)\n\n```rust\nfn main() {}\n```",
                ),
            ),
            ("a long text", text(&long_text())),
            ("an approval request", asked(1, ApprovalKind::Tool, Language::En)),
            ("its outcome", resolved(1, "✅ **A1** approved by Ann")),
            ("an approval request in Chinese", asked(2, ApprovalKind::Tool, Language::Zh)),
            ("an unknown outcome", asked(3, ApprovalKind::UnknownOutcome, Language::En)),
            ("the outcome of an unknown request", resolved(9, "⌛ **A9** has expired")),
            ("an ask-back", back),
            ("an error", Intent::Error { kind: ErrorKind::Rate, text: trouble, retryable: true }),
            ("a file", file("report.pdf", "application/pdf", AttachmentKind::File, None)),
            (
                "a file with words",
                file("report 报告.txt", "text/plain", AttachmentKind::File, Some("**here** it is")),
            ),
            ("an image", file("a.png", "image/png", AttachmentKind::Image, Some("look"))),
            ("a voice message", file("a.ogg", "audio/ogg", AttachmentKind::Voice, None)),
        ] {
            let asked = question(self).await;
            let run = title.replace(' ', "-");
            let calls = self.deliver(&run, asked.as_deref(), intent).await;
            shown.push_str(&format!("=== {title}\n{calls}\n"));
        }
        shown
    }
}

fn text(text: &str) -> Intent {
    Intent::AssistantText { text: text.to_owned() }
}

fn long_text() -> String {
    let lines: Vec<String> =
        (0..220).map(|n| format!("Paragraph {n} of a **long** answer, with some words.")).collect();
    lines.join("\n\n")
}

fn approval(number: usize) -> ApprovalId {
    format!("apr_{number:040}").parse().unwrap()
}

fn choice(number: usize, kind: ApprovalKind) -> ApprovalChoice {
    ApprovalChoice { id: approval(number), number: format!("A{number}"), kind }
}

fn asked(number: usize, kind: ApprovalKind, language: Language) -> Intent {
    Intent::ApprovalRequest {
        approval_id: approval(number),
        number: format!("A{number}"),
        kind,
        language,
        summary: "rm -r out".to_owned(),
        risk: Risk::High,
        details: Some("- it deletes".to_owned()),
        scopes: vec![ScopeKind::Once, ScopeKind::Thread, ScopeKind::Minutes],
        suggested_replies: vec![format!("approve A{number}"), format!("deny A{number}")],
        expires_at: SystemClock.now().plus_millis(3 * 3_600_000 + 1_800_000).rfc3339(),
    }
}

fn resolved(number: usize, text: &str) -> Intent {
    Intent::ApprovalResolved { approval_id: approval(number), text: text.to_owned() }
}

fn draft(text: &str) -> Intent {
    Intent::AssistantDelta { text: text.to_owned() }
}

fn progress(text: &str) -> Intent {
    Intent::Progress { text: text.to_owned(), call_id: None }
}

async fn telegram(fake: &FakeTelegram, chat: i64) -> PlatformView {
    let recorder = Recorder::start(&fake.url()).await;
    let token = fake.token();
    PlatformView::start(&format!("telegram:chat:{chat}"), recorder, |recorder, parts| {
        let options = TelegramOptions {
            token: token.into(),
            api_url: recorder.url(),
            webhook: None,
            acknowledge: Acknowledge::Nothing,
            inbound: InboundOptions::default(),
        };
        Arc::new(TelegramAdapter::new("telegram".parse().unwrap(), options, parts))
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_shows_every_intent_in_a_private_chat() {
    let fake = FakeTelegram::start().await;
    drop(fake.private(&fake.user(7, "Ann")));
    let view = telegram(&fake, 7).await;
    let mut shown = view.everything(async |_| None).await;
    for (title, frame) in [("a draft", draft("The **answer")), ("progress", progress("reading a file"))] {
        let calls = view.stream(&title.replace(' ', "-"), frame, "The **answer** is here").await;
        shown.push_str(&format!("=== {title}\n{calls}\n"));
    }
    insta::assert_snapshot!("telegram_private", shown);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_shows_every_intent_in_a_group() {
    let fake = FakeTelegram::start().await;
    let asked = fake.group(-500).say(&fake.user(7, "Ann"), "why?").to_string();
    let view = telegram(&fake, -500).await;
    let mut shown = view.everything(async |_| Some(asked.clone())).await;
    for (title, frame) in [("a draft", draft("The **answer")), ("progress", progress("reading a file"))] {
        let calls = view.stream(&title.replace(' ', "-"), frame, "The **answer** is here").await;
        shown.push_str(&format!("=== {title}\n{calls}\n"));
    }
    insta::assert_snapshot!("telegram_group", shown);
}

async fn feishu(fake: &Feishu, chat: &str) -> PlatformView {
    let recorder = Recorder::start(&fake.domain()).await;
    PlatformView::start(&format!("feishu:chat:{chat}"), recorder, |recorder, parts| {
        let options = FeishuOptions {
            app_id: crate::fakes::feishu::APP_ID.to_owned(),
            app_secret: crate::fakes::feishu::APP_SECRET.to_owned().into(),
            domain: recorder.url(),
            mode: FeishuMode::Websocket,
            inbound: inbound("feishu:user:ou_ada"),
        };
        Arc::new(FeishuAdapter::new("feishu".parse().unwrap(), options, parts))
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn feishu_shows_every_intent() {
    let fake = Feishu::start().await;
    fake.tune(|world| world.mood.cardkit = true);
    fake.write(&Message::private("ou_ada", "hello"));
    let view = feishu(&fake, "oc_ada").await;
    let mut heard = view.heard.clone();
    heard.wait_for(|count| *count > 0).await.unwrap();
    view.recorder.take();
    let mut shown = view.everything(async |_| None).await;
    for (title, frame) in [("a draft", draft("The **answer")), ("progress", progress("reading a file"))] {
        let calls = view.stream(&title.replace(' ', "-"), frame, "The **answer** is here").await;
        shown.push_str(&format!("=== {title}\n{calls}\n"));
    }
    insta::assert_snapshot!("feishu_private", shown);
}

async fn qq(fake: &QqFake, markdown: Option<bool>) -> PlatformView {
    let config = fake.config();
    let section = &config["adapters"]["qq"];
    let recorder = Recorder::start(section["apiUrl"].as_str().unwrap()).await;
    PlatformView::start("qq:chat:U1", recorder, |recorder, parts| {
        let options = QqOptions {
            app_id: crate::fakes::qq::APP_ID.to_owned(),
            app_secret: crate::fakes::qq::SECRET.to_owned().into(),
            api_url: recorder.url(),
            token_url: section["tokenUrl"].as_str().unwrap().to_owned(),
            sandbox: false,
            events: QqEvents::Gateway,
            markdown,
            inbound: inbound("qq:user:U1"),
        };
        Arc::new(QqAdapter::new("qq".parse().unwrap(), options, parts))
    })
    .await
}

/// A person writes to the bot, which gives it new replies. Returns the message.
async fn qq_question(fake: &QqFake, view: &PlatformView) -> Option<String> {
    let mut heard = view.heard.clone();
    let before = *heard.borrow_and_update();
    let message = fake.says(Place::C2c("U1"), "why?");
    heard.wait_for(|count| *count > before).await.unwrap();
    view.recorder.take();
    Some(message)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn qq_shows_every_intent_as_plain_text_and_with_markdown() {
    for (name, markdown) in [("qq_plain", None), ("qq_markdown", Some(true))] {
        let fake = QqFake::start().await;
        fake.rule(|rules| rules.markdown = markdown.is_some());
        let view = qq(&fake, markdown).await;
        let mut shown = view.everything(async |view| qq_question(&fake, view).await).await;
        qq_question(&fake, &view).await;
        let calls = view.stream("progress", progress("reading a file"), "The **answer** is here").await;
        shown.push_str(&format!("=== progress\n{calls}\n"));
        insta::assert_snapshot!(name, shown);
    }
}
