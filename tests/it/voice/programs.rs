//! Programs of this machine transcribe and speak, in the sandbox.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::{Scene, echo};
use crate::fakes::daemon::{Project, merge};
use crate::fakes::feishu::people::Message;
use crate::fakes::voice::{FakeSpeech, SpeechReply, decoded_by_opusdec, speak};

/// Prints what it can see.
const HEAR: &str = r#"#!/bin/sh
head -c 4 "$1"
[ -e ../Agent.md ] || [ -e SECRET ] && echo " sees the project"
(exec 3<>/dev/tcp/127.0.0.1/1) 2>/dev/null && echo " has a network"
echo " heard $(wc -c < "$1") bytes"
"#;

fn script(project: &Project, name: &str, text: &str) {
    project.write(name, text);
    std::fs::set_permissions(project.path().join(name), Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_hears_and_another_speaks_and_neither_sees_the_project() {
    let scene = Scene::new(echo(), json!({})).await;
    let secret = scene.project.path().join("secret.txt");
    let mut config: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(scene.project.path().join("ship.json")).unwrap())
            .unwrap();
    merge(
        &mut config,
        json!({ "voice": {
        "stt": { "provider": "command", "command": ["./hear", "{file}"] },
        "tts": { "provider": "command", "command": ["espeak-ng", "--stdin", "--stdout"] },
    } }),
    );
    scene.project.write("ship.json", &config.to_string());
    scene.project.write("secret.txt", "nobody's business");
    script(&scene.project, "hear", &HEAR.replace("SECRET", secret.to_str().unwrap()));
    let _daemon = scene.start().await;
    let spoken = speak("one two three four five");
    scene.record(&spoken.ogg);
    scene.until_said("oc_ada", &format!("re: OggS heard {} bytes", spoken.ogg.len())).await;
    let sent = scene
        .feishu
        .wait_for("a voice message", |world| {
            let posted = world.posted.iter().find(|posted| posted.kind == "audio")?;
            Some(world.files[posted.content["file_key"].as_str()?].1.clone())
        })
        .await;
    assert!(decoded_by_opusdec(&sent).as_millis() > 500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_hears_gets_the_recording_as_a_chat_message() {
    let speech = FakeSpeech::start(|_| {
        SpeechReply::json(200, &json!({ "choices": [{ "message": { "content": "by chat" } }] }))
    })
    .await;
    let config = json!({ "voice": { "stt": { "provider": "chat-audio", "baseUrl": speech.url(), "apiKey": "k",
        "model": "qwen3-asr-flash", "language": "en", "prompt": "Names: Ann" } } });
    let scene = Scene::new(echo(), config).await;
    let _daemon = scene.start().await;
    let spoken = speak("good morning").ogg;
    scene.record(&spoken);
    scene.until_said("oc_ada", "re: by chat").await;
    scene.feishu.write(&Message::private("ou_ada", "and so on"));
    scene.until_said("oc_ada", "re: and so on").await;
    let requests = speech.requests();
    assert_eq!(requests.len(), 1);
    let body = &requests[0].json;
    let data = format!("data:audio/ogg;base64,{}", BASE64_STANDARD.encode(&spoken));
    let expected = json!([
        { "role": "system", "content": "Names: Ann" },
        { "role": "user", "content": [{ "type": "input_audio", "input_audio": { "data": data } }] },
    ]);
    assert_eq!((requests[0].path.as_str(), &body["messages"]), ("/v1/chat/completions", &expected));
    assert_eq!((&body["model"], &body["asr_options"]["language"]), (&json!("qwen3-asr-flash"), &json!("en")));
}
