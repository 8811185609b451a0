//! Administrators of groups: from events and, in guilds, from a look-up. Looked up only where administrators may decide
//! approvals.

use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::api::Api;
use super::event::{Press, runs_it};
use super::http::Method;
use crate::adapters::chat::TtlCache;
use crate::domain::{Author, AuthorRole, ChatKind};

/// How long an answer is cached.
const FRESH: Duration = Duration::from_secs(300);
/// Deadline of a look-up: a person waits for a button.
const PATIENCE: Duration = Duration::from_secs(2);

/// Cached administrator roles.
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

    /// Caches the role that an event reports.
    pub(super) fn learn(&self, chat: &str, user: &str, told: Option<bool>) {
        if let Some(admin) = told.filter(|_| self.wanted) {
            self.known.put((chat.to_owned(), user.to_owned()), admin, FRESH);
        }
    }

    /// The person who pressed, with their role in the group; unknown counts as no role.
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
                tracing::warn!(%error, "admin lookup failed");
                false
            }
            Err(_) => false,
        }
    }
}
