//! The audit record of a tool call's end: written once, also when the call is aborted.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use crate::ports::{Audit, AuditLine, AuditOutcome, Clock, ToolOutcome};

/// A running call. Dropping it before `end` records the call as stopped.
#[derive(Debug)]
pub(super) struct CallAudit {
    audit: Arc<dyn Audit>,
    clock: Arc<dyn Clock>,
    /// The audit line; taken when it is written.
    line: Option<AuditLine>,
    began: Instant,
}

impl CallAudit {
    pub(super) fn begin(audit: Arc<dyn Audit>, clock: Arc<dyn Clock>, line: AuditLine) -> Self {
        Self { audit, clock, line: Some(line), began: Instant::now() }
    }

    /// Records the outcome of the call.
    pub(super) fn end(mut self, outcome: &ToolOutcome) {
        match outcome {
            Ok(output) => {
                let exit_code = output.get("exitCode").and_then(Value::as_i64);
                self.tell(AuditOutcome::Ok, exit_code, None);
            }
            Err(failure) => self.tell(AuditOutcome::Error, None, Some(failure.to_string())),
        }
    }

    fn tell(&mut self, outcome: AuditOutcome, exit_code: Option<i64>, reason: Option<String>) {
        let Some(line) = self.line.take() else { return };
        self.audit.record(AuditLine {
            at: self.clock.now(),
            outcome: Some(outcome),
            exit_code,
            duration_ms: u64::try_from(self.began.elapsed().as_millis()).ok(),
            reason,
            ..line
        });
    }
}

impl Drop for CallAudit {
    fn drop(&mut self) {
        self.tell(AuditOutcome::Aborted, None, None);
    }
}
