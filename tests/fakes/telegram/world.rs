//! The whole state of the server, under one lock, with a notification of changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::account::{Account, User};
use super::fault::Troubles;
use super::flood::Flood;
use super::log::{Deed, Entry, Log, ResponseSent};
use super::room::{AuthorRole, Kind, Room};
use super::updates::Updates;
use super::webhook::Webhook;

#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    /// The declared size; the bytes of a huge file are missing.
    pub(crate) size: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Press {
    /// The person sees a spinner.
    Waiting,
    /// The bot answered with this text.
    Answered(Option<String>),
}

/// The whole state.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) account: Account,
    pub(crate) rooms: BTreeMap<i64, Room>,
    pub(crate) updates: Updates,
    pub(crate) webhook: Option<Webhook>,
    pub(crate) files: BTreeMap<String, Stored>,
    pub(crate) presses: BTreeMap<String, Press>,
    /// By scope and language.
    pub(crate) commands: BTreeMap<(String, String), Value>,
    pub(crate) troubles: Troubles,
    pub(crate) flood: Option<Flood>,
    pub(crate) log: Log,
    pub(crate) logged_out: bool,
    started: Instant,
}

impl Environment {
    fn new(account: Account) -> Self {
        Self {
            account,
            rooms: BTreeMap::new(),
            updates: Updates::default(),
            webhook: None,
            files: BTreeMap::new(),
            presses: BTreeMap::new(),
            commands: BTreeMap::new(),
            troubles: Troubles::default(),
            flood: None,
            log: Log::default(),
            logged_out: false,
            started: Instant::now(),
        }
    }

    /// Logs a call of the bot.
    pub(crate) fn note(&mut self, method: &str, chat: Option<i64>, deed: Deed, told: ResponseSent) {
        self.log.push(Entry { at: self.started.elapsed(), method: method.to_owned(), chat, deed, told });
    }

    /// A chat. Panics if the test names a missing one.
    pub(crate) fn room(&self, chat: i64) -> &Room {
        self.rooms.get(&chat).unwrap_or_else(|| panic!("there is no chat {chat}"))
    }

    pub(crate) fn room_mut(&mut self, chat: i64) -> &mut Room {
        self.rooms.get_mut(&chat).unwrap_or_else(|| panic!("there is no chat {chat}"))
    }

    /// Adds a message to a chat and returns its wire format.
    pub(crate) fn post(&mut self, chat: i64, topic: Option<i64>, fields: Map<String, Value>) -> Value {
        let room = self.room_mut(chat);
        let mut message = Map::new();
        message.insert("message_id".to_owned(), json!(room.next_id()));
        message.insert("date".to_owned(), json!(now()));
        message.insert("chat".to_owned(), room.wire());
        if let Some(topic) = topic {
            message.insert("message_thread_id".to_owned(), json!(topic));
            if room.topics.contains_key(&topic) {
                message.insert("is_topic_message".to_owned(), json!(true));
            }
        }
        message.extend(fields);
        let message = Value::Object(message);
        room.messages.insert(room.last_id, message.clone());
        message
    }

    /// Stores a file and returns its id.
    pub(crate) fn keep(&mut self, name: &str, bytes: Vec<u8>, size: usize) -> String {
        let number = self.files.len() + 1;
        let extension = name.rsplit_once('.').map_or("bin", |(_, extension)| extension);
        let id = format!("BQACAgQAAx{number}");
        self.files
            .insert(id.clone(), Stored { path: format!("documents/file_{number}.{extension}"), bytes, size });
        id
    }

    /// The chat of a person, created on first use.
    pub(crate) fn private_room(&mut self, user: &User) -> &mut Room {
        self.rooms.entry(user.id).or_insert_with(|| {
            let mut room = Room::new(user.id, Kind::Private, user.name());
            room.members.insert(user.id, user.clone());
            room.role = AuthorRole::Member;
            room
        })
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// The state and its notification. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    world: Arc<Mutex<Environment>>,
    bell: Arc<watch::Sender<u64>>,
    /// The calls in progress.
    pub(crate) calls: TaskTracker,
}

impl Shared {
    /// A state with only the bot.
    pub(crate) fn new(account: Account) -> Self {
        let (world, bell) = (Mutex::new(Environment::new(account)), watch::Sender::new(0));
        Self { world: Arc::new(world), bell: Arc::new(bell), calls: TaskTracker::new() }
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Environment) -> T) -> T {
        read(&self.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Changes the state and notifies.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Environment) -> T) -> T {
        let changed = change(&mut self.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        self.bell.send_modify(|count| *count += 1);
        changed
    }

    /// Changes the state without a notification.
    pub(crate) fn change_quietly<T>(&self, change: impl FnOnce(&mut Environment) -> T) -> T {
        change(&mut self.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    pub(crate) fn listen(&self) -> watch::Receiver<u64> {
        self.bell.subscribe()
    }
}
