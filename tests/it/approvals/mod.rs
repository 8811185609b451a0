//! Approvals: asked, answered, refused, expired, over HTTP and by text, across restarts.

mod decide;
mod life;
mod long_questions;
mod words;
