//! May this run? What did this reply mean? Who may answer? Pure: domain only.

pub mod reply;
mod rights;
mod verdict;

pub use rights::Rights;
pub use verdict::Class;
