//! The built-in model: no network, no key, deterministic answers. People can try the whole program without a key, and
//! tests and benchmarks run without one.

mod answers;
mod command;
mod model;

pub use model::{OfflineModel, TypingSpeed};
