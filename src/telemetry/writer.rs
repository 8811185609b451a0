//! The writer of log lines: each is collected completely, redacted, and written.

use std::io::{self, Write};

use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;

use super::redact::Redactor;

/// Writes redacted lines to `inner`.
#[derive(Debug)]
pub(super) struct Redacting<M> {
    inner: M,
    redactor: Redactor,
}

impl<M> Redacting<M> {
    pub(super) const fn new(inner: M, redactor: Redactor) -> Self {
        Self { inner, redactor }
    }
}

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for Redacting<M> {
    type Writer = LogLine<'a, M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        LogLine { inner: self.inner.make_writer(), redactor: &self.redactor, text: Vec::new() }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Self::Writer {
        LogLine { inner: self.inner.make_writer_for(metadata), redactor: &self.redactor, text: Vec::new() }
    }
}

/// One line. It is written when it is complete, so that a secret cannot pass in two halves.
#[derive(Debug)]
pub(super) struct LogLine<'a, W: Write> {
    inner: W,
    redactor: &'a Redactor,
    text: Vec<u8>,
}

impl<W: Write> Write for LogLine<'_, W> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for LogLine<'_, W> {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        // A log that cannot be written has no place to report that.
        self.inner.write_all(self.redactor.apply(&text).as_bytes()).unwrap_or_default();
    }
}
