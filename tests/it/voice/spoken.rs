//! Answers are spoken: in the format of each platform, beside their text, once.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{Scene, charges, echo, stt};
use crate::fakes::daemon::merge;
use crate::fakes::fake_model::{Reply, Script};
use crate::fakes::feishu::people::Message;
use crate::fakes::qq::QqFake;
use crate::fakes::qq::people::Place;
use crate::fakes::voice::{FakeSpeech, RealSpeech, SpeechReply, decoded_by_opusdec, plain, speak};

const ANN: Place = Place::C2c("U1");

/// The `voice` section with a voice at this address, too.
fn tts(url: &str, mode: &str) -> Value {
    json!({ "voice": { "tts": { "provider": "openai", "baseUrl": url, "model": "voice-1", "mode": mode } } })
}

/// The voice messages that the bot sent on Feishu.
async fn voice_messages(scene: &Scene, count: usize) -> Vec<(Vec<u8>, Value)> {
    scene
        .feishu
        .wait_for("voice messages", |world| {
            let audio = world.posted.iter().filter(|posted| posted.kind == "audio");
            let keys: Vec<&str> = audio.map(|posted| posted.content["file_key"].as_str().unwrap()).collect();
            let sent = keys.iter().map(|key| (world.files[*key].1.clone(), json!(world.files[*key].0)));
            (keys.len() >= count).then(|| sent.collect())
        })
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spoken_message_gets_a_spoken_answer_in_the_format_of_its_platform_and_a_written_one_does_not() {
    let speech = RealSpeech::start();
    let qq = QqFake::start().await;
    let mut config = stt(&speech.url());
    merge(&mut config, tts(&speech.url(), "inbound"));
    merge(&mut config, qq.config());
    let script = Script::compute(|seen| match seen.last_user_text() {
        "in writing" => Reply::text("in writing, too"),
        _ => Reply::text("**Good morning**, how are you today?\n\n```sh\nls\n```"),
    });
    let scene = Scene::new(script, config).await;
    let daemon = scene.start().await;
    scene.feishu.write(&Message::private("ou_ada", "in writing"));
    scene.until_said("oc_ada", "in writing, too").await;
    let asked = speak("what time is it in shanghai");
    scene.record(&asked.ogg);
    let sent = voice_messages(&scene, 1).await;
    assert!(decoded_by_opusdec(&sent[0].0) > Duration::from_secs(1), "Ogg/Opus with speech in it");
    assert!(
        scene.feishu.look(|world| world.said("oc_ada")).iter().any(|said| said.contains("ls")),
        "the text is sent as well"
    );

    let wav = qq.file("v.wav", &asked.wav);
    qq.says_with(
        ANN,
        "",
        json!({ "attachments": [{ "content_type": "voice", "filename": "v.amr",
        "url": "http://127.0.0.1:9/x", "voice_wav_url": wav }] }),
    );
    let upload = qq.wait_for("an upload", |rules| rules.uploads.first().cloned()).await;
    assert!(upload.bytes.starts_with(b"RIFF"), "WAV");
    let rate = u64::from(u32::from_le_bytes(upload.bytes[24..28].try_into().unwrap()));
    let millis = (upload.bytes.len() as u64 - 44) / 2 * 1000 / rate;
    assert!((1_000..20_000).contains(&millis), "a sentence of speech: {millis} ms at {rate} Hz");
    qq.text_with("U1", "how are you today").await;

    // Over HTTP, the sound is made on demand, and it is what was answered.
    let data = format!("data:audio/ogg;base64,{}", BASE64_STANDARD.encode(&asked.ogg));
    let file = json!({ "mediaType": "audio/ogg", "url": data });
    let answer = daemon.execute(json!({ "instructions": "", "files": [file], "chatId": "spoken" })).await;
    assert_eq!(answer["status"], "done", "{answer}");
    let messages = daemon.get_json("/api/threads/api:chat:spoken/messages").await;
    let last = messages["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["metadata"]["speech"], true, "{last}");
    let path = format!("/api/threads/api:chat:spoken/messages/{}/speech", last["id"].as_str().unwrap());
    let response = daemon.get(&path).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "audio/ogg");
    let sound = response.bytes().await.unwrap();
    let form = reqwest::multipart::Form::new()
        .text("model", "tiny")
        .part("file", reqwest::multipart::Part::bytes(sound.to_vec()).file_name("a.ogg"));
    let url = format!("{}/audio/transcriptions", speech.url());
    let heard: Value =
        reqwest::Client::new().post(url).multipart(form).send().await.unwrap().json().await.unwrap();
    assert!(plain(heard["text"].as_str().unwrap()).starts_with("good morning"), "{heard}");
    let posted = voice_messages(&scene, 1).await;
    assert_eq!(posted.len(), 1, "what was written is not answered by voice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_asked_for_the_configured_format_only() {
    let wav = speak("one two three four five").wav;
    let speech = FakeSpeech::hearing("").await;
    speech.answer_by(move |_| SpeechReply::Body(200, wav.clone()));
    let mut config = tts(&speech.url(), "always");
    merge(&mut config, json!({ "voice": { "tts": { "format": "wav" } } }));
    let scene = Scene::new(echo(), config).await;
    let _daemon = scene.start().await;
    scene.feishu.write(&Message::private("ou_ada", "hello"));
    let sent = voice_messages(&scene, 1).await;
    assert!(decoded_by_opusdec(&sent[0].0) > Duration::from_secs(1), "WAV became Ogg/Opus");
    let formats: Vec<Value> =
        speech.requests().iter().map(|request| request.json["response_format"].clone()).collect();
    assert_eq!(formats, ["wav"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_server_sends_becomes_opus_and_what_is_no_sound_leaves_the_text() {
    let wav = speak("one two three four five").wav;
    let speech = FakeSpeech::hearing("").await;
    let scene = Scene::new(echo(), tts(&speech.url(), "always")).await;
    let _daemon = scene.start().await;
    let mp3 = [b"ID3\x04".as_slice(), &[0; 600]].concat();
    let refused = json!({ "error": { "message": "response_format opus is not supported" } });
    for (case, first, sent) in [
        ("opus refused", SpeechReply::json(400, &refused), true),
        ("MP3 though opus was asked for", SpeechReply::Body(200, mp3), true),
        ("an error with status 200", SpeechReply::json(200, &refused), false),
        ("a wrong key", SpeechReply::json(401, &refused), false),
    ] {
        let (first, wav) = (first.clone(), wav.clone());
        speech.answer_by(move |request| match request.json["response_format"].as_str() {
            Some("opus") => first.clone(),
            _ => SpeechReply::Body(200, wav.clone()),
        });
        let (before, said) = scene.feishu.look(|world| {
            (world.posted.iter().filter(|posted| posted.kind == "audio").count(), world.said("oc_ada").len())
        });
        let asked = speech.requests().len();
        scene.feishu.write(&Message::private("ou_ada", case));
        scene.feishu.wait_for(case, |world| (world.said("oc_ada").len() > said).then_some(())).await;
        speech.wait_for_requests(asked + 1).await;
        if sent {
            let sound = voice_messages(&scene, before + 1).await.pop().unwrap().0;
            let length = decoded_by_opusdec(&sound);
            let original =
                Duration::from_millis((speak("one two three four five").wav.len() as u64 - 44) / 32);
            assert!(
                length.abs_diff(original) < Duration::from_millis(100),
                "{case}: {length:?} {original:?}"
            );
        }
        scene.feishu.write(&Message::private("ou_ada", "/status"));
        scene
            .feishu
            .wait_for("the status", |world| (world.said("oc_ada").len() > said + 1).then_some(()))
            .await;
    }
    let requests = speech.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.path == "/v1/audio/speech" && request.json["model"] == "voice-1")
    );
    assert_eq!(requests[0].json["input"], "re: opus refused.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_while_an_answer_is_being_spoken_neither_loses_nor_doubles_it() {
    let wav = speak("one two three four five").wav;
    let speech = FakeSpeech::start(|_| SpeechReply::Hang).await;
    let scene = Scene::new(echo(), tts(&speech.url(), "always")).await;
    let daemon = scene.start().await;
    scene.feishu.write(&Message::private("ou_ada", "hello"));
    scene.until_said("oc_ada", "re: hello").await;
    speech.wait_for_requests(1).await;
    daemon.kill();
    speech.answer_by(move |_| SpeechReply::Body(200, wav.clone()));
    let daemon = scene.start().await;
    voice_messages(&scene, 1).await;
    daemon.until("an empty outbox", async |_| scene.project.log().contains("speech service used")).await;
    daemon.kill();
    let _daemon = scene.start().await;
    scene.feishu.write(&Message::private("ou_ada", "again"));
    let sent = voice_messages(&scene, 2).await;
    assert_eq!(sent.len(), 2, "one for each answer");
    let texts = scene.feishu.look(|world| world.said("oc_ada"));
    assert_eq!(texts.iter().filter(|text| text.contains("re: hello")).count(), 1, "{texts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn speech_is_charged_also_where_the_server_never_answers_and_refused_while_calls_are_stopped() {
    let speech = FakeSpeech::start(|_| SpeechReply::Hang).await;
    let mut config = tts(&speech.url(), "always");
    merge(&mut config, stt(&speech.url()));
    merge(
        &mut config,
        json!({
            "voice": { "tts": { "timeoutSecs": 1 } },
            "owners": ["feishu:user:ou_ada"],
            "budget": { "prices": { "voice-1": { "characters": 1_000 } } },
        }),
    );
    let scene = Scene::new(echo(), config).await;
    let daemon = scene.start().await;
    scene.feishu.write(&Message::private("ou_ada", "hello"));
    scene.until_said("oc_ada", "re: hello").await;
    daemon.until("the charge", async |_| charges(&scene.project, "tts").len() == 1).await;
    let charge = charges(&scene.project, "tts").remove(0);
    let expected = (&json!(10), &json!(10_000), &json!("uncertain"), &json!("feishu:chat:oc_ada"));
    assert_eq!(
        (&charge["chars"], &charge["cost"], &charge["source"], &charge["threadId"]),
        expected,
        "{charge}"
    );

    scene.feishu.write(&Message::private("ou_ada", "/budget stop"));
    scene.until_said("oc_ada", "All model calls are stopped").await;
    let asked = speech.requests().len();
    scene.record(&speak("what time is it in shanghai").ogg);
    scene.until_said("oc_ada", "I did not listen to this recording: an owner has stopped").await;
    assert_eq!(speech.requests().len(), asked, "nothing was sent to be heard");
    assert_eq!(charges(&scene.project, "stt").len(), 0);
}
