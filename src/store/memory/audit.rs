//! The audit trail in memory.

use std::collections::VecDeque;
use std::future::ready;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::ports::{
    Audit, AuditLine, AuditLines, AuditQuery, BoxFuture, Redaction, StoreError, StoredAuditLine,
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
        for line in lines.iter().rev().filter(|line| query.fits(&line.facts)).take(query.limit) {
            found.push_front(line.clone());
        }
        Box::pin(ready(Ok(AuditLines { lines: found.into(), unreadable: 0 })))
    }
}
