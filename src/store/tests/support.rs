//! A store under test, and sample data.

use crate::domain::{
    Approval, ApprovalKind, ApprovalNumber, ApprovalState, Decided, DeliveryId, Intent, OutboundIntent, Risk,
    Scope, ScopeKind, ThreadId, Timestamp,
};
use crate::ports::{Commit, Durability, OutboxEntry, OutboxLine, Receipt, Work};
use crate::store::State;
use crate::store::memory::InMemoryStore;
use crate::uimessage::{Metadata, Part, Role, TextPart, UiMessage};

/// A store that can be opened again, each time as the next daemon would.
pub(super) enum TestStore {
    Files(tempfile::TempDir),
    InMemory(InMemoryStore),
}

impl TestStore {
    pub(super) fn files() -> Self {
        Self::Files(tempfile::tempdir().unwrap())
    }

    pub(super) fn in_memory() -> Self {
        Self::InMemory(InMemoryStore::default())
    }

    /// Opens the store. The last one opened must be closed.
    pub(super) fn open(&self) -> State {
        match self {
            Self::Files(dir) => State::files(&dir.path().join(".ship")).unwrap(),
            Self::InMemory(store) => store.open(),
        }
    }

    /// Ends a daemon and starts the next one.
    pub(super) async fn reopen(&self, state: State) -> State {
        state.audit.flush().await;
        state.threads.close().await;
        drop(state);
        self.open()
    }
}

pub(super) fn at(minutes: u64) -> Timestamp {
    Timestamp::from_millis(0).plus_millis(minutes * 60_000)
}

pub(in crate::store) fn thread(name: &str) -> ThreadId {
    format!("web:chat:{name}").parse().unwrap()
}

pub(super) fn message(thread: &ThreadId, id: &str, run: &str, text: &str) -> UiMessage {
    message_at(thread, id, run, 1, text)
}

/// A message of this run; one whose id begins with `a` is the assistant's.
pub(in crate::store) fn message_at(thread: &ThreadId, id: &str, run: &str, at: i64, text: &str) -> UiMessage {
    UiMessage {
        id: id.parse().unwrap(),
        role: if id.starts_with('a') { Role::Assistant } else { Role::User },
        metadata: Metadata {
            platform: "web".into(),
            thread_id: thread.clone(),
            author_id: None,
            author_name: None,
            message_id: None,
            timestamp: Timestamp::from_millis(at),
            correlation_id: run.parse().unwrap(),
            status: None,
            command: false,
            context: false,
            checkpoint: false,
            extra: serde_json::Map::new(),
        },
        parts: vec![Part::Text(TextPart::plain(text))],
    }
}

pub(super) fn commit(thread: &ThreadId, messages: Vec<UiMessage>) -> Commit {
    let thread = thread.clone();
    Commit { thread, messages, outbox: Vec::new(), durability: Durability::Synced, work: Work::Settled }
}

pub(super) fn entry(thread: &ThreadId, index: usize) -> OutboxLine {
    let intent = OutboundIntent {
        thread_id: thread.clone(),
        correlation_id: "run".parse().unwrap(),
        reply_to: None,
        intent: Intent::AssistantText { text: format!("chunk {index}") },
    };
    OutboxLine::Entry(OutboxEntry { id: DeliveryId::new("m", index), at: at(0), intent, on_behalf_of: None })
}

pub(super) fn attempted(index: usize) -> OutboxLine {
    OutboxLine::Attempted { id: DeliveryId::new("m", index), at: at(1) }
}

pub(super) fn failed(index: usize) -> OutboxLine {
    OutboxLine::Failed { id: DeliveryId::new("m", index), at: at(1) }
}

pub(super) fn receipt(index: usize) -> OutboxLine {
    OutboxLine::Receipt { id: DeliveryId::new("m", index), at: at(1), receipt: Receipt::default() }
}

pub(super) fn dead(index: usize) -> OutboxLine {
    OutboxLine::Dead { id: DeliveryId::new("m", index), at: at(1), reason: "blocked".to_owned() }
}

/// A pending approval for writing a file.
pub(in crate::store) fn asked(number: u32, thread: &ThreadId) -> Approval {
    Approval {
        id: format!("apr_{number:020}").parse().unwrap(),
        number: ApprovalNumber(number),
        kind: ApprovalKind::Tool,
        thread: thread.clone(),
        correlation: "run_1".parse().unwrap(),
        tool_call: "call_1".parse().unwrap(),
        tool: "write_file".to_owned(),
        input: serde_json::json!({ "path": "a" }),
        summary: "write_file a".to_owned(),
        details: None,
        risk: Risk::Medium,
        scopes: vec![ScopeKind::Once],
        memory_scope: Default::default(),
        owners_only: false,
        asked_in: Vec::new(),
        fingerprint: "f".to_owned(),
        requested_by: "web:user:ada".parse().unwrap(),
        created_at: at(u64::from(number)),
        expires_at: at(1000),
        state: ApprovalState::Pending,
    }
}

/// The same, approved by ada.
pub(super) fn approved(question: Approval, scope: Scope) -> Approval {
    let by = "web:user:ada".parse().unwrap();
    let decided = Decided { by, at: question.created_at, via: "text".to_owned(), reason: None };
    Approval { state: ApprovalState::Approved { decided, scope }, ..question }
}
