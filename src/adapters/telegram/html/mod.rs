//! Markdown as Telegram's HTML. Pure: a text goes in, messages come out.
//!
//! # One entry, one message
//!
//! Core cuts an answer on its Markdown source, by the length that the adapter declares, and keeps a receipt for
//! each part; so each part has to become exactly one message, whatever rendering does to its length. Most of
//! Markdown gets shorter when it is rendered: signs go, and the address of a link does not count. A few things
//! grow: tables that are padded, rules, blocks that get an empty line between them. Therefore
//!
//! - the adapter declares [`SOURCE_LIMIT`], which leaves room to grow below [`MESSAGE_LIMIT`];
//! - [`render_one`] takes ever less room for tables (padded, bare, records), and at last shows the source as it
//!   is. What fits as source fits as a message, always.
//!
//! [`render`] is both steps at once, for texts that no entry stands behind.
//!
//! # What Telegram takes
//!
//! The tags `b i s code pre a blockquote tg-spoiler`, rightly nested; the entities `&lt; &gt; &amp; &quot;`. Code has
//! nothing inside, links and quotes not their like. Anything else is refused, and the whole message with it.

mod escape;
mod fit;
mod partial;
#[cfg(test)]
mod tests;
mod write;

pub use escape::{escape, visible_len};
pub use fit::{CAPTION_LIMIT, MESSAGE_LIMIT, Rendered, SOURCE_LIMIT, render, render_one};
pub use partial::render_partial;
