//! The whole state behind the server, under one lock, and the bell that rings when it changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::account::{Account, User};
use super::flood::Flood;
use super::log::{Deed, Entry, Log, Told};
use super::room::{AuthorRole, Kind, Room};
use super::trouble::Troubles;
use super::updates::Updates;
use super::webhook::Webhook;

/// A file people or the bot sent.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    /// Where it is fetched from.
    pub(crate) path: String,
    /// What is in it.
    pub(crate) bytes: Vec<u8>,
    /// How large it is said to be; the bytes of a huge one need not be there.
    pub(crate) size: usize,
}

/// A press of a button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Press {
    /// The person sees it spin.
    Waiting,
    /// The bot answered with these words.
    Answered(Option<String>),
}

/// Everything.
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

    /// Notes what the bot did.
    pub(crate) fn note(&mut self, method: &str, chat: Option<i64>, deed: Deed, told: Told) {
        self.log.push(Entry { at: self.started.elapsed(), method: method.to_owned(), chat, deed, told });
    }

    /// The chat of a test. A test that names one which is not there is wrong.
    pub(crate) fn room(&self, chat: i64) -> &Room {
        self.rooms.get(&chat).unwrap_or_else(|| panic!("there is no chat {chat}"))
    }

    /// The same, to change it.
    pub(crate) fn room_mut(&mut self, chat: i64) -> &mut Room {
        self.rooms.get_mut(&chat).unwrap_or_else(|| panic!("there is no chat {chat}"))
    }

    /// Puts a message into a chat and says how it looks on the wire.
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

    /// Keeps a file and says its number.
    pub(crate) fn keep(&mut self, name: &str, bytes: Vec<u8>, size: usize) -> String {
        let number = self.files.len() + 1;
        let extension = name.rsplit_once('.').map_or("bin", |(_, extension)| extension);
        let id = format!("BQACAgQAAx{number}");
        self.files
            .insert(id.clone(), Stored { path: format!("documents/file_{number}.{extension}"), bytes, size });
        id
    }

    /// The chat of a person, made when it is not there.
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

/// The world and its bell. Clones are the same world.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    world: Arc<Mutex<Environment>>,
    bell: Arc<watch::Sender<u64>>,
    /// The calls that are being carried out.
    pub(crate) calls: TaskTracker,
}

impl Shared {
    /// A world with nobody in it but the bot.
    pub(crate) fn new(account: Account) -> Self {
        let (world, bell) = (Mutex::new(Environment::new(account)), watch::Sender::new(0));
        Self { world: Arc::new(world), bell: Arc::new(bell), calls: TaskTracker::new() }
    }

    /// Reads the world.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Environment) -> T) -> T {
        read(&self.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Changes the world and rings.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Environment) -> T) -> T {
        let changed = change(&mut self.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        self.bell.send_modify(|count| *count += 1);
        changed
    }

    /// Changes what nobody waits for.
    pub(crate) fn change_quietly<T>(&self, change: impl FnOnce(&mut Environment) -> T) -> T {
        change(&mut self.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Hears the bell.
    pub(crate) fn listen(&self) -> watch::Receiver<u64> {
        self.bell.subscribe()
    }
}
