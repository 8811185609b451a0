//! Which memory a message may read and write. Resolved once, when the message is accepted, and stored with it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AuthorId, ChatKind, PeerName, ScopeKey, ThreadId};

/// Which memory direct chats use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DmScope {
    /// All direct chats share one memory: for an agent with a single user.
    Main,
    /// One memory per person, over all platforms that `identities` links.
    PerPeer,
    /// One memory per person and platform.
    #[default]
    PerChannelPeer,
}

impl DmScope {
    /// As it stands in ship.json.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::PerPeer => "per-peer",
            Self::PerChannelPeer => "per-channel-peer",
        }
    }
}

/// How far the agent may search what was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HistoryReach {
    /// In the thread it is asked in.
    #[default]
    Thread,
    /// In a direct chat also in the person's other direct chats.
    Scope,
}

impl HistoryReach {
    /// As it stands in ship.json.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Scope => "scope",
        }
    }
}

/// What the operator decided about scopes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeSettings {
    pub dm_scope: DmScope,
    /// The identities that belong to one person, by the name the operator gave them.
    pub identities: BTreeMap<AuthorId, PeerName>,
}

/// The memory that a message may read, and the memory that it may write beside the project's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryScope {
    read: Vec<ScopeKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    write: Option<ScopeKey>,
}

impl Default for MemoryScope {
    /// The project alone: what holds where nothing is known.
    fn default() -> Self {
        Self { read: vec![ScopeKey::Project], write: None }
    }
}

impl MemoryScope {
    /// What a message of this author in this chat may read and write.
    ///
    /// Nothing is guessed: an author without an identity of their own gets the project's memory only.
    pub fn resolve(author: &AuthorId, chat: ChatKind, thread: &ThreadId, settings: &ScopeSettings) -> Self {
        let own = match chat {
            ChatKind::Group => thread.whole_chat().map(ScopeKey::Group),
            ChatKind::Operator => Some(ScopeKey::Main),
            ChatKind::Program => None,
            ChatKind::Direct => Some(match (settings.dm_scope, settings.identities.get(author)) {
                (DmScope::Main, _) => ScopeKey::Main,
                (DmScope::PerPeer, Some(name)) => ScopeKey::Peer(name.clone()),
                (DmScope::PerPeer, None) | (DmScope::PerChannelPeer, _) => ScopeKey::Person(author.clone()),
            }),
        };
        let read = std::iter::once(ScopeKey::Project).chain(own.clone()).collect();
        Self { read, write: own }
    }

    /// The scopes whose memory may be read, the project first.
    pub fn read(&self) -> &[ScopeKey] {
        &self.read
    }

    /// The scope of the person or group, which may be written with a question.
    pub const fn write(&self) -> Option<&ScopeKey> {
        self.write.as_ref()
    }

    pub fn may_read(&self, key: &ScopeKey) -> bool {
        self.read.contains(key)
    }

    /// What both allow.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let read = self.read.iter().filter(|key| other.may_read(key)).cloned().collect();
        let write = self.write.clone().filter(|_| self.write == other.write);
        Self { read, write }
    }

    /// Without the memory of a person: what holds where others read along.
    #[must_use]
    pub fn without_person(&self) -> Self {
        let shared = |key: &ScopeKey| !key.is_of_one_person();
        Self {
            read: self.read.iter().filter(|key| shared(key)).cloned().collect(),
            write: self.write.clone().filter(shared),
        }
    }

    /// What may only be read: for tasks and for programs that act without a person.
    #[must_use]
    pub fn read_only(&self) -> Self {
        Self { read: self.read.clone(), write: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(dm_scope: DmScope) -> ScopeSettings {
        let ann: PeerName = "ann".parse().unwrap();
        let linked = ["web:user:7", "irc:user:ann"].map(|id| (id.parse().unwrap(), ann.clone()));
        ScopeSettings { dm_scope, identities: linked.into_iter().collect() }
    }

    fn resolved(author: &str, chat: ChatKind, thread: &str, settings: &ScopeSettings) -> (String, String) {
        let scope = MemoryScope::resolve(&author.parse().unwrap(), chat, &thread.parse().unwrap(), settings);
        let read: Vec<String> = scope.read().iter().map(ToString::to_string).collect();
        (read.join(" "), scope.write().map(ToString::to_string).unwrap_or_default())
    }

    #[test]
    fn every_chat_has_one_memory_beside_the_projects() {
        use ChatKind::{Direct, Group, Operator, Program};
        use DmScope::{Main, PerChannelPeer, PerPeer};
        for (dm_scope, author, chat, thread, own) in [
            (PerChannelPeer, "web:user:7", Direct, "web:chat:7", "web:user:7"),
            (PerChannelPeer, "web:user:7", Direct, "web:chat:7:topic:1", "web:user:7"),
            (PerPeer, "web:user:7", Direct, "web:chat:7", "peer:ann"),
            (PerPeer, "irc:user:ann", Direct, "irc:chat:ann", "peer:ann"),
            (PerPeer, "web:user:8", Direct, "web:chat:8", "web:user:8"),
            (Main, "web:user:8", Direct, "web:chat:8", "main"),
            (PerChannelPeer, "web:user:operator", Operator, "web:chat:a", "main"),
            (PerPeer, "web:user:operator", Operator, "web:chat:a", "main"),
            (PerPeer, "web:user:7", Group, "web:chat:-1", "group:web:chat:-1"),
            (Main, "web:user:7", Group, "web:chat:-1:topic:4", "group:web:chat:-1"),
            (Main, "web:user:7", Group, "web:chat:-1:user:7", "group:web:chat:-1"),
            (Main, "api:user:operator", Program, "api:chat:x", ""),
            (PerPeer, "web:user:7", Program, "web:chat:7", ""),
        ] {
            let (read, write) = resolved(author, chat, thread, &settings(dm_scope));
            assert_eq!(write, own, "{dm_scope:?} {author} {chat:?}");
            assert_eq!(read, format!("project {own}").trim(), "{dm_scope:?} {author} {chat:?}");
        }
    }

    #[test]
    fn scopes_are_only_ever_narrowed() {
        let of = |author: &str, chat: ChatKind| {
            let thread = "web:chat:1".parse().unwrap();
            MemoryScope::resolve(&author.parse().unwrap(), chat, &thread, &ScopeSettings::default())
        };
        let (ann, bob) = (of("web:user:a", ChatKind::Direct), of("web:user:b", ChatKind::Direct));
        assert_eq!(ann.and(&ann), ann);
        assert_eq!(ann.and(&bob), MemoryScope::default());
        assert_eq!(ann.without_person(), MemoryScope::default());
        let group = of("web:user:a", ChatKind::Group);
        assert_eq!(group.without_person(), group);
        assert_eq!(of("web:user:a", ChatKind::Operator).without_person(), MemoryScope::default());
        assert_eq!((ann.read_only().read().len(), ann.read_only().write()), (2, None));
    }

    #[test]
    fn a_scope_is_stored_and_read_again() {
        let thread = "web:chat:1".parse().unwrap();
        let author = "web:user:a".parse().unwrap();
        let scope = MemoryScope::resolve(&author, ChatKind::Direct, &thread, &ScopeSettings::default());
        let stored = serde_json::to_value(&scope).unwrap();
        assert_eq!(stored, serde_json::json!({ "read": ["project", "web:user:a"], "write": "web:user:a" }));
        assert_eq!(serde_json::from_value::<MemoryScope>(stored).unwrap(), scope);
    }
}
