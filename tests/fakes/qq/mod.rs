//! A QQ of our own on the loopback: tokens, a real websocket gateway with sessions that can be resumed, the message
//! APIs with their budgets and windows, uploads, and people who write and press buttons. It outlives the daemons that
//! talk to it.

mod gateway;
mod http;
pub(crate) mod people;
pub(crate) mod rules;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::daemon::PATIENCE;
use rules::{Rules, Sent};

/// The bot's credentials.
pub(crate) const APP_ID: &str = "102000001";
pub(crate) const SECRET: &str = "qq-secret-canary-9X2KOErG";

/// The platform. It ends with this value.
#[derive(Debug)]
pub(crate) struct QqFake {
    base: SocketAddr,
    shared: Shared,
    _serving: JoinSet<()>,
}

/// What the servers share: the rules, and the news that they have changed.
#[derive(Clone, Debug)]
struct Shared {
    rules: Arc<Mutex<Rules>>,
    changed: Arc<watch::Sender<u64>>,
}

impl Shared {
    /// Works on the rules, and tells everybody that they may have changed.
    fn with<T>(&self, work: impl FnOnce(&mut Rules) -> T) -> T {
        let result = work(&mut self.rules.lock().unwrap());
        self.changed.send_modify(|version| *version += 1);
        result
    }

    fn look<T>(&self, look: impl FnOnce(&Rules) -> T) -> T {
        look(&self.rules.lock().unwrap())
    }
}

impl QqFake {
    /// Starts it.
    pub(crate) async fn start() -> Self {
        let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let ws = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = http.local_addr().unwrap();
        let mut rules = Rules::new(format!("ws://{}/websocket", ws.local_addr().unwrap()));
        rules.base = format!("http://{base}");
        let shared = Shared { rules: Arc::new(Mutex::new(rules)), changed: Arc::new(watch::Sender::new(0)) };
        let mut serving = JoinSet::new();
        serving.spawn(http::serve(http, shared.clone()));
        serving.spawn(gateway::serve(ws, shared.clone()));
        Self { base, shared, _serving: serving }
    }

    /// The `adapters` part of a configuration that talks to it, open for everybody the tests know.
    pub(crate) fn config(&self) -> Value {
        json!({ "adapters": { "qq": {
            "appId": APP_ID, "appSecret": SECRET, "apiUrl": format!("http://{}", self.base),
            "tokenUrl": format!("http://{}/app/getAppAccessToken", self.base),
            "allowedUsers": ["U1", "U2", "U3", "70"], "allowedChats": ["G1", "G2", "C1"],
            "groups": { "followupSecs": 0 } } } })
    }

    /// Changes the rules.
    pub(crate) fn rule<T>(&self, change: impl FnOnce(&mut Rules) -> T) -> T {
        self.shared.with(change)
    }

    /// Waits until something can be found, and gives it.
    pub(crate) async fn wait_for<T>(&self, what: &str, find: impl Fn(&Rules) -> Option<T>) -> T {
        let mut changes = self.shared.changed.subscribe();
        let found = async {
            loop {
                changes.borrow_and_update();
                if let Some(found) = self.shared.look(&find) {
                    return found;
                }
                changes.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(PATIENCE, found).await {
            Ok(found) => found,
            Err(_) => {
                panic!("waited in vain for {what}: {:#?}", self.shared.look(|rules| rules.sent.clone()))
            }
        }
    }

    /// Waits until so many messages were shown in a chat, and gives their words.
    pub(crate) async fn texts(&self, chat: &str, count: usize) -> Vec<String> {
        self.wait_for(&format!("{count} messages in {chat}"), |rules| {
            let texts = rules.texts(chat);
            (texts.len() >= count).then_some(texts)
        })
        .await
    }

    /// Waits for a message in a chat that contains these words.
    pub(crate) async fn text_with(&self, chat: &str, words: &str) -> Sent {
        self.wait_for(&format!("{words:?} in {chat}"), |rules| {
            rules.sent.iter().find(|sent| sent.chat == chat && sent.text.contains(words)).cloned()
        })
        .await
    }

    /// What is so now.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Rules) -> T) -> T {
        self.shared.look(look)
    }
}
