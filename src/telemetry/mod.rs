//! Logs: set-up, daily files, redaction.
