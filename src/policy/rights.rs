//! Who may answer a question, and who may end what somebody else began.

use crate::domain::{AuthorId, Standing};

/// Who may answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Whoever's message led to the question.
    pub requester: bool,
    /// These people, always.
    pub people: Vec<AuthorId>,
    /// Whoever administers the chat.
    pub admins: bool,
    /// Whom the access book calls an owner; those of the settings are among the people.
    pub owners: bool,
    /// Whom the settings call an owner, whether or not they may answer.
    pub named_owners: Vec<AuthorId>,
}

impl Rights {
    /// Whether `by` may end what `requester` began: who began it, an owner, who administers the chat, and who could
    /// refuse what it asks for.
    pub fn may_end(&self, requester: Option<&AuthorId>, by: &AuthorId, standing: Standing) -> bool {
        let own = requester == Some(by);
        let powerful = match standing {
            Standing::Faceless => false,
            Standing::Admin | Standing::Owner { .. } => true,
            Standing::Person | Standing::Guest => self.named_owners.contains(by),
        };
        let answers = requester.is_some_and(|requester| self.may_answer(requester, by, standing));
        own || powerful || answers
    }

    /// Whether `by` may answer what `requester` led to.
    pub fn may_answer(&self, requester: &AuthorId, by: &AuthorId, standing: Standing) -> bool {
        match standing {
            // Nobody knows who that is, so nobody can have named them.
            Standing::Faceless => false,
            // Whoever was let in only to talk cannot allow themselves anything.
            Standing::Guest => self.people.contains(by),
            Standing::Admin | Standing::Owner { admin: true } if self.admins => true,
            Standing::Owner { .. } if self.owners => true,
            Standing::Admin | Standing::Owner { .. } | Standing::Person => {
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
        use Standing::{Admin, Faceless, Guest, Owner, Person};
        let owner = Owner { admin: false };
        for (rights, by, standing, expected) in [
            (&both, &ada, Person, true),
            (&both, &bob, Person, true),
            (&both, &bob, Admin, true),
            (&both, &bob, Faceless, false),
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
            (&admins, &eve, Faceless, false),
            (&Rights::default(), &ada, Person, false),
        ] {
            assert_eq!(rights.may_answer(&ada, by, standing), expected, "{rights:?} {by} {standing:?}");
        }
    }

    #[test]
    fn what_somebody_began_is_ended_by_them_and_by_those_above_them() {
        let id = |text: &str| -> AuthorId { text.parse().unwrap() };
        let (ada, bob, eve) = (id("web:user:ada"), id("web:user:bob"), id("web:user:eve"));
        let nobody = Rights { named_owners: vec![bob.clone()], ..Rights::default() };
        let eves = Rights { people: vec![eve.clone()], ..Rights::default() };
        use Standing::{Admin, Faceless, Guest, Owner, Person};
        for (rights, by, standing, expected) in [
            (&nobody, &ada, Person, true),
            (&nobody, &ada, Guest, true),
            (&nobody, &ada, Faceless, true),
            (&nobody, &bob, Person, true),
            (&nobody, &bob, Faceless, false),
            (&nobody, &eve, Person, false),
            (&nobody, &eve, Guest, false),
            (&nobody, &eve, Faceless, false),
            (&nobody, &eve, Admin, true),
            (&nobody, &eve, Owner { admin: false }, true),
            (&eves, &eve, Person, true),
            (&eves, &bob, Person, false),
        ] {
            assert_eq!(rights.may_end(Some(&ada), by, standing), expected, "{rights:?} {by} {standing:?}");
        }
        assert!(!nobody.may_end(None, &eve, Person) && nobody.may_end(None, &eve, Admin));
    }
}
