//! What concerns all chat platforms.

mod irc;
mod table;
mod together;
