//! Makes the settings of voice from a checked file. Pure.

use std::time::Duration;

use secrecy::SecretString;

use super::file::{DEFAULT_BASE_URL, LlmFile, SttFile, SttProvider, TtsFile, TtsProvider, VoiceFile};
use super::problem::ConfigFault;
use super::resolve::{Faults, address, filled};
use super::settings::{SttBackend, SttSettings, TtsBackend, TtsSettings, VoiceServer, VoiceSettings};

pub(super) fn voice(file: VoiceFile, llm: &LlmFile, faults: &mut Faults) -> VoiceSettings {
    VoiceSettings { stt: stt(file.stt, llm, faults), tts: tts(file.tts, llm, faults) }
}

fn stt(file: SttFile, llm: &LlmFile, faults: &mut Faults) -> Option<SttSettings> {
    let section = "voice.stt";
    let server =
        |faults: &mut Faults| server(section, (file.base_url, file.api_key), file.model, llm, faults);
    let backend = match file.provider {
        SttProvider::Off => return None,
        SttProvider::Openai => SttBackend::Transcriptions(server(faults)),
        SttProvider::ChatAudio => SttBackend::ChatAudio(server(faults)),
        SttProvider::Command => SttBackend::Command(command(section, file.command, faults)),
    };
    Some(SttSettings {
        backend,
        language: file.language,
        prompt: file.prompt,
        timeout: Duration::from_secs(file.timeout_secs),
        most_secs: file.max_secs,
        most_mb: file.max_mb,
        wav: file.wav,
    })
}

fn tts(file: TtsFile, llm: &LlmFile, faults: &mut Faults) -> Option<TtsSettings> {
    let section = "voice.tts";
    let backend = match file.provider {
        TtsProvider::Off => return None,
        TtsProvider::Openai => {
            let Some(model) = file.model else {
                faults.push((format!("{section}.model"), ConfigFault::NeededFor("openai")));
                return None;
            };
            let at = server(section, (file.base_url, file.api_key), model, llm, faults);
            TtsBackend::Server { at, voice: file.voice, format: file.format.name() }
        }
        TtsProvider::Command => TtsBackend::Command(command(section, file.command, faults)),
    };
    Some(TtsSettings {
        backend,
        mode: file.mode,
        timeout: Duration::from_secs(file.timeout_secs),
        most_chars: file.max_chars,
    })
}

/// A server of its own, or that of `llm`. A key is never sent to another server than the one it was given for.
fn server(
    section: &str,
    (base_url, api_key): (Option<String>, Option<SecretString>),
    model: String,
    llm: &LlmFile,
    faults: &mut Faults,
) -> VoiceServer {
    let shared = if base_url.is_none() { filled(llm.api_key.clone()) } else { None };
    let base_url = address(base_url.as_deref().unwrap_or(&llm.base_url));
    let api_key = filled(api_key).or(shared);
    if api_key.is_none() && base_url == DEFAULT_BASE_URL {
        faults.push((format!("{section}.apiKey"), ConfigFault::KeyNeeded));
    }
    VoiceServer { base_url, api_key, model }
}

fn command(section: &str, argv: Vec<String>, faults: &mut Faults) -> Vec<String> {
    if argv.first().is_none_or(|program| program.trim().is_empty()) {
        faults.push((format!("{section}.command"), ConfigFault::NeededFor("command")));
    }
    argv
}
