//! The microphone button and spoken answers, with a browser whose microphone plays a file.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::project::{EN, asking};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::daemon::{Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::voice::{FakeSpeech, SpeechReply, speak};
use crate::fakes::webdriver::key;

const WORDS: &str = "show me the last five commits";

/// How loud a sound is, and how long, as this browser decodes it.
const MEASURE: &str = "(async () => {
    const bytes = Uint8Array.from(atob(window.sound), (c) => c.charCodeAt(0));
    const sound = await new OfflineAudioContext(1, 16000, 16000).decodeAudioData(bytes.buffer);
    const samples = sound.getChannelData(0);
    const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
    return [sound.duration, Math.sqrt(power)];
})()";

fn with_voice(model: &FakeModel, speech: &FakeSpeech) -> Project {
    let project = asking(model);
    let text = std::fs::read_to_string(project.path().join("ship.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
    let server = json!({ "provider": "openai", "baseUrl": speech.url(), "model": "m" });
    merge(&mut config, json!({ "voice": { "stt": server, "tts": server } }));
    project.write("ship.json", &config.to_string());
    project
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_into_the_microphone_is_sent_as_text_and_the_answer_can_be_heard() {
    let spoken = speak(WORDS);
    let sound = spoken.ogg.clone();
    // The recogniser takes WAV only.
    let refusal = json!({ "error": { "message": "Invalid file format. Supported formats: ['wav']" } });
    let speech = FakeSpeech::start(move |request| match (request.path.as_str(), request.file_name()) {
        ("/v1/audio/speech", _) => SpeechReply::Body(200, sound.clone()),
        (_, "voice.wav") => SpeechReply::text(WORDS),
        _ => SpeechReply::json(400, &refusal),
    })
    .await;
    let script = Script::compute(|seen| Reply::text(&format!("re: {}", seen.last_user_text())));
    let model = FakeModel::start(script).await;
    let project = with_voice(&model, &speech);
    let daemon = project.start().await;
    let console = Console::open_with_microphone(&daemon, DESKTOP, EN, &spoken.wav).await;
    console.until_visible("record", true).await;

    // Escape discards.
    console.browser.click(&part("record")).await;
    console.until_visible("record-time", true).await;
    console.assert_accessible().await;
    console.browser.picture("recording").await;
    console.browser.press(&key::ESCAPE.to_string()).await;
    console.until_visible("record-time", false).await;
    assert_eq!(console.messages().await, []);

    console.browser.click(&part("record")).await;
    console.until("document.querySelector('[data-testid=record-time]').innerText === '0:03'").await;
    console.browser.click(&part("record")).await;
    console.until_visible("record-time", false).await;
    console.until(&format!("document.querySelector('#log').innerText.includes('re: {WORDS}')")).await;
    console.until_idle().await;
    assert_eq!(speech.requests().len(), 2, "the discarded recording was not sent");
    let shown = console.messages().await;
    assert!(shown[0].1.contains(WORDS), "the transcript is the text of the message: {shown:?}");

    // What arrived is the sound of the microphone, as the browser recorded it and as it was decoded for the server.
    for (request, expected) in speech.requests().iter().zip([("webm", "audio/webm"), ("wav", "audio/wav")]) {
        let (name, kind, bytes) = request.file.clone().unwrap();
        assert_eq!((name, kind.as_str()), (format!("voice.{}", expected.0), expected.1));
        let script = format!("window.sound = {}", json!(BASE64_STANDARD.encode(&bytes)));
        let measured = console.browser.run_in_page(&script, MEASURE).await;
        let (seconds, loudness) =
            (measured[0].as_f64().unwrap_or_default(), measured[1].as_f64().unwrap_or_default());
        assert!(seconds > 1.0 && loudness > 0.005, "{expected:?}: {measured}");
    }

    // The answer as sound, and the recording once more.
    for (role, button) in [("assistant", "listen"), ("user", "sound")] {
        console.browser.click(&format!("[data-role={role}] {}", part(button))).await;
        console.until("document.querySelector('[data-testid=player]')?.duration > 0.5").await;
        console.browser.eval("(document.querySelector('[data-testid=player]').remove(), 1)").await;
    }
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_recogniser_there_is_no_microphone() {
    let model = FakeModel::start(Reply::text("well")).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open_with_microphone(&daemon, DESKTOP, EN, &speak("hello").wav).await;
    console.say("hello").await;
    console.until_messages(&[("user", "hello"), ("assistant", "well")]).await;
    assert!(!console.sees("record").await && !console.sees("listen").await);
}
