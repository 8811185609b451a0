//! The built-in model: no network, no key, always the same answer to the same words. It lets people try the
//! whole program before they have a key, and tests and benchmarks run without one.

mod command;
mod model;
mod words;

pub use model::{OfflineModel, Pace};
