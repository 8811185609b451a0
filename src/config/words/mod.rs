//! What the checker says to people, in their language.

pub(super) mod en;
pub(super) mod zh;
