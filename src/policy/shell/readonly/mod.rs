//! The built-in read-only list: which commands, with which arguments, are read-only. An unlisted argument needs
//! approval, so that a new option of a program is never allowed by accident.

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
