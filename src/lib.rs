//! shipagent turns a project directory into an agent that people talk to.
//!
//! # The way of a message
//!
//! An adapter hears a platform and makes an [`IngressEvent`](domain::IngressEvent) of what happened. It goes through
//! the [`ThreadsHandle`](ports::ThreadsHandle) to the [`Router`](threads::Router), which finds or starts the one actor of that thread. The
//! actor asks its machine, the [`Conversation`](turn::Conversation), what is to be done, and does it: writes the message
//! (only then is the platform told that it was received), asks the [`Model`](ports::Model), runs a
//! [`Tool`](ports::Tool), and at the end writes the answer and what must be delivered in one commit. Deliveries go
//! out in order, one at a time, each until there is a receipt or no hope.
//!
//! # The rooms
//!
//! ```text
//!   program, cli ──→ commands ──→ app ──→ everything: they alone know all rooms
//!
//!   adapters   model   store   tools   config     edges: never each other, never `threads`
//!       │        └───────┴───┬───┘
//!       │     threads ──→ ports                   threads: the only actors
//!       ↓        ↓
//!     render   turn       uimessage               pure: no tokio, no files, no clock
//!       └────────┴────────────┘
//!                ↓
//!              domain                             words only
//! ```
//!
//! Whoever calls servers, the adapters and the model, shares the connections of `http`. What each room may know is kept
//! by `tests/it/architecture.rs`.
//!
//! # Where new things go
//!
//! - an adapter: a folder under `adapters/`, and one line in `adapters/table.rs`; outside this crate, an
//!   [`AdapterDef`](ports::AdapterDef) and [`program::run`], as in `examples/irc.rs`;
//! - a tool: a file in `tools/`, and one line in `tools/registry.rs`;
//! - an intent: a variant in `domain/intent.rs`; the compiler leads to `render/lower.rs`;
//! - a command of the daemon's: a variant in `domain/command.rs`; the compiler leads to `turn/commands.rs`.
//!
//! # What always holds
//!
//! - A message is on the disk before anybody is told that it was received.
//! - Before a call that changes something runs, that it will is on the disk; it never runs twice.
//! - The thread file is the truth. Memory, index and catalog can be lost at any moment.
//! - One task owns each thread, its run and its deliveries; others send it messages. What an adapter remembers of its
//!   platform (numbers, limits, names) stands behind a short lock that nobody waits in.
//! - Core names no platform; it asks for [`Capabilities`](domain::Capabilities).

mod adapter_setup;
pub mod adapters;
pub mod app;
pub mod blocking;
pub mod cli;
pub mod commands;
pub mod config;
pub mod domain;
pub mod files;
pub mod http_client;
mod memory_release;
pub mod metrics;
pub mod model;
pub mod notify;
pub mod permissions;
pub mod policy;
pub mod policy_setup;
pub mod ports;
pub mod program;
pub mod render;
pub mod sandbox;
pub mod signals;
pub mod store;
pub mod telemetry;
pub mod threads;
pub mod tools;
pub mod turn;
pub mod uimessage;
