//! A message of a person, before it is sent.

use serde_json::{Map, Value, json};

use super::account::User;
use super::formatted::{Formatted, entity, units};

#[derive(Clone, Debug)]
pub(crate) enum Author {
    User(User),
    /// An administrator who writes as the group.
    Anonymous,
    /// A channel that writes in a group.
    Channel {
        id: i64,
        title: String,
    },
}

impl From<&User> for Author {
    fn from(user: &User) -> Self {
        Self::User(user.clone())
    }
}

/// A file of a person.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) mime: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) size: usize,
}

impl File {
    /// A file with this content.
    pub(crate) fn new(name: &str, mime: &str, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self { name: name.to_owned(), mime: mime.to_owned(), size: bytes.len(), bytes }
    }

    /// A file with this declared size, without its content.
    pub(crate) fn huge(name: &str, mime: &str, size: usize) -> Self {
        Self { size, ..Self::new(name, mime, "") }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Post {
    pub(crate) words: Option<Formatted>,
    pub(crate) file: Option<(&'static str, File)>,
    pub(crate) fields: Map<String, Value>,
    pub(crate) topic: Option<i64>,
    pub(crate) reply_to: Option<i64>,
    pub(crate) quote: Option<String>,
}

impl Post {
    pub(crate) fn text(text: &str) -> Self {
        Self { words: Some(Formatted::typed(text)), ..Self::default() }
    }

    /// A file of a kind: `photo`, `document`, `voice`, `audio` or `video`.
    pub(crate) fn file(kind: &'static str, file: File) -> Self {
        Self { file: Some((kind, file)), ..Self::default() }
    }

    /// A sticker that stands for an emoji.
    pub(crate) fn sticker(emoji: &str) -> Self {
        Self::file("sticker", File::new("sticker.webp", "image/webp", "RIFF")).with("emoji", json!(emoji))
    }

    pub(crate) fn location(latitude: f64, longitude: f64) -> Self {
        Self::default().with("location", json!({ "latitude": latitude, "longitude": longitude }))
    }

    pub(crate) fn contact(name: &str, phone: &str) -> Self {
        Self::default().with("contact", json!({ "first_name": name, "phone_number": phone }))
    }

    /// With any field of the wire format.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: Value) -> Self {
        self.fields.insert(name.to_owned(), value);
        self
    }

    #[must_use]
    pub(crate) fn captioned(mut self, caption: &str) -> Self {
        self.words = Some(Formatted::typed(caption));
        self
    }

    /// With a text mention of a person without a username.
    #[must_use]
    pub(crate) fn mentioning(mut self, words: &str, user: &User) -> Self {
        let said = self.words.get_or_insert_default();
        let (before, _) = said.text.split_once(words).expect("the words are in the text");
        let mut mention = entity("text_mention", units(before), units(words));
        mention["user"] = user.wire();
        said.entities.push(mention);
        self
    }

    #[must_use]
    pub(crate) fn in_topic(mut self, topic: i64) -> Self {
        self.topic = Some(topic);
        self
    }

    /// As a reply to a message.
    #[must_use]
    pub(crate) fn replying(mut self, message: i64) -> Self {
        self.reply_to = Some(message);
        self
    }

    /// As a reply that quotes a part of a message.
    #[must_use]
    pub(crate) fn quoting(mut self, message: i64, words: &str) -> Self {
        self.quote = Some(words.to_owned());
        self.replying(message)
    }

    /// As a forwarded message.
    #[must_use]
    pub(crate) fn forwarded_from(self, user: &User) -> Self {
        let origin = json!({ "type": "user", "sender_user": user.wire(), "date": 1_700_000_000 });
        self.with("forward_origin", origin)
    }

    /// Sent through an inline bot.
    #[must_use]
    pub(crate) fn via(self, bot: &User) -> Self {
        self.with("via_bot", bot.wire())
    }
}
