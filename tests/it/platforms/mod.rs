//! What concerns all chat platforms.

mod irc;
mod shown;
mod soak;
mod table;
mod targets;
mod together;
