//! Who may answer a question.

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
}

impl Rights {
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
}
