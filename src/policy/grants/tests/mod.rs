//! Grants and the calls they cover.

mod calls;
mod corpus;
mod effects;
mod holding;
