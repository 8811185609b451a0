//! Runs commands with no more than their permissions.
//!
//! Three processes take part. The daemon starts our own binary again as a *supervisor*, which sets up namespaces where
//! the machine has them; the supervisor starts it once more as the *keeper*, which restricts itself permanently
//! (Landlock, seccomp, limits) and starts the shell; restrictions are inherited and cannot be removed. The daemon
//! itself is never restricted. The three communicate over one socket, standard input of both helpers: the daemon sends
//! the [`Spec`], the keeper reports, and when the daemon's end closes, because it ends the command or because it died,
//! the keeper ends the command. No process outlives its command.
//!
//! If the sandbox cannot be set up as the spec says, the command fails; it never runs in a weaker sandbox. This module
//! does not depend on tools, threads or settings.

mod control;
mod finding;
mod helper_stage;
mod keeper;
mod launch;
mod limits;
mod memory;
mod probe;
mod report;
mod rules;
mod sandbox_updates;
mod spec;
mod status;
mod supervisor;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod linux;

pub use finding::{Finder, Finding};
pub use helper_stage::run_if_asked;
pub use launch::{End, Ended, LaunchError, Lifeline, Running, own_binary, start};
pub use memory::{Exceeded, Memory, MemoryControl, MemoryLimit, MemoryLimits, MemoryScope, control_of};
pub use probe::probe;
pub use sandbox_updates::{SandboxUpdates, find_out};
pub use spec::{Isolation, Limits, Spec};
pub use status::{Level, Mode, Refusal, Status};
