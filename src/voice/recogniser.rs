//! What a speech recogniser gets and returns.

use std::time::Duration;

use crate::audio::{Container, Pcm, write_wav};
use crate::ports::BoxFuture;

#[derive(Clone, Debug)]
pub struct Recording {
    pub container: Container,
    pub bytes: Vec<u8>,
    /// Its length, where it can be told without a decoder.
    pub millis: Option<u64>,
}

impl Recording {
    pub fn new(bytes: Vec<u8>) -> Self {
        let container = Container::of(&bytes);
        let millis = container.millis(&bytes);
        Self { container, bytes, millis }
    }

    pub fn from_pcm(pcm: &Pcm) -> Self {
        Self { container: Container::Wav, bytes: write_wav(pcm), millis: Some(pcm.millis()) }
    }
}

/// What a recogniser heard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    pub text: String,
    /// The language that it reports.
    pub language: Option<String>,
}

/// Why a recogniser heard nothing. The texts are for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SttError {
    /// Another format may be accepted.
    #[error("the recogniser refused the format: {0}")]
    Format(String),
    /// Another try may succeed.
    #[error("the recogniser is not available: {detail}")]
    Busy { detail: String, after: Option<Duration> },
    /// A wrong key, a wrong model, or an answer that is none.
    #[error("the recogniser refused: {0}")]
    Refused(String),
}

/// Turns recorded speech into text.
pub trait Recogniser: Send + Sync + std::fmt::Debug {
    /// The model, for records.
    fn model(&self) -> &str;

    /// The host of its server; empty for a program.
    fn host(&self) -> &str;

    fn hear<'a>(&'a self, recording: &'a Recording) -> BoxFuture<'a, Result<Transcript, SttError>>;
}
