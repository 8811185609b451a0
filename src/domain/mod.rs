//! The vocabulary of the domain: ids, times, events and intents. No IO, no runtime, no platform.

mod approval;
mod approval_file;
mod both_ends;
mod budget;
mod capabilities;
mod command;
mod core_text;
mod digest;
mod frame;
mod grant;
mod ids;
mod ingress;
mod intent;
mod language;
mod memory_change;
mod memory_items;
mod memory_scope;
mod replaceable;
mod role;
mod room;
mod schema;
mod scope_key;
mod status;
mod stored_file;
mod task;
mod time;
pub mod tokens;
mod tool;
mod turn_settings;
mod usage;
mod voice;

pub use approval::{
    Answer, Approval, ApprovalId, ApprovalKind, ApprovalNumber, ApprovalState, Decided, Risk, Scope,
    ScopeKind,
};
pub use approval_file::{ApprovalFile, BadApproval};
pub use both_ends::{both_ends, both_ends_of_line, grouped_digits};
pub use budget::{
    BudgetGrant, BudgetLine, BudgetRules, CapKey, CapScope, CapState, CapUnit, Caps, Currency, OnLimit,
    RAISE_CALL, Shortage, UnknownPrice, UsageEvent,
};
pub use capabilities::{Capabilities, Delivery, LengthUnit};
pub use command::{Command, CommandInvocation};
pub use core_text::{EditedText, edit_core, item_text, items_of, replace_block};
pub use digest::{hex, short_digest};
pub use frame::{inert_name, visible, without_tags};
pub use grant::{BadGrantNumber, GrantNumber, GrantSummary, Reach};
pub use ids::{AuthorId, BadId, CorrelationId, MessageId, Platform, ThreadId, ToolCallId};
pub use ingress::{
    Addressed, Author, AuthorRole, ChatKind, Decision, InboundFile, IngressEvent, IngressKind, MentionState,
    PeerWords, Quoted, Said,
};
pub use intent::{ApprovalChoice, AttachmentKind, DeliveryId, ErrorKind, Intent, OutboundIntent};
pub use language::Language;
pub use memory_change::{
    CORE_TOKENS, ChangeRefusal, CoreFile, DistilMark, LedgerLine, LedgerOp, MemoryChange, MemoryEdit,
    MemoryQuestion, NewestNotes, Origin, Provenance, ShownNote, Tier,
};
pub use memory_items::{MemoryItem, item_blocks, read_item};
pub use memory_scope::{DmScope, HistoryReach, MemoryScope, ScopeSettings};
pub use replaceable::{Owners, Replaceable};
pub use role::{BadRole, Role};
pub use room::{
    AgentAccount, AgentCard, LINE_VERSION, LineAuthor, LineKind, LineReply, MAX_LINE_TEXT, RoomLine,
    SpeakerKind, Via,
};
pub use scope_key::{PeerName, ScopeKey};
pub use status::{SandboxLevel, SandboxReport, ThreadState};
pub use stored_file::StoredFile;
pub use task::{Quiet, RunMemory, ScheduledRun, TaskStatus};
pub use time::{Backoff, Timestamp, time_zone};
pub use tool::{Class, Effects, Network, Permit, ToolSpec};
pub use turn_settings::{AutoMemory, Footer, ModelChoosers, ReadReplies, WhileRunning, WhileWaiting};
pub use usage::{EntryKind, Payer, Price, Purpose, Usage, UsageEntry, UsageSource, rfc3339};
pub use voice::{SpeechMode, Transcriber, Voice, VoiceFailure, VoiceFormat};
