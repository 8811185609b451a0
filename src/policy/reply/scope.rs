//! The scope of an approval, from the marks beside it. Contradicting marks give no scope.

use std::num::NonZeroU32;

use crate::domain::Scope;

/// A word about the scope of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScopeWord {
    /// For this many minutes; `None` if the duration is impossible.
    Window(Option<NonZeroU32>),
    /// A bare duration: beside a yes it may be a wait, `ok, 10 minutes`.
    Length(NonZeroU32),
    /// `都`.
    Each,
    Ever,
    Forever,
    Once,
    Thread,
    Project,
    /// Commands like this one.
    Kind,
    ThisCommand,
}

/// Why there is no scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoScope {
    /// The duration is too short or too long.
    HowLong,
    /// Not stated, or stated in two ways.
    HowFar,
}

/// Whether a command was named by its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// `always allow git status`.
    ByWords,
    /// By number, or not at all.
    Otherwise,
}

/// Reads the marks of one approval.
///
/// # Errors
/// If they contradict each other, or state a longer scope without saying which.
pub(super) fn scope(marks: &[ScopeWord], naming: Naming) -> Result<Scope, NoScope> {
    let has = |mark: ScopeWord| marks.contains(&mark);
    let mut windows = marks.iter().filter_map(|mark| match mark {
        ScopeWord::Window(minutes) => Some(*minutes),
        ScopeWord::Length(minutes) => Some(Some(*minutes)),
        _ => None,
    });
    let lasting = has(ScopeWord::Ever) || has(ScopeWord::Forever);
    let places = [ScopeWord::Thread, ScopeWord::Project, ScopeWord::Once]
        .into_iter()
        .filter(|place| has(*place))
        .count();
    match (windows.next(), windows.next()) {
        (Some(_), Some(_)) => return Err(NoScope::HowLong),
        (Some(None), None) => return Err(NoScope::HowLong),
        (Some(Some(minutes)), None) if places == 0 && !lasting => return Ok(Scope::Minutes(minutes)),
        (Some(_), _) => return Err(NoScope::HowFar),
        (None, _) => {}
    }
    if places > 1 {
        return Err(NoScope::HowFar);
    }
    if has(ScopeWord::Once) {
        return if lasting || has(ScopeWord::Kind) { Err(NoScope::HowFar) } else { Ok(Scope::Once) };
    }
    if has(ScopeWord::Thread) {
        return if has(ScopeWord::Forever) { Err(NoScope::HowFar) } else { Ok(Scope::Thread) };
    }
    if has(ScopeWord::Project) {
        return if lasting || has(ScopeWord::Each) { Ok(Scope::Project) } else { Err(NoScope::HowFar) };
    }
    let this = has(ScopeWord::ThisCommand);
    if has(ScopeWord::Kind) || (lasting && (this || naming == Naming::ByWords)) {
        return Ok(Scope::Shape);
    }
    if lasting || (this && has(ScopeWord::Each)) { Err(NoScope::HowFar) } else { Ok(Scope::Once) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_make_a_scope_or_none() {
        let ten = NonZeroU32::new(10);
        let minutes = Scope::Minutes(ten.unwrap());
        for (marks, expected) in [
            (vec![], Ok(Scope::Once)),
            (vec![ScopeWord::Once], Ok(Scope::Once)),
            (vec![ScopeWord::ThisCommand], Ok(Scope::Once)),
            (vec![ScopeWord::Window(ten)], Ok(minutes)),
            (vec![ScopeWord::Window(ten), ScopeWord::Each, ScopeWord::Kind], Ok(minutes)),
            (vec![ScopeWord::Thread, ScopeWord::Each], Ok(Scope::Thread)),
            (vec![ScopeWord::Ever, ScopeWord::Kind], Ok(Scope::Shape)),
            (vec![ScopeWord::Ever, ScopeWord::ThisCommand], Ok(Scope::Shape)),
            (vec![ScopeWord::Ever, ScopeWord::Project], Ok(Scope::Project)),
            (vec![ScopeWord::Forever, ScopeWord::Project], Ok(Scope::Project)),
            (vec![ScopeWord::Forever], Err(NoScope::HowFar)),
            (vec![ScopeWord::Ever], Err(NoScope::HowFar)),
            (vec![ScopeWord::Project], Err(NoScope::HowFar)),
            (vec![ScopeWord::Once, ScopeWord::Ever], Err(NoScope::HowFar)),
            (vec![ScopeWord::Once, ScopeWord::Thread], Err(NoScope::HowFar)),
            (vec![ScopeWord::Thread, ScopeWord::Project], Err(NoScope::HowFar)),
            (vec![ScopeWord::Window(ten), ScopeWord::Once], Err(NoScope::HowFar)),
            (vec![ScopeWord::Window(None)], Err(NoScope::HowLong)),
            (vec![ScopeWord::Window(ten), ScopeWord::Window(ten)], Err(NoScope::HowLong)),
        ] {
            assert_eq!(scope(&marks, Naming::Otherwise), expected, "{marks:?}");
        }
        assert_eq!(scope(&[ScopeWord::Ever], Naming::ByWords), Ok(Scope::Shape));
    }
}
