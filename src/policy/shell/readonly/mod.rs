//! The built-in read-only list: which commands, with which arguments, only look. An argument that is not named here
//! makes a person decide; so a new option of a program can never slip in.

mod files;
mod find;
mod git;
mod look;
mod options;
mod scripts;
mod text;
mod unasked;

pub use git::{RepositoryConfig, read_config};
pub(super) use look::{ReadSet, look};
pub use unasked::{NotHardened, Unasked, unasked};
