//! The built-in model: no network, no key, deterministic answers. People can try the whole program without a key, and
//! tests and benchmarks run without one.

mod command;
mod model;
mod words;

pub use model::{OfflineModel, Pace};
