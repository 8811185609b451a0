//! `exec_shell`: runs a shell command in a sandbox.
//!
//! Whether it may run was decided before; here it is only kept in by what the call's permit says. Its
//! environment holds no secrets, its output is bounded and redacted, and it ends at its deadline.

mod aliases;
mod capture;
mod clean;
mod environment;
mod excerpt;
mod hidden;
mod outcome;
mod quarantine;
mod repository;
mod run;
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
