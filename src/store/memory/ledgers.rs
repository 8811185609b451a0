//! Audit and usage ledger, in memory.

use std::collections::VecDeque;
use std::future::ready;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::domain::Timestamp;
use crate::ports::{
    Audit, AuditLine, AuditLines, AuditQuery, BoxFuture, LedgerMark, LedgerRead, LineVisitor, Redaction,
    StoreError, StoredAuditLine, UsageLedger,
};

/// The lines that were recorded, oldest first. Clones share them.
#[derive(Clone, Default)]
pub struct InMemoryAudit {
    lines: Arc<Mutex<Vec<StoredAuditLine>>>,
    redact: Arc<OnceLock<Redaction>>,
}

impl std::fmt::Debug for InMemoryAudit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InMemoryAudit").field("lines", &self.lines).finish_non_exhaustive()
    }
}

impl Audit for InMemoryAudit {
    fn record(&self, line: AuditLine) {
        let Ok(text) = serde_json::to_string(&line) else { return };
        let text = self.redact.get().map_or_else(|| text.clone(), |redact| redact(&text));
        let Ok(facts) = serde_json::from_str(&text) else { return };
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(StoredAuditLine { text, facts });
    }

    fn redact_with(&self, redact: Redaction) {
        self.redact.set(redact).unwrap_or_default();
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    fn read(&self, query: AuditQuery) -> BoxFuture<'_, Result<AuditLines, StoreError>> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = VecDeque::new();
        for line in
            lines.iter().rev().filter(|line| query.fits(&line.facts)).skip(query.skip).take(query.limit)
        {
            found.push_front(line.clone());
        }
        Box::pin(ready(Ok(AuditLines { lines: found.into(), unreadable: 0 })))
    }
}

#[derive(Clone, Debug, Default)]
pub struct InMemoryUsage(Arc<Mutex<Vec<String>>>);

impl InMemoryUsage {
    /// All lines, oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The only file.
const MONTH: &str = "memory";

fn mark_at(lines: &[String]) -> LedgerMark {
    let offset = u64::try_from(lines.len()).unwrap_or(u64::MAX);
    LedgerMark { since: String::new(), offsets: [(MONTH.to_owned(), offset)].into() }
}

impl UsageLedger for InMemoryUsage {
    fn append(&self, at: Timestamp, line: String) -> BoxFuture<'_, Result<(), StoreError>> {
        self.record(at, line);
        Box::pin(async { Ok(()) })
    }

    fn record(&self, _: Timestamp, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn end(&self) -> BoxFuture<'_, Result<LedgerMark, StoreError>> {
        let mark = mark_at(&self.lines());
        Box::pin(async move { Ok(mark) })
    }

    fn syncs(&self) -> u64 {
        0
    }

    fn read(
        &self,
        from: LedgerMark,
        mut visit: LineVisitor,
    ) -> BoxFuture<'_, Result<(LedgerMark, LedgerRead), StoreError>> {
        let lines = self.lines();
        Box::pin(async move {
            let mut seen = LedgerRead::default();
            let offset = from.offsets.get(MONTH).copied().unwrap_or(0);
            let skip = usize::try_from(offset).unwrap_or(usize::MAX);
            for line in lines.iter().skip(skip) {
                seen.lines = seen.lines.saturating_add(1);
                if !visit(line.as_bytes()) {
                    seen.unreadable = seen.unreadable.saturating_add(1);
                }
            }
            Ok((mark_at(&lines), seen))
        })
    }
}
