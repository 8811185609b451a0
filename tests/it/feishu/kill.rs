//! kill -9, repeatedly, while people write on Feishu: nothing is lost, and nothing is sent twice.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::fakes::daemon::{Project, merge};
use crate::fakes::dice::{Dice, seed};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;

const PEOPLE: usize = 6;

/// Writes one message after the other, each after the answer to the last, until told to stop. Returns how many.
async fn chatter(feishu: Arc<Feishu>, person: usize, stop: watch::Receiver<bool>) -> usize {
    let (who, chat) = (format!("ou_p{person}"), format!("oc_p{person}"));
    let mut number = 0;
    while !*stop.borrow() {
        let text = format!("p{person}m{number}");
        let mut message = Message::private(&who, &text);
        // Some have a picture, which must be downloaded.
        if number % 4 == 1 {
            let key = feishu.keep_file("a.png", b"picture");
            let pieces = json!([[{ "tag": "text", "text": text }, { "tag": "img", "image_key": key }]]);
            message = message.of_kind("post", json!({ "title": "", "content": pieces }));
        }
        let id = feishu.write(&message);
        // The platform itself sends some events twice.
        if number % 5 == 0 {
            feishu.write_again(&message, &id);
        }
        feishu.wait_for_words(&chat, &format!("echo {text}")).await;
        number += 1;
    }
    number
}

async fn nothing_is_lost_or_twice(seed: u64, kills: usize, cardkit: bool) {
    let feishu = Arc::new(Feishu::start().await);
    feishu.tune(|world| world.mood.cardkit = cardkit);
    let model = FakeModel::start(Script::compute(|seen: &Seen| {
        let said = seen.last_user_text();
        let wait = Duration::from_millis(u64::try_from(said.len()).unwrap() * 3 % 40);
        Reply::text(&format!("echo {said}")).paced(Duration::from_millis(2)).after(wait)
    }))
    .await;
    let people: Vec<String> = (0..PEOPLE).map(|person| format!("ou_p{person}")).collect();
    let mut config = feishu.section(json!({ "allowedUsers": people }));
    merge(&mut config, json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 120 } }));
    let project = Project::with_model(&model.url(), config);
    let mut dice = Dice::new(seed);

    let mut daemon = project.start().await;
    let (stop, stopped) = watch::channel(false);
    let mut chatters = JoinSet::new();
    for person in 0..PEOPLE {
        let (feishu, stopped) = (feishu.clone(), stopped.clone());
        chatters.spawn(async move { (person, chatter(feishu, person, stopped).await) });
    }
    for _ in 0..kills {
        tokio::time::sleep(Duration::from_micros(dice.roll(200_000))).await;
        daemon.kill();
        daemon = project.start().await;
    }
    stop.send_replace(true);
    let counts = chatters.join_all().await;
    let total: usize = counts.iter().map(|(_, count)| count).sum();
    assert!(total >= kills / 2, "too few messages got through to prove anything: {total}");
    feishu.wait_for("all events to be acknowledged", |world| world.all_acknowledged().then_some(())).await;
    for (person, count) in counts {
        let said = feishu.look(|world| world.said(&format!("oc_p{person}")));
        let expected: Vec<String> = (0..count).map(|number| format!("echo p{person}m{number}")).collect();
        assert_eq!(said, expected, "person {person}");
    }
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_said_twice_over_forty_kills() {
    let seed = seed();
    println!("seed {seed}");
    nothing_is_lost_or_twice(seed, 40, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_said_twice_over_a_hundred_kills_while_answers_grow() {
    let seed = seed();
    println!("seed {seed}");
    nothing_is_lost_or_twice(seed, 100, true).await;
}
