//! `exec_shell`: runs a shell command in a sandbox.
//!
//! The judge has decided before whether the call may run; here the sandbox enforces the call's permit. The command's
//! environment contains no secrets, its output is bounded and redacted, and it ends at its deadline.

mod aliases;
mod capture;
mod clean;
mod environment;
mod excerpt;
mod hidden;
mod outcome;
mod quarantine;
mod repository;
mod run_command;
mod scratch;
mod settings;
mod tool;
mod unasked;
mod unasked_reads;

pub use environment::{git_hardened, programs_of};
pub use scratch::{Scratch, sweep};
pub use settings::{ExecSettings, Redact};
pub use tool::ExecShell;
pub use unasked_reads::{hides_secrets, object_to_reads};
