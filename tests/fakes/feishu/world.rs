//! The state of the platform: tokens, messages, cards, files, and unacknowledged events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The configured behaviour of the platform.
#[derive(Clone, Debug)]
pub(crate) struct Mood {
    /// Seconds between two pings.
    pub(crate) ping: u64,
    /// Lifetime of a token.
    pub(crate) token_secs: u64,
    /// Whether streamed cards are supported.
    pub(crate) cardkit: bool,
    /// Whether cards are refused.
    pub(crate) refuses_cards: bool,
    /// Whether the websocket receives everything and sends nothing.
    pub(crate) mute: bool,
    /// Number of frames per event.
    pub(crate) pieces: usize,
    /// How many sends succeed with their responses lost.
    pub(crate) lost_answers: usize,
    /// How many sends are rate limited.
    pub(crate) busy: usize,
    /// Whether file downloads are delayed while this is true.
    pub(crate) holds_files: bool,
    /// Whether the server has only the required calls.
    pub(crate) minimal: bool,
    /// How the list of a chat's messages answers.
    pub(crate) history: HistoryMood,
    /// After which time an unacknowledged event is sent again.
    pub(crate) again_after: Duration,
}

impl Default for Mood {
    fn default() -> Self {
        Self {
            ping: 30,
            token_secs: 7200,
            cardkit: false,
            refuses_cards: false,
            mute: false,
            pieces: 1,
            lost_answers: 0,
            busy: 0,
            holds_files: false,
            minimal: false,
            history: HistoryMood::default(),
            again_after: Duration::from_secs(15),
        }
    }
}

/// How the list of a chat's messages answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct HistoryMood {
    /// The error code of every call.
    pub(crate) refuses: Option<i64>,
    /// Whether calls get no answer while this is true.
    pub(crate) holds: bool,
    /// Most messages of a page, the last of which is the first of the next page, too.
    pub(crate) page: Option<usize>,
    /// How often it was called.
    pub(crate) calls: usize,
}

/// A message of the app.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Posted {
    pub(crate) id: String,
    pub(crate) chat: String,
    pub(crate) kind: String,
    pub(crate) content: Value,
    pub(crate) reply_to: Option<String>,
    pub(crate) in_thread: bool,
    /// How often it was edited.
    pub(crate) changes: usize,
}

/// A message of a person.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) chat: String,
    pub(super) item: Value,
}

#[derive(Clone, Debug)]
pub(super) struct Entity {
    pub(super) card: Value,
    pub(super) sequence: i64,
    pub(super) streaming: bool,
    pub(super) sent: bool,
}

/// An event that is not acknowledged yet.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) key: String,
    pub(super) kind: &'static str,
    pub(super) payload: Value,
    /// The connection it was sent over, and when.
    pub(super) sent: Option<(u64, Instant)>,
}

/// The app's response to an event.
#[derive(Clone, Debug)]
pub(crate) struct Ack {
    pub(crate) key: String,
    pub(crate) code: i64,
    pub(crate) data: Value,
    pub(crate) took: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct Environment {
    pub(crate) mood: Mood,
    pub(super) serial: u64,
    pub(super) tokens: BTreeSet<String>,
    pub(super) tickets: BTreeSet<String>,
    pub(crate) posted: Vec<Posted>,
    pub(super) uuids: BTreeMap<String, String>,
    pub(super) written: BTreeMap<String, Written>,
    pub(super) entities: BTreeMap<String, Entity>,
    /// Files by key: name and bytes.
    pub(crate) files: BTreeMap<String, (String, Vec<u8>)>,
    pub(super) pending: VecDeque<Pending>,
    pub(crate) acks: Vec<Ack>,
    pub(crate) connections: u64,
    pub(crate) tokens_given: usize,
    pub(crate) sends: usize,
    /// The reactions to messages.
    pub(crate) signs: Vec<(String, String)>,
    /// The owners of groups.
    pub(crate) owners: BTreeMap<String, String>,
    /// How often the owner of a group was requested.
    pub(crate) owner_questions: usize,
}

impl Environment {
    pub(super) fn fresh(&mut self, prefix: &str) -> String {
        self.serial += 1;
        format!("{prefix}{:08x}", self.serial)
    }

    /// The current text of a message of the app.
    pub(crate) fn words(&self, posted: &Posted) -> String {
        let content = &posted.content;
        match posted.kind.as_str() {
            "text" => content["text"].as_str().unwrap_or_default().replace('\u{200b}', ""),
            "post" => content["zh_cn"]["content"][0][0]["text"].as_str().unwrap_or_default().to_owned(),
            "interactive" => {
                let card = match content["data"]["card_id"].as_str() {
                    Some(id) => self.entities.get(id).map(|entity| entity.card.clone()).unwrap_or_default(),
                    None => content.clone(),
                };
                card_words(&card)
            }
            other => format!("[{other}]"),
        }
    }

    /// The texts of the app in a chat, oldest first.
    pub(crate) fn said(&self, chat: &str) -> Vec<String> {
        self.posted.iter().filter(|posted| posted.chat == chat).map(|posted| self.words(posted)).collect()
    }

    /// The texts of the app that it sent into topics of a chat with `reply_in_thread`, or outside of them.
    pub(crate) fn said_in_topics(&self, chat: &str, in_topics: bool) -> Vec<String> {
        let posted = self.posted.iter().filter(|posted| posted.chat == chat && posted.in_thread == in_topics);
        posted.map(|posted| self.words(posted)).collect()
    }

    pub(crate) fn forget_tokens(&mut self) {
        self.tokens.clear();
    }

    /// Whether no visible card is left in the streaming state.
    pub(crate) fn nothing_grows(&self) -> bool {
        !self.entities.values().any(|entity| entity.sent && entity.streaming)
    }

    /// Whether every event was acknowledged.
    pub(crate) fn all_acknowledged(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn chat_of(&self, message: &str) -> Option<String> {
        let mine = self.posted.iter().find(|posted| posted.id == message).map(|posted| posted.chat.clone());
        mine.or_else(|| self.written.get(message).map(|written| written.chat.clone()))
    }

    pub(super) fn push(&mut self, key: String, kind: &'static str, payload: Value) {
        self.pending.push_back(Pending { key, kind, payload, sent: None });
    }

    pub(super) fn item(&self, message: &str) -> Option<Value> {
        if let Some(written) = self.written.get(message) {
            return Some(written.item.clone());
        }
        let posted = self.posted.iter().find(|posted| posted.id == message)?;
        Some(json!({
            "message_id": posted.id, "msg_type": posted.kind, "create_time": "1700000000000", "deleted": false,
            "chat_id": posted.chat, "sender": { "id": super::APP_ID, "id_type": "app_id", "sender_type": "app" },
            "body": { "content": posted.content.to_string() },
        }))
    }
}

/// The texts of a card's elements.
fn card_words(card: &Value) -> String {
    let elements = card["body"]["elements"].as_array().cloned().unwrap_or_default();
    let words: Vec<String> =
        elements.iter().filter_map(|element| element["content"].as_str()).map(str::to_owned).collect();
    words.join("\n")
}
