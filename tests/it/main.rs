//! The one integration test binary: whole flows over real sockets on the loopback.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what the tests share may fail as loudly as the tests themselves"
)]

mod access;
mod approval_life;
mod approval_scopes;
mod approval_words;
mod approvals;
mod architecture;
mod browser;
mod browser_access;
mod browser_approvals;
mod browser_grants;
mod browser_kill;
mod commands;
mod cut;
mod discretion;
mod doctor_chats;
mod exec;
mod feishu;
mod feishu_api;
mod feishu_files;
mod feishu_kill;
mod feishu_rights;
mod governance;
mod judging_files;
mod kill;
mod kill_effects;
mod long_questions;
mod model;
mod platforms;
mod qq;
mod redaction;
mod rights;
mod sandbox_status;
mod sdk;
mod security;
mod start;
mod support;
mod telegram;
mod telegram_approvals;
mod telegram_bare;
mod telegram_fake;
mod telegram_kill;
mod telegram_send;
mod terminal;
mod threads;
mod together;
mod turns;
