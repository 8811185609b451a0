//! Voice on Telegram: real speech comes in, and the answer goes out as a voice message.

use std::time::Duration;

use serde_json::json;

use super::{charges, content_of, messages_of, stt};
use crate::fakes::daemon::{Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::telegram::post::{File, Post};
use crate::fakes::telegram::server::FakeTelegram;
use crate::fakes::voice::{FakeSpeech, RealSpeech, SpeechReply, decoded_by_opusdec, plain, speak};

const ANN: i64 = 7;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_speech_on_telegram_is_heard_and_answered_by_a_voice_message() {
    let (speech, telegram) = (RealSpeech::start(), FakeTelegram::start().await);
    let script = Script::compute(|seen| Reply::text(&format!("You said: {}", seen.last_user_text())));
    let model = FakeModel::start(script).await;
    let mut config = stt(&speech.url());
    merge(
        &mut config,
        json!({
            "queue": { "mergeMs": 0 },
            "llm": { "timeoutSecs": 60 },
            "voice": { "tts": { "provider": "openai", "baseUrl": speech.url(), "model": "voice-1" } },
            "adapters": { "telegram": { "botToken": telegram.token(), "apiUrl": telegram.url(),
                "allowedUsers": [ANN] } },
        }),
    );
    let project = Project::with_model(&model.url(), config);
    let _daemon = project.start().await;
    let ann = telegram.user(ANN, "Ann");
    let chat = telegram.private(&ann);
    let asked = speak("show me the last five commits");
    chat.post(&ann, Post::file("voice", File::new("voice.oga", "audio/ogg", asked.ogg.clone())));
    let spoken = |world: &crate::fakes::telegram::world::Environment| {
        world.visible(ANN).into_iter().any(|seen| seen.by_bot && seen.media == Some("voice"))
    };
    telegram.wait_for(spoken).await;
    let told = telegram.read(|world| world.bot_texts(ANN));
    let text = told.iter().find(|text| text.starts_with("You said")).unwrap_or_else(|| panic!("{told:?}"));
    assert_eq!(plain(text), "you said show me the last five commits");
    let (text, _) = content_of(&messages_of(&project, "telegram:chat:7")[0]);
    assert_eq!(plain(&text), "show me the last five commits");
    let sounds: Vec<Vec<u8>> =
        telegram.read(|world| world.files.values().map(|file| file.bytes.clone()).collect());
    let answers: Vec<&Vec<u8>> = sounds.iter().filter(|bytes| **bytes != asked.ogg).collect();
    let [answer] = answers.as_slice() else { panic!("{} files were sent", answers.len()) };
    let length = decoded_by_opusdec(answer);
    assert!(length > Duration::from_secs(1), "Ogg/Opus with speech in it");
    let shown = telegram.read(|world| {
        world.room(ANN).messages.values().rev().find_map(|message| message["voice"]["duration"].as_u64())
    });
    let seconds = u64::try_from(length.as_millis().div_ceil(1000)).unwrap();
    assert!(shown.is_some_and(|shown| shown.abs_diff(seconds) <= 1), "{shown:?} of {seconds} s");
    assert_eq!((charges(&project, "stt").len(), charges(&project, "tts").len()), (1, 1));

    // What was understood can be looked up; a written command is no spoken message.
    chat.say(&ann, "/transcript");
    let words = |world: &crate::fakes::telegram::world::Environment| {
        world.bot_texts(ANN).iter().any(|text| text.contains("was understood as"))
    };
    telegram.wait_for(words).await;
    let shown = telegram.read(|world| world.bot_texts(ANN)).pop().unwrap();
    assert!(plain(&shown).ends_with("show me the last five commits"), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_voice_message_is_announced_while_it_is_made() {
    let (speech, telegram) = (FakeSpeech::start(|_| SpeechReply::Hang).await, FakeTelegram::start().await);
    let model = FakeModel::start(Reply::text("hello")).await;
    let tts = json!({ "provider": "openai", "baseUrl": speech.url(), "model": "voice-1", "mode": "always" });
    let section = json!({ "botToken": telegram.token(), "apiUrl": telegram.url(), "allowedUsers": [ANN] });
    let config = json!({ "voice": { "tts": tts }, "adapters": { "telegram": section } });
    let project = Project::with_model(&model.url(), config);
    let _daemon = project.start().await;
    let ann = telegram.user(ANN, "Ann");
    telegram.private(&ann).say(&ann, "hi");
    speech.wait_for_requests(1).await;
    let announced = |world: &crate::fakes::telegram::world::Environment| {
        world.log.actions(ANN).iter().any(|(_, _, action)| *action == "record_voice")
    };
    telegram.wait_for(announced).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_without_speech_has_no_transcript() {
    let model = FakeModel::start(Reply::text("well")).await;
    let project = Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0 } }));
    let daemon = project.start().await;
    for (words, expected) in [("hello", "well"), ("/transcript", "no spoken message")] {
        let answer = daemon.execute(json!({ "instructions": words, "chatId": "c" })).await;
        assert!(answer["output"].as_str().unwrap().contains(expected), "{answer}");
    }
}
