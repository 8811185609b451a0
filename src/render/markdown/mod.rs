//! CommonMark for chats: text with marks, tables laid out by character width, and
//! blocks of the source. Adapters turn these into tags or cards.

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
