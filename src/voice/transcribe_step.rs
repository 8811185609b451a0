//! The enrich step: recordings of a message become its text. The recordings stay with the message.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::program::ProgramRunner;
use super::{Recogniser, Recording, SttError, Transcript};
use crate::audio::{AudioError, Container, Pcm, decode_opus, decode_webm};
use crate::domain::{InboundFile, Said, Shortage, StoredFile, Transcriber, Voice, VoiceFailure};
use crate::ports::{
    BoxFuture, Clock, EnrichError, EnrichInput, EnrichStep, FileStore, MeterError, VoiceCall, VoiceMeter,
    VoiceUse,
};

/// The step's name in stored messages.
const NAME: &str = "voice";
/// A smaller file holds no words.
const FEWEST_BYTES: usize = 1024;
/// The longest wait for a place.
const LONGEST_QUEUE: Duration = Duration::from_secs(600);
/// Most messages whose recordings are transcribed at the same time, one recording of each.
const AT_ONCE: usize = 4;
/// How long after its own deadline the step is given up by its caller.
const MARGIN: Duration = Duration::from_secs(10);
/// The waits before a busy server is asked again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// The longest wait that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// Whether recordings are sent as they are, or as WAV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WavChoice {
    /// As they are, and as WAV when the server refuses that.
    #[default]
    Auto,
    Always,
    Never,
}

/// The limits of a recording.
#[derive(Clone, Copy, Debug)]
pub struct TranscriptionLimits {
    /// Deadline of all recordings of a message.
    pub timeout: Duration,
    pub most_secs: u64,
    pub most_mb: u64,
    pub wav: WavChoice,
}

/// Turns recordings into text.
#[derive(Debug)]
pub struct TranscribeStep {
    recogniser: Arc<dyn Recogniser>,
    files: Arc<dyn FileStore>,
    meter: Arc<dyn VoiceMeter>,
    clock: Arc<dyn Clock>,
    /// Runs ffmpeg, for containers that this program cannot decode.
    programs: ProgramRunner,
    limits: TranscriptionLimits,
    places: Semaphore,
}

impl TranscribeStep {
    pub fn new(
        recogniser: Arc<dyn Recogniser>,
        files: Arc<dyn FileStore>,
        meter: Arc<dyn VoiceMeter>,
        clock: Arc<dyn Clock>,
        programs: ProgramRunner,
        limits: TranscriptionLimits,
    ) -> Self {
        Self { recogniser, files, meter, clock, programs, limits, places: Semaphore::new(AT_ONCE) }
    }

    /// The message with the transcripts of its recordings, or with the reason why there are none.
    async fn transcribed(&self, input: EnrichInput<'_>) -> Said {
        let mut voice = Voice {
            transcriber: Transcriber::Configured,
            model: Some(self.recogniser.model().to_owned()),
            milliseconds: None,
            language: None,
            failure: None,
        };
        let mut texts = Vec::new();
        let work = async {
            for file in input.said.files.iter().filter(|file| is_recording(file)) {
                let (heard, millis) = self.hear(input, file).await?;
                voice.milliseconds = match (voice.milliseconds, millis) {
                    (Some(before), Some(more)) => Some(before + more),
                    (before, more) => before.or(more),
                };
                voice.language = voice.language.take().or(heard.language);
                texts.push(heard.text);
            }
            Ok::<(), VoiceFailure>(())
        };
        // Waiting for a place does not count against the deadline.
        let outcome = match tokio::time::timeout(LONGEST_QUEUE, self.places.acquire()).await {
            Ok(_place) => tokio::time::timeout(self.limits.timeout, work).await,
            Err(_) => {
                drop(work);
                Ok(Err(VoiceFailure::Unavailable))
            }
        };
        let failure = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(failure)) => Some(failure),
            Err(_) => {
                let seconds = self.limits.timeout.as_secs();
                tracing::warn!(thread = %input.thread, seconds, "transcription timed out");
                Some(VoiceFailure::Unavailable)
            }
        };
        let mut said = input.said.clone();
        let text = texts.join("\n\n");
        let by_platform = said.voice.as_ref().is_some_and(|voice| voice.transcriber == Transcriber::Platform);
        if text.trim().is_empty() {
            // The platform's own transcript is better than none.
            if !by_platform {
                voice.failure = failure.or(Some(VoiceFailure::NoWords));
                said.voice = Some(voice);
            }
            return said;
        }
        voice.failure = failure;
        if by_platform || said.text.trim().is_empty() {
            said.text = text;
        } else {
            said.text = format!("{}\n\n{text}", said.text);
        }
        said.marked_up = None;
        said.voice = Some(voice);
        said
    }

    async fn hear(
        &self,
        input: EnrichInput<'_>,
        file: &InboundFile,
    ) -> Result<(Transcript, Option<u64>), VoiceFailure> {
        let recording = self.read(input, file).await?;
        let millis = recording.millis;
        self.meter.admits(input.thread, Some(&input.author.id), false).await.map_err(|error| {
            tracing::warn!(thread = %input.thread, %error, "transcription refused");
            match error {
                MeterError::OverBudget(shortage) if *shortage == Shortage::Stopped => VoiceFailure::Stopped,
                MeterError::OverBudget(_) => VoiceFailure::OverBudget,
                MeterError::Storage(_) => VoiceFailure::Unavailable,
            }
        })?;
        // Given up at the deadline, it counts.
        let call = VoiceCall::begin(
            &*self.meter,
            VoiceUse {
                at: self.clock.now(),
                thread: input.thread.clone(),
                author: Some(input.author.id.clone()),
                host: self.recogniser.host().to_owned(),
                model: self.recogniser.model().to_owned(),
                sound_ms: millis.unwrap_or_default(),
                characters: 0,
                took_ms: 0,
                uncertain: false,
            },
        );
        let heard = self.hear_in_some_form(recording).await;
        let failed = |error: SttError| {
            tracing::warn!(thread = %input.thread, %error, "transcription failed");
            match error {
                SttError::Format(_) => VoiceFailure::Unreadable,
                SttError::Busy { .. } | SttError::Refused(_) => VoiceFailure::Unavailable,
            }
        };
        let (heard, measured) = match heard {
            Ok(heard) => heard,
            Err(error) => {
                // A busy server may have worked on it.
                if !matches!(error, SttError::Busy { .. }) {
                    call.refused();
                }
                return Err(failed(error));
            }
        };
        // The sender wrote what the file tells of its length.
        let millis = measured.or(millis);
        call.succeeded(millis.unwrap_or_default());
        if heard.text.is_empty() {
            return Err(VoiceFailure::NoWords);
        }
        Ok((heard, millis))
    }

    /// Reads a stored recording and checks the limits.
    async fn read(&self, input: EnrichInput<'_>, file: &InboundFile) -> Result<Recording, VoiceFailure> {
        let lost = |why: String| {
            tracing::warn!(thread = %input.thread, url = file.url.chars().take(80).collect::<String>(), why, "recording not readable");
            VoiceFailure::Unreadable
        };
        let stored = StoredFile::from_url(input.thread, &file.url);
        let stored = stored.ok_or_else(|| lost("not a stored file".to_owned()))?;
        let opened = self.files.open(stored.thread(), stored.name()).await;
        let opened = opened.map_err(|error| lost(error.to_string()))?;
        let opened = opened.ok_or_else(|| lost("no such file".to_owned()))?;
        let megabytes = self.limits.most_mb;
        if opened.length > megabytes << 20 {
            return Err(VoiceFailure::TooBig { megabytes });
        }
        let recording = Recording::new(opened.bytes().await.map_err(|error| lost(error.to_string()))?);
        let seconds = self.limits.most_secs;
        if recording.millis.is_some_and(|millis| millis > seconds.saturating_mul(1000)) {
            return Err(VoiceFailure::TooLong { seconds });
        }
        if recording.bytes.len() < FEWEST_BYTES {
            return Err(VoiceFailure::NoWords);
        }
        if recording.container == Container::Silk {
            return Err(lost("SILK cannot be decoded".to_owned()));
        }
        Ok(recording)
    }

    /// Has a recording transcribed, as WAV where the server refuses it as it is. Returns its length where the conversion
    /// measured it.
    async fn hear_in_some_form(&self, recording: Recording) -> Result<(Transcript, Option<u64>), SttError> {
        if self.limits.wav != WavChoice::Always || recording.container == Container::Wav {
            match self.ask(&recording).await {
                Err(SttError::Format(detail))
                    if self.limits.wav == WavChoice::Auto && recording.container != Container::Wav =>
                {
                    tracing::info!(detail, container = ?recording.container, "recording refused, sending WAV");
                }
                outcome => return outcome.map(|heard| (heard, None)),
            }
        }
        let wav = self.as_wav(recording).await?;
        let millis = wav.millis;
        self.ask(&wav).await.map(|heard| (heard, millis))
    }

    /// Asks the recogniser, again after a pause where it is busy.
    async fn ask(&self, recording: &Recording) -> Result<Transcript, SttError> {
        for pause in PAUSES {
            match self.recogniser.hear(recording).await {
                Err(SttError::Busy { detail, after }) => {
                    tracing::warn!(detail, "recogniser busy, asking again");
                    tokio::time::sleep(after.unwrap_or(pause).clamp(pause, LONGEST_PAUSE)).await;
                }
                outcome => return outcome,
            }
        }
        self.recogniser.hear(recording).await
    }

    async fn as_wav(&self, recording: Recording) -> Result<Recording, SttError> {
        let most_secs = self.limits.most_secs;
        let decode: fn(&[u8], u64) -> Result<Pcm, AudioError> = match recording.container {
            Container::OggOpus => decode_opus,
            Container::Webm => decode_webm,
            _ => return self.converted(recording).await,
        };
        let bytes = recording.bytes.clone();
        let decoding = tokio::task::spawn_blocking(move || decode(&bytes, most_secs));
        match decoding.await {
            Ok(Ok(pcm)) => Ok(Recording::from_pcm(&pcm)),
            // Other codecs than Opus.
            Ok(Err(AudioError::Damaged(_))) if recording.container == Container::Webm => {
                self.converted(recording).await
            }
            Ok(Err(error)) => Err(SttError::Format(error.to_string())),
            Err(_) => Err(SttError::Format("the decoder failed".to_owned())),
        }
    }

    /// As WAV, by ffmpeg.
    async fn converted(&self, recording: Recording) -> Result<Recording, SttError> {
        let most_secs = self.limits.most_secs;
        let converted = self.programs.to_wav(recording, most_secs).await;
        converted.map_err(|error| SttError::Format(error.to_string()))
    }
}

impl EnrichStep for TranscribeStep {
    fn name(&self) -> &str {
        NAME
    }

    fn deadline(&self) -> Duration {
        LONGEST_QUEUE + self.limits.timeout + MARGIN
    }

    fn applies(&self, said: &Said) -> bool {
        let done = said.voice.as_ref().is_some_and(|voice| voice.transcriber == Transcriber::Configured);
        !done && said.files.iter().any(is_recording)
    }

    fn enrich<'a>(&'a self, input: EnrichInput<'a>) -> BoxFuture<'a, Result<Said, EnrichError>> {
        Box::pin(async move { Ok(self.transcribed(input).await) })
    }
}

fn is_recording(file: &InboundFile) -> bool {
    file.media_type.starts_with("audio/")
}
