//! The one integration test binary: whole flows over real sockets on the loopback.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what the tests share may fail as loudly as the tests themselves"
)]

mod access;
mod approvals;
mod architecture;
mod browser;
mod budget;
mod commands;
mod compaction;
mod documents;
mod exec;
#[path = "../fakes/mod.rs"]
mod fakes;
mod feishu;
mod groups;
mod http;
mod learning;
mod memory;
mod model;
mod onboarding;
mod page;
mod platforms;
mod qq;
mod recall;
mod secrets;
mod tasks;
mod telegram;
mod terminal;
mod turns;
mod usage;
mod voice;
