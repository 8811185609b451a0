//! Who runs a group, as Telegram says when somebody there decides something.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::api::Api;
use super::wire::Member;

/// How long an answer is believed.
const FRESH: Duration = Duration::from_secs(300);
/// How long Telegram may take to say it: somebody waits for a button.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many answers are kept.
const MOST: usize = 1000;

/// Knows who runs which group.
#[derive(Debug)]
pub(super) struct Admins {
    api: Api,
    known: Mutex<HashMap<(i64, i64), (Instant, bool)>>,
}

impl Admins {
    /// Asks this server.
    pub(super) fn new(api: Api) -> Self {
        Self { api, known: Mutex::new(HashMap::new()) }
    }

    /// Whether somebody runs a group. Where nobody can tell, they do not.
    pub(super) async fn is_admin(&self, chat: i64, user: i64) -> bool {
        let now = Instant::now();
        if let Some((at, admin)) = self.remembered((chat, user))
            && now.duration_since(at) < FRESH
        {
            return admin;
        }
        let body = json!({ "chat_id": chat, "user_id": user });
        match self.api.ask::<Member>("getChatMember", &body, PATIENCE).await {
            Ok(member) => {
                self.remember((chat, user), now, member.is_admin());
                member.is_admin()
            }
            Err(error) => {
                tracing::warn!(%error, chat, "nobody could tell who runs a group");
                false
            }
        }
    }

    fn remembered(&self, who: (i64, i64)) -> Option<(Instant, bool)> {
        self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(&who).copied()
    }

    fn remember(&self, who: (i64, i64), now: Instant, admin: bool) {
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|_, (at, _)| now.duration_since(*at) < FRESH);
        }
        if known.len() < MOST {
            known.insert(who, (now, admin));
        }
    }
}
