//! Cached look-ups of the administrators of a group, where that decides who may approve or stop something.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::super::TtlCache;
use super::{AdminAnswer, AdminCheck, AdminQuery, Content, InboundMessage, InboundPlatform, LookupError};
use crate::domain::{Author, AuthorRole, ChatKind, Command};

/// How long an answer is cached.
const FRESH: Duration = Duration::from_secs(300);
/// How long a failed look-up counts as "no", so that others do not wait for it.
const FAILED: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct AdminCache {
    /// Whether administrators may decide approvals.
    decide: bool,
    people: TtlCache<(String, String), bool>,
    groups: TtlCache<String, Arc<BTreeSet<String>>>,
    /// Groups whose look-up failed.
    silent: TtlCache<String, ()>,
}

impl AdminCache {
    pub(super) fn new(decide: bool) -> Self {
        Self { decide, people: TtlCache::default(), groups: TtlCache::default(), silent: TtlCache::default() }
    }

    /// Caches the role that an event reports.
    pub(super) fn learn(&self, chat: &str, author: &Author, admin: Option<bool>) {
        if let Some(admin) = admin.filter(|_| self.decide) {
            self.people.put((chat.to_owned(), user_of(author)), admin, FRESH);
        }
    }

    /// The author with their role in the group; unknown counts as no role. `told` is what the event reports.
    pub(super) async fn resolve_role(
        &self,
        platform: &dyn InboundPlatform,
        author: Author,
        (chat, kind): (&str, ChatKind),
        check: AdminCheck,
        (told, detail): (Option<bool>, &Value),
    ) -> Author {
        let wanted = (self.decide || check == AdminCheck::End) && kind == ChatKind::Group;
        if !wanted || author.role != AuthorRole::Person {
            return author;
        }
        let user = user_of(&author);
        let query = AdminQuery { chat, user: &user, check, detail };
        let admin = match told {
            Some(admin) => admin,
            None => self.is_admin(platform, query).await,
        };
        if admin { Author { role: AuthorRole::Admin, ..author } } else { author }
    }

    async fn is_admin(&self, platform: &dyn InboundPlatform, query: AdminQuery<'_>) -> bool {
        let (chat, user) = (query.chat.to_owned(), query.user.to_owned());
        if let Some(people) = self.groups.get(&chat) {
            return people.contains(&user);
        }
        let person = (chat.clone(), user);
        if let Some(admin) = self.people.get(&person) {
            return admin;
        }
        if self.silent.get(&chat).is_some() {
            return false;
        }
        match platform.is_admin(query).await {
            Ok(AdminAnswer::Is(admin)) => {
                self.people.put(person, admin, FRESH);
                admin
            }
            Ok(AdminAnswer::All(people)) => {
                let admin = people.contains(&person.1);
                self.groups.put(chat, Arc::new(people), FRESH);
                admin
            }
            Ok(AdminAnswer::Unknown) => false,
            Err(error) => {
                tracing::warn!(%error, chat, "admin lookup failed");
                match error {
                    LookupError::Refused(_) => self.people.put(person, false, FAILED),
                    LookupError::NoAnswer(_) => self.silent.put(chat, (), FAILED),
                };
                false
            }
        }
    }
}

/// The platform's own id of a person.
fn user_of(author: &Author) -> String {
    let encoded = author.id.as_str().rsplit(':').next().unwrap_or_default();
    percent_decode_str(encoded).decode_utf8_lossy().into_owned()
}

impl InboundMessage {
    /// The administrator check that it needs.
    pub(super) const fn check(&self) -> Option<AdminCheck> {
        match &self.content {
            Content::Said(_) => Some(AdminCheck::Decision),
            Content::Command(invocation) => match invocation.command {
                Command::Approve | Command::Deny | Command::Cancel | Command::Grants => {
                    Some(AdminCheck::Decision)
                }
                Command::Stop | Command::New => Some(AdminCheck::End),
                _ => None,
            },
            Content::Edited(_) | Content::Started(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::{Attachment, Fetched, Inbound, Press, PressAnswer, PressedIn, Urgency};
    use super::*;
    use crate::adapters::chat::FetchError;
    use crate::domain::{Approval, StoredFile};
    use crate::ports::BoxFuture;

    /// A platform whose look-ups all fail; counts them.
    #[derive(Debug)]
    struct Unreachable {
        asked: AtomicUsize,
        error: LookupError,
    }

    impl InboundPlatform for Unreachable {
        fn parse(&self, _: &Value) -> Vec<Inbound> {
            Vec::new()
        }

        fn fetch<'a>(
            &'a self,
            _: &'a InboundMessage,
            _: &'a Attachment,
            _: &'a StoredFile,
        ) -> BoxFuture<'a, Result<Fetched, FetchError>> {
            Box::pin(async { Err(FetchError::Denied("no files".to_owned())) })
        }

        fn is_admin<'a>(&'a self, _: AdminQuery<'a>) -> BoxFuture<'a, Result<AdminAnswer, LookupError>> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { Err(self.error.clone()) })
        }

        fn tell<'a>(&'a self, _: &'a InboundMessage, _: &'a str, _: Urgency) -> BoxFuture<'a, ()> {
            Box::pin(async {})
        }

        fn locate<'a>(&'a self, _: &'a Press, _: &'a Approval) -> BoxFuture<'a, Option<PressedIn>> {
            Box::pin(async { None })
        }

        fn answer_press<'a>(
            &'a self,
            _: &'a Press,
            _: Option<&'a Approval>,
            _: PressAnswer,
        ) -> BoxFuture<'a, Option<Value>> {
            Box::pin(async { None })
        }
    }

    #[tokio::test]
    async fn nobody_else_of_a_group_waits_for_a_platform_that_gave_no_answer() {
        let refused = LookupError::Refused("not a member".to_owned());
        let no_answer = LookupError::NoAnswer("timed out".to_owned());
        // Two people of one group, and one of another.
        for (error, asked) in [(no_answer, 2), (refused, 3)] {
            let platform = Unreachable { asked: AtomicUsize::new(0), error };
            let admins = AdminCache::new(true);
            for (chat, user) in [("a", "1"), ("a", "1"), ("a", "2"), ("b", "1")] {
                let query = AdminQuery { chat, user, check: AdminCheck::Decision, detail: &Value::Null };
                assert!(!admins.is_admin(&platform, query).await, "unknown counts as no");
            }
            assert_eq!(platform.asked.load(Ordering::Relaxed), asked, "{}", platform.error);
        }
    }
}
