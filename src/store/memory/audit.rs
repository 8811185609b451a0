//! The audit trail in memory.

use std::sync::{Mutex, PoisonError};

use crate::ports::{Audit, AuditLine};

/// The lines that were recorded, oldest first.
#[derive(Debug, Default)]
pub struct MemoryAudit {
    lines: Mutex<Vec<AuditLine>>,
}

impl MemoryAudit {
    /// What was recorded so far.
    pub fn lines(&self) -> Vec<AuditLine> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Audit for MemoryAudit {
    fn record(&self, line: AuditLine) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}
