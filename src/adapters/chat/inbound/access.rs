//! Who may write, and who administers a group. Access is closed by default: in a direct chat the people in the settings and
//! those who were admitted may write, in groups the members of those that are served. Administrators are looked up where that
//! decides who may approve or stop something, and cached.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::super::TtlCache;
use super::{AdminAnswer, AdminCheck, AdminQuery, Content, InboundMessage, InboundPlatform, LookupError};
use crate::domain::{Author, AuthorId, AuthorRole, ChatKind, Command, Platform, Role, Timestamp};
use crate::ports::{AccessStore, AdapterParts, PairingRequest, StoreError};

/// The people and chats of the settings.
#[derive(Clone, Debug, Default)]
pub struct AllowList {
    /// The owners of the agent.
    pub owners: Vec<AuthorId>,
    /// People who may write in a direct chat.
    pub people: Vec<AuthorId>,
    /// People who may decide approvals, by their own id; that alone does not admit them to a direct chat.
    pub answer_rights: Vec<AuthorId>,
    /// The groups that are served, by the platform's own id.
    pub chats: Vec<String>,
}

impl AllowList {
    /// The entries of `ship.json` for the platform of these parts: its owners and approvers, and the people and chats
    /// of the adapter's section. An invalid id is left out.
    pub fn new<P: AsRef<str>>(parts: &AdapterParts, people: &[P], chats: &[String]) -> Self {
        Self {
            owners: parts.owners.clone(),
            people: people.iter().filter_map(|id| AuthorId::new(&parts.platform, id.as_ref()).ok()).collect(),
            answer_rights: parts.approvers.clone(),
            chats: chats.to_vec(),
        }
    }
}

/// The result of an access check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    Welcome,
    /// Unknown; in a direct chat the person may request access.
    Pair(PairingRequest),
    /// Denied without a notice.
    Closed,
}

/// The access rules of one platform.
#[derive(Clone, Debug)]
pub struct AccessPolicy {
    platform: Platform,
    list: AllowList,
    access: Arc<dyn AccessStore>,
}

impl AccessPolicy {
    pub const fn new(platform: Platform, list: AllowList, access: Arc<dyn AccessStore>) -> Self {
        Self { platform, list, access }
    }

    async fn is_owner(&self, author: &Author) -> Result<bool, StoreError> {
        if author.role == AuthorRole::Anonymous {
            return Ok(false);
        }
        Ok(self.list.owners.contains(&author.id)
            || self.access.role_of(&author.id).await? == Some(Role::Owner))
    }

    /// Whether a person may write in a chat. An owner who writes in a group opens it for all its members.
    pub async fn admit(
        &self,
        author: &Author,
        chat: &str,
        kind: ChatKind,
        now: Timestamp,
    ) -> Result<Admission, StoreError> {
        match kind {
            ChatKind::Direct | ChatKind::Operator | ChatKind::Program => {
                self.admit_in_private(author, now).await
            }
            ChatKind::Group => {
                if self.stays_out(author).await? {
                    return Ok(Admission::Closed);
                }
                if self.is_served(chat).await? {
                    return Ok(Admission::Welcome);
                }
                if !self.is_owner(author).await? {
                    return Ok(Admission::Closed);
                }
                self.access.open_chat(&self.platform, chat, &author.id, now).await?;
                Ok(Admission::Welcome)
            }
        }
    }

    /// Whether a person was removed. The access records cannot remove a person in the settings.
    async fn stays_out(&self, author: &Author) -> Result<bool, StoreError> {
        let named = self.is_named(author) || self.list.answer_rights.contains(&author.id);
        Ok(!named && self.access.is_removed(&author.id).await?)
    }

    fn is_named(&self, author: &Author) -> bool {
        self.list.owners.contains(&author.id) || self.list.people.contains(&author.id)
    }

    /// Redeems an invitation code: a valid one admits the person.
    pub async fn redeem(&self, author: &Author, code: &str, now: Timestamp) -> Result<(), StoreError> {
        if !self.is_named(author) && self.access.role_of(&author.id).await?.is_none() {
            self.access.redeem(author.clone(), code, now).await?;
        }
        Ok(())
    }

    /// Whether a group is served, independent of the author.
    pub async fn is_served(&self, chat: &str) -> Result<bool, StoreError> {
        if self.list.chats.iter().any(|known| known == chat) {
            return Ok(true);
        }
        self.access.is_open(&self.platform, chat).await
    }

    async fn admit_in_private(&self, author: &Author, now: Timestamp) -> Result<Admission, StoreError> {
        if author.role == AuthorRole::Anonymous {
            return Ok(Admission::Closed);
        }
        if self.is_named(author) || self.access.role_of(&author.id).await?.is_some() {
            return Ok(Admission::Welcome);
        }
        Ok(Admission::Pair(self.access.ask_in(author.clone(), now).await?))
    }
}

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
    use super::*;
    use crate::ports::{AccessList, AccessSubject, BoxFuture, Invitation, Member, PairingConfirmation};

    /// Has one paired person and one open group, and accepts every pairing request.
    #[derive(Debug)]
    struct Book;

    impl AccessStore for Book {
        fn role_of(&self, author: &AuthorId) -> BoxFuture<'_, Result<Option<Role>, StoreError>> {
            let role = match author.as_str() {
                "fake:user:paired" => Some(Role::Guest),
                "fake:user:second" => Some(Role::Owner),
                _ => None,
            };
            Box::pin(async move { Ok(role) })
        }

        fn is_removed(&self, author: &AuthorId) -> BoxFuture<'_, Result<bool, StoreError>> {
            let removed =
                ["fake:user:removed", "fake:user:friend", "fake:user:decider"].contains(&author.as_str());
            Box::pin(async move { Ok(removed) })
        }

        fn ask_in(&self, _: Author, now: Timestamp) -> BoxFuture<'_, Result<PairingRequest, StoreError>> {
            Box::pin(async move { Ok(PairingRequest::Code { code: "C".into(), expires: now, fresh: true }) })
        }

        fn is_open(&self, _: &Platform, chat: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
            let open = chat == "open";
            Box::pin(async move { Ok(open) })
        }

        fn open_chat(
            &self,
            _: &Platform,
            chat: &str,
            by: &AuthorId,
            _: Timestamp,
        ) -> BoxFuture<'_, Result<(), StoreError>> {
            assert!(chat == "new" && ["fake:user:owner", "fake:user:second"].contains(&by.as_str()));
            Box::pin(async { Ok(()) })
        }

        fn list(&self, _: Timestamp) -> BoxFuture<'_, Result<AccessList, StoreError>> {
            Box::pin(async { Ok(AccessList::default()) })
        }

        fn approve(
            &self,
            _: &str,
            _: Role,
            _: &AuthorId,
            _: Timestamp,
        ) -> BoxFuture<'_, Result<PairingConfirmation, StoreError>> {
            Box::pin(async { Ok(PairingConfirmation::NoSuchCode) })
        }

        fn invite(
            &self,
            _: Role,
            _: &AuthorId,
            _: Timestamp,
        ) -> BoxFuture<'_, Result<Invitation, StoreError>> {
            Box::pin(async { Err(StoreError::closed()) })
        }

        fn redeem(&self, _: Author, _: &str, _: Timestamp) -> BoxFuture<'_, Result<bool, StoreError>> {
            Box::pin(async { Ok(false) })
        }

        fn change_role(
            &self,
            _: &AuthorId,
            _: Role,
            _: &AuthorId,
            _: Timestamp,
        ) -> BoxFuture<'_, Result<Option<Member>, StoreError>> {
            Box::pin(async { Ok(None) })
        }

        fn revoke(
            &self,
            _: &AccessSubject,
            _: &AuthorId,
            _: Timestamp,
        ) -> BoxFuture<'_, Result<bool, StoreError>> {
            Box::pin(async { Ok(false) })
        }
    }

    #[tokio::test]
    async fn only_those_who_are_named_let_in_or_in_a_served_group_may_speak() {
        let id = |name: &str| -> AuthorId { format!("fake:user:{name}").parse().unwrap() };
        let list = AllowList {
            owners: vec![id("owner")],
            people: vec![id("friend")],
            answer_rights: vec![id("decider")],
            chats: vec!["named".to_owned()],
        };
        let gate = AccessPolicy::new("fake".parse().unwrap(), list, Arc::new(Book));
        let now = Timestamp::from_millis(7);
        let pairing =
            || Admission::Pair(PairingRequest::Code { code: "C".into(), expires: now, fresh: true });
        let (welcome, closed) = (|| Admission::Welcome, || Admission::Closed);
        use AuthorRole::{Anonymous, Person};
        use ChatKind::{Direct, Group};
        for (who, role, chat, kind, expected) in [
            ("owner", Person, "1", Direct, welcome()),
            ("friend", Person, "1", Direct, welcome()),
            ("paired", Person, "1", Direct, welcome()),
            ("stranger", Person, "1", Direct, pairing()),
            ("owner", Anonymous, "1", Direct, closed()),
            ("stranger", Person, "named", Group, welcome()),
            ("stranger", Anonymous, "named", Group, welcome()),
            ("stranger", Person, "open", Group, welcome()),
            ("stranger", Person, "new", Group, closed()),
            ("friend", Person, "new", Group, closed()),
            ("owner", Anonymous, "new", Group, closed()),
            ("owner", Person, "new", Group, welcome()),
            ("second", Person, "1", Direct, welcome()),
            ("second", Person, "new", Group, welcome()),
            ("second", Anonymous, "new", Group, closed()),
            ("paired", Person, "new", Group, closed()),
            ("removed", Person, "named", Group, closed()),
            ("removed", Person, "open", Group, closed()),
            ("removed", Person, "1", Direct, pairing()),
            ("friend", Person, "open", Group, welcome()),
            // A person whom the settings let decide must be admitted where they decide.
            ("decider", Person, "open", Group, welcome()),
            ("decider", Person, "new", Group, closed()),
            ("decider", Person, "1", Direct, pairing()),
        ] {
            let author = Author { id: id(who), name: None, role };
            assert_eq!(gate.admit(&author, chat, kind, now).await.unwrap(), expected, "{who} {chat}");
        }
    }
}

#[cfg(test)]
mod admin_tests {
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
