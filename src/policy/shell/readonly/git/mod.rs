//! `git` without approval: which commands are read-only, and how they are rewritten so that they run no program chosen
//! by the repository and show no file that may contain secrets.

mod config;
mod excludes;
mod harden;
mod look;
mod revision;
mod table;

pub use config::{RepositoryConfig, read_config};
pub(super) use harden::{Hardened, harden};
pub(super) use look::look;
