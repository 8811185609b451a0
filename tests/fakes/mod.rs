//! Shared by tests and benchmarks: fake servers, temporary projects, and their clients.

pub(crate) mod approval_scene;
pub(crate) mod bare_telegram;
pub(crate) mod checker;
pub(crate) mod console;
pub(crate) mod daemon;
pub(crate) mod dev_server;
pub(crate) mod dice;
pub(crate) mod fake_model;
pub(crate) mod feishu;
pub(crate) mod in_process;
pub(crate) mod irc;
pub(crate) mod json_schema;
pub(crate) mod processes;
pub(crate) mod prompt;
pub(crate) mod qq;
pub(crate) mod recorder;
pub(crate) mod scripted_threads;
pub(crate) mod sdk;
pub(crate) mod soak;
pub(crate) mod stranger;
pub(crate) mod telegram;
pub(crate) mod voice;
pub(crate) mod webdriver;
