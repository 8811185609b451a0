//! The ports of voice: spoken answers, and the record of what speech servers were used for.

use tokio::time::Instant;

use super::{BoxFuture, MeterError};
use crate::domain::{AuthorId, StoredFile, ThreadId, Timestamp, VoiceFormat};

/// An answer to speak.
#[derive(Clone, Copy, Debug)]
pub struct SpeechRequest<'a> {
    pub thread: &'a ThreadId,
    /// What it belongs to: the same source is spoken once.
    pub source: &'a str,
    /// As CommonMark.
    pub text: &'a str,
    pub format: VoiceFormat,
}

/// A voice message, stored among the files of its thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpokenFile {
    pub file: StoredFile,
    /// The file name for people.
    pub name: &'static str,
    pub media_type: &'static str,
}

/// Why an answer was not spoken. For the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpeechError(pub String);

pub trait Speech: Send + Sync + std::fmt::Debug {
    /// The voice message of an answer, made once; `None` where the answer has no words to speak. It has a deadline of its
    /// own.
    fn speak<'a>(
        &'a self,
        request: SpeechRequest<'a>,
    ) -> BoxFuture<'a, Result<Option<SpokenFile>, SpeechError>>;
}

/// One call of a recogniser or a synthesiser that is paid for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoiceUse {
    pub at: Timestamp,
    pub thread: ThreadId,
    /// Who spoke, or is spoken to; unknown for an answer to several people.
    pub author: Option<AuthorId>,
    /// The host of the server; empty for a program on this machine.
    pub host: String,
    pub model: String,
    /// Milliseconds of sound that were turned into text.
    pub sound_ms: u64,
    /// Characters that were turned into speech.
    pub characters: u64,
    /// How long the call took.
    pub took_ms: u64,
    /// Whether it failed or was given up: the server may have done the work.
    pub uncertain: bool,
}

/// Takes the records of use. Returns at once.
pub trait VoiceMeter: Send + Sync + std::fmt::Debug {
    /// Whether a service may be used now.
    fn admits<'a>(
        &'a self,
        thread: &'a ThreadId,
        author: Option<&'a AuthorId>,
        speaks: bool,
    ) -> BoxFuture<'a, Result<(), MeterError>>;

    fn record(&self, used: VoiceUse);
}

/// Records a call when it ends, also when it is given up before.
#[derive(Debug)]
pub struct VoiceCall<'a> {
    meter: &'a dyn VoiceMeter,
    used: Option<VoiceUse>,
    begun: Instant,
}

impl<'a> VoiceCall<'a> {
    /// A call that begins now.
    pub fn begin(meter: &'a dyn VoiceMeter, used: VoiceUse) -> Self {
        Self { meter, used: Some(VoiceUse { uncertain: true, ..used }), begun: Instant::now() }
    }

    pub fn succeeded(mut self, sound_ms: u64) {
        if let Some(used) = &mut self.used {
            used.uncertain = false;
            used.sound_ms = sound_ms;
        }
    }

    /// It was refused: it costs nothing.
    pub fn refused(mut self) {
        self.used = None;
    }
}

impl Drop for VoiceCall<'_> {
    fn drop(&mut self) {
        if let Some(mut used) = self.used.take() {
            used.took_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.meter.record(used);
        }
    }
}
