//! CommonMark for chats: text with marks, tables laid out by character width, and
//! blocks of the source. Adapters turn these into tags or cards.

mod blocks;
mod cjk_emphasis;
mod flow;
mod pictures;
mod plain;
mod rich;
mod spoilers;
mod table;
#[cfg(test)]
mod tests;
mod walk;

pub(in crate::render) use blocks::UncuttableSpans;
pub use blocks::{BlockKind, MarkdownBlock, blocks};
pub use pictures::{ZERO_WIDTH_SPACE, without_pictures};
pub use plain::plain;
pub use rich::{Mark, Rich, Span};
pub use table::TableLayout;
pub use walk::{Style, rich};
