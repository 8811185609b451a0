//! What concerns all chat platforms.

mod irc;
mod soak;
mod table;
mod together;
