//! Ids. Each has one fallible constructor, so that every value is valid.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::short_digest;

/// Characters that are not escaped inside an id: everything else, `:` included, is percent-encoded.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Longest file name of an id; leaves space for a suffix such as `.jsonl` under the usual limit of 255 bytes.
const MAX_FILE_NAME: usize = 245;

/// The text is not a valid id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    /// The format is wrong.
    #[error("{0:?} is not a valid id: expected {1}")]
    Shape(String, &'static str),
    /// It is too long for a file name.
    #[error(
        "the id is too long: it makes a file name of {0} bytes of at most {MAX_FILE_NAME}, where a letter or digit \
         takes 1, another ASCII character up to 5 and a Chinese one 15"
    )]
    TooLong(usize),
}

/// The short lower-case name of a platform, such as `web`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Platform(Arc<str>);

impl Platform {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Platform {
    type Err = BadId;

    fn from_str(raw: &str) -> Result<Self, BadId> {
        let plain = raw.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if raw.is_empty() || raw.len() > 16 || !plain {
            return Err(BadId::Shape(clip(raw), "a platform of 1 to 16 letters a-z or digits"));
        }
        Ok(Self(raw.into()))
    }
}

/// The id of a conversation: `platform:chat:id[:topic:id][:user:id]`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ThreadId {
    text: Arc<str>,
    platform: Platform,
}

impl ThreadId {
    /// The thread of a whole chat. `chat` is the platform's own id, in any characters.
    pub fn of_chat(platform: &Platform, chat: &str) -> Result<Self, BadId> {
        Self::build(platform, chat, None, None)
    }

    /// The thread of one topic of a chat.
    pub fn of_topic(platform: &Platform, chat: &str, topic: &str) -> Result<Self, BadId> {
        Self::build(platform, chat, Some(topic), None)
    }

    /// One person's own thread in this chat.
    pub fn for_user(&self, user: &str) -> Result<Self, BadId> {
        format!("{}:user:{}", self.text, encode(user)).parse()
    }

    fn build(
        platform: &Platform,
        chat: &str,
        topic: Option<&str>,
        user: Option<&str>,
    ) -> Result<Self, BadId> {
        if [Some(chat), topic, user].into_iter().flatten().any(str::is_empty) {
            return Err(BadId::Shape(String::new(), THREAD_SHAPE));
        }
        let mut text = format!("{}:chat:{}", platform.as_str(), encode(chat));
        for (name, value) in [("topic", topic), ("user", user)] {
            if let Some(value) = value {
                text.push_str(&format!(":{name}:{}", encode(value)));
            }
        }
        let id = Self { text: text.into(), platform: platform.clone() };
        let length = id.file_name().len();
        if length > MAX_FILE_NAME { Err(BadId::TooLong(length)) } else { Ok(id) }
    }

    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The platform's own id of the chat, decoded.
    pub fn chat(&self) -> String {
        decode(self.text.split(':').nth(2).unwrap_or_default())
    }

    /// The platform's own id of the topic, decoded.
    pub fn topic(&self) -> Option<String> {
        let mut words = self.text.split(':').skip(3);
        (words.next() == Some("topic")).then(|| decode(words.next().unwrap_or_default()))
    }

    /// The thread of the whole chat that this one belongs to.
    pub fn whole_chat(&self) -> Option<Self> {
        Self::of_chat(&self.platform, &self.chat()).ok()
    }

    /// Whether it is one person's own thread in a chat of several.
    pub fn is_of_one_person(&self) -> bool {
        // Inside an id a `:` is encoded, so that the name of a part cannot be mistaken.
        self.text.split(':').nth_back(1) == Some("user")
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// A file name that is unique for this thread.
    pub fn file_name(&self) -> String {
        encode(&self.text)
    }

    /// Parses a file name made by [`Self::file_name`].
    pub fn from_file_name(name: &str) -> Result<Self, BadId> {
        let id: Self = decode(name).parse()?;
        if id.file_name() == name { Ok(id) } else { Err(BadId::Shape(clip(name), THREAD_SHAPE)) }
    }
}

const THREAD_SHAPE: &str = "platform:chat:id[:topic:id][:user:id]";

impl FromStr for ThreadId {
    type Err = BadId;

    fn from_str(raw: &str) -> Result<Self, BadId> {
        let bad = || BadId::Shape(clip(raw), THREAD_SHAPE);
        let words: Vec<&str> = raw.split(':').collect();
        let (platform, chat, rest) = match words.as_slice() {
            [platform, "chat", chat, rest @ ..] => (platform.parse::<Platform>()?, decode(chat), rest),
            _ => return Err(bad()),
        };
        let (topic, user) = match rest {
            [] => (None, None),
            ["topic", topic] => (Some(decode(topic)), None),
            ["user", user] => (None, Some(decode(user))),
            ["topic", topic, "user", user] => (Some(decode(topic)), Some(decode(user))),
            _ => return Err(bad()),
        };
        Self::build(&platform, &chat, topic.as_deref(), user.as_deref())
    }
}

/// The id of an author: `platform:user:id`, with the platform's own id, never a display name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AuthorId(Arc<str>);

impl AuthorId {
    /// A file name that is unique for this person. A long one ends in a digest of the whole id, after a character that
    /// no other name has.
    pub fn file_name(&self) -> String {
        let name = encode(self.as_str());
        if name.len() <= MAX_FILE_NAME {
            return name;
        }
        let digest = short_digest(self.0.as_bytes(), 32);
        let room = MAX_FILE_NAME.saturating_sub(digest.len() + 1);
        let beginning: String = name.chars().take(room).collect();
        format!("{beginning}+{digest}")
    }

    /// The author that the platform knows as `user`.
    pub fn new(platform: &Platform, user: &str) -> Result<Self, BadId> {
        if user.is_empty() || user.len() > MAX_FILE_NAME {
            return Err(BadId::Shape(clip(user), "platform:user:id"));
        }
        Ok(Self(format!("{}:user:{}", platform.as_str(), encode(user)).into()))
    }

    pub fn platform(&self) -> Platform {
        Platform(self.0.split(':').next().unwrap_or_default().into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AuthorId {
    type Err = BadId;

    fn from_str(raw: &str) -> Result<Self, BadId> {
        match raw.split(':').collect::<Vec<_>>().as_slice() {
            [platform, "user", user] => Self::new(&platform.parse()?, &decode(user)),
            _ => Err(BadId::Shape(clip(raw), "platform:user:id")),
        }
    }
}

/// The id of one UIMessage; for an inbound message it is the dedupe key as well.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MessageId(Arc<str>);

/// The id of one run: the messages it answers, its calls and its answer.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CorrelationId(Arc<str>);

/// The id of one tool call, from the model or, where it gave none, generated.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolCallId(Arc<str>);

pub(super) fn encode(raw: &str) -> String {
    utf8_percent_encode(raw, PLAIN).to_string()
}

pub(super) fn decode(encoded: &str) -> String {
    percent_decode_str(encoded).decode_utf8_lossy().into_owned()
}

pub(super) fn clip(raw: &str) -> String {
    raw.chars().take(80).collect()
}

macro_rules! text_id {
    ($($name:ident),*) => {$(
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// A generated id, from texts that are known to be valid.
            pub(crate) fn made(prefix: &str, unique: &str) -> Self {
                Self(format!("{prefix}{unique}").into())
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(raw: &str) -> Result<Self, BadId> {
                let bad = raw.is_empty() || raw.len() > 512 || raw.chars().any(char::is_control);
                if bad {
                    return Err(BadId::Shape(clip(raw), "1 to 512 characters without control characters"));
                }
                Ok(Self(raw.into()))
            }
        }
    )*};
}

text_id!(MessageId, CorrelationId, ToolCallId);

impl ToolCallId {
    /// The id as part of a file name. Not lossless: model servers choose the ids of calls.
    pub fn plain_name(&self) -> String {
        let plain =
            |letter: char| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '_' };
        self.as_str().chars().take(80).map(plain).collect()
    }
}

macro_rules! id_conversions {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;

            fn try_from(raw: String) -> Result<Self, BadId> {
                raw.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.as_str().to_owned()
            }
        }
    )*};
}

id_conversions!(Platform, ThreadId, AuthorId, MessageId, CorrelationId, ToolCallId);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn web() -> Platform {
        "web".parse().unwrap()
    }

    #[test]
    fn special_characters_inside_an_id_are_encoded_once() {
        let id = ThreadId::of_chat(&web(), "a:b/../c%").unwrap();
        assert_eq!(id.as_str(), "web:chat:a%3Ab%2F..%2Fc%25");
        assert_eq!(id.as_str().parse::<ThreadId>().unwrap(), id);
        assert_eq!(id.chat(), "a:b/../c%");
    }

    #[test]
    fn topics_and_users_are_part_of_the_identity() {
        let id: ThreadId = "telegram:chat:-100:topic:7:user:42".parse().unwrap();
        assert_eq!((id.chat(), id.topic()), ("-100".to_owned(), Some("7".to_owned())));
        assert_eq!(
            ThreadId::of_topic(&"telegram".parse().unwrap(), "-100", "7").unwrap().for_user("42"),
            Ok(id)
        );
    }

    #[test]
    fn only_a_thread_with_a_user_part_is_one_persons_own() {
        for (thread, expected) in [
            ("telegram:chat:-100:user:42", true),
            ("telegram:chat:-100:topic:7:user:42", true),
            ("telegram:chat:-100", false),
            ("telegram:chat:-100:topic:7", false),
            ("web:chat:user", false),
            ("web:chat:user:topic:user", false),
            ("web:chat:a%3Auser%3Ab", false),
        ] {
            assert_eq!(thread.parse::<ThreadId>().unwrap().is_of_one_person(), expected, "{thread}");
        }
    }

    #[test]
    fn a_file_name_of_any_person_is_short_enough_and_nobody_elses() {
        let person = |user: &str| AuthorId::new(&web(), user).unwrap().file_name();
        assert_eq!(person("7"), "web%3Auser%3A7");
        let long = "张".repeat(80);
        let names =
            [person(&long), person(&format!("{long}三")), person(&":".repeat(245)), person(&"a".repeat(245))];
        for name in &names {
            assert!(
                name.len() <= MAX_FILE_NAME && name.is_ascii() && name.starts_with("web%3Auser"),
                "{name}"
            );
        }
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len());
    }

    #[test]
    fn malformed_ids_are_refused() {
        for raw in [
            "",
            "web",
            "web:chat:",
            "Web:chat:1",
            "web:room:1",
            "web:chat:1:topic",
            "web:chat:1:x:2",
            "../..:chat:1",
        ] {
            assert!(raw.parse::<ThreadId>().is_err(), "{raw:?}");
        }
        assert!(ThreadId::of_chat(&web(), &"x".repeat(500)).is_err());
        assert!("web:user:".parse::<AuthorId>().is_err());
        assert!("a\nb".parse::<MessageId>().is_err());
    }

    proptest! {
        #[test]
        fn thread_ids_and_file_names_are_one_to_one(a in "\\PC{1,6}", b in "\\PC{1,6}", topic in proptest::option::of("\\PC{1,3}")) {
            let make = |chat: &str| match &topic {
                Some(topic) => ThreadId::of_topic(&web(), chat, topic).unwrap(),
                None => ThreadId::of_chat(&web(), chat).unwrap(),
            };
            let (x, y) = (make(&a), make(&b));
            prop_assert_eq!(&ThreadId::from_file_name(&x.file_name()).unwrap(), &x);
            prop_assert_eq!(&x.as_str().parse::<ThreadId>().unwrap(), &x);
            prop_assert_eq!(a == b, x.file_name() == y.file_name());
            prop_assert_eq!(x.chat(), a);
            let name = x.file_name();
            prop_assert!(!name.contains(['/', '\0', ':']) && name != "." && name != "..");
        }
    }
}
