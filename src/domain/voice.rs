//! Spoken messages and spoken answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message that was spoken. Its text is a transcript, so it never decides an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Voice {
    pub transcriber: Transcriber,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The length of the recording, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
    /// The language that the recogniser reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Why there is no transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<VoiceFailure>,
}

impl Voice {
    /// A message with the platform's own transcript.
    pub const fn by_platform() -> Self {
        Self {
            transcriber: Transcriber::Platform,
            model: None,
            milliseconds: None,
            language: None,
            failure: None,
        }
    }
}

/// Who wrote a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transcriber {
    /// The chat platform: the whole text of the message.
    Platform,
    /// The recogniser of `voice.stt`.
    Configured,
}

/// Why a recording has no transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "camelCase")]
pub enum VoiceFailure {
    TooLong {
        /// The limit.
        seconds: u64,
    },
    TooBig {
        /// The limit.
        megabytes: u64,
    },
    /// The recogniser heard no words.
    NoWords,
    /// The recogniser cannot read this kind of audio.
    Unreadable,
    /// The recogniser cannot be reached, refuses, or takes too long.
    Unavailable,
    /// An owner has stopped all calls.
    Stopped,
    /// A spend cap has no room for it.
    OverBudget,
}

/// The form in which a platform takes voice messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VoiceFormat {
    /// Ogg/Opus.
    Opus,
    Wav,
}

/// Which answers are spoken, beside their text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SpeechMode {
    /// None.
    Off,
    /// Those to spoken messages.
    #[default]
    Inbound,
    /// All.
    Always,
}
