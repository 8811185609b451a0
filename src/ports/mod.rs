//! The ports: traits between the threads and their environment.
//!
//! A trait exists where tests need a second implementation or where platforms differ. Their errors are defined beside
//! them.

mod access;
mod adapter;
mod adapter_def;
mod adapter_parts;
mod approval_store;
mod audit;
mod backup;
mod budget;
mod checkup;
mod clock;
mod configuration;
mod daemon_log;
mod embedder;
mod enrich;
mod file_store;
mod judge;
mod key_value_store;
mod memory;
mod model;
mod model_choices;
mod onboarding;
mod rooms;
mod scoped_search;
mod search;
mod store;
mod store_error;
mod tasks;
mod thread_marks;
mod threads_handle;
mod tool;
mod usage;
mod voice;

use std::future::Future;
use std::pin::Pin;

pub use crate::domain::Usage;
pub use access::{
    AccessList, AccessStore, AccessSubject, Applicant, Invitation, Member, OpenChat, PairingConfirmation,
    PairingRequest, Removed,
};
pub use adapter::{
    Adapter, AdapterError, AdapterIo, Attempt, Delivering, DeliveryError, HealthReporter, HistoryError,
    MessageFacts, PastWords, Peers, Receipt, Running,
};
pub use adapter_def::{
    AdapterDef, AdapterTable, BuiltAdapter, ConfiguredAdapter, InitKey, InitValue, Invited, Probe,
    ProbeLevel, ProbeParts, parse_section, section_schema,
};
pub use adapter_parts::{AdapterParts, AnswerRights, ChatParts, Hook, HookAnswer, HookRequest, MayAnswer};
pub use approval_store::{ApprovalStore, Grants, Revoker};
pub use audit::{
    Audit, AuditEvent, AuditLine, AuditLines, AuditOutcome, AuditQuery, AuditVerdict, Redaction,
    StoredAuditLine,
};
pub use backup::{Backup, BackupPieces};
pub use budget::{Budget, Raise};
pub use checkup::{Checkup, Finding};
pub use clock::{Clock, Ids, RandomIds, SystemClock};
pub use configuration::{
    Configuration, ConfigurationChanged, ConfigurationError, ConfigurationKeys, ConfigurationProblem,
    ConfigurationState, KeyChange,
};
pub use daemon_log::{DaemonLog, LogLevel, LogPage, LogQuery};
pub use embedder::{Embedder, MOST_EMBEDDED, Unembedded, VectorIndex};
pub use enrich::{EnrichError, EnrichInput, EnrichStep};
pub use file_store::{
    CurrentInstructions, EditableInstructions, FileStore, FileWriter, FixedInstructions, Instructions,
    InstructionsEditor, InstructionsVersion, InstructionsWrite, OpenFile, TaskFileEntry, TaskFiles,
    ToolOutput, ToolOutputs,
};
pub use judge::{CallToJudge, Judge, Judgement, Ruling, WholeText};
pub use key_value_store::{DirectChats, KeyValueStore};
pub use memory::{
    ChangeError, LedgerPage, LedgerRequest, Memory, MemoryBatch, Note, NotesAdded, NotesPage, Undone,
};
pub use model::{CallDelta, Completion, Fallback, Model, ModelDelta, ModelError, Prompt, ToolCall};
pub use model_choices::{ModelChoices, NamedModel};
pub use onboarding::{
    ModelCheck, ModelChoice, ModelTrouble, OfferedKey, OfferedPlatform, OfferedProvider, Onboarding,
    OnboardingAnswers, OnboardingError, OnboardingMode, OnboardingOffer, PlatformChoice, PlatformValue,
};
pub use rooms::{LineFilter, Rooms};
pub use scoped_search::{Reviews, ScopedHistory, ScopedQuery, ScopedSearch, SearchIn};
pub use search::{
    Coverage, FoundText, Freshness, HistoryPage, HistoryPlace, HistoryRequest, IndexStatus, Indexed,
    MissingIndex, Search, SearchArea, SearchHit, SearchPage, SearchRequest, TextSource,
};
pub use store::{
    Commit, Durability, ListPosition, OutboxEntry, OutboxLine, StoreTotals, ThreadFilter, ThreadPage,
    ThreadQuery, ThreadRecord, ThreadStore, ThreadSummary, Work,
};
pub use store_error::{StoreError, StoreErrorKind};
pub use tasks::{
    PlannedTask, TaskChange, TaskCommands, TaskDetails, TaskHistoryEntry, TaskInProgress, TaskMistake,
    TaskPreview, TaskRefusal, TaskSummary, TaskText, TaskTimes, TaskViewer, Tasks,
};
pub use thread_marks::{MarkedThreads, ThreadMark, ThreadMarks};
pub use threads_handle::{
    Acceptance, Change, Changes, RejectReason, Rejection, RunMessage, RunMessageSource, RunOutcome,
    StoredEvent, Subscription, ThreadRequest, ThreadView, ThreadWork, ThreadsHandle, WaitUntil,
    WeakThreadsHandle,
};
pub use tool::{CallSite, Progress, TextChange, Tool, ToolBox, ToolContext, ToolFailure, ToolOutcome};
pub use usage::{
    Account, CallEnd, LedgerMark, LedgerRead, LineVisitor, Meter, MeterError, MeteredService, NoMeter,
    PlannedCall, Reach, Reserved, UsageLedger, UsageReports, UsageRequest, UsageRequestError, UsageViewer,
    entry_line,
};
pub use voice::{Speech, SpeechError, SpeechRequest, SpokenFile, VoiceCall, VoiceMeter, VoiceUse};

/// A boxed future, for traits that are used as objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
