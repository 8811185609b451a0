//! What turns words into sound: `POST {base}/audio/speech`, or a program.

use std::time::Duration;

use serde_json::json;

use super::SpeechServer;
use super::program::{ProgramRunner, ProgramSpec};
use super::server::Answer;
use crate::audio::Container;
use crate::domain::VoiceFormat;
use crate::ports::BoxFuture;

/// Most bytes of spoken sound.
const MOST_SOUND: usize = 20 << 20;
/// The wait before a busy server is asked again.
const PAUSE: Duration = Duration::from_secs(1);
/// The name of the text in the folder of a program.
const TEXT: &str = "text.txt";

/// Why nothing was spoken. For the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct TtsError {
    pub detail: String,
    /// Whether the server refused the request before it did any work.
    pub refused: bool,
}

impl TtsError {
    /// The server refused the request: it costs nothing.
    pub fn refused(detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), refused: true }
    }

    /// It failed on the way; the server may have done the work.
    pub fn failed(detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), refused: false }
    }
}

/// Turns words into sound.
pub trait Synthesiser: Send + Sync + std::fmt::Debug {
    /// The model, for records.
    fn model(&self) -> &str;

    /// The host of its server; empty for a program.
    fn host(&self) -> &str;

    /// The sound of a text, if possible in this format. The caller looks at what it got.
    fn speak<'a>(&'a self, text: &'a str, wanted: VoiceFormat) -> BoxFuture<'a, Result<Vec<u8>, TtsError>>;
}

/// A server of the OpenAI protocol.
#[derive(Clone, Debug)]
pub struct SynthesisServer {
    pub server: SpeechServer,
    pub voice: Option<String>,
    /// The only format to ask for; `None`: that of the platform, and another one where the server refuses it.
    pub format: Option<&'static str>,
}

impl Synthesiser for SynthesisServer {
    fn model(&self) -> &str {
        &self.server.model
    }

    fn host(&self) -> &str {
        self.server.host()
    }

    fn speak<'a>(&'a self, text: &'a str, wanted: VoiceFormat) -> BoxFuture<'a, Result<Vec<u8>, TtsError>> {
        Box::pin(async move {
            // Not every server knows both, and some send another one than they were asked for.
            let formats: &[&str] = match (&self.format, wanted) {
                (Some(format), _) => &[format],
                (None, VoiceFormat::Opus) => &["opus", "wav"],
                (None, VoiceFormat::Wav) => &["wav", "opus"],
            };
            let mut other = Err(TtsError::refused("the server refused every format"));
            for format in formats {
                let answer = self.ask(text, format).await?;
                if matches!(answer.status.as_u16(), 400 | 415 | 422) {
                    tracing::info!(detail = answer.detail(), format, "speech format refused");
                    other = other.map_err(|_| TtsError::refused(answer.detail()));
                    continue;
                }
                if !answer.status.is_success() {
                    let detail = answer.detail();
                    let refused = answer.status.is_client_error();
                    return Err(TtsError { detail, refused });
                }
                match Container::of(&answer.body) {
                    Container::OggOpus | Container::Wav => return Ok(answer.body),
                    // An error with the status 200.
                    Container::Unknown => {
                        return Err(TtsError::refused(format!("no sound: {}", answer.detail())));
                    }
                    _ => other = Ok(answer.body),
                }
            }
            other
        })
    }
}

impl SynthesisServer {
    /// Asks the server, once more where it is busy.
    async fn ask(&self, text: &str, format: &str) -> Result<Answer, TtsError> {
        let mut body = json!({ "model": self.server.model, "input": text, "response_format": format });
        if let (Some(voice), Some(body)) = (&self.voice, body.as_object_mut()) {
            body.insert("voice".to_owned(), voice.clone().into());
        }
        let request = || self.server.post("/audio/speech").json(&body);
        let first = self.server.send(request(), MOST_SOUND).await;
        if first.as_ref().is_ok_and(|answer| !answer.is_temporary()) {
            return first.map_err(TtsError::failed);
        }
        tokio::time::sleep(PAUSE).await;
        self.server.send(request(), MOST_SOUND).await.map_err(TtsError::failed)
    }
}

/// A program that reads words and writes sound.
#[derive(Clone, Debug)]
pub struct SynthesiserProgram {
    pub runner: ProgramRunner,
    /// The program and its arguments.
    pub argv: Vec<String>,
    pub within: Duration,
}

impl Synthesiser for SynthesiserProgram {
    fn model(&self) -> &str {
        let program = self.argv.first().map(String::as_str).unwrap_or_default();
        program.rsplit('/').next().unwrap_or_default()
    }

    fn host(&self) -> &str {
        ""
    }

    fn speak<'a>(&'a self, text: &'a str, _: VoiceFormat) -> BoxFuture<'a, Result<Vec<u8>, TtsError>> {
        Box::pin(async move {
            let program = ProgramSpec {
                argv: &self.argv,
                file: (TEXT, text.as_bytes()),
                on_stdin: true,
                within: self.within,
                most: MOST_SOUND as u64,
            };
            self.runner.run(program).await.map_err(|error| TtsError::failed(error.to_string()))
        })
    }
}
