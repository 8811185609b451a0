//! Which sandbox helper this process was started as, if any.

use std::process::ExitCode;

use super::{keeper, supervisor};

/// The first argument of a helper.
pub(super) const FLAG: &str = "__sandbox";

/// A helper, by its second argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HelperStage {
    /// Sets up namespaces, and ends all remaining processes.
    Supervise,
    /// Restricts itself and starts the command.
    Keep,
}

impl HelperStage {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Supervise => "supervise",
            Self::Keep => "keep",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Supervise, Self::Keep].into_iter().find(|stage| stage.name() == name)
    }
}

/// Runs as a helper where the arguments (without the program's own name) ask for one. Call it first, before any thread
/// is started; `None` means an ordinary start.
pub fn run_if_asked(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> Option<ExitCode> {
    if arguments.next()? != FLAG {
        return None;
    }
    match arguments.next().as_deref().and_then(|name| name.to_str()).and_then(HelperStage::named) {
        Some(HelperStage::Supervise) => Some(supervisor::run()),
        Some(HelperStage::Keep) => Some(keeper::run()),
        None => Some(ExitCode::from(2)),
    }
}
