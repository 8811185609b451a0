//! Runs commands that can do no more than they were given leave to.
//!
//! Three processes take part. The daemon starts our own binary again as a *supervisor*, which sets up
//! namespaces where the machine has them; the supervisor starts it once more as the *keeper*, which restricts
//! itself for good (Landlock, seccomp, limits) and starts the shell; restrictions are inherited and cannot be
//! shed. The daemon itself is never restricted. The three speak over one socket, standard input of both: the
//! daemon hands in the [`Spec`], the keeper reports, and when the daemon's end closes, because it wants the
//! command ended or because it died, the keeper ends it. No process outlives its command.
//!
//! What cannot be set up as the spec says is a failure, never a weaker sandbox. This room knows nothing of
//! tools, threads or settings.

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
