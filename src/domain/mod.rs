//! The vocabulary of the domain: ids, times, events and intents. No IO, no runtime, no platform.

mod approval;
mod approval_file;
mod auto_memory;
mod backoff;
mod both_ends;
mod capabilities;
mod command;
mod core_text;
mod error_kind;
mod frame;
mod grant;
mod ids;
mod ingress;
mod intent;
mod language;
mod memory;
mod memory_items;
mod memory_scope;
mod role;
mod sandbox;
mod scope_key;
mod stored_file;
mod task;
mod thread_state;
mod time;
pub mod tokens;
mod tool;
mod turn_settings;

pub use approval::{
    Answer, Approval, ApprovalId, ApprovalKind, ApprovalNumber, ApprovalState, Decided, Risk, Scope,
    ScopeKind,
};
pub use approval_file::{ApprovalFile, BadApproval};
pub use auto_memory::AutoMemory;
pub use backoff::Backoff;
pub use both_ends::{both_ends, both_ends_of_line};
pub use capabilities::{Capabilities, Delivery, LengthUnit};
pub use command::{Command, CommandInvocation};
pub use core_text::{EditedText, edit_core, item_text, items_of, replace_block};
pub use error_kind::ErrorKind;
pub use frame::{visible, without_tags};
pub use grant::{BadGrantNumber, GrantNumber, GrantSummary, Reach};
pub use ids::{AuthorId, BadId, CorrelationId, MessageId, Platform, ThreadId, ToolCallId};
pub use ingress::{
    Author, AuthorRole, ChatKind, Decision, InboundFile, IngressEvent, IngressKind, Quoted, Said,
};
pub use intent::{ApprovalChoice, AttachmentKind, DeliveryId, Intent, OutboundIntent};
pub use language::Language;
pub use memory::{
    CORE_TOKENS, ChangeRefusal, CoreFile, DistilMark, LedgerLine, LedgerOp, MemoryChange, MemoryEdit, Origin,
    Provenance, Tier,
};
pub use memory_items::{MemoryItem, item_blocks, read_item};
pub use memory_scope::{DmScope, HistoryReach, MemoryScope, ScopeSettings};
pub use role::{BadRole, Role};
pub use sandbox::{SandboxLevel, SandboxReport};
pub use scope_key::{PeerName, ScopeKey};
pub use stored_file::StoredFile;
pub use task::TaskStatus;
pub use thread_state::ThreadState;
pub use time::{Timestamp, time_zone};
pub use tool::{Class, Effects, Network, Permit, ToolSpec};
pub use turn_settings::{ReadReplies, WhileRunning, WhileWaiting};
