//! Who may answer a question.

use crate::domain::AuthorId;

/// Who may answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Whoever's message led to the question.
    pub requester: bool,
    /// These people, always.
    pub people: Vec<AuthorId>,
}

impl Rights {
    /// Whether `by` may answer what `requester` led to.
    pub fn may_answer(&self, requester: &AuthorId, by: &AuthorId) -> bool {
        (self.requester && requester == by) || self.people.contains(by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_who_were_named_may_answer() {
        let id = |text: &str| -> AuthorId { text.parse().unwrap() };
        let (ada, bob, eve) = (id("web:user:ada"), id("web:user:bob"), id("web:user:eve"));
        let both = Rights { requester: true, people: vec![bob.clone()] };
        let owners_only = Rights { requester: false, people: vec![bob.clone()] };
        for (rights, by, expected) in [
            (&both, &ada, true),
            (&both, &bob, true),
            (&both, &eve, false),
            (&owners_only, &ada, false),
            (&owners_only, &bob, true),
            (&Rights::default(), &ada, false),
        ] {
            assert_eq!(rights.may_answer(&ada, by), expected, "{rights:?} {by}");
        }
    }
}
