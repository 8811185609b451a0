//! What concerns all chat platforms.

mod soak;
mod table;
mod together;
