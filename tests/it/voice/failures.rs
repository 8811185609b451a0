//! Recordings without a transcript: the person is told, the file is kept, and the model is not asked.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::{Scene, content_of, echo, stt};
use crate::fakes::daemon::merge;
use crate::fakes::feishu::people::Message;
use crate::fakes::voice::{FakeSpeech, SpeechReply, speak};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recogniser_that_fails_is_told_to_the_person_and_the_recording_is_kept() {
    let speech = FakeSpeech::hearing("").await;
    let mut config = stt(&speech.url());
    merge(&mut config, json!({ "voice": { "stt": { "timeoutSecs": 2 } } }));
    let scene = Scene::new(echo(), config).await;
    let daemon = scene.start().await;
    let spoken = speak("good morning how are you today").ogg;
    let quota = json!({ "error": { "message": "quota exceeded" } });
    let coded = json!({ "code": 20012, "message": "Model disabled", "data": null });
    let format = json!({ "error": { "message": "Invalid file format" } });
    for (case, reply, words) in [
        ("empty text", SpeechReply::text(" "), "I heard no words"),
        ("an error with status 200", SpeechReply::json(200, &quota), "the speech recogniser does not answer"),
        ("another shape of error", SpeechReply::json(200, &coded), "the speech recogniser does not answer"),
        (
            "a web page",
            SpeechReply::Body(200, b"<html>gateway</html>".to_vec()),
            "the speech recogniser does not answer",
        ),
        ("sound", SpeechReply::Body(200, vec![0xff, 0xfb, 0x90, 0]), "the speech recogniser does not answer"),
        ("a wrong key", SpeechReply::json(401, &quota), "the speech recogniser does not answer"),
        (
            "every format refused",
            SpeechReply::json(400, &format),
            "I cannot listen to this kind of recording",
        ),
        ("a wait of minutes", SpeechReply::Hang, "the speech recogniser does not answer"),
    ] {
        let reply = reply.clone();
        speech.answer_by(move |_| reply.clone());
        let count = |world: &crate::fakes::feishu::world::Environment| {
            world.said("oc_ada").iter().filter(|said| said.contains(words)).count()
        };
        let before = scene.feishu.look(count);
        scene.record(&spoken);
        scene.feishu.wait_for(case, |world| (count(world) > before).then_some(())).await;
        let message = scene.messages().pop().unwrap();
        let (text, url) = content_of(&message);
        assert_eq!(text, "", "{case}");
        assert!(message["metadata"]["voice"]["failure"].is_object(), "{case}: {message}");
        assert_eq!(daemon.get(&url).send().await.unwrap().bytes().await.unwrap(), spoken, "{case}");
    }
    assert_eq!(scene.model.requests().len(), 0, "the model is not asked about nothing");
    // After Chinese words the notice is Chinese, and what failed is not part of the conversation.
    scene.feishu.write(&Message::private("ou_ada", "你好"));
    scene.until_said("oc_ada", "re: 你好").await;
    speech.answer_by(|_| SpeechReply::text(""));
    scene.record(&spoken);
    scene.until_said("oc_ada", "没有听到话").await;
    let asked = scene.model.requests().pop().unwrap().body["messages"].to_string();
    assert!(!asked.contains("voice.opus") && !asked.contains("recogniser"), "{asked}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_recogniser_is_asked_again() {
    let mut asked = 0;
    let speech = FakeSpeech::start(move |_| {
        asked += 1;
        match asked {
            1 => SpeechReply::json(503, &json!({ "error": "loading the model" })),
            2 => SpeechReply::json(429, &json!({ "error": "slow down" })),
            _ => SpeechReply::text("at last"),
        }
    })
    .await;
    let scene = Scene::new(echo(), stt(&speech.url())).await;
    let _daemon = scene.start().await;
    scene.record(&speak("good morning").ogg);
    scene.until_said("oc_ada", "re: at last").await;
    assert_eq!(speech.requests().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_long_is_not_sent_and_over_http_the_answer_says_so() {
    let speech = FakeSpeech::hearing("never asked").await;
    let mut config = stt(&speech.url());
    merge(&mut config, json!({ "voice": { "stt": { "maxSecs": 1 } } }));
    let scene = Scene::new(echo(), config).await;
    let daemon = scene.start().await;
    let spoken = speak("please run the tests and tell me the result");
    assert!(crate::fakes::voice::decoded_by_opusdec(&spoken.ogg) > Duration::from_secs(1));
    scene.record(&spoken.ogg);
    scene.until_said("oc_ada", "This recording is longer than").await;
    for (kind, bytes, words) in [
        ("audio/wav", spoken.wav.as_slice(), "This recording is longer than"),
        ("audio/ogg", b"OggS".as_slice(), "I heard no words"),
    ] {
        let data = format!("data:{kind};base64,{}", BASE64_STANDARD.encode(bytes));
        let answer = daemon
            .execute(json!({ "instructions": "", "files": [{ "mediaType": kind, "url": data }] }))
            .await;
        assert!(answer["output"].as_str().unwrap().contains(words), "{answer}");
    }
    assert_eq!((speech.requests().len(), scene.model.requests().len()), (0, 0));
}
