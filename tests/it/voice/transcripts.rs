//! Recordings become the text of their messages.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::{Scene, charges, content_of, echo, messages_of, stt};
use crate::fakes::daemon::merge;
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::feishu::people::Message;
use crate::fakes::qq::QqFake;
use crate::fakes::qq::people::Place;
use crate::fakes::voice::{FakeSpeech, RealSpeech, SpeechReply, plain, speak};

const ANN: Place = Place::C2c("U1");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_speech_becomes_the_text_of_the_message_on_feishu_qq_and_http() {
    let speech = RealSpeech::start();
    let qq = QqFake::start().await;
    let mut config = stt(&speech.url());
    merge(&mut config, qq.config());
    let scene = Scene::new(echo(), config).await;
    let daemon = scene.start().await;

    let files = speak("how many files are in this project");
    scene.record(&files.ogg);
    scene.until_said("oc_ada", "ow many files are in this project").await;
    let message = scene.messages().pop().unwrap();
    let (text, url) = content_of(&message);
    assert_eq!(plain(&text), "how many files are in this project");
    let voice = &message["metadata"]["voice"];
    assert_eq!((&voice["transcriber"], &voice["model"]), (&json!("configured"), &json!("tiny")), "{message}");
    assert!(voice["milliseconds"].as_u64().is_some_and(|long| (1000..10_000).contains(&long)), "{voice}");
    let original = daemon.get(&url).send().await.unwrap().bytes().await.unwrap();
    assert_eq!(original, files.ogg, "the recording is kept");
    let asked = scene.model.requests().pop().unwrap().body["messages"].to_string();
    assert!(
        asked.contains("[Voice message") && !asked.contains("voice.opus"),
        "the model reads the words: {asked}"
    );

    let tests = speak("please run the tests and tell me the result");
    let wav = qq.file("v.wav", &tests.wav);
    let voice = json!({ "attachments": [{ "content_type": "voice", "filename": "v.amr", "url": "http://127.0.0.1:9/x",
        "voice_wav_url": wav, "asr_refer_text": "fleece run the pests" }] });
    qq.says_with(ANN, "", voice);
    let told = qq.text_with("U1", "run the tests").await;
    assert_eq!(plain(&told.text), "re please run the tests and tell me the result");

    let time = speak("what time is it in shanghai");
    let data = format!("data:audio/ogg;base64,{}", BASE64_STANDARD.encode(&time.ogg));
    let file = json!({ "mediaType": "audio/ogg", "url": data, "filename": "ask.ogg" });
    let body = json!({ "instructions": "", "files": [file], "chatId": "spoken", "messageId": "m-1" });
    let answer = daemon.execute(body.clone()).await;
    assert_eq!(plain(answer["output"].as_str().unwrap()), "re what time is it in shanghai", "{answer}");
    let (_, url) = content_of(&messages_of(&scene.project, "api:chat:spoken")[0]);
    assert_eq!(daemon.get(&url).send().await.unwrap().bytes().await.unwrap(), time.ogg);
    let again = daemon.execute(body).await;
    assert_eq!(again["output"], answer["output"], "the same message is not heard again");
    assert_eq!(messages_of(&scene.project, "api:chat:spoken").len(), 1);
    assert!(!scene.project.log().contains("stt-key-canary"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_refuses_ogg_gets_wav() {
    let refuse = json!({ "error": { "message": "Invalid file format. Supported formats: ['wav']" } });
    let speech = FakeSpeech::start(move |request| match request.file_name() {
        "voice.wav" => SpeechReply::text("as wav"),
        _ => SpeechReply::json(400, &refuse),
    })
    .await;
    let mut config = stt(&speech.url());
    merge(&mut config, json!({ "voice": { "stt": { "language": "en", "prompt": "shipagent" } } }));
    let scene = Scene::new(echo(), config).await;
    let _daemon = scene.start().await;
    let spoken = speak("one two three four five");
    scene.record(&spoken.ogg);
    scene.until_said("oc_ada", "re: as wav").await;
    let requests = speech.requests();
    let names: Vec<&str> = requests.iter().map(|request| request.file_name()).collect();
    assert_eq!(names, ["voice.ogg", "voice.wav"]);
    for request in &requests {
        assert_eq!(
            (request.path.as_str(), request.fields["model"].as_str()),
            ("/v1/audio/transcriptions", "tiny")
        );
        assert_eq!(
            (request.fields["language"].as_str(), request.fields["prompt"].as_str()),
            ("en", "shipagent")
        );
        assert_eq!(request.authorization.as_deref(), Some("Bearer stt-key-canary"));
    }
    let (_, kind, wav) = requests[1].file.clone().unwrap();
    assert_eq!(kind, "audio/wav");
    assert!(wav.starts_with(b"RIFF") && wav[24..28] == 16_000_u32.to_le_bytes(), "16 kHz");
    let length = (wav.len() - 44) as f64 / 32_000.0;
    let original = (spoken.wav.len() - 44) as f64 / 32_000.0;
    assert!((length - original).abs() < 0.1, "{length} {original}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_platforms_own_transcript_is_used_where_there_is_no_better_one() {
    let qq = QqFake::start().await;
    let speech = FakeSpeech::start(|_| SpeechReply::json(401, &json!({ "error": "no" }))).await;
    let wav = qq.file("v.wav", &speak("good morning").wav);
    let both = json!({ "attachments": [{ "content_type": "voice", "filename": "v.amr", "url": "http://127.0.0.1:9/x",
        "voice_wav_url": wav, "asr_refer_text": "as QQ heard it" }] });
    let silk = qq.file("v.silk", &[b"\x02#!SILK_V3".as_slice(), &[7; 2000]].concat());
    let silk = json!({ "attachments": [{ "content_type": "voice", "filename": "v.silk", "url": silk }] });
    let model = FakeModel::start(echo()).await;
    for config in [json!({}), stt(&speech.url())] {
        let recognises = config["voice"].is_object();
        let mut config = config;
        merge(&mut config, qq.config());
        merge(&mut config, json!({ "queue": { "mergeMs": 0 } }));
        let project = crate::fakes::daemon::Project::with_model(&model.url(), config);
        let _daemon = project.start().await;
        qq.says_with(ANN, "", both.clone());
        qq.text_with("U1", "re: as QQ heard it").await;
        let message = messages_of(&project, "qq:chat:U1").pop().unwrap();
        assert_eq!(message["metadata"]["voice"]["transcriber"], "platform", "{message}");
        if recognises {
            let before = model.requests().len();
            qq.says_with(ANN, "", silk.clone());
            qq.text_with("U1", "I cannot listen to this kind of recording").await;
            assert_eq!(model.requests().len(), before, "nothing is sent to the model");
        }
        qq.rule(|rules| rules.sent.clear());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_during_transcription_leaves_one_transcript_and_meanwhile_everything_else_goes_on() {
    let speech = FakeSpeech::start(|_| SpeechReply::Hang).await;
    let scene = Scene::new(echo(), stt(&speech.url())).await;
    let daemon = scene.start().await;
    let spoken = speak("show me the last five commits");
    let id = scene.record(&spoken.ogg);
    scene.feishu.acknowledgement(&format!("{id}-first")).await;
    speech.wait_for_requests(1).await;
    scene.feishu.write(&Message::private("ou_ada", "after it"));
    scene.feishu.write(&Message::private("ou_ada", "/status"));
    scene.until_said("oc_ada", "Idle").await;
    scene.feishu.write(&Message::group("oc_group", "ou_bo", "elsewhere").mentioning());
    scene.until_said("oc_group", "re: elsewhere").await;
    assert_eq!(scene.messages().len(), 0, "later words wait for the transcript");

    daemon.kill();
    speech.answer_by(|_| SpeechReply::text("show me the commits"));
    let daemon = scene.start().await;
    scene.until_said("oc_ada", "re: after it").await;
    let texts: Vec<String> = scene.messages().iter().map(|message| content_of(message).0).collect();
    assert_eq!(texts, ["show me the commits", "after it"]);
    assert_eq!(speech.requests().len(), 2, "once before the kill, once after it");
    daemon.until("the charge", async |_| charges(&scene.project, "stt").len() == 1).await;
    daemon.kill();
    let _daemon = scene.start().await;
    scene.feishu.write(&Message::private("ou_ada", "the end"));
    scene.until_said("oc_ada", "re: the end").await;
    assert_eq!(speech.requests().len(), 2, "a transcript is written once");
    let charged = charges(&scene.project, "stt");
    let [charge] = charged.as_slice() else { panic!("one charge: {charged:?}") };
    assert_eq!((&charge["threadId"], &charge["model"]), (&json!("feishu:chat:oc_ada"), &json!("tiny")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_by_voice_is_asked_back_with_buttons_and_decides_nothing() {
    let script = Script::compute(|seen| {
        let last = seen.body["messages"].as_array().unwrap().last().unwrap().clone();
        match last["role"] == "tool" {
            true => Reply::text("finished"),
            false => Reply::calls([("exec_shell", json!({ "command": "touch made" }))]),
        }
    });
    let speech = FakeSpeech::hearing("Approve A1.").await;
    let mut config = stt(&speech.url());
    merge(&mut config, json!({ "language": "en", "approvals": { "whileWaiting": "supersede" } }));
    let scene = Scene::new(script, config).await;
    let _daemon = scene.start().await;
    scene.feishu.write(&Message::private("ou_ada", "make it"));
    let question = scene.feishu.question("oc_ada").await;
    scene.record(&speak("approve a one").ogg);
    scene
        .until_said("oc_ada", "I heard “Approve A1.”, but a spoken message decides nothing. What about A1?")
        .await;
    let back = scene.feishu.question("oc_ada").await;
    assert_ne!(back.id, question.id);
    assert!(!scene.project.path().join("made").exists());
    // Unclear words neither decide nor withdraw the question.
    speech.answer_by(|_| SpeechReply::text("a plain hey won"));
    scene.record(&speak("one two three").ogg);
    speech.wait_for_requests(2).await;
    scene.feishu.press(&back, "A1", "ou_ada");
    scene.until_said("oc_ada", "finished").await;
    assert!(scene.project.path().join("made").exists());
}
