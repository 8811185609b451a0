//! The UI message stream of a growing message, for web clients.
//!
//! The stream is the difference between what was sent to a client and the current message. So a slow client gets fewer
//! events, but the same content, and a late client gets everything from the beginning.

mod call;
mod cursor;
#[cfg(test)]
mod tests;

pub use cursor::{Cursor, replay};
