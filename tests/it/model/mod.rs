//! The model port with a server that misbehaves as real ones do.

mod answers;
mod asked;
mod metered;
mod refusals;
mod trouble;
