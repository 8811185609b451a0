//! Decides who may write. Closed by default: in a direct chat the people in the settings and those who were admitted,
//! in groups the ones that are served.

use std::sync::Arc;

use crate::domain::{Author, AuthorId, AuthorRole, ChatKind, Platform, Role, Timestamp};
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
