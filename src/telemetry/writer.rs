//! The writer of log lines: each is collected completely, redacted, and written.

use std::io::{self, Write};
use std::sync::{Arc, PoisonError, RwLock};

use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;

use super::redact::Redactor;

/// The redactor of all log outputs. It changes when the daemon starts over with other secrets.
#[derive(Clone, Debug)]
pub(super) struct SharedRedactor(Arc<RwLock<Redactor>>);

impl SharedRedactor {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self(Arc::new(RwLock::new(redactor)))
    }

    pub(super) fn replace(&self, redactor: Redactor) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = redactor;
    }

    fn current(&self) -> Redactor {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Writes redacted lines to `inner`.
#[derive(Debug)]
pub(super) struct Redacting<M> {
    inner: M,
    redactor: SharedRedactor,
}

impl<M> Redacting<M> {
    pub(super) const fn new(inner: M, redactor: SharedRedactor) -> Self {
        Self { inner, redactor }
    }
}

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for Redacting<M> {
    type Writer = LogLine<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        LogLine { inner: self.inner.make_writer(), redactor: self.redactor.current(), text: Vec::new() }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Self::Writer {
        let inner = self.inner.make_writer_for(metadata);
        LogLine { inner, redactor: self.redactor.current(), text: Vec::new() }
    }
}

/// One line. It is written when it is complete, so that a secret cannot pass in two halves.
#[derive(Debug)]
pub(super) struct LogLine<W: Write> {
    inner: W,
    redactor: Redactor,
    text: Vec<u8>,
}

impl<W: Write> Write for LogLine<W> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for LogLine<W> {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        // A log that cannot be written has no place to report that.
        self.inner.write_all(self.redactor.apply(&text).as_bytes()).unwrap_or_default();
    }
}
