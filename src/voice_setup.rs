//! Builds the recogniser and the speaker of a daemon from its settings.

use std::sync::Arc;

use crate::commands::doctor::SpeechProviders;
use crate::config::{Settings, SttBackend, SttSettings, TtsBackend, TtsSettings, VoiceServer, WavFile};
use crate::domain::{AuthorId, Payer, Purpose, SpeechMode, ThreadId};
use crate::environment::Environment;
use crate::http_client::Http;
use crate::policy_setup::sandbox_mode;
use crate::ports::{BoxFuture, EnrichStep, Meter, MeterError, MeteredService, VoiceMeter, VoiceUse};
use crate::sandbox::{MemoryLimiter, MemoryLimits, ProbeResult, SandboxMode, SandboxStatus, own_binary};
use crate::store::State;
use crate::threads::SpokenAnswers;
use crate::tools::{ExecSettings, programs_of};
use crate::voice::{
    ChatAudio, ProgramRunner, Recogniser, RecogniserProgram, Speaker, SpeechServer, SynthesisServer,
    Synthesiser, SynthesiserProgram, TranscribeStep, TranscriptionLimits, TranscriptionServer, WavChoice,
};

/// What voice is built from.
#[derive(Debug)]
pub(crate) struct VoiceInput<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) state: &'a State,
    pub(crate) environment: &'a Environment,
    /// The settings of commands: speech programs run in the same sandbox.
    pub(crate) shell: &'a ExecSettings,
    /// Takes the record of what speech servers were used for.
    pub(crate) meter: Arc<dyn Meter>,
}

#[derive(Debug)]
pub(crate) struct BuiltVoice {
    /// All steps between an accepted message and its turn.
    pub(crate) enrich: Arc<[Arc<dyn EnrichStep>]>,
    pub(crate) speech: Option<SpokenAnswers>,
}

pub(crate) fn build_voice(input: &VoiceInput<'_>) -> Result<BuiltVoice, reqwest::Error> {
    Ok(BuiltVoice { enrich: enrich_steps(input)?, speech: spoken_answers(input)? })
}

/// What speaks answers, if any are to be spoken.
fn spoken_answers(input: &VoiceInput<'_>) -> Result<Option<SpokenAnswers>, reqwest::Error> {
    let wanted = input.settings.voice.tts.as_ref().filter(|tts| tts.mode != SpeechMode::Off);
    let Some(tts) = wanted else { return Ok(None) };
    let programs = programs(input.settings, input.shell);
    let speaker = Speaker {
        synthesiser: synthesiser(tts, &input.environment.http, &programs)?,
        files: input.state.files.clone(),
        meter: Arc::new(SpeechMeter { meter: input.meter.clone() }),
        clock: input.environment.clock.clone(),
        programs,
        timeout: tts.timeout,
        most_chars: tts.most_chars,
        language: input.settings.language,
        places: Speaker::places(),
    };
    Ok(Some(SpokenAnswers { mode: tts.mode, speaker: Arc::new(speaker) }))
}

/// The synthesiser of the settings.
fn synthesiser(
    tts: &TtsSettings,
    http: &Http,
    programs: &ProgramRunner,
) -> Result<Arc<dyn Synthesiser>, reqwest::Error> {
    Ok(match &tts.backend {
        TtsBackend::Server { at, voice, format } => {
            Arc::new(SynthesisServer { server: server(at, http)?, voice: voice.clone(), format: *format })
        }
        TtsBackend::Command(argv) => {
            let (runner, argv) = (programs.clone(), argv.clone());
            Arc::new(SynthesiserProgram { runner, argv, within: tts.timeout })
        }
    })
}

/// All steps between an accepted message and its turn: transcription first, so that the others see the words.
fn enrich_steps(input: &VoiceInput<'_>) -> Result<Arc<[Arc<dyn EnrichStep>]>, reqwest::Error> {
    let Some(stt) = &input.settings.voice.stt else { return Ok(input.settings.enrich.clone()) };
    let programs = programs(input.settings, input.shell);
    let limits = TranscriptionLimits {
        timeout: stt.timeout,
        most_secs: stt.most_secs,
        most_mb: stt.most_mb,
        wav: match stt.wav {
            WavFile::Auto => WavChoice::Auto,
            WavFile::Always => WavChoice::Always,
            WavFile::Never => WavChoice::Never,
        },
    };
    let step: Arc<dyn EnrichStep> = Arc::new(TranscribeStep::new(
        recogniser(stt, &input.environment.http, &programs)?,
        input.state.files.clone(),
        Arc::new(SpeechMeter { meter: input.meter.clone() }),
        input.environment.clock.clone(),
        programs,
        limits,
    ));
    Ok(std::iter::once(step).chain(input.settings.enrich.iter().cloned()).collect())
}

/// The recogniser of the settings.
fn recogniser(
    stt: &SttSettings,
    http: &Http,
    programs: &ProgramRunner,
) -> Result<Arc<dyn Recogniser>, reqwest::Error> {
    let (language, prompt) = (stt.language.clone(), stt.prompt.clone());
    Ok(match &stt.backend {
        SttBackend::Transcriptions(at) => {
            Arc::new(TranscriptionServer { server: server(at, http)?, language, prompt })
        }
        SttBackend::ChatAudio(at) => Arc::new(ChatAudio { server: server(at, http)?, language, prompt }),
        SttBackend::Command(argv) => {
            let (runner, argv) = (programs.clone(), argv.clone());
            Arc::new(RecogniserProgram { runner, argv, within: stt.timeout })
        }
    })
}

fn server(at: &VoiceServer, http: &Http) -> Result<SpeechServer, reqwest::Error> {
    let VoiceServer { base_url, api_key, model } = at.clone();
    Ok(SpeechServer { http: http.client(&base_url)?, base_url, api_key, model })
}

fn programs(settings: &Settings, shell: &ExecSettings) -> ProgramRunner {
    ProgramRunner {
        helper: shell.helper.clone(),
        mode: shell.mode,
        found: shell.found.clone(),
        path: path_of(&shell.environment),
        readable: shell.readable.clone(),
        memory: shell.memory.clone(),
        project: settings.project.clone(),
    }
}

/// The recogniser and the synthesiser of the settings, outside of a daemon. `probe` finds the sandbox of this machine, in
/// which speech programs run.
pub(crate) fn speech_providers(
    settings: &Settings,
    http: &Http,
    environment: &[(String, String)],
    probe: &dyn Fn() -> SandboxStatus,
) -> Result<SpeechProviders, reqwest::Error> {
    let voice = &settings.voice;
    let runs_programs = matches!(voice.stt.as_ref().map(|stt| &stt.backend), Some(SttBackend::Command(_)))
        || matches!(voice.tts.as_ref().map(|tts| &tts.backend), Some(TtsBackend::Command(_)));
    let mode = sandbox_mode(settings);
    // Nothing waits for a probe that no program needs.
    let found = match runs_programs && mode != SandboxMode::Off {
        true => ProbeResult::known(probe()),
        false => ProbeResult::new(own_binary()).1,
    };
    let limits = MemoryLimits::on_this_machine(settings.limits.command_memory_mb);
    let programs = ProgramRunner {
        helper: own_binary(),
        mode,
        found,
        path: path_of(environment),
        readable: programs_of(environment),
        memory: MemoryLimiter::new(limits),
        project: settings.project.clone(),
    };
    let recogniser = voice.stt.as_ref().map(|stt| recogniser(stt, http, &programs)).transpose()?;
    let synthesiser = voice.tts.as_ref().map(|tts| synthesiser(tts, http, &programs)).transpose()?;
    Ok(SpeechProviders { recogniser, synthesiser })
}

fn path_of(environment: &[(String, String)]) -> Option<String> {
    environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone())
}

/// Records what was used in the usage ledger, and writes it to the log.
#[derive(Debug)]
struct SpeechMeter {
    meter: Arc<dyn Meter>,
}

impl VoiceMeter for SpeechMeter {
    fn admits<'a>(
        &'a self,
        thread: &'a ThreadId,
        author: Option<&'a AuthorId>,
        speaks: bool,
    ) -> BoxFuture<'a, Result<(), MeterError>> {
        let purpose = if speaks { Purpose::Tts } else { Purpose::Stt };
        let payer =
            Payer { thread: Some(thread.clone()), author: author.cloned(), purpose, ..Payer::default() };
        Box::pin(async move { self.meter.admits(&payer).await })
    }

    fn record(&self, used: VoiceUse) {
        let VoiceUse { at: _, thread, author, host, model, sound_ms, characters, took_ms, uncertain } = used;
        tracing::info!(%thread, model, sound_ms, characters, took_ms, uncertain, "speech service used");
        let purpose = if characters == 0 { Purpose::Stt } else { Purpose::Tts };
        self.meter.record(MeteredService {
            payer: Payer { thread: Some(thread), author, purpose, ..Payer::default() },
            provider: host,
            model,
            sound_ms,
            chars: characters,
            uncertain,
            ms: took_ms,
            ..MeteredService::default()
        });
    }
}
