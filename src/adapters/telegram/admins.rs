//! Looks up the administrators of a group, where that decides who may approve or stop something.

use std::time::Duration;

use serde_json::json;

use super::api::{Api, ApiError};
use super::wire::Member;
use crate::adapters::chat::TtlCache;
use crate::domain::{Author, AuthorRole, ChatKind};

/// How long an answer is cached.
const BELIEVED: Duration = Duration::from_secs(300);
/// How long a failed look-up counts as "no", so that others do not wait for it.
const UNTOLD: Duration = Duration::from_secs(10);
/// Deadline of a look-up: a person waits for a button or a stop.
const PATIENCE: Duration = Duration::from_secs(5);
const PATIENCE_FOR_END: Duration = Duration::from_millis(1500);

/// What an administrator check is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdminCheck {
    /// Deciding approvals, where the settings allow administrators.
    Decision,
    /// Stopping runs of others, always allowed.
    End,
}

/// Cached administrator look-ups.
#[derive(Debug)]
pub(super) struct Admins {
    api: Api,
    /// Whether administrators may decide approvals.
    decide: bool,
    known: TtlCache<(i64, i64), bool>,
    /// Groups whose look-up failed.
    silent: TtlCache<i64, ()>,
}

impl Admins {
    /// Look-ups at this server.
    pub(super) fn new(api: Api, decide: bool) -> Self {
        Self { api, decide, known: TtlCache::default(), silent: TtlCache::default() }
    }

    /// The author with the role that Telegram reports for the group.
    pub(super) async fn resolve_role(
        &self,
        author: Author,
        chat: i64,
        kind: ChatKind,
        matter: AdminCheck,
    ) -> Author {
        let patience = match matter {
            AdminCheck::Decision => Some(PATIENCE).filter(|_| self.decide),
            AdminCheck::End => Some(PATIENCE_FOR_END),
        };
        let Some(patience) = patience else { return author };
        let asked = kind == ChatKind::Group && author.role == AuthorRole::Person;
        let user = author.id.as_str().rsplit(':').next().and_then(|user| user.parse().ok());
        match user.filter(|_| asked) {
            Some(user) if self.is_admin(chat, user, patience).await => {
                Author { role: AuthorRole::Admin, ..author }
            }
            _ => author,
        }
    }

    /// Whether a person administers a group. Unknown counts as no.
    async fn is_admin(&self, chat: i64, user: i64, patience: Duration) -> bool {
        if let Some(admin) = self.known.get(&(chat, user)) {
            return admin;
        }
        if self.silent.get(&chat).is_some() {
            return false;
        }
        let body = json!({ "chat_id": chat, "user_id": user });
        match self.api.ask::<Member>("getChatMember", &body, patience).await {
            Ok(member) => {
                self.known.put((chat, user), member.is_admin(), BELIEVED);
                member.is_admin()
            }
            Err(error) => {
                tracing::warn!(%error, chat, "admin lookup failed");
                match error {
                    // A refusal for one group says nothing about another.
                    ApiError::Refused { .. } => self.known.put((chat, user), false, UNTOLD),
                    ApiError::NoSuchCall(_)
                    | ApiError::NotSent(_)
                    | ApiError::Gateway(_)
                    | ApiError::Unsure(_) => {
                        self.silent.put(chat, (), UNTOLD);
                    }
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nobody_else_of_a_group_waits_for_a_server_that_gave_no_answer() {
        crate::http_client::install_tls();
        // The server does not answer.
        let api = Api::new(reqwest::Client::new(), "http://127.0.0.1:1", "7:x".to_owned().into());
        let admins = Admins::new(api, true);
        assert!(!admins.is_admin(-5, 1, PATIENCE).await);
        assert!(admins.silent.get(&-5).is_some() && admins.silent.get(&-6).is_none());
        // A look-up would delay the event.
        let asked = std::pin::pin!(admins.is_admin(-5, 2, PATIENCE));
        assert_eq!(futures_util::poll!(asked), std::task::Poll::Ready(false));
    }
}
