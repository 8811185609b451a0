//! Probes the speech providers with one call each: the synthesiser says a few words, and the recogniser listens to them.

use std::sync::Arc;
use std::time::Duration;

use super::fact::Fact;
use crate::audio::{Container, Pcm, decode_opus};
use crate::config::Settings;
use crate::domain::{Language, VoiceFormat};
use crate::phrases::doctor as words;
use crate::ports::Clock;
use crate::voice::{Recogniser, Recording, Synthesiser};

/// Deadline of one provider: a server may have to load its model first.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the recogniser gets where nothing speaks: a second of silence at this rate.
const SILENCE_RATE: u32 = 16_000;
/// Most seconds of the words.
const MOST_SECS: u64 = 60;

/// The speech providers of a project.
#[derive(Clone, Debug, Default)]
pub struct SpeechProviders {
    pub recogniser: Option<Arc<dyn Recogniser>>,
    pub synthesiser: Option<Arc<dyn Synthesiser>>,
}

/// Builds the speech providers of the settings; tests replace it.
pub type SpeechFactory<'a> = &'a (dyn Fn(&Settings) -> Result<SpeechProviders, String> + Send + Sync);

/// Probes the configured speech providers.
pub(super) async fn probe_voice(
    settings: &Settings,
    build: SpeechFactory<'_>,
    clock: &dyn Clock,
) -> Vec<Fact> {
    if settings.voice.stt.is_none() && settings.voice.tts.is_none() {
        return Vec::new();
    }
    let providers = match build(settings) {
        Ok(providers) => providers,
        Err(why) => return vec![Fact::SpeechUnusable(why)],
    };
    let mut facts = Vec::new();
    let mut spoken = None;
    if let Some(synthesiser) = &providers.synthesiser {
        let (fact, recording) = say(&**synthesiser, settings.operator_language, clock).await;
        facts.push(fact);
        spoken = recording;
    }
    if let Some(recogniser) = &providers.recogniser {
        let silence = || Pcm { rate: SILENCE_RATE, samples: vec![0.0; SILENCE_RATE as usize] };
        let recording = spoken.unwrap_or_else(|| Recording::from_pcm(&silence()));
        facts.push(hear(&**recogniser, &recording, settings.operator_language, clock).await);
    }
    facts
}

/// Has a few words spoken. Returns the sound as WAV, which every recogniser takes, where this program can decode it.
async fn say(
    synthesiser: &dyn Synthesiser,
    language: Language,
    clock: &dyn Clock,
) -> (Fact, Option<Recording>) {
    let name = synthesiser.model().to_owned();
    let begun = clock.now();
    let speaking = synthesiser.speak(words::spoken_probe(language), VoiceFormat::Opus);
    let failed = |why: String| (Fact::SpeaksNot { name: name.clone(), why }, None);
    let sound = match tokio::time::timeout(PATIENCE, speaking).await {
        Err(_) => return failed(words::speech_silent(PATIENCE.as_secs(), language)),
        Ok(Err(error)) => return failed(error.to_string()),
        Ok(Ok(sound)) => sound,
    };
    let millis = clock.now().millis_since(begun);
    let recording = Recording::new(sound);
    let wav = match recording.container {
        Container::Unknown => return failed(words::no_sound(language).to_owned()),
        Container::Wav => Some(recording),
        Container::OggOpus => match decode_opus(&recording.bytes, MOST_SECS) {
            Ok(pcm) => Some(Recording::from_pcm(&pcm)),
            Err(error) => return failed(error.to_string()),
        },
        _ => None,
    };
    (Fact::Speaks { name, millis }, wav)
}

async fn hear(
    recogniser: &dyn Recogniser,
    recording: &Recording,
    language: Language,
    clock: &dyn Clock,
) -> Fact {
    let name = recogniser.model().to_owned();
    let begun = clock.now();
    match tokio::time::timeout(PATIENCE, recogniser.hear(recording)).await {
        Err(_) => Fact::HearsNot { name, why: words::speech_silent(PATIENCE.as_secs(), language) },
        Ok(Err(error)) => Fact::HearsNot { name, why: error.to_string() },
        Ok(Ok(heard)) => Fact::Hears { name, millis: clock.now().millis_since(begun), heard: heard.text },
    }
}
