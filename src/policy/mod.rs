//! Decisions: whether a call may run, what a reply means, who may answer. Pure: depends on the domain only.

pub mod coverage;
pub mod fingerprint;
pub mod grants;
mod path_lists;
mod path_names;
pub mod paths;
mod reason;
pub mod reply;
mod rights;
pub mod shape;
mod shape_table;
pub mod shell;
pub mod tools;
mod verdict;

pub use reason::Reason;
pub use rights::Rights;
pub use verdict::{Compound, Mode, Verdict};
