//! CommonMark as a chat shows it: words with marks on them, tables laid out by the width of their characters, and
//! the source taken apart into blocks. Which tags or cards become of it is the adapters' affair.

mod blocks;
mod easing;
mod flow;
mod loose;
mod pictures;
mod plain;
mod rich;
mod table;
#[cfg(test)]
mod tests;
mod walk;

pub(in crate::render) use blocks::Grain;
pub use blocks::{Block, BlockKind, blocks};
pub use pictures::{ZERO_WIDTH_SPACE, without_pictures};
pub use plain::plain;
pub use rich::{Mark, Rich, Span};
pub use table::Layout;
pub use walk::{Style, rich};
