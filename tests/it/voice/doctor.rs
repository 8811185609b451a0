//! `shipagent doctor` tests both speech providers with a call each.

use serde_json::{Value, json};

use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply};
use crate::fakes::voice::{FakeSpeech, SpeechReply, speak};

/// What doctor says about `listening` and `speaking`: status, message and advice.
fn checks(project: &Project) -> Vec<(String, String, String, String)> {
    let told = project.run(&["doctor", "--json"]);
    let report: Value =
        serde_json::from_str(&told.stdout).unwrap_or_else(|error| panic!("{error}: {told:?}"));
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let all = report["checks"].as_array().unwrap().iter();
    let of_voice = all.filter(|check| ["listening", "speaking"].contains(&check["check"].as_str().unwrap()));
    of_voice
        .map(|check| {
            (text(check, "check"), text(check, "status"), text(check, "message"), text(check, "fix"))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_has_words_spoken_and_heard_and_says_which_provider_fails() {
    let model = FakeModel::start(Reply::text("ok")).await;
    let speech = FakeSpeech::hearing("").await;
    let server = |kind: &str| json!({ "provider": "openai", "baseUrl": speech.url(), "apiKey": "doctor-key-canary", "model": kind });
    let config = json!({ "language": "en", "voice": { "stt": server("ears"), "tts": server("mouth") } });
    let project = Project::with_model(&model.url(), config);
    let sound = speak("one two three four five").ogg;
    let denied = json!({ "error": { "message": "Incorrect API key" } });
    for (case, heard, said, expected) in [
        (
            "both work",
            SpeechReply::text("One two three four five"),
            SpeechReply::Body(200, sound.clone()),
            [("speaking", "ok", "mouth speaks"), ("listening", "ok", "ears heard “One two three four five”")],
        ),
        (
            "the synthesiser refuses the key: the recogniser gets silence",
            SpeechReply::text(""),
            SpeechReply::json(401, &denied),
            [("speaking", "error", "Incorrect API key"), ("listening", "ok", "ears answers")],
        ),
        (
            "the recogniser refuses the key",
            SpeechReply::json(401, &denied),
            SpeechReply::Body(200, sound),
            [("speaking", "ok", "mouth speaks"), ("listening", "error", "Incorrect API key")],
        ),
        (
            "both answer an error with the status 200",
            SpeechReply::json(200, &denied),
            SpeechReply::json(200, &denied),
            [("speaking", "error", "Incorrect API key"), ("listening", "error", "Incorrect API key")],
        ),
    ] {
        speech.answer_by(move |request| match request.path.as_str() {
            "/v1/audio/speech" => said.clone(),
            _ => heard.clone(),
        });
        let found = checks(&project);
        assert_eq!(found.len(), 2, "{case}: {found:?}");
        for ((check, status, message, fix), (name, level, words)) in found.iter().zip(expected) {
            assert_eq!((check.as_str(), status.as_str()), (name, level), "{case}: {found:?}");
            assert!(message.contains(words), "{case}: {message}");
            assert_eq!(fix.contains("voice."), level == "error", "{case}: {fix}");
            assert!(!message.contains("doctor-key-canary"), "{message}");
        }
    }
    // The recogniser was given what was spoken, as WAV.
    let recordings = speech.requests();
    let first = recordings.iter().find_map(|request| request.file.as_ref()).unwrap();
    assert!(first.2.starts_with(b"RIFF") && first.2.len() > 16_000, "{} bytes", first.2.len());
}

#[test]
fn doctor_runs_the_programs_that_hear_and_speak_and_is_silent_without_voice() {
    let offline = json!({ "language": "en", "llm": { "provider": "offline" } });
    assert_eq!(checks(&Project::new(offline.clone())), []);
    let mut config = offline;
    config["voice"] = json!({
        "stt": { "provider": "command", "command": ["no-such-recogniser", "{file}"] },
        "tts": { "provider": "command", "command": ["espeak-ng", "--stdin", "--stdout"] },
    });
    let found = checks(&Project::new(config));
    let levels: Vec<(&str, &str)> =
        found.iter().map(|(check, status, ..)| (check.as_str(), status.as_str())).collect();
    assert_eq!(levels, [("speaking", "ok"), ("listening", "error")], "{found:?}");
}
