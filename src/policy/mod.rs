//! May this run? What did this reply mean? Who may answer? Pure: domain only.

pub mod coverage;
pub mod fingerprint;
pub mod grants;
mod mode;
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

pub use mode::{Compound, Mode};
pub use reason::Reason;
pub use rights::Rights;
pub use verdict::Verdict;
