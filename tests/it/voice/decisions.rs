//! Spoken words decide nothing, on any platform, and written ones stop what is still being heard.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::{Scene, content_of, echo, messages_of, stt};
use crate::fakes::daemon::{Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::feishu::people::Message;
use crate::fakes::qq::QqFake;
use crate::fakes::qq::people::Place;
use crate::fakes::telegram::post::{File, Post};
use crate::fakes::telegram::server::FakeTelegram;
use crate::fakes::voice::{FakeSpeech, SpeechReply, speak};

const ANN: i64 = 7;

/// Asks to make a file.
fn maker() -> Script {
    Script::compute(|seen| {
        match seen.body["messages"].as_array().unwrap().last().unwrap()["role"] == "tool" {
            true => Reply::text("finished"),
            false => Reply::calls([("exec_shell", json!({ "command": "touch made" }))]),
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_by_voice_is_asked_back_on_telegram() {
    let (speech, telegram) = (FakeSpeech::hearing("Approve A1.").await, FakeTelegram::start().await);
    let model = FakeModel::start(maker()).await;
    let mut config = stt(&speech.url());
    let section = json!({ "botToken": telegram.token(), "apiUrl": telegram.url(), "allowedUsers": [ANN] });
    merge(&mut config, json!({ "language": "en", "adapters": { "telegram": section } }));
    let project = Project::with_model(&model.url(), config);
    let _daemon = project.start().await;
    let ann = telegram.user(ANN, "Ann");
    let chat = telegram.private(&ann);
    let told = async |words: &'static str| {
        telegram.wait_for(|world| world.bot_texts(ANN).iter().any(|text| text.contains(words))).await;
    };
    chat.say(&ann, "make it");
    told("touch made").await;
    chat.post(&ann, Post::file("voice", File::new("voice.oga", "audio/ogg", speak("approve a one").ogg)));
    told("a spoken message decides nothing. What about A1?").await;
    assert!(!project.path().join("made").exists());
    chat.say(&ann, "approve A1");
    told("finished").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transcript_of_qq_is_no_command_and_decides_nothing() {
    let qq = QqFake::start().await;
    let model = FakeModel::start(maker()).await;
    let mut config = qq.config();
    merge(&mut config, json!({ "language": "en", "queue": { "mergeMs": 0 } }));
    let project = Project::with_model(&model.url(), config);
    let _daemon = project.start().await;
    let place = Place::C2c("U1");
    qq.says(place, "make it");
    qq.text_with("U1", "touch made").await;
    // The platform sends its transcript, and no recording.
    for words in ["/approve A1", "approve A1"] {
        let spoken = json!({ "attachments": [{ "content_type": "voice", "asr_refer_text": words }] });
        qq.says_with(place, "", spoken);
        qq.text_with("U1", &format!("I heard “{words}”, but a spoken message decides nothing")).await;
        assert!(!project.path().join("made").exists(), "{words}");
        qq.rule(|rules| rules.sent.clear());
    }
    let status = json!({ "attachments": [{ "content_type": "voice", "asr_refer_text": "/stop" }] });
    qq.says_with(place, "", status);
    qq.says(place, "/approve A1");
    qq.text_with("U1", "finished").await;
    assert!(project.path().join("made").exists(), "nothing was stopped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_while_a_recording_is_heard_keeps_it_and_answers_nothing() {
    let speech = FakeSpeech::start(|_| SpeechReply::Hang).await;
    let scene = Scene::new(echo(), stt(&speech.url())).await;
    let daemon = scene.start().await;
    let spoken = speak("show me the last five commits");
    scene.record(&spoken.ogg);
    speech.wait_for_requests(1).await;
    scene.feishu.write(&Message::private("ou_ada", "/stop"));
    scene.until_said("oc_ada", "Stopped. Your message had not been read yet").await;
    scene.feishu.write(&Message::private("ou_ada", "the end"));
    scene.until_said("oc_ada", "re: the end").await;
    let messages = scene.messages();
    let (text, url) = content_of(&messages[0]);
    assert!(text.contains("stopped by its author"), "{messages:?}");
    assert_eq!(daemon.get(&url).send().await.unwrap().bytes().await.unwrap(), spoken.ogg, "it is kept");
    assert_eq!(scene.model.requests().len(), 1, "only what came after the stop is answered");
    scene.feishu.write(&Message::private("ou_ada", "/stop"));
    scene.until_said("oc_ada", "Nothing is running").await;
    daemon.kill();
    let _daemon = scene.start().await;
    scene.feishu.write(&Message::private("ou_ada", "again"));
    scene.until_said("oc_ada", "re: again").await;
    assert_eq!((speech.requests().len(), scene.model.requests().len()), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_a_recording_and_what_waits_behind_it_on_every_platform() {
    let speech = FakeSpeech::start(|_| SpeechReply::Hang).await;
    let (telegram, qq) = (FakeTelegram::start().await, QqFake::start().await);
    let mut config = stt(&speech.url());
    merge(&mut config, qq.config());
    let section = json!({ "botToken": telegram.token(), "apiUrl": telegram.url(), "allowedUsers": [ANN] });
    merge(&mut config, json!({ "language": "en", "adapters": { "telegram": section } }));
    let scene = Scene::new(echo(), config).await;
    let _daemon = scene.start().await;
    let (ann, person) = (telegram.user(ANN, "Ann"), Place::C2c("U1"));
    let chat = telegram.private(&ann);
    let spoken = speak("show me the last five commits");
    scene.record(&spoken.ogg);
    chat.post(&ann, Post::file("voice", File::new("voice.oga", "audio/ogg", spoken.ogg.clone())));
    let url = qq.file("v.wav", &spoken.wav);
    let voice = json!({ "content_type": "voice", "filename": "v.amr", "url": url, "voice_wav_url": url });
    qq.says_with(person, "", json!({ "attachments": [voice] }));
    speech.wait_for_requests(3).await;
    let write = |words: &str| {
        scene.feishu.write(&Message::private("ou_ada", words));
        chat.say(&ann, words);
        qq.says(person, words);
    };
    let told = async |words: &'static str| {
        scene.until_said("oc_ada", words).await;
        telegram.wait_for(|world| world.bot_texts(ANN).iter().any(|text| text.contains(words))).await;
        qq.text_with("U1", words).await;
    };
    // The message behind the recording is stopped as soon as it has been received.
    write("behind it");
    write("/stop");
    told("Stopped. Your message had not been read yet").await;
    write("the end");
    told("the end").await;
    assert_eq!(scene.model.requests().len(), 3, "only what came after the stop is answered");
    for thread in ["feishu:chat:oc_ada", "telegram:chat:7", "qq:chat:U1"] {
        let texts: Vec<String> =
            messages_of(&scene.project, thread).iter().map(|message| content_of(message).0).collect();
        assert!(texts[0].contains("stopped by its author"), "{thread}: {texts:?}");
        assert_eq!(texts[1..], ["behind it", "the end"], "{thread}: all of it is kept");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_requests_with_one_message_are_heard_once() {
    let speech = FakeSpeech::hearing("good morning").await;
    let model = FakeModel::start(echo()).await;
    let project = Project::with_model(&model.url(), stt(&speech.url()));
    let daemon = project.start().await;
    let data = format!("data:audio/ogg;base64,{}", BASE64_STANDARD.encode(speak("good morning").ogg));
    let file = json!({ "mediaType": "audio/ogg", "url": data });
    let body = json!({ "instructions": "", "files": [file], "chatId": "spoken", "messageId": "m-1" });
    let (one, two, three) =
        tokio::join!(daemon.execute(body.clone()), daemon.execute(body.clone()), daemon.execute(body));
    for answer in [one, two, three] {
        assert_eq!(answer["output"], "re: good morning");
    }
    assert_eq!((speech.requests().len(), messages_of(&project, "api:chat:spoken").len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recording_of_more_megabytes_than_allowed_is_not_sent() {
    let speech = FakeSpeech::hearing("never asked").await;
    let mut config = stt(&speech.url());
    merge(&mut config, json!({ "voice": { "stt": { "maxMb": 1 } } }));
    let scene = Scene::new(echo(), config).await;
    let _daemon = scene.start().await;
    scene.record(&[b"OggS".as_slice(), &vec![0; (1 << 20) + 1]].concat());
    scene.until_said("oc_ada", "larger than 1 MB").await;
    assert_eq!((speech.requests().len(), scene.model.requests().len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_behind_other_recordings_does_not_count_against_the_deadline() {
    let speech = FakeSpeech::start(|_| SpeechReply::Later(Duration::from_secs(3), "good morning")).await;
    let model = FakeModel::start(echo()).await;
    let mut config = stt(&speech.url());
    merge(&mut config, json!({ "voice": { "stt": { "timeoutSecs": 5 } } }));
    let project = Project::with_model(&model.url(), config);
    let daemon = project.start().await;
    let data = format!("data:audio/ogg;base64,{}", BASE64_STANDARD.encode(speak("good morning").ogg));
    let file = json!({ "mediaType": "audio/ogg", "url": data });
    // Four are heard at a time.
    let ask = |number: usize| {
        daemon.execute(json!({ "instructions": "", "files": [file.clone()], "chatId": format!("c{number}") }))
    };
    let answers = futures_util::future::join_all((0..8).map(ask)).await;
    for answer in answers {
        assert_eq!(answer["output"], "re: good morning");
    }
}
