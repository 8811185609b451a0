//! The actors, one per thread, and the router that starts them.
//!
//! An actor owns its thread's history, run and jobs; other tasks send it messages. It makes no decisions itself: `turn`
//! returns effects, and the actor performs them. Knows no platform, file or HTTP.

mod actor;
mod agents_stop;
mod approval_effects;
mod budget_command;
mod budget_grants;
mod budget_watch;
mod call_audit;
mod cap_questions;
mod compaction;
mod count;
mod deliveries;
mod direct_chats;
mod effects;
mod frozen_memory;
mod grant_commands;
mod group_settings;
mod groups;
mod idle_threads;
mod inbound;
mod jobs;
mod lapsed_claims;
mod learning;
mod memory_commands;
mod memory_context;
mod model_command;
mod models;
mod outbound;
mod peer_words;
mod progress;
mod promotion;
mod publisher;
mod recall;
mod redacting_model;
mod redaction;
mod relevance;
mod room_follower;
mod room_history;
mod room_limits;
mod room_link;
mod router;
mod runtime;
mod search_follower;
mod storage_failure;
mod targets;
mod titles;
mod token_ratios;
mod waiters;

pub use budget_grants::AllGrants;
pub use budget_watch::BudgetWatch;
pub use cap_questions::CapQuestions;
pub use direct_chats::StoredDirectChats;
pub use frozen_memory::FrozenMemory;
pub use group_settings::{AnswerAgents, GroupSettings};
pub use groups::{Groups, JOINED_PLATFORM, Sharing};
pub use learning::Learning;
pub use models::{ThreadModel, ThreadModels};
pub use redacting_model::RedactingModel;
pub use room_follower::RoomFollower;
pub use router::Router;
pub use runtime::{
    AgentFacts, ApprovalRules, HelperModel, Limits, RecallSettings, Runtime, SpokenAnswers, TurnSettings,
};
pub use search_follower::{SearchFollower, SearchFollowerHandle};
pub use token_ratios::TokenRatios;
