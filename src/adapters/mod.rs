//! Platforms. A new one is a folder here and one line in `registry.rs`.

pub mod web;
