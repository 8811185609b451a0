//! Who runs a group, as Telegram says when somebody there may decide something by it.

use std::time::Duration;

use serde_json::json;

use super::api::{Api, ApiError};
use super::wire::Member;
use crate::adapters::chat::TtlCache;
use crate::domain::{Author, AuthorRole, ChatKind};

/// How long an answer is believed.
const BELIEVED: Duration = Duration::from_secs(300);
/// How long it is taken for a no that Telegram does not say: nobody else waits for it meanwhile.
const UNTOLD: Duration = Duration::from_secs(10);
/// How long Telegram may take to say it: somebody waits for a button, or for an end.
const PATIENCE: Duration = Duration::from_secs(5);
const PATIENCE_FOR_END: Duration = Duration::from_millis(1500);

/// What it matters for whether somebody runs a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdminCheck {
    /// They may decide, where the settings say so.
    Decision,
    /// They may end what others began, whatever the settings say.
    End,
}

/// Knows who runs which group.
#[derive(Debug)]
pub(super) struct Admins {
    api: Api,
    /// Whether it makes a difference for who decides.
    decide: bool,
    known: TtlCache<(i64, i64), bool>,
    /// Groups that it gave no answer about.
    silent: TtlCache<i64, ()>,
}

impl Admins {
    /// Asks this server, if those who run a group may decide.
    pub(super) fn new(api: Api, decide: bool) -> Self {
        Self { api, decide, known: TtlCache::default(), silent: TtlCache::default() }
    }

    /// The author with what Telegram says about their place in the group.
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

    /// Whether somebody runs a group. Where nobody can tell, they do not.
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
                tracing::warn!(%error, chat, "nobody could tell who runs a group");
                match error {
                    // What it says of one it need not say of another.
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
        // Nobody answers there.
        let api = Api::new(reqwest::Client::new(), "http://127.0.0.1:1", "7:x".to_owned().into());
        let admins = Admins::new(api, true);
        assert!(!admins.is_admin(-5, 1, PATIENCE).await);
        assert!(admins.silent.get(&-5).is_some() && admins.silent.get(&-6).is_none());
        // Were it asked about, it would not be at once.
        let asked = std::pin::pin!(admins.is_admin(-5, 2, PATIENCE));
        assert_eq!(futures_util::poll!(asked), std::task::Poll::Ready(false));
    }
}
