//! `git` without asking: which commands only look, and how they are changed so that they run no program of the
//! repository's choosing and show no file that may hold secrets.

mod config;
mod excludes;
mod harden;
mod look;
mod revision;
mod table;

pub use config::{RepositoryConfig, read_config};
pub(super) use harden::{Hardened, harden};
pub(super) use look::look;
