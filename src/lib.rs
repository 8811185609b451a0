//! shipagent turns a project directory into an agent that people talk to.
//!
//! # The path of a message
//!
//! An adapter receives updates from a platform and turns each into an [`IngressEvent`](domain::IngressEvent). The
//! [`ThreadsHandle`](ports::ThreadsHandle) passes it to the [`Router`](threads::Router), which finds or starts the one
//! actor of that thread. The actor feeds the event to its state machine, the [`Conversation`](turn::Conversation), and
//! performs the effects it returns: it stores the message (only then is the platform told that it was received), calls
//! the [`Model`](ports::Model), runs a [`Tool`](ports::Tool), and at the end writes the answer and its outbox entries
//! in one commit. Deliveries are sent in order, one at a time, each until there is a receipt or a permanent failure.
//!
//! # Modules
//!
//! - pure, without runtime, files or clock: `domain`, `uimessage` (the format of thread files), `turn` (the state
//!   machine), `policy` (which calls may run and what replies decide), `render`, `groups`, `distil`, `search`, `audio`;
//! - `ports`: the traits between the modules;
//! - `threads`: the router and the actors; `tasks`: the scheduler;
//! - implementations of ports: `store`, `model`, `usage`, `voice`, `tools`, `sandbox`, `permissions`, `files`, and
//!   `adapters` with one folder per platform; they do not use `threads`, and use each other only as the table of
//!   dependencies allows;
//! - shared services: `phrases`, `http_client`, `blocking`, `metrics`, `telemetry`, `notify`, `signals`;
//! - composition: `config`, `onboarding`, `cli`, `commands`, the `…_setup` modules, `daemon_parts`, `app`, `reload`,
//!   `program`.
//!
//! `docs/architecture.md` describes them and the path of a message in detail. The table of allowed dependencies is in
//! `tests/it/architecture.rs`.
//!
//! # Where new things go
//!
//! - an adapter: a folder under `adapters/`, and one line in `adapters/table.rs`; outside this crate, an
//!   [`AdapterDef`](ports::AdapterDef) and [`program::run`], as in `examples/irc.rs`;
//! - a tool: a file in `tools/`, and one line in `tools/registry.rs`;
//! - an intent: a variant in `domain/intent.rs`; the compiler leads to `adapters/chat/outbound/lower.rs` and
//!   `render/lower.rs`;
//! - a chat command: a variant in `domain/command.rs`; the compiler leads to `turn/machine/commands.rs`.
//!
//! # Guarantees
//!
//! - A message is on the disk before the platform is told that it was received.
//! - Before a call with side effects runs, the disk records that it will; it never runs twice.
//! - The thread file is the source of truth. Memory, index and catalog can be rebuilt from it.
//! - One task owns each thread, its run and its deliveries; other tasks send it messages. The platform state that an
//!   adapter caches (ids, limits, names) is behind a lock that is never held across an await.
//! - Core names no platform; it asks for [`Capabilities`](domain::Capabilities).

mod adapter_setup;
pub mod adapters;
pub mod app;
pub mod audio;
pub mod blocking;
pub mod cli;
pub mod commands;
pub mod config;
mod daemon_parts;
pub mod distil;
pub mod domain;
pub mod environment;
mod fail_point;
pub mod files;
mod group_setup;
pub mod groups;
pub mod http_client;
mod memory_release;
pub mod metrics;
pub mod model;
mod model_setup;
pub mod notify;
mod onboarding;
pub mod permissions;
mod phrases;
pub mod policy;
pub mod policy_setup;
pub mod ports;
pub mod program;
pub mod reload;
pub mod render;
pub mod sandbox;
pub mod search;
pub mod signals;
pub mod store;
pub mod tasks;
pub mod telemetry;
pub mod threads;
pub mod tools;
pub mod turn;
pub mod uimessage;
pub mod usage;
pub mod voice;
mod voice_setup;
