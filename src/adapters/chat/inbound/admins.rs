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
                }
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
