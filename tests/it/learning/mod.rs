//! What is learned from conversations, what never is, and what of it survives a crash.

mod distil;
mod flush;
mod kills;
mod poison;
mod promotion;
mod provenance;
mod random_kills;
pub(crate) mod scene;
mod troubles;
