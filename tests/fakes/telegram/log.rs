//! Everything the bot did, in order, for assertions.

use std::fmt;
use std::time::Duration;

use super::answer::Refusal;

/// One call of the bot, or one download.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The time since the start of the server.
    pub(crate) at: Duration,
    /// The method name in lower case; `download` for a file.
    pub(crate) method: String,
    pub(crate) chat: Option<i64>,
    pub(crate) deed: Deed,
    /// Whether the bot got the response.
    pub(crate) told: ResponseSent,
}

/// Whether the bot got the response of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseSent {
    /// The answer was sent.
    Yes,
    /// It was performed, and the response was lost.
    Lost,
}

/// The effect of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Deed {
    Asked,
    /// It changed its settings: commands, a webhook.
    Configured,
    /// It polled and got these updates.
    Polled {
        offset: Option<i64>,
        given: Vec<i64>,
    },
    /// It sent a message.
    Sent {
        message: i64,
        topic: Option<i64>,
        reply_to: Option<i64>,
        text: String,
        media: Option<&'static str>,
    },
    /// It sent an album.
    SentAlbum {
        messages: Vec<i64>,
        topic: Option<i64>,
        texts: Vec<String>,
    },
    /// It edited the text or caption of a message.
    Edited {
        message: i64,
        text: String,
    },
    /// It edited the buttons of a message.
    ChangedButtons {
        message: i64,
    },
    Deleted {
        message: i64,
    },
    Drafted {
        draft: i64,
        topic: Option<i64>,
        text: String,
    },
    /// It sent a chat action such as `typing`.
    Acted {
        topic: Option<i64>,
        action: String,
    },
    /// It reacted to a message; no emoji removes the reaction.
    Reacted {
        message: i64,
        emoji: Vec<String>,
    },
    /// It answered a pressed button.
    AnsweredPress {
        query: String,
        text: Option<String>,
        alert: bool,
    },
    /// It created a topic.
    CreatedTopic {
        topic: i64,
    },
    /// It left the chat.
    Left,
    /// It downloaded a file.
    Fetched {
        path: String,
        bytes: usize,
    },
    Refused(Refusal),
    /// The connection broke, or an invalid response was sent, before the call was performed.
    Broken(&'static str),
}

/// All entries, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Vec<Entry>);

impl Log {
    pub(crate) fn push(&mut self, entry: Entry) {
        self.0.push(entry);
    }

    /// Every entry, oldest first.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The entries of one method, ignoring case.
    pub(crate) fn of<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.0.iter().filter(move |entry| entry.method.eq_ignore_ascii_case(method))
    }

    /// How often a method was called.
    pub(crate) fn calls(&self, method: &str) -> usize {
        self.of(method).count()
    }

    /// The effects in a chat.
    pub(crate) fn deeds(&self, chat: i64) -> impl Iterator<Item = &Deed> {
        self.0.iter().filter(move |entry| entry.chat == Some(chat)).map(|entry| &entry.deed)
    }

    /// The texts sent to a chat, including those that were edited or deleted later.
    pub(crate) fn sent(&self, chat: i64) -> Vec<&str> {
        self.deeds(chat)
            .flat_map(|deed| match deed {
                Deed::Sent { text, .. } => vec![text.as_str()],
                Deed::SentAlbum { texts, .. } => texts.iter().map(String::as_str).collect(),
                _ => Vec::new(),
            })
            .collect()
    }

    /// The chat actions in a chat, each with its topic and its time.
    pub(crate) fn actions(&self, chat: i64) -> Vec<(Duration, Option<i64>, &str)> {
        let here = self.0.iter().filter(|entry| entry.chat == Some(chat));
        here.filter_map(|entry| match &entry.deed {
            Deed::Acted { topic, action } => Some((entry.at, *topic, action.as_str())),
            _ => None,
        })
        .collect()
    }

    /// The calls refused with this code.
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
            let lost = if *told == ResponseSent::Lost { " (answer lost)" } else { "" };
            writeln!(f, "{order:>5} {:>9.3}s {method}{chat}: {deed:?}{lost}", at.as_secs_f64())?;
        }
        Ok(())
    }
}
