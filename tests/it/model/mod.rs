//! The model port against a server that behaves as badly as real ones do.

mod answers;
mod asked;
mod refusals;
mod trouble;
