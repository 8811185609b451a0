//! The built-in model: no network, no key, always the same answer to the same words. It lets people try the
//! whole program before they have a key, and tests and benchmarks run without one.

mod answers;
mod command;
mod model;

pub use model::{OfflineModel, Pace};
