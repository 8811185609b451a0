//! Looks up the administrators of a group, where that decides who may approve or stop something.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::api::Api;
use crate::adapters::chat::TtlCache;
use crate::domain::{Author, AuthorRole, ChatKind};

/// How long an answer, and a failed look-up, is cached.
const FRESH: Duration = Duration::from_secs(300);
const FAILED: Duration = Duration::from_secs(30);
/// Deadline of a look-up: an event has to be answered within 3 seconds.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Cached administrator look-ups.
#[derive(Debug)]
pub(super) struct Admins {
    api: Api,
    /// Whether administrators may decide approvals.
    wanted: bool,
    known: TtlCache<String, Arc<BTreeSet<String>>>,
}

impl Admins {
    pub(super) fn new(api: Api, wanted: bool) -> Self {
        Self { api, wanted, known: TtlCache::default() }
    }

    /// The author with their role in the group; unknown counts as no role. An administrator may stop runs of others
    /// even where the settings do not let administrators decide approvals.
    pub(super) async fn vouched(
        &self,
        author: Author,
        open_id: &str,
        chat: &str,
        kind: ChatKind,
        ends: bool,
    ) -> Author {
        let asked = (self.wanted || ends) && kind == ChatKind::Group && author.role == AuthorRole::Person;
        if asked && self.of(chat).await.contains(open_id) {
            return Author { role: AuthorRole::Admin, ..author };
        }
        author
    }

    async fn of(&self, chat: &str) -> Arc<BTreeSet<String>> {
        if let Some(known) = self.known.get(&chat.to_owned()) {
            return known;
        }
        let (people, lasts) = match tokio::time::timeout(PATIENCE, self.api.chat_admins(chat)).await {
            Ok(Ok(people)) => (people.into_iter().collect(), FRESH),
            Ok(Err(error)) => {
                tracing::warn!(%error, chat, "admin lookup failed");
                (BTreeSet::new(), FAILED)
            }
            Err(_) => (BTreeSet::new(), FAILED),
        };
        let people = Arc::new(people);
        self.known.put(chat.to_owned(), people.clone(), lasts);
        people
    }
}
