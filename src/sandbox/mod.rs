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

mod background_probe;
mod control;
mod helper_stage;
mod keeper;
mod launch;
mod memory;
mod probe;
mod rules;
mod spec;
mod status;
mod supervisor;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported.rs"]
mod linux;

pub use background_probe::{ProbeResult, ProbeTask, SandboxUpdates, start_probe};
pub use helper_stage::run_if_asked;
pub use launch::{CommandEnd, CommandGuard, LaunchError, OutcomeReceiver, RunningCommand, own_binary, start};
pub use memory::{
    Exceeded, ExceededLimit, MemoryControl, MemoryLimit, MemoryLimiter, MemoryLimits, control_of,
};
pub use probe::probe;
pub use spec::{Isolation, ResourceLimits, Spec};
pub use status::{IsolationLevel, SandboxMissing, SandboxMode, SandboxStatus};
