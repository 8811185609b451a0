//! The people and the bot, as others see them.

use serde_json::{Value, json};

/// A person, or another bot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct User {
    pub(crate) id: i64,
    name: String,
    username: Option<String>,
    language: Option<String>,
    is_bot: bool,
}

impl User {
    /// A person with a first name only.
    pub(crate) fn new(id: i64, name: &str) -> Self {
        Self { id, name: name.to_owned(), username: None, language: None, is_bot: false }
    }

    #[must_use]
    pub(crate) fn called(mut self, username: &str) -> Self {
        self.username = Some(username.to_owned());
        self
    }

    /// Sets the language of their app.
    #[must_use]
    pub(crate) fn speaking(mut self, language: &str) -> Self {
        self.language = Some(language.to_owned());
        self
    }

    #[must_use]
    pub(crate) fn bot(mut self) -> Self {
        self.is_bot = true;
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// In the wire format.
    pub(crate) fn wire(&self) -> Value {
        let mut user = json!({ "id": self.id, "is_bot": self.is_bot, "first_name": self.name });
        if let Some(username) = &self.username {
            user["username"] = json!(username);
        }
        if let Some(language) = &self.language {
            user["language_code"] = json!(language);
        }
        user
    }
}

/// What the bot receives in a group it does not administer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privacy {
    /// Everything.
    Off,
    /// Commands for it and replies to it.
    On,
    /// The same, and messages that mention it.
    OnButMentions,
}

/// The bot's account, and the features of its server.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) user: User,
    pub(crate) token: String,
    /// What it receives in groups.
    pub(crate) privacy: Privacy,
    /// Whether private chats may have topics.
    pub(crate) topics: bool,
    /// Whether the server supports drafts.
    pub(crate) drafts: bool,
    /// Whether the server confirms edits that it does not make, as some servers do.
    pub(crate) agreeable: bool,
    /// Whether it receives other bots' messages in groups.
    pub(crate) hears_bots: bool,
}

impl Account {
    /// The id of the test bot.
    pub(crate) const ID: i64 = 123_456;
    /// Its username.
    pub(crate) const NAME: &'static str = "ship_test_bot";

    /// The result of `getMe`.
    pub(crate) fn me(&self) -> Value {
        let mut me = self.user.wire();
        me["can_join_groups"] = json!(true);
        me["can_read_all_group_messages"] = json!(self.privacy == Privacy::Off);
        me["supports_inline_queries"] = json!(false);
        me["can_connect_to_business"] = json!(false);
        me["has_main_web_app"] = json!(false);
        me["has_topics_enabled"] = json!(self.topics);
        me
    }
}

impl Default for Account {
    fn default() -> Self {
        Self {
            user: User::new(Self::ID, "Ship").called(Self::NAME).bot(),
            token: format!("{}:AAtest-canary_token0123456789abcdefg", Self::ID),
            privacy: Privacy::Off,
            topics: false,
            drafts: true,
            agreeable: false,
            hears_bots: false,
        }
    }
}
