//! Who may decide an approval, and who may stop a run or withdraw a request of another person.

use crate::domain::{Approval, AuthorId, AuthorRole, ChatKind, IngressEvent, Origin, Role};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// The author of the message that led to the request.
    pub requester: bool,
    pub people: Vec<AuthorId>,
    /// Administrators of the chat.
    pub admins: bool,
    /// Owners by the access records; owners by the settings are in `people`.
    pub owners: bool,
    /// Owners by the settings, whether or not they may decide.
    pub named_owners: Vec<AuthorId>,
    /// The holder of the access token, on each surface where they write.
    pub operators: Vec<AuthorId>,
}

impl Rights {
    /// Whether `by` may end what `requester` began: the requester, an owner, an administrator of the chat, and people
    /// who could deny its approvals.
    pub fn may_end(&self, requester: Option<&AuthorId>, by: &AuthorId, role: AuthorRole) -> bool {
        let own = requester == Some(by);
        let powerful = match role {
            AuthorRole::Anonymous => false,
            AuthorRole::Admin | AuthorRole::Owner { .. } => true,
            AuthorRole::Person | AuthorRole::Guest => self.named_owners.contains(by),
        };
        let answers = requester.is_some_and(|requester| self.may_answer(requester, by, role));
        own || powerful || answers
    }

    /// Whether a person owns the project, by the settings or by the access records.
    pub fn is_owner(&self, person: &AuthorId, role: AuthorRole) -> bool {
        role != AuthorRole::Anonymous && (role.is_owner() || self.named_owners.contains(person))
    }

    /// How far the words of an event's author are trusted.
    pub fn origin_of(&self, event: &IngressEvent) -> Origin {
        match event.author.role {
            AuthorRole::Owner { .. } => Origin::Owner,
            AuthorRole::Anonymous | AuthorRole::Guest => Origin::Guest,
            AuthorRole::Person | AuthorRole::Admin => {
                let owner = event.chat == ChatKind::Operator || self.named_owners.contains(&event.author.id);
                if owner { Origin::Owner } else { Origin::Member }
            }
        }
    }

    /// Whether `by` may answer this approval.
    pub fn may_decide(&self, approval: &Approval, by: &AuthorId, role: AuthorRole) -> bool {
        let owner = match role {
            AuthorRole::Anonymous | AuthorRole::Guest => false,
            AuthorRole::Owner { .. } => true,
            AuthorRole::Person | AuthorRole::Admin => self.named_owners.contains(by),
        };
        if approval.owners_only { owner } else { self.may_answer(&approval.requested_by, by, role) }
    }

    /// Whether the result of a run that `by` asked for may be delivered to a thread where `people` have written: the
    /// operator and owners may send anywhere, other people where they take part themselves.
    pub fn may_deliver(&self, by: &AuthorId, role: Option<Role>, people: &[AuthorId]) -> bool {
        let everywhere = self.operators.contains(by) || self.named_owners.contains(by);
        everywhere || role == Some(Role::Owner) || people.contains(by)
    }

    /// Whether `by` may answer an approval of `requester`.
    pub fn may_answer(&self, requester: &AuthorId, by: &AuthorId, role: AuthorRole) -> bool {
        match role {
            // The platform hides the identity, so no setting can name it.
            AuthorRole::Anonymous => false,
            // A guest may talk but not approve their own requests.
            AuthorRole::Guest => self.people.contains(by),
            AuthorRole::Admin | AuthorRole::Owner { admin: true } if self.admins => true,
            AuthorRole::Owner { .. } if self.owners => true,
            AuthorRole::Admin | AuthorRole::Owner { .. } | AuthorRole::Person => {
                (self.requester && requester == by) || self.people.contains(by)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_who_were_named_may_answer() {
        let id = |text: &str| -> AuthorId { text.parse().unwrap() };
        let (ada, bob, eve) = (id("web:user:ada"), id("web:user:bob"), id("web:user:eve"));
        let owners_only = Rights { people: vec![bob.clone()], owners: true, ..Rights::default() };
        let both = Rights { requester: true, ..owners_only.clone() };
        let admins = Rights { admins: true, ..Rights::default() };
        use AuthorRole::{Admin, Anonymous, Guest, Owner, Person};
        let owner = Owner { admin: false };
        for (rights, by, role, expected) in [
            (&both, &ada, Person, true),
            (&both, &bob, Person, true),
            (&both, &bob, Admin, true),
            (&both, &bob, Anonymous, false),
            (&both, &eve, Person, false),
            (&both, &eve, Admin, false),
            (&both, &ada, Guest, false),
            (&both, &bob, Guest, true),
            (&both, &eve, owner, true),
            (&owners_only, &ada, Person, false),
            (&owners_only, &ada, owner, true),
            (&admins, &ada, owner, false),
            (&admins, &ada, Owner { admin: true }, true),
            (&admins, &ada, Guest, false),
            (&owners_only, &bob, Person, true),
            (&admins, &eve, Admin, true),
            (&admins, &eve, Person, false),
            (&admins, &eve, Anonymous, false),
            (&Rights::default(), &ada, Person, false),
        ] {
            assert_eq!(rights.may_answer(&ada, by, role), expected, "{rights:?} {by} {role:?}");
        }
    }

    #[test]
    fn results_go_to_ones_own_threads_and_those_of_owners_anywhere() {
        let id = |text: &str| -> AuthorId { text.parse().unwrap() };
        let (ada, bob, eve) = (id("web:user:ada"), id("web:user:bob"), id("web:user:eve"));
        let rights = Rights {
            named_owners: vec![ada.clone()],
            operators: vec![id("web:user:operator")],
            ..Rights::default()
        };
        for (by, role, people, expected) in [
            (&ada, None, vec![], true),
            (&id("web:user:operator"), None, vec![], true),
            (&id("irc:user:operator"), None, vec![], false),
            (&bob, None, vec![], false),
            (&bob, None, vec![eve.clone()], false),
            (&bob, None, vec![eve.clone(), bob.clone()], true),
            (&bob, Some(Role::Owner), vec![], true),
            (&bob, Some(Role::Member), vec![eve], false),
            (&bob, Some(Role::Guest), vec![bob.clone()], true),
        ] {
            assert_eq!(rights.may_deliver(by, role, &people), expected, "{by} {role:?} {people:?}");
        }
    }

    #[test]
    fn a_run_is_ended_by_the_person_who_began_it_and_by_those_above_them() {
        let id = |text: &str| -> AuthorId { text.parse().unwrap() };
        let (ada, bob, eve) = (id("web:user:ada"), id("web:user:bob"), id("web:user:eve"));
        let nobody = Rights { named_owners: vec![bob.clone()], ..Rights::default() };
        let eves = Rights { people: vec![eve.clone()], ..Rights::default() };
        use AuthorRole::{Admin, Anonymous, Guest, Owner, Person};
        for (rights, by, role, expected) in [
            (&nobody, &ada, Person, true),
            (&nobody, &ada, Guest, true),
            (&nobody, &ada, Anonymous, true),
            (&nobody, &bob, Person, true),
            (&nobody, &bob, Anonymous, false),
            (&nobody, &eve, Person, false),
            (&nobody, &eve, Guest, false),
            (&nobody, &eve, Anonymous, false),
            (&nobody, &eve, Admin, true),
            (&nobody, &eve, Owner { admin: false }, true),
            (&eves, &eve, Person, true),
            (&eves, &bob, Person, false),
        ] {
            assert_eq!(rights.may_end(Some(&ada), by, role), expected, "{rights:?} {by} {role:?}");
        }
        assert!(!nobody.may_end(None, &eve, Person) && nobody.may_end(None, &eve, Admin));
    }
}
