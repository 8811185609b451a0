//! Everything the bot did, in order: what a test reads instead of guessing.

use std::fmt;
use std::time::Duration;

use super::answer::Refusal;

/// One call of the bot, or one download.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// When, counted from the start of the server.
    pub(crate) at: Duration,
    /// The method as the documentation writes it, in lower case; `download` for a file.
    pub(crate) method: String,
    /// The chat it was about.
    pub(crate) chat: Option<i64>,
    /// What happened.
    pub(crate) deed: Deed,
    /// Whether the bot was told.
    pub(crate) told: Told,
}

/// Whether the bot learned how its call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// The answer was sent.
    Yes,
    /// It was carried out, and the answer was lost.
    Lost,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Deed {
    /// It asked for something and got it.
    Asked,
    /// It set something about itself: commands, a webhook.
    Configured,
    /// It asked for updates and was given these.
    Polled { offset: Option<i64>, given: Vec<i64> },
    /// It sent a message.
    Sent {
        message: i64,
        topic: Option<i64>,
        reply_to: Option<i64>,
        text: String,
        media: Option<&'static str>,
    },
    /// It sent several as one.
    SentAlbum { messages: Vec<i64>, topic: Option<i64>, texts: Vec<String> },
    /// It changed the text or caption of a message.
    Edited { message: i64, text: String },
    /// It changed the buttons of a message.
    ChangedButtons { message: i64 },
    /// It removed a message.
    Deleted { message: i64 },
    /// It showed a draft.
    Drafted { draft: i64, topic: Option<i64>, text: String },
    /// It showed an action such as `typing`.
    Acted { topic: Option<i64>, action: String },
    /// It reacted to a message; no emoji takes the reaction away.
    Reacted { message: i64, emoji: Vec<String> },
    /// It answered a press of a button.
    AnsweredPress { query: String, text: Option<String>, alert: bool },
    /// It made a topic.
    CreatedTopic { topic: i64 },
    /// It left the chat.
    Left,
    /// It fetched a file.
    Fetched { path: String, bytes: usize },
    /// The server refused.
    Refused(Refusal),
    /// The connection broke, or an answer that is no answer came, before anything was done.
    Broken(&'static str),
}

/// All entries, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Vec<Entry>);

impl Log {
    /// Notes one more.
    pub(crate) fn push(&mut self, entry: Entry) {
        self.0.push(entry);
    }

    /// Every entry, oldest first.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The entries of one method, in any spelling of its case.
    pub(crate) fn of<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.0.iter().filter(move |entry| entry.method.eq_ignore_ascii_case(method))
    }

    /// How often a method was called.
    pub(crate) fn calls(&self, method: &str) -> usize {
        self.of(method).count()
    }

    /// What was done in a chat.
    pub(crate) fn deeds(&self, chat: i64) -> impl Iterator<Item = &Deed> {
        self.0.iter().filter(move |entry| entry.chat == Some(chat)).map(|entry| &entry.deed)
    }

    /// The texts sent to a chat, whatever became of them later.
    pub(crate) fn sent(&self, chat: i64) -> Vec<&str> {
        self.deeds(chat)
            .flat_map(|deed| match deed {
                Deed::Sent { text, .. } => vec![text.as_str()],
                Deed::SentAlbum { texts, .. } => texts.iter().map(String::as_str).collect(),
                _ => Vec::new(),
            })
            .collect()
    }

    /// The actions shown in a chat, each with its topic and its time.
    pub(crate) fn actions(&self, chat: i64) -> Vec<(Duration, Option<i64>, &str)> {
        let here = self.0.iter().filter(|entry| entry.chat == Some(chat));
        here.filter_map(|entry| match &entry.deed {
            Deed::Acted { topic, action } => Some((entry.at, *topic, action.as_str())),
            _ => None,
        })
        .collect()
    }

    /// What was refused with this code.
    pub(crate) fn refused(&self, code: u16) -> Vec<&Entry> {
        self.0
            .iter()
            .filter(|entry| matches!(&entry.deed, Deed::Refused(refusal) if refusal.code == code))
            .collect()
    }
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (order, entry) in self.0.iter().enumerate() {
            let Entry { at, method, chat, deed, told } = entry;
            let chat = chat.map_or_else(String::new, |chat| format!(" in {chat}"));
            let lost = if *told == Told::Lost { " (answer lost)" } else { "" };
            writeln!(f, "{order:>5} {:>9.3}s {method}{chat}: {deed:?}{lost}", at.as_secs_f64())?;
        }
        Ok(())
    }
}
