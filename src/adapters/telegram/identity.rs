//! The bot's identity from `getMe`.

use serde::Deserialize;

use super::wire::or_default;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Me {
    pub(super) id: i64,
    /// Its name, without the `@`.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) username: String,
    /// Whether private chats with it can have topics.
    #[serde(default, rename = "has_topics_enabled", deserialize_with = "or_default")]
    pub(super) topics: bool,
    /// Whether it receives all group messages (privacy mode off).
    #[serde(default, rename = "can_read_all_group_messages", deserialize_with = "or_default")]
    pub(super) hears_all: bool,
}

impl Me {
    /// Whether a text is its `@name`.
    pub(super) fn is_called(&self, mention: &str) -> bool {
        let name = mention.strip_prefix('@').unwrap_or_default();
        !name.is_empty() && name.eq_ignore_ascii_case(&self.username)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_in_any_case_and_nothing_else_is() {
        let me = Me { id: 1, username: "Ship_Bot".into(), ..Me::default() };
        for (words, known) in
            [("@ship_bot", true), ("@SHIP_BOT", true), ("ship_bot", false), ("@ship", false), ("@", false)]
        {
            assert_eq!(me.is_called(words), known, "{words}");
        }
        assert!(!Me::default().is_called("@"));
    }
}
