//! Tests of the stream.

mod cases;
mod client;
mod growth;
