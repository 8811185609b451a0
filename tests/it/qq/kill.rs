//! kill -9, repeatedly, while people write on QQ: nothing is lost, nothing is shown twice.

use std::collections::BTreeMap;

use super::*;
use crate::fakes::dice::{Dice, seed};
use crate::fakes::fake_model::words_of;

const KILLS: usize = 110;
const CHATS: [Place; 6] = [
    Place::C2c("U1"),
    Place::C2c("U2"),
    Place::C2c("U3"),
    Place::Group("G1", "M1"),
    Place::Group("G2", "M1"),
    Place::Group("G2", "M2"),
];

/// Answers with all messages since the last answer.
fn echo_all(seen: &Seen) -> Reply {
    let messages = seen.body["messages"].as_array().cloned().unwrap_or_default();
    let asked = messages.iter().rev().take_while(|message| message["role"] == "user");
    let mut words: Vec<String> = asked.map(|message| words_of(message).to_owned()).collect();
    words.reverse();
    Reply::text(&format!("echo {}", words.join(" + "))).after(Duration::from_millis(3))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_is_answered_once_over_a_hundred_kills() {
    let world = Environment::new(Script::compute(echo_all), json!({})).await;
    let seed = seed();
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    let file = world.qq.file("a.txt", b"what is in it");
    let mut daemon: Daemon = world.project.start().await;
    let mut said: BTreeMap<String, &str> = BTreeMap::new();
    for kill in 0..KILLS {
        for n in 0..1 + dice.roll(2) {
            let place = CHATS[usize::try_from(dice.roll(CHATS.len() as u64)).unwrap()];
            let words = format!("q{kill}x{n}.");
            // Some have a file, which is slow.
            let extra = match dice.roll(3) {
                0 => json!({ "attachments": [{ "content_type": "file", "filename": "a.txt", "url": file }] }),
                _ => json!({}),
            };
            world.qq.says_with(place, &words, extra);
            said.insert(words, place.chat());
        }
        tokio::time::sleep(Duration::from_micros(dice.roll(120_000))).await;
        daemon.kill();
        daemon = world.project.start().await;
    }
    // Every held delivery gets a message to reply to.
    for place in CHATS {
        world.qq.says(place, "last.");
    }
    let complete = |rules: &Rules| {
        let missing =
            said.iter().find(|(words, chat)| !rules.texts(chat).iter().any(|text| text.contains(*words)));
        missing.is_none().then_some(())
    };
    world.qq.wait_for("every answer", complete).await;
    assert!(daemon.stop().await.success());
    world.qq.look(|rules| {
        for (words, chat) in &said {
            let shown = rules.texts(chat).iter().filter(|text| text.contains(words.as_str())).count();
            assert_eq!(shown, 1, "{words} in {chat}");
        }
        println!("{} messages over {KILLS} kills, {} sessions", said.len(), rules.sessions);
        assert_eq!(rules.sessions, 1, "every daemon went on with the same session");
    });
}
