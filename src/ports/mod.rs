//! The ports: traits between the threads and their environment.
//!
//! A trait exists where tests need a second implementation or where platforms differ. Their errors are defined beside
//! them.

mod access;
mod adapter;
mod adapter_def;
mod adapter_parts;
mod approvals;
mod audit;
mod changes;
mod clock;
mod direct_chats;
mod enrich;
mod file_store;
mod grants;
mod hook;
mod instructions;
mod judge;
mod key_value_store;
mod memory;
mod model;
mod scoped_search;
mod search;
mod store;
mod store_error;
mod task_files;
mod tasks;
mod threads_handle;
mod tool;
mod tool_outputs;

use std::future::Future;
use std::pin::Pin;

pub use access::{
    AccessBook, AccessList, Applicant, Approved, Guest, Invitation, Member, OpenChat, PairingRequest, Removed,
};
pub use adapter::{
    Adapter, AdapterError, AdapterIo, Attempt, Delivering, DeliveryError, HealthReporter, Receipt, Running,
};
pub use adapter_def::{
    AdapterDef, AdapterTable, BuiltAdapter, ConfiguredAdapter, InitKey, InitValue, Invited, Probe,
    ProbeLevel, ProbeParts, parse_section, section_schema,
};
pub use adapter_parts::{AdapterParts, ChatParts, Deciders, MayAnswer};
pub use approvals::ApprovalBook;
pub use audit::{
    Audit, AuditEvent, AuditLine, AuditLines, AuditOutcome, AuditQuery, AuditVerdict, Redaction,
    StoredAuditLine,
};
pub use changes::{Change, Changes};
pub use clock::{Clock, Ids, RandomIds, SystemClock};
pub use direct_chats::DirectChats;
pub use enrich::{EnrichError, EnrichInput, EnrichStep};
pub use file_store::{FileStore, FileWriter, OpenFile};
pub use grants::{Grants, Revoker};
pub use hook::{Hook, HookAnswer, HookRequest};
pub use instructions::{CurrentInstructions, FixedInstructions, Instructions};
pub use judge::{CallToJudge, Judge, Judgement, Ruling, WholeText};
pub use key_value_store::KeyValueStore;
pub use memory::{ChangeError, LedgerPage, LedgerRequest, Memory, MemoryBatch, Note, NotesAdded, NotesPage};
pub use model::{CallDelta, Completion, Model, ModelDelta, ModelError, Prompt, ToolCall, Usage};
pub use scoped_search::{Reviews, ScopedHistory, ScopedQuery, ScopedSearch, SearchIn};
pub use search::{
    Coverage, FoundText, Freshness, HistoryPage, HistoryPlace, HistoryRequest, IndexStatus, Indexed,
    MissingIndex, Search, SearchArea, SearchHit, SearchPage, SearchRequest, TextSource,
};
pub use store::{
    Among, Commit, Durability, ListPosition, OutboxEntry, OutboxLine, StoreTotals, ThreadPage, ThreadQuery,
    ThreadRecord, ThreadStore, ThreadSummary, Work,
};
pub use store_error::{StoreError, StoreErrorKind};
pub use task_files::{TaskFileEntry, TaskFiles};
pub use tasks::{
    TaskCommands, TaskDetails, TaskHistoryEntry, TaskMistake, TaskPreview, TaskRefusal, TaskSummary, Tasks,
};
pub use threads_handle::{
    Acceptance, Request, RunOutcome, Saying, SayingSource, Subscription, ThreadView, ThreadsHandle,
    WeakThreadsHandle,
};
pub use tool::{CallSite, Progress, TextChange, Tool, ToolBox, ToolContext, ToolFailure, ToolOutcome};
pub use tool_outputs::{ToolOutput, ToolOutputs};

/// A boxed future, for traits that are used as objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
