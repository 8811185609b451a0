//! Basic groups of Telegram: each account counts the messages by itself, and the group may become a supergroup.

use std::collections::BTreeSet;

use serde_json::json;

use super::native::{BASIC, Bot, SUPERGROUP, acquainted, told};
use super::scene::{echo, texts_of, until};
use crate::fakes::fake_model::{Reply, Script};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_question_gets_one_answer_in_a_group_where_each_account_counts_its_own_messages() {
    let shared = tempfile::tempdir().unwrap();
    let dir = shared.path().join("rooms");
    let extra = json!({
        "groups": { "sharedDir": dir, "gate": { "settleMs": 100 } },
        "adapters": { "telegram": { "groups": { "respond": "relevant" } } },
    });
    let script = |name| echo(name, "{\"answer\": true, \"score\": 80}");
    let alpha = Bot::new(101, "Alpha", script("Alpha"), extra.clone()).await;
    let beta = Bot::new(102, "Beta", script("Beta"), extra).await;
    let _running = acquainted(&dir, [&alpha, &beta]).await;
    let ann = beta.fake.user(7, "Ann");
    let (there, here) = (alpha.group(BASIC), beta.group(BASIC));
    // The accounts count differently: the same number means different messages.
    there.count_from(10);
    here.count_from(11);
    let mut answers = 0;
    for number in 0..4 {
        let question = format!("who knows {number}");
        there.say(&ann, &question);
        here.say(&ann, &question);
        for bot in [&alpha, &beta] {
            let file = bot.project.thread_file(&format!("telegram:chat:{BASIC}"));
            let is_decided = |line: &str| line.contains(&question) && line.contains("\"gate\"");
            let decided = || std::fs::read_to_string(&file).unwrap_or_default().lines().any(&is_decided);
            until("a decision", decided).await;
        }
        answers += 1;
        let said = || [&alpha, &beta].map(|bot| bot.fake.read(|world| world.bot_texts(BASIC).len()));
        until("an answer", || said().iter().sum::<usize>() >= answers).await;
        assert_eq!(said().iter().sum::<usize>(), answers, "{:?}", said());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_words_twice_are_two_messages_where_each_account_counts_its_own() {
    let shared = tempfile::tempdir().unwrap();
    let dir = shared.path().join("rooms");
    let extra = json!({ "groups": { "sharedDir": dir } });
    let alpha = Bot::new(101, "Alpha", Script::compute(|_| Reply::text("pong it is")), extra.clone()).await;
    let beta = Bot::new(102, "Beta", echo("Beta", "{}"), extra).await;
    let _running = acquainted(&dir, [&alpha, &beta]).await;
    let ann = beta.fake.user(7, "Ann");
    let (there, here) = (alpha.group(BASIC), beta.group(BASIC));
    let file = beta.project.thread_file(&format!("telegram:chat:{BASIC}"));
    for number in 1..=2 {
        there.say(&ann, "@alpha_bot ping");
        told(&dir, "pong it is", number).await;
        here.say(&alpha.user, "pong it is");
        here.say(&ann, &format!("heard {number}"));
        beta.stored(BASIC, &format!("heard {number}")).await;
        let text = std::fs::read_to_string(&file).unwrap();
        let ids: BTreeSet<&str> = text
            .lines()
            .filter(|line| line.contains("pong it is"))
            .filter_map(|line| line.get(..60))
            .collect();
        assert_eq!(ids.len(), number, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_became_a_supergroup_is_one_room_for_those_who_knew_it_before_and_who_came_later() {
    let shared = tempfile::tempdir().unwrap();
    let dir = shared.path().join("rooms");
    let extra = json!({ "groups": { "sharedDir": dir } });
    let alpha = Bot::new(101, "Alpha", echo("Alpha", "{}"), extra.clone()).await;
    let beta = Bot::new(102, "Beta", echo("Beta", "{}"), extra).await;
    let _running = acquainted(&dir, [&alpha, &beta]).await;
    let ann = beta.fake.user(7, "Ann");
    let before = alpha.group(BASIC);
    before.say(&ann, "@alpha_bot hello");
    alpha.says(BASIC, "Alpha says: hello").await;
    let there = before.migrate(SUPERGROUP);
    there.say(&ann, "@alpha_bot what is the time");
    told(&dir, "Alpha says: what is the time", 1).await;
    beta.group(SUPERGROUP).say(&ann, "@beta_bot and you");
    beta.says(SUPERGROUP, "Beta says: and you").await;
    let prompt = texts_of(&beta.model.requests()[0]).join("\n");
    assert_eq!(prompt.matches("Alpha says: what is the time").count(), 1, "{prompt}");
}
