//! The four kinds of chats with a bot, and the limits of each. Pure.

use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::domain::ChatKind;

/// How long before its end a reply window counts as closed: a send takes time, and clocks differ.
const MARGIN: Duration = Duration::from_secs(10);

/// The kind of a chat. The chat's id does not reveal it, so it is stored with the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scene {
    /// One person and the bot; the chat is the person's open id.
    C2c,
    /// A group, by its open id.
    Group,
    /// A text channel of a guild, by its id.
    Channel,
    /// One person and the bot, by way of a guild; the chat is the id of the guild created for the two.
    Dm,
}

impl Scene {
    /// The reply window after a message.
    pub(super) const fn window(self) -> Duration {
        let whole = match self {
            Self::C2c => Duration::from_secs(60 * 60),
            Self::Group | Self::Channel | Self::Dm => Duration::from_secs(5 * 60),
        };
        whole.saturating_sub(MARGIN)
    }

    /// The number of replies to a message; `None` where only the window counts.
    pub(super) const fn replies(self) -> Option<u32> {
        match self {
            Self::C2c | Self::Group => Some(5),
            Self::Channel | Self::Dm => None,
        }
    }

    pub(super) const fn kind(self) -> ChatKind {
        match self {
            Self::C2c | Self::Dm => ChatKind::Direct,
            Self::Group | Self::Channel => ChatKind::Group,
        }
    }

    /// The path that sends messages to a chat.
    pub(super) fn messages(self, chat: &str) -> String {
        let chat = utf8_percent_encode(chat, NON_ALPHANUMERIC);
        match self {
            Self::C2c => format!("/v2/users/{chat}/messages"),
            Self::Group => format!("/v2/groups/{chat}/messages"),
            Self::Channel => format!("/channels/{chat}/messages"),
            Self::Dm => format!("/dms/{chat}/messages"),
        }
    }

    /// The path that uploads files for a chat; guilds have none.
    pub(super) fn files(self, chat: &str) -> Option<String> {
        let chat = utf8_percent_encode(chat, NON_ALPHANUMERIC);
        match self {
            Self::C2c => Some(format!("/v2/users/{chat}/files")),
            Self::Group => Some(format!("/v2/groups/{chat}/files")),
            Self::Channel | Self::Dm => None,
        }
    }

    /// Whether the chat uses API v2.
    pub(super) const fn is_v2(self) -> bool {
        matches!(self, Self::C2c | Self::Group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scene_has_its_own_address() {
        for (scene, messages, files) in [
            (Scene::C2c, "/v2/users/U1/messages", Some("/v2/users/U1/files")),
            (Scene::Group, "/v2/groups/U1/messages", Some("/v2/groups/U1/files")),
            (Scene::Channel, "/channels/U1/messages", None),
            (Scene::Dm, "/dms/U1/messages", None),
        ] {
            assert_eq!(scene.messages("U1"), messages);
            assert_eq!(scene.files("U1").as_deref(), files);
        }
        assert_eq!(Scene::C2c.messages("../x"), "/v2/users/%2E%2E%2Fx/messages");
    }
}
