//! Feishu's adapter without a daemon: the webhook, the history of a chat, and what doctor finds.

use std::sync::Arc;

use aes::Aes256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cbc::cipher::{BlockEncryptMut as _, KeyIvInit as _, block_padding::Pkcs7};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use shipagent::adapters::chat::inbound::InboundOptions;
use shipagent::adapters::chat::{AllowList, AnswerRights, ChatParts, GroupsSection};
use shipagent::adapters::feishu::{
    CheckStatus, CheckSubject, FeishuAdapter, FeishuApi, FeishuMode, FeishuOptions, check,
};
use shipagent::domain::{CorrelationId, IngressEvent, IngressKind};
use shipagent::ports::{
    Acceptance, Adapter as _, AdapterIo, Clock as _, HealthReporter, HookRequest, RandomIds, SystemClock,
    ThreadRequest, ThreadsHandle,
};
use shipagent::store::{AttachmentFiles, AuditLog, FileAccess, FileApprovals, FileNotes};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;
use crate::fakes::feishu::{APP_ID, APP_SECRET};

const KEY: &str = "encrypt-key";

fn client() -> reqwest::Client {
    shipagent::http_client::install_tls();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

fn options(feishu: &Feishu, mode: FeishuMode) -> FeishuOptions {
    FeishuOptions {
        app_id: APP_ID.to_owned(),
        app_secret: APP_SECRET.to_owned().into(),
        domain: feishu.domain(),
        mode,
        inbound: InboundOptions {
            allow: AllowList { people: vec!["feishu:user:ou_ada".parse().unwrap()], ..AllowList::default() },
            groups: GroupsSection { followup_secs: 0, ..GroupsSection::default() },
            ..InboundOptions::default()
        },
    }
}

/// The adapter behind a webhook, with threads that accept everything.
struct Hooked {
    adapter: Arc<FeishuAdapter>,
    heard: watch::Receiver<Vec<IngressEvent>>,
    _tasks: JoinSet<()>,
    _dir: TempDir,
}

impl Hooked {
    async fn start(feishu: &Feishu) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let audit = Arc::new(AuditLog::new(dir.path()));
        let parts = ChatParts {
            approvals: Arc::new(FileApprovals::new(dir.path())),
            access: Arc::new(FileAccess::new(dir.path(), audit)),
            answer_rights: AnswerRights::new(|asked, by, _| asked.requested_by == *by),
            notes: Arc::new(FileNotes::new(dir.path(), &"feishu".parse().unwrap())),
            http: client(),
            files: Arc::new(AttachmentFiles::new(dir.path())),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            language: None,
            enrich: Arc::default(),
        };
        let mode = FeishuMode::Webhook {
            encrypt_key: Some(KEY.to_owned().into()),
            verification_token: Some("vt".to_owned().into()),
        };
        let adapter = Arc::new(FeishuAdapter::new("feishu".parse().unwrap(), options(feishu, mode), parts));
        let (requests, mut inbox) = mpsc::channel(8);
        let (keep, heard) = watch::channel(Vec::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(request) = inbox.recv().await {
                let ThreadRequest::Deliver { event, reply } = request else { continue };
                let message = event.message.clone();
                keep.send_modify(|heard| heard.push(*event));
                let correlation: CorrelationId = "run_1".parse().unwrap();
                reply.send(Acceptance::Accepted { message, correlation }).unwrap();
            }
        });
        let (health, mut signs) = HealthReporter::new();
        let io = AdapterIo { threads: ThreadsHandle::new(requests), health, clock: Arc::new(SystemClock) };
        let running = adapter.clone();
        tasks.spawn(async move { running.run(io, CancellationToken::new()).await.unwrap() });
        signs.wait_for(Option::is_some).await.unwrap();
        Self { adapter, heard, _tasks: tasks, _dir: dir }
    }

    async fn send(&self, timestamp: i64, key: &str, body: &[u8]) -> (u16, String) {
        let stamp = timestamp.to_string();
        let signed = [stamp.as_bytes(), b"nonce", key.as_bytes(), body].concat();
        let signature: String =
            digest(&SHA256, &signed).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let headers = [
            ("X-Lark-Request-Timestamp", stamp.as_str()),
            ("X-Lark-Request-Nonce", "nonce"),
            ("X-Lark-Signature", signature.as_str()),
        ];
        self.call(&headers, body).await
    }

    async fn call(&self, headers: &[(&'static str, &str)], body: &[u8]) -> (u16, String) {
        let headers =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let answer = self.adapter.hook().call(HookRequest { headers, body: body.to_vec() }).await;
        (answer.status, String::from_utf8(answer.body).unwrap())
    }
}

fn sealed(event: &Value) -> Vec<u8> {
    let key = digest(&SHA256, KEY.as_bytes());
    let cipher = cbc::Encryptor::<Aes256>::new_from_slices(key.as_ref(), &[9; 16]).unwrap();
    let mut bytes = vec![9; 16];
    bytes.extend(cipher.encrypt_padded_vec_mut::<Pkcs7>(event.to_string().as_bytes()));
    json!({ "encrypt": STANDARD.encode(bytes) }).to_string().into_bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_webhook_hears_the_platform_once_and_nobody_else() {
    let feishu = Feishu::start().await;
    let hooked = Hooked::start(&feishu).await;
    let now = SystemClock.now().as_millis() / 1000;
    let challenge = sealed(&json!({ "type": "url_verification", "challenge": "c1", "token": "vt" }));
    assert_eq!(hooked.call(&[], &challenge).await, (200, r#"{"challenge":"c1"}"#.to_owned()));

    let body = sealed(&feishu.event_of(&Message::private("ou_ada", "hello")));
    assert_eq!(hooked.send(now, "wrong-key", &body).await.0, 403);
    assert_eq!(hooked.send(now - 3600, KEY, &body).await.0, 403);
    assert_eq!(hooked.call(&[], &body).await.0, 403);
    assert_eq!(hooked.call(&[], b"{}").await.0, 403);
    assert!(hooked.heard.borrow().is_empty());

    assert_eq!(hooked.send(now, KEY, &body).await.0, 200);
    assert_eq!(hooked.send(now, KEY, &body).await.0, 200, "a copy is answered");
    let heard = hooked.heard.borrow().clone();
    assert_eq!(heard.len(), 1, "and changes nothing");
    assert_eq!(heard[0].thread.as_str(), "feishu:chat:oc_ada");
    assert!(matches!(&heard[0].kind, IngressKind::Said(said) if said.text == "hello"), "{heard:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_newest_messages_of_a_chat_are_listed_oldest_first() {
    let feishu = Feishu::start().await;
    for number in 0..120 {
        feishu.write(&Message::group("oc_group", "ou_ada", &format!("message {number}")));
    }
    let api = FeishuApi::new(client(), &feishu.domain(), APP_ID, &APP_SECRET.to_owned().into());
    let texts = |messages: Vec<shipagent::adapters::feishu::PastMessage>| {
        messages.into_iter().map(|message| message.text).collect::<Vec<_>>()
    };
    let newest = texts(api.list_recent_messages("oc_group", 70).await.unwrap());
    let expected: Vec<String> = (50..120).map(|number| format!("message {number}")).collect();
    assert_eq!(newest, expected);
    assert_eq!(api.list_recent_messages("oc_group", 500).await.unwrap().len(), 120);
    assert_eq!(api.list_recent_messages("oc_none", 5).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_finds_bad_credentials_and_missing_permissions() {
    let feishu = Feishu::start().await;
    let mut options = options(&feishu, FeishuMode::Websocket);
    let standings = |findings: Vec<shipagent::adapters::feishu::FeishuFinding>| {
        findings.into_iter().map(|finding| (finding.about, finding.status)).collect::<Vec<_>>()
    };
    let good = |about| (about, CheckStatus::Good);
    let found = standings(check(client(), &options).await);
    let expected =
        [CheckSubject::Credentials, CheckSubject::Bot, CheckSubject::Connection, CheckSubject::Sending]
            .map(good);
    assert_eq!(found, [expected.as_slice(), &[(CheckSubject::Growing, CheckStatus::Lacking)]].concat());
    feishu.tune(|world| world.mood.cardkit = true);
    assert!(standings(check(client(), &options).await).contains(&good(CheckSubject::Growing)));
    options.app_secret = "wrong".to_owned().into();
    assert_eq!(
        standings(check(client(), &options).await),
        [(CheckSubject::Credentials, CheckStatus::Broken)]
    );
}
