//! Approvals: asked, answered, refused, expired, over HTTP and in words, across restarts.

mod decide;
mod life;
mod long_questions;
mod scopes;
mod words;
