//! For whom something is remembered, as a key that files, ledger lines and index rows carry.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{clip, decode, encode};
use super::{AuthorId, BadId, ThreadId};

/// Longest name of a person that the operator links identities under.
const LONGEST_PEER: usize = 64;

const SHAPE: &str = "project, main, peer:NAME, PLATFORM:user:ID or group:PLATFORM:chat:ID";

/// For whom something is remembered.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ScopeKey {
    /// Everybody who speaks with the agent.
    Project,
    /// The operator, and all direct chats where ship.json says so.
    Main,
    /// One person, under the name that ship.json links their identities to.
    Peer(PeerName),
    /// One person on one platform.
    Person(AuthorId),
    /// The members of one group or channel.
    Group(ThreadId),
}

/// The name that the operator gave a person.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerName(Arc<str>);

impl PeerName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PeerName {
    type Err = BadId;

    fn from_str(raw: &str) -> Result<Self, BadId> {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if raw.is_empty() || raw.chars().count() > LONGEST_PEER || !raw.chars().all(plain) {
            return Err(BadId::Shape(clip(raw), "1 to 64 letters, digits, '-', '_' or '.'"));
        }
        Ok(Self(raw.into()))
    }
}

impl ScopeKey {
    /// The file of its core memory, from the state directory down.
    pub fn core_file(&self) -> String {
        match self {
            Self::Project => "memory/project.md".to_owned(),
            Self::Main => "memory/main.md".to_owned(),
            Self::Peer(_) | Self::Person(_) => format!("memory/users/{}.md", self.folder_name()),
            Self::Group(chat) => format!("memory/groups/{}.md", chat.file_name()),
        }
    }

    /// The folder of its notes, from the state directory down.
    pub fn notes_folder(&self) -> String {
        format!("memory/notes/{}", self.folder_name())
    }

    /// Whether it is about one person, and only they may read it.
    pub const fn is_of_one_person(&self) -> bool {
        match self {
            Self::Main | Self::Peer(_) | Self::Person(_) => true,
            Self::Project | Self::Group(_) => false,
        }
    }

    /// The text that a file or folder was named by.
    pub fn decoded(file_name: &str) -> String {
        decode(file_name)
    }

    fn folder_name(&self) -> String {
        match self {
            Self::Project | Self::Main => self.to_string(),
            Self::Peer(name) => format!("peer%3A{}", encode(name.as_str())),
            Self::Person(author) => author.file_name(),
            Self::Group(chat) => format!("group%3A{}", chat.file_name()),
        }
    }
}

impl FromStr for ScopeKey {
    type Err = BadId;

    fn from_str(raw: &str) -> Result<Self, BadId> {
        let bad = |_| BadId::Shape(clip(raw), SHAPE);
        match raw.split_once(':') {
            None if raw == "project" => Ok(Self::Project),
            None if raw == "main" => Ok(Self::Main),
            None => Err(BadId::Shape(clip(raw), SHAPE)),
            Some(("peer", name)) => decode(name).parse().map(Self::Peer),
            Some(("group", chat)) => {
                let chat: ThreadId = chat.parse().map_err(bad)?;
                // Topics and one person's own thread share the memory of their chat.
                let whole = chat.topic().is_none() && !chat.is_of_one_person();
                if whole { Ok(Self::Group(chat)) } else { Err(BadId::Shape(clip(raw), SHAPE)) }
            }
            Some(_) => raw.parse().map(Self::Person).map_err(bad),
        }
    }
}

impl fmt::Display for ScopeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Project => f.write_str("project"),
            Self::Main => f.write_str("main"),
            Self::Peer(name) => write!(f, "peer:{}", name.as_str()),
            Self::Person(author) => f.write_str(author.as_str()),
            Self::Group(chat) => write!(f, "group:{chat}"),
        }
    }
}

impl fmt::Debug for ScopeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for ScopeKey {
    type Error = BadId;

    fn try_from(raw: String) -> Result<Self, BadId> {
        raw.parse()
    }
}

impl From<ScopeKey> for String {
    fn from(key: ScopeKey) -> Self {
        key.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written_and_has_files_of_its_own() {
        for (text, core, notes) in [
            ("project", "memory/project.md", "memory/notes/project"),
            ("main", "memory/main.md", "memory/notes/main"),
            ("peer:ann", "memory/users/peer%3Aann.md", "memory/notes/peer%3Aann"),
            (
                "peer:小明",
                "memory/users/peer%3A%E5%B0%8F%E6%98%8E.md",
                "memory/notes/peer%3A%E5%B0%8F%E6%98%8E",
            ),
            ("web:user:7", "memory/users/web%3Auser%3A7.md", "memory/notes/web%3Auser%3A7"),
            (
                "group:web:chat:-100",
                "memory/groups/web%3Achat%3A-100.md",
                "memory/notes/group%3Aweb%3Achat%3A-100",
            ),
        ] {
            let key: ScopeKey = text.parse().unwrap();
            assert_eq!(key.to_string(), text);
            assert_eq!((key.core_file().as_str(), key.notes_folder().as_str()), (core, notes));
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in [
            "",
            "everybody",
            "user:7",
            "peer:",
            "peer:a b",
            "group:web:user:1",
            "group:web:chat:1:topic:2",
            "web:chat:1",
            "../x",
        ] {
            assert!(text.parse::<ScopeKey>().is_err(), "{text}");
        }
    }
}
