//! A growing message as the UI message stream that web clients read.
//!
//! The stream is the difference between what a client has been told and what the message is now. So a slow
//! client is told less often, never wrongly, and a client that comes late is told all from the beginning.

mod call;
mod cursor;
#[cfg(test)]
mod tests;
mod voice;

pub use cursor::{Cursor, replay};
