//! The actors, one per thread, and the router that starts them.
//!
//! An actor owns its thread's history, run and jobs; other tasks send it messages. It makes no decisions itself: `turn`
//! returns effects, and the actor performs them. Knows no platform, file or HTTP.

mod actor;
mod asking;
mod compaction;
mod count;
mod deliver;
mod direct_chats;
mod effects;
mod execution;
mod frozen_memory;
mod grant_commands;
mod inbound;
mod jobs;
mod learning;
mod mailbox;
mod memory_commands;
mod memory_context;
mod outbound;
mod progress;
mod publisher;
mod recall;
mod redacting_model;
mod redaction;
mod resting;
mod router;
mod runtime;
mod search_follower;
mod storage_failure;
mod targets;
mod token_book;
mod waiters;

pub use direct_chats::DirectChatBook;
pub use frozen_memory::FrozenMemory;
pub use learning::Learning;
pub use redacting_model::RedactingModel;
pub use router::Router;
pub use runtime::{AgentFacts, Asking, HelperModel, Limits, RecallSettings, Runtime};
pub use search_follower::{SearchFollower, SearchFollowerHandle};
pub use token_book::TokenBook;
