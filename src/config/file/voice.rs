//! The `voice` section of `ship.json`.

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::domain::SpeechMode;

/// The model that transcribes where the file names no other.
const DEFAULT_STT_MODEL: &str = "gpt-transcribe";

/// The `voice` section.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VoiceFile {
    /// How spoken messages become text.
    pub stt: SttFile,
    /// How answers become spoken messages, beside their text.
    pub tts: TtsFile,
}

/// What transcribes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SttProvider {
    /// Nothing: a recording is a file like any other.
    #[default]
    Off,
    /// A server with `/audio/transcriptions`.
    Openai,
    /// A model that hears, on a server with `/chat/completions`.
    ChatAudio,
    /// A program of this machine.
    Command,
}

/// Whether recordings are sent as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WavFile {
    /// As they are, and as WAV when that is refused.
    #[default]
    Auto,
    /// As WAV.
    Always,
    /// As they are.
    Never,
}

/// The `voice.stt` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SttFile {
    /// What transcribes.
    pub provider: SttProvider,
    /// The server's address, up to and including /v1 where it has one. Left out: that of `llm`.
    #[schemars(extend("format" = "http-url"))]
    pub base_url: Option<String>,
    /// The key, best as ${VAR}. Left out: that of `llm`, where the server is the same.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub api_key: Option<SecretString>,
    /// The model's name, as the server calls it.
    #[schemars(length(min = 1))]
    pub model: String,
    /// The language that is spoken, such as en or zh. Left out: the recogniser finds out.
    #[schemars(length(min = 2, max = 16))]
    pub language: Option<String>,
    /// Words to expect, such as names.
    #[schemars(length(min = 1, max = 2000))]
    pub prompt: Option<String>,
    /// For provider "command": the program and its arguments. {file} stands for the recording; without it the recording is
    /// the standard input. What it prints is the transcript.
    pub command: Vec<String>,
    /// How many seconds a transcript may take.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_secs: u64,
    /// The longest recording in seconds.
    #[schemars(range(min = 1, max = 7200))]
    pub max_secs: u64,
    /// The largest recording in megabytes.
    #[schemars(range(min = 1, max = 100))]
    pub max_mb: u64,
    /// Whether recordings are sent as WAV.
    pub wav: WavFile,
}

impl Default for SttFile {
    fn default() -> Self {
        Self {
            provider: SttProvider::Off,
            base_url: None,
            api_key: None,
            model: DEFAULT_STT_MODEL.to_owned(),
            language: None,
            prompt: None,
            command: Vec::new(),
            timeout_secs: 60,
            max_secs: 600,
            max_mb: 20,
            wav: WavFile::Auto,
        }
    }
}

/// What speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TtsProvider {
    /// Nothing.
    #[default]
    Off,
    /// A server with `/audio/speech`.
    Openai,
    /// A program of this machine.
    Command,
}

/// The format that a speech server is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TtsFormat {
    /// That of the platform, and another one where the server refuses it.
    #[default]
    Auto,
    /// Ogg/Opus.
    Opus,
    /// WAV.
    Wav,
    /// MP3, which needs ffmpeg on this machine.
    Mp3,
}

impl TtsFormat {
    /// The value of `response_format`; `None` where the platform decides.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Opus => Some("opus"),
            Self::Wav => Some("wav"),
            Self::Mp3 => Some("mp3"),
        }
    }
}

/// The `voice.tts` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TtsFile {
    /// What speaks.
    pub provider: TtsProvider,
    /// Which answers are spoken.
    pub mode: SpeechMode,
    /// The server's address, up to and including /v1 where it has one. Left out: that of `llm`.
    #[schemars(extend("format" = "http-url"))]
    pub base_url: Option<String>,
    /// The key, best as ${VAR}. Left out: that of `llm`, where the server is the same.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub api_key: Option<SecretString>,
    /// The model's name, as the server calls it. Provider "openai" needs one.
    #[schemars(length(min = 1))]
    pub model: Option<String>,
    /// The voice, as the server calls it. Left out: the server's own choice.
    #[schemars(length(min = 1))]
    pub voice: Option<String>,
    /// The format that the server is asked for. What the platform takes is made of it.
    pub format: TtsFormat,
    /// For provider "command": the program and its arguments. It gets the text on its standard input and writes WAV to
    /// its standard output.
    pub command: Vec<String>,
    /// How many seconds speaking may take.
    #[schemars(range(min = 1, max = 600))]
    pub timeout_secs: u64,
    /// How many characters of an answer are spoken at most.
    #[schemars(range(min = 1, max = 4096))]
    pub max_chars: usize,
}

impl Default for TtsFile {
    fn default() -> Self {
        Self {
            provider: TtsProvider::Off,
            mode: SpeechMode::Inbound,
            base_url: None,
            api_key: None,
            model: None,
            voice: None,
            format: TtsFormat::Auto,
            command: Vec::new(),
            timeout_secs: 60,
            max_chars: 1500,
        }
    }
}
