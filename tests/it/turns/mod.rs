//! Turns: order, concurrency, delivery, and what kill -9 leaves behind.

mod actors;
mod cut_files;
mod kill;
mod kill_effects;
mod over_http;
mod targets;
