//! Who runs a group, as the platform says. Asked only where somebody who runs a group may decide something there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::api::Api;
use crate::adapters::chat::TtlCache;
use crate::domain::{Author, AuthorRole, ChatKind};

/// How long an answer is believed, and how long none.
const FRESH: Duration = Duration::from_secs(300);
const FAILED: Duration = Duration::from_secs(30);
/// How long the platform may take to say it: an event has to be answered within 3 seconds.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Knows who runs which group.
#[derive(Debug)]
pub(super) struct Admins {
    api: Api,
    /// Whether they may decide.
    wanted: bool,
    known: TtlCache<String, Arc<BTreeSet<String>>>,
}

impl Admins {
    pub(super) fn new(api: Api, wanted: bool) -> Self {
        Self { api, wanted, known: TtlCache::default() }
    }

    /// The author with what the platform says about their place in the group. Where it does not say, they have none.
    /// Whoever runs a group may end what others began there, also where they may not decide.
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
                tracing::warn!(%error, chat, "nobody could tell who runs a group");
                (BTreeSet::new(), FAILED)
            }
            Err(_) => (BTreeSet::new(), FAILED),
        };
        let people = Arc::new(people);
        self.known.put(chat.to_owned(), people.clone(), lasts);
        people
    }
}
