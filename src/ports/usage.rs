//! The ports of usage: what measures calls, and what keeps the measurements.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{BoxFuture, StoreError};
use crate::domain::{AuthorId, ErrorKind, Language, Payer, Shortage, ThreadId, Timestamp, Usage, UsageEntry};

/// Who measures a call, and for whom it is made. Part of a prompt.
#[derive(Clone, Debug)]
pub struct Account {
    pub meter: Arc<dyn Meter>,
    pub payer: Payer,
    /// The estimated tokens of the prompt, where the caller knows better than its text tells.
    pub input: Option<u64>,
    /// Why another model was not used, where this one stands in for it.
    pub fallback: Option<ErrorKind>,
}

impl Account {
    pub fn new(meter: Arc<dyn Meter>, payer: Payer) -> Self {
        Self { meter, payer, input: None, fallback: None }
    }
}

/// A call that is about to be sent.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    pub payer: Payer,
    /// The host of the server.
    pub provider: String,
    pub model: String,
    /// The estimated tokens of the prompt.
    pub input: u64,
    /// Most tokens of the answer, where that is limited.
    pub max_output: Option<u32>,
    /// Whether the server is on this machine or in its network.
    pub local: bool,
    pub fallback: Option<ErrorKind>,
}

/// A call that may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserved {
    pub id: String,
    /// The limit of the answer that the request must carry, if any.
    pub max_output: Option<u32>,
}

/// Why a call may not be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeterError {
    /// A spend cap has no room for it, or calls are stopped.
    #[error("{0}")]
    OverBudget(Box<Shortage>),
    /// It could not be recorded.
    #[error("the usage ledger cannot be written: {0}")]
    Storage(String),
}

/// How far a call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The server refused it before any token, or it was not sent: it costs nothing.
    Unbilled,
    /// It was sent, and nothing came back.
    Sent,
    /// Output arrived.
    Answered,
}

#[derive(Clone, Debug)]
pub struct CallEnd {
    pub reach: Reach,
    /// The server's counts, where it sent them.
    pub usage: Option<Usage>,
    /// The estimated tokens of what was received.
    pub received: u64,
    pub error: Option<ErrorKind>,
    /// How long it took.
    pub ms: u64,
}

/// Something else that is paid for: speech, or a call with a price of its own.
#[derive(Clone, Debug, Default)]
pub struct MeteredService {
    pub payer: Payer,
    /// The host of the server.
    pub provider: String,
    pub model: String,
    /// Milliseconds of sound that were turned into text.
    pub sound_ms: u64,
    /// Characters that were turned into speech.
    pub chars: u64,
    /// Tokens, where the server counts those.
    pub usage: Option<Usage>,
    pub error: Option<ErrorKind>,
    /// Whether its end is not known: what was sent counts in full.
    pub uncertain: bool,
    /// How long it took.
    pub ms: u64,
}

/// Measures calls: a reservation before each, and what it used after it.
pub trait Meter: Send + Sync + std::fmt::Debug {
    /// Records durably that a call is about to be sent.
    fn reserve(&self, call: PlannedCall) -> BoxFuture<'_, Result<Reserved, MeterError>>;

    /// Records what a reserved call used, and returns it. Does not wait; a call that is never settled counts in full.
    fn settle(&self, id: &str, end: CallEnd) -> Usage;

    /// Whether a service that needs no reservation may be used: not while calls are stopped, nor where a cap is used up.
    fn admits<'a>(&'a self, payer: &'a Payer) -> BoxFuture<'a, Result<(), MeterError>>;

    /// Records a service that needs no reservation. Returns at once.
    fn record(&self, service: MeteredService);
}

/// Who asks what was spent, and where.
#[derive(Clone, Debug)]
pub struct UsageViewer {
    pub thread: ThreadId,
    pub author: AuthorId,
    /// Owners see the whole project, others this conversation and themselves.
    pub owner: bool,
}

/// Which sums are asked for, in the words of the request.
#[derive(Clone, Debug, Default)]
pub struct UsageRequest {
    pub by: Vec<String>,
    pub since: Option<String>,
    pub until: Option<String>,
}

/// Why there are no sums.
#[derive(Debug, thiserror::Error)]
pub enum UsageRequestError {
    /// The request names no known grouping or time.
    #[error("{0}")]
    Bad(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was spent, in words and in numbers.
pub trait UsageReports: Send + Sync + std::fmt::Debug {
    /// The answer to `/usage`.
    fn tell(&self, viewer: UsageViewer, language: Language) -> BoxFuture<'_, String>;

    /// One line for `/status`; nothing where nothing was spent or the sums are not read yet.
    fn line(&self, viewer: &UsageViewer, language: Language) -> Option<String>;

    /// What is left of the caps and what the ledger costs, in the text format of Prometheus.
    fn gauges(&self) -> String;

    /// Sums by one or more groupings, read from the ledger.
    fn report(&self, request: UsageRequest) -> BoxFuture<'_, Result<Value, UsageRequestError>>;
}

/// A line of the ledger that cannot be read is passed over and counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerRead {
    pub lines: u64,
    pub unreadable: u64,
}

/// Where the reading of a ledger stopped. Each file has a place of its own: after a clock went ahead and back, lines are
/// added to an older one.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LedgerMark {
    /// Files of earlier months without a place are passed over; a month as `2026-11`.
    pub since: String,
    /// How far the file of a month was read.
    pub offsets: BTreeMap<String, u64>,
}

impl LedgerMark {
    /// The whole ledger from a month on.
    pub fn from_month(month: impl Into<String>) -> Self {
        Self { since: month.into(), offsets: BTreeMap::new() }
    }
}

/// Takes the lines of a ledger one after another; returns whether it understood the line.
pub type LineVisitor = Box<dyn FnMut(&[u8]) -> bool + Send>;

/// The append-only record of usage, one file per month in UTC.
pub trait UsageLedger: Send + Sync + std::fmt::Debug {
    /// Appends a line; returns when a power loss cannot undo it.
    fn append(&self, at: Timestamp, line: String) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Queues a line and returns at once. Survives the end of the process as soon as it is written.
    fn record(&self, at: Timestamp, line: String);

    /// Waits until every queued line is written.
    fn flush(&self) -> BoxFuture<'_, ()>;

    /// The end of the ledger behind all lines that were queued when this was called, and before all later ones.
    fn end(&self) -> BoxFuture<'_, Result<LedgerMark, StoreError>>;

    /// How often the disk was synced.
    fn syncs(&self) -> u64;

    /// Passes all complete lines behind `from` to `visit`, month by month in their order.
    fn read(
        &self,
        from: LedgerMark,
        visit: LineVisitor,
    ) -> BoxFuture<'_, Result<(LedgerMark, LedgerRead), StoreError>>;
}

/// Measures nothing: for models that are called outside a daemon.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMeter;

impl Meter for NoMeter {
    fn reserve(&self, call: PlannedCall) -> BoxFuture<'_, Result<Reserved, MeterError>> {
        Box::pin(async move { Ok(Reserved { id: String::new(), max_output: call.max_output }) })
    }

    fn settle(&self, _: &str, end: CallEnd) -> Usage {
        end.usage.unwrap_or_default()
    }

    fn admits<'a>(&'a self, _: &'a Payer) -> BoxFuture<'a, Result<(), MeterError>> {
        Box::pin(async { Ok(()) })
    }

    fn record(&self, _: MeteredService) {}
}

impl UsageReports for NoMeter {
    fn tell(&self, _: UsageViewer, _: Language) -> BoxFuture<'_, String> {
        Box::pin(async { String::new() })
    }

    fn line(&self, _: &UsageViewer, _: Language) -> Option<String> {
        None
    }

    fn gauges(&self) -> String {
        String::new()
    }

    fn report(&self, _: UsageRequest) -> BoxFuture<'_, Result<Value, UsageRequestError>> {
        Box::pin(async { Ok(serde_json::json!({ "reports": [] })) })
    }
}

/// A line of JSON for an entry.
pub fn entry_line(entry: &UsageEntry) -> String {
    serde_json::to_string(entry).unwrap_or_default()
}
