//! Makes the voice message of an answer, once: the file of a message that was spoken before is used again.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::program::ProgramRunner;
use super::{Recording, Synthesiser, TtsError};
use crate::audio::{Container, decode_opus, encode_opus, read_wav, write_wav};
use crate::domain::{Language, StoredFile, VoiceFormat};
use crate::ports::{
    BoxFuture, Clock, FileStore, Speech, SpeechError, SpeechRequest, SpokenFile, VoiceCall, VoiceMeter,
    VoiceUse,
};
use crate::render::speakable;

/// Most seconds of a spoken answer.
const MOST_SECS: u64 = 1800;
/// Answers that are spoken at the same time, at most.
const AT_ONCE: usize = 8;

#[derive(Debug)]
pub struct Speaker {
    pub synthesiser: Arc<dyn Synthesiser>,
    pub files: Arc<dyn FileStore>,
    pub meter: Arc<dyn VoiceMeter>,
    pub clock: Arc<dyn Clock>,
    /// Runs ffmpeg, for sound that this program cannot decode.
    pub programs: ProgramRunner,
    /// Deadline of one answer.
    pub timeout: Duration,
    pub most_chars: usize,
    /// The language of the words about what is left out; `None` means that of the answer.
    pub language: Option<Language>,
    /// By message: two requests for one message make one file.
    pub places: [Semaphore; AT_ONCE],
}

impl Speaker {
    /// One permit each, for the messages whose names have the same hash.
    pub fn places() -> [Semaphore; AT_ONCE] {
        std::array::from_fn(|_| Semaphore::new(1))
    }

    async fn spoken(&self, request: SpeechRequest<'_>) -> Result<Option<SpokenFile>, SpeechError> {
        let (name, media_type) = match request.format {
            VoiceFormat::Opus => ("answer.ogg", "audio/ogg"),
            VoiceFormat::Wav => ("answer.wav", "audio/wav"),
        };
        let file = StoredFile::new(request.thread.clone(), &format!("{}-", request.source), name);
        let mut hasher = DefaultHasher::new();
        file.name().hash(&mut hasher);
        let place = usize::try_from(hasher.finish() % AT_ONCE as u64).unwrap_or_default();
        let _place = match self.places.get(place) {
            Some(place) => Some(place.acquire().await),
            None => None,
        };
        let spoken = SpokenFile { file, name, media_type };
        let stored = self.files.open(spoken.file.thread(), spoken.file.name()).await;
        if stored.map_err(|error| SpeechError(error.to_string()))?.is_some() {
            return Ok(Some(spoken));
        }
        let language = self.language.unwrap_or_else(|| Language::of(request.text));
        let text = speakable(request.text, self.most_chars, language);
        if text.is_empty() {
            return Ok(None);
        }
        let admitted = self.meter.admits(request.thread, None, true).await;
        admitted.map_err(|error| SpeechError(error.to_string()))?;
        let used = VoiceUse {
            at: self.clock.now(),
            thread: request.thread.clone(),
            author: None,
            host: self.synthesiser.host().to_owned(),
            model: self.synthesiser.model().to_owned(),
            sound_ms: 0,
            characters: text.chars().count() as u64,
            took_ms: 0,
            uncertain: false,
        };
        let work = async {
            // Given up at the deadline, it counts.
            let call = VoiceCall::begin(&*self.meter, used);
            let sound = match self.synthesiser.speak(&text, request.format).await {
                Ok(sound) => sound,
                Err(error) => {
                    if error.refused {
                        call.refused();
                    }
                    return Err(error);
                }
            };
            call.succeeded(0);
            self.converted(sound, request.format).await
        };
        let late = |_| TtsError::failed(format!("no sound within {} s", self.timeout.as_secs()));
        let sound = tokio::time::timeout(self.timeout, work).await.map_err(late).flatten();
        let sound = sound.map_err(|error| SpeechError(error.to_string()))?;
        let kept = self.files.keep(&spoken.file, sound).await;
        kept.map_err(|error| SpeechError(error.to_string()))?;
        Ok(Some(spoken))
    }

    /// The sound in the format that the platform takes.
    async fn converted(&self, sound: Vec<u8>, wanted: VoiceFormat) -> Result<Vec<u8>, TtsError> {
        let mut recording = Recording::new(sound);
        match (recording.container, wanted) {
            (Container::OggOpus, VoiceFormat::Opus) | (Container::Wav, VoiceFormat::Wav) => {
                return Ok(recording.bytes);
            }
            (Container::OggOpus | Container::Wav, _) => {}
            (Container::Unknown, _) => return Err(TtsError::failed("the program wrote no sound".to_owned())),
            _ => {
                let converted = self.programs.to_wav(recording, MOST_SECS).await;
                recording = converted.map_err(|error| TtsError::failed(error.to_string()))?;
            }
        }
        let converting = tokio::task::spawn_blocking(move || {
            let pcm = match recording.container {
                Container::OggOpus => decode_opus(&recording.bytes, MOST_SECS)?,
                _ => read_wav(&recording.bytes)?,
            };
            match wanted {
                VoiceFormat::Opus => encode_opus(&pcm),
                VoiceFormat::Wav => Ok(write_wav(&pcm)),
            }
        });
        let converted = converting.await.map_err(|error| TtsError::failed(error.to_string()))?;
        converted.map_err(|error| TtsError::failed(error.to_string()))
    }
}

impl Speech for Speaker {
    fn speak<'a>(
        &'a self,
        request: SpeechRequest<'a>,
    ) -> BoxFuture<'a, Result<Option<SpokenFile>, SpeechError>> {
        Box::pin(self.spoken(request))
    }
}
