//! Markdown as Telegram's HTML. Pure: text in, messages out.
//!
//! # One entry, one message
//!
//! The core splits an answer in its Markdown source, by the length that the adapter declares, and keeps a receipt for
//! each part; so each part has to become exactly one message, however rendering changes its length. Most Markdown gets
//! shorter when it is rendered: markers disappear, and the URL of a link does not count. A few things grow: padded
//! tables, rules, blocks with an empty line between them. Therefore
//!
//! - the adapter declares [`SOURCE_LIMIT`], which leaves room to grow below [`MESSAGE_LIMIT`];
//! - [`render_one`] uses ever shorter table layouts (padded, compact, records), and at last the source itself. What
//!   fits as source always fits as a message.
//!
//! [`render`] does both steps, for texts outside of the outbox.
//!
//! # What Telegram accepts
//!
//! The tags `b i s code pre a blockquote tg-spoiler`, properly nested; the entities `&lt; &gt; &amp; &quot;`. Code
//! contains no tags, links no links and quotes no quotes. Anything else is refused together with the whole message.

mod fit;
mod partial;
#[cfg(test)]
mod tests;
mod write;

pub use fit::{CAPTION_LIMIT, MESSAGE_LIMIT, Rendered, SOURCE_LIMIT, render, render_one};
pub use partial::render_partial;
pub use write::{escape, visible_len};
