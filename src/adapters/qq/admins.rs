//! Who runs a group: what events say of it, and in guilds what the platform says when it is asked. Asked only where
//! somebody who runs a group may decide something there.

use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::api::Api;
use super::event::{Press, runs_it};
use super::http::Method;
use crate::adapters::chat::TtlCache;
use crate::domain::{Author, AuthorRole, ChatKind};

/// How long what was told is believed.
const FRESH: Duration = Duration::from_secs(300);
/// How long the platform may take to say it: somebody waits for a button.
const PATIENCE: Duration = Duration::from_secs(2);

/// Knows who runs which group.
#[derive(Debug)]
pub(super) struct Admins {
    api: Api,
    wanted: bool,
    /// By chat and person.
    known: TtlCache<(String, String), bool>,
}

impl Admins {
    pub(super) fn new(api: Api, wanted: bool) -> Self {
        Self { api, wanted, known: TtlCache::default() }
    }

    /// Remembers what an event tells of somebody.
    pub(super) fn learn(&self, chat: &str, user: &str, told: Option<bool>) {
        if let Some(admin) = told.filter(|_| self.wanted) {
            self.known.put((chat.to_owned(), user.to_owned()), admin, FRESH);
        }
    }

    /// Whoever pressed, with their place in the group. Where nobody can tell, they have none.
    pub(super) async fn vouched(&self, author: Author, press: &Press, chat: &str, kind: ChatKind) -> Author {
        if self.wanted && kind == ChatKind::Group && self.runs(press, chat).await {
            return Author { role: AuthorRole::Admin, ..author };
        }
        author
    }

    async fn runs(&self, press: &Press, chat: &str) -> bool {
        let known = || self.known.get(&(chat.to_owned(), press.user.clone()));
        if let Some(admin) = press.admin.or_else(known) {
            return admin;
        }
        let Some(guild) = &press.guild else { return false };
        let encoded = |id: &str| utf8_percent_encode(id, NON_ALPHANUMERIC).to_string();
        let path = format!("/guilds/{}/members/{}", encoded(guild), encoded(&press.user));
        let asked = self.api.call(Method::GET, &path, None);
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(member)) => {
                let admin = runs_it(&member) == Some(true);
                self.learn(chat, &press.user, Some(admin));
                admin
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "nobody could tell who runs a guild");
                false
            }
            Err(_) => false,
        }
    }
}
