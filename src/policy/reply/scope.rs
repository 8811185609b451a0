//! The scope of an approval, from the marks beside it. Contradicting marks give no scope.

use std::num::NonZeroU32;

use crate::domain::Scope;

/// A word about the scope of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
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
pub(super) fn scope(marks: &[Mark], naming: Naming) -> Result<Scope, NoScope> {
    let has = |mark: Mark| marks.contains(&mark);
    let mut windows = marks.iter().filter_map(|mark| match mark {
        Mark::Window(minutes) => Some(*minutes),
        Mark::Length(minutes) => Some(Some(*minutes)),
        _ => None,
    });
    let lasting = has(Mark::Ever) || has(Mark::Forever);
    let places = [Mark::Thread, Mark::Project, Mark::Once].into_iter().filter(|place| has(*place)).count();
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
    if has(Mark::Once) {
        return if lasting || has(Mark::Kind) { Err(NoScope::HowFar) } else { Ok(Scope::Once) };
    }
    if has(Mark::Thread) {
        return if has(Mark::Forever) { Err(NoScope::HowFar) } else { Ok(Scope::Thread) };
    }
    if has(Mark::Project) {
        return if lasting || has(Mark::Each) { Ok(Scope::Project) } else { Err(NoScope::HowFar) };
    }
    let this = has(Mark::ThisCommand);
    if has(Mark::Kind) || (lasting && (this || naming == Naming::ByWords)) {
        return Ok(Scope::Shape);
    }
    if lasting || (this && has(Mark::Each)) { Err(NoScope::HowFar) } else { Ok(Scope::Once) }
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
            (vec![Mark::Once], Ok(Scope::Once)),
            (vec![Mark::ThisCommand], Ok(Scope::Once)),
            (vec![Mark::Window(ten)], Ok(minutes)),
            (vec![Mark::Window(ten), Mark::Each, Mark::Kind], Ok(minutes)),
            (vec![Mark::Thread, Mark::Each], Ok(Scope::Thread)),
            (vec![Mark::Ever, Mark::Kind], Ok(Scope::Shape)),
            (vec![Mark::Ever, Mark::ThisCommand], Ok(Scope::Shape)),
            (vec![Mark::Ever, Mark::Project], Ok(Scope::Project)),
            (vec![Mark::Forever, Mark::Project], Ok(Scope::Project)),
            (vec![Mark::Forever], Err(NoScope::HowFar)),
            (vec![Mark::Ever], Err(NoScope::HowFar)),
            (vec![Mark::Project], Err(NoScope::HowFar)),
            (vec![Mark::Once, Mark::Ever], Err(NoScope::HowFar)),
            (vec![Mark::Once, Mark::Thread], Err(NoScope::HowFar)),
            (vec![Mark::Thread, Mark::Project], Err(NoScope::HowFar)),
            (vec![Mark::Window(ten), Mark::Once], Err(NoScope::HowFar)),
            (vec![Mark::Window(None)], Err(NoScope::HowLong)),
            (vec![Mark::Window(ten), Mark::Window(ten)], Err(NoScope::HowLong)),
        ] {
            assert_eq!(scope(&marks, Naming::Otherwise), expected, "{marks:?}");
        }
        assert_eq!(scope(&[Mark::Ever], Naming::ByWords), Ok(Scope::Shape));
    }
}
