//! A fake QQ on the loopback: tokens, a real websocket gateway with resumable sessions, the message APIs with their
//! budgets and windows, uploads, and simulated people. It outlives the daemons that use it.

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

pub(crate) const APP_ID: &str = "102000001";
pub(crate) const SECRET: &str = "qq-secret-canary-9X2KOErG";

/// The platform. It stops when dropped.
#[derive(Debug)]
pub(crate) struct QqFake {
    base: SocketAddr,
    shared: Shared,
    _serving: JoinSet<()>,
}

/// The state that the servers share, and a notification of changes.
#[derive(Clone, Debug)]
struct Shared {
    rules: Arc<Mutex<Rules>>,
    changed: Arc<watch::Sender<u64>>,
}

impl Shared {
    /// Changes the state, and notifies the watchers.
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

    /// The `adapters` part of a configuration for it, with access for all people of the tests.
    pub(crate) fn config(&self) -> Value {
        json!({ "adapters": { "qq": {
            "appId": APP_ID, "appSecret": SECRET, "apiUrl": format!("http://{}", self.base),
            "tokenUrl": format!("http://{}/app/getAppAccessToken", self.base),
            "allowedUsers": ["U1", "U2", "U3", "70"], "allowedChats": ["G1", "G2", "C1"],
            "groups": { "followupSecs": 0 } } } })
    }

    pub(crate) fn rule<T>(&self, change: impl FnOnce(&mut Rules) -> T) -> T {
        self.shared.with(change)
    }

    /// Waits until `find` finds something, and returns it.
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

    /// Waits until a chat has this many messages, and returns their texts.
    pub(crate) async fn texts(&self, chat: &str, count: usize) -> Vec<String> {
        self.wait_for(&format!("{count} messages in {chat}"), |rules| {
            let texts = rules.texts(chat);
            (texts.len() >= count).then_some(texts)
        })
        .await
    }

    /// Waits for a message in a chat that contains this text.
    pub(crate) async fn text_with(&self, chat: &str, words: &str) -> Sent {
        self.wait_for(&format!("{words:?} in {chat}"), |rules| {
            rules.sent.iter().find(|sent| sent.chat == chat && sent.text.contains(words)).cloned()
        })
        .await
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&Rules) -> T) -> T {
        self.shared.look(look)
    }
}
