//! What concerns all chat platforms.

mod table;
mod together;
