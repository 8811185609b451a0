//! The table of the chat platforms that this crate brings. A new platform is its folder, its `mod` line in
//! `adapters/mod.rs`, and one line here.

use super::{feishu, qq, telegram};
use crate::ports::AdapterTable;

/// The platforms of this crate. A program of its own adds others with [`AdapterTable::with`].
pub fn builtin() -> AdapterTable {
    AdapterTable::default().with(telegram::DEF).with(feishu::DEF).with(qq::DEF)
}
