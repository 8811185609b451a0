//! The error type of all stores.

use std::error::Error;
use std::fmt;

/// The kind of a store error. Callers decide by it; the subject and the source are for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// The disk is full. Temporary.
    Full,
    /// Reading or writing fails at present.
    Unavailable,
    /// The stored data cannot be parsed. It is ignored and left unchanged.
    Invalid,
    /// The store is closing or its writer has ended.
    Closed,
}

/// Why a read or write failed.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    /// What was read or written, in the operator's terms: the file store names the file.
    subject: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// An error of this kind about `subject`, with its cause.
    pub fn new(
        kind: StoreErrorKind,
        subject: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { kind, subject: subject.into(), source: Some(source.into()) }
    }

    /// The store is closed.
    pub const fn closed() -> Self {
        Self { kind: StoreErrorKind::Closed, subject: String::new(), source: None }
    }

    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    pub fn subject(&self) -> &str {
        &self.subject
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = &self.subject;
        match self.kind {
            StoreErrorKind::Full => write!(f, "no space left to write {subject}"),
            StoreErrorKind::Unavailable => write!(f, "cannot access {subject}"),
            StoreErrorKind::Invalid => {
                write!(f, "{subject} is not valid and is ignored: repair or delete it")
            }
            StoreErrorKind::Closed => f.write_str("the store is closed"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_subject_and_keeps_its_source() {
        let error = StoreError::new(StoreErrorKind::Full, "grants.json", std::io::Error::other("quota"));
        assert_eq!((error.kind(), error.subject()), (StoreErrorKind::Full, "grants.json"));
        assert_eq!(error.to_string(), "no space left to write grants.json");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("quota"));
        assert!(StoreError::closed().source().is_none());
    }
}
