//! A cap that is reached in a direct chat, in a group and in a scheduled task: owners are asked in the chat and in
//! private, no other person decides, and the turn goes on where it waited.

use serde_json::json;

use super::{budget, lines};
use crate::fakes::daemon::{Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::telegram::server::FakeTelegram;

const ANN: i64 = 7;
const BOB: i64 = 8;
const GROUP: i64 = -100_500;

/// Looks at a file first where it is told to, so that the turn has two calls.
fn reply(seen: &Seen) -> Reply {
    let text = seen.last_user_text();
    let looked = seen.body["messages"].as_array().unwrap().last().unwrap()["role"] == "tool";
    if text.contains("look") && !looked {
        return Reply::calls([("read_file", json!({ "path": "Agent.md" }))]);
    }
    Reply::text(&format!("done with {}", text.split_whitespace().next_back().unwrap_or_default()))
}

struct Chats {
    telegram: FakeTelegram,
    project: Project,
    _model: FakeModel,
}

impl Chats {
    async fn new(caps: serde_json::Value) -> Self {
        Self::answering(reply, caps, json!({})).await
    }

    async fn answering(
        reply: impl FnMut(&Seen) -> Reply + Send + 'static,
        caps: serde_json::Value,
        extra: serde_json::Value,
    ) -> Self {
        let telegram = FakeTelegram::start().await;
        let model = FakeModel::start(Script::compute(reply)).await;
        let mut config = json!({
            "queue": { "mergeMs": 0 },
            "owners": [format!("telegram:user:{ANN}")],
            "adapters": { "telegram": { "botToken": telegram.token(), "apiUrl": telegram.url(),
                "allowedUsers": [ANN, BOB], "allowedChats": [GROUP] } },
        });
        merge(&mut config, budget(caps));
        merge(&mut config, extra);
        let project = Project::with_model(&model.url(), config);
        Self { telegram, project, _model: model }
    }

    async fn hear(&self, chat: i64, words: &str) {
        let heard = |texts: &[String]| texts.iter().any(|text| text.contains(words));
        let found = async {
            while !heard(&self.telegram.read(|world| world.bot_texts(chat))) {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(crate::fakes::daemon::PATIENCE, found).await;
        waited.unwrap_or_else(|_| {
            let texts = self.telegram.read(|world| world.bot_texts(chat));
            panic!("{chat}: no {words:?} in {texts:#?}\n{}", self.project.log())
        });
    }

    /// The open question of a chat: its message and the labels of its buttons.
    async fn question(&self, chat: i64) -> (i64, Vec<String>) {
        let open = |world: &crate::fakes::telegram::world::Environment| {
            world.visible(chat).into_iter().rfind(|seen| !seen.buttons.is_empty())
        };
        self.telegram.wait_for(|world| open(world).is_some()).await;
        self.telegram.read(|world| {
            let seen = open(world).unwrap();
            (seen.id, seen.labels().iter().map(|label| (*label).to_owned()).collect())
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_are_asked_in_the_chat_and_in_private_and_nobody_else_decides() {
    let chats = Chats::new(json!({ "day": 0.5 })).await;
    let daemon = chats.project.start().await;
    let (ann, bob) = (chats.telegram.user(ANN, "Ann"), chats.telegram.user(BOB, "Bob"));
    let (with_ann, with_bob) = (chats.telegram.private(&ann), chats.telegram.private(&bob));
    let group = chats.telegram.group(GROUP);
    // Her direct chat is known from now on.
    with_ann.say(&ann, "say hello");
    chats.hear(ANN, "done with hello").await;

    // In a direct chat: the person who asked presses in vain, the owner decides in private.
    with_bob.say(&bob, "say direct");
    let (message, labels) = chats.question(BOB).await;
    assert_eq!(labels, ["+1", "+5", "Until midnight", "⏹ Stop"]);
    with_bob.press(&bob, message, "+5");
    let (message, _) = chats.question(ANN).await;
    assert_eq!(lines(&chats.project, "grant").len(), 0);
    with_ann.press(&ann, message, "+1");
    chats.hear(BOB, "done with direct").await;
    assert_eq!(lines(&chats.project, "grant").len(), 1);

    // 0.80 of 1.50 are used; a turn of two calls gets stuck in its middle, and goes on from there.
    group.say(&bob, "@ship_test_bot look, then group");
    let (message, _) = chats.question(GROUP).await;
    group.press(&bob, message, "Until midnight");
    chats.question(ANN).await;
    with_ann.say(&ann, "+5");
    chats.hear(GROUP, "done with group").await;
    assert_eq!(lines(&chats.project, "grant").len(), 2);
    let approvals = daemon.get_json("/api/approvals").await;
    let approvals = approvals["approvals"].as_array().unwrap();
    let by_ann = |one: &serde_json::Value| one["decidedBy"] == format!("telegram:user:{ANN}");
    assert!(approvals.len() == 2 && approvals.iter().all(by_ann), "{approvals:?}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_in_the_middle_of_its_run_asks_owners_and_one_at_its_begin_is_skipped() {
    let chats = Chats::new(json!({ "day": 0.9, "perTaskDay": 0.5 })).await;
    let daemon = chats.project.start().await;
    let ann = chats.telegram.user(ANN, "Ann");
    let with_ann = chats.telegram.private(&ann);
    with_ann.say(&ann, "say hello");
    chats.hear(ANN, "done with hello").await;
    let run = async |name: &str, text: &str| {
        let file = format!("---\nevery: 10h\ndeliver: telegram:chat:{ANN}\n---\n{text}");
        chats.project.write(&format!(".ship/tasks/{name}.md"), &file);
        let path = format!("/api/tasks/{name}/run");
        daemon
            .until("the run", async |daemon| {
                daemon.post(&path, &json!({})).send().await.unwrap().status().is_success()
            })
            .await;
    };
    run("middle", "look, then task").await;
    let (message, _) = chats.question(ANN).await;
    with_ann.press(&ann, message, "+1");
    // The day has no room either.
    chats
        .telegram
        .wait_for(|world| {
            world.bot_texts(ANN).iter().filter(|text| text.contains("May I go on?")).count() == 2
        })
        .await;
    let (message, _) = chats.question(ANN).await;
    with_ann.press(&ann, message, "+1");
    chats.hear(ANN, "done with task").await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_hear_once_that_a_cap_is_nearly_used_and_once_a_day_that_a_task_was_skipped() {
    let chats = Chats::new(json!({ "day": 1, "warnAt": [0.5] })).await;
    let daemon = chats.project.start().await;
    let ann = chats.telegram.user(ANN, "Ann");
    let with_ann = chats.telegram.private(&ann);
    for number in ["one", "two"] {
        with_ann.say(&ann, &format!("say {number}"));
        chats.hear(ANN, &format!("done with {number}")).await;
    }
    chats.hear(ANN, "Today's budget is used to 80 %: 0.80 USD of 1.00 USD.").await;
    let file = format!("---\nevery: 10h\ndeliver: telegram:chat:{ANN}\n---\nsay task");
    chats.project.write(".ship/tasks/report.md", &file);
    for runs in 1..=2 {
        daemon
            .until("the run", async |daemon| {
                let run = daemon.post("/api/tasks/report/run", &json!({})).send().await.unwrap();
                run.status().is_success()
            })
            .await;
        daemon
            .until("its end", async |daemon| {
                let task = daemon.get_json("/api/tasks/report").await;
                let history = task["history"].as_array().unwrap();
                history.len() == runs && history.iter().all(|run| run["outcome"] == "budget")
            })
            .await;
    }
    chats.hear(ANN, "The task report was skipped. Today's budget is used up").await;
    let texts = chats.telegram.read(|world| world.bot_texts(ANN));
    let count = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!((count("was skipped"), count("used to 80 %"), count("May I go on?")), (1, 1, 0), "{texts:#?}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_gets_stuck_sends_what_it_has_said_before_it_asks() {
    // A step that says something and looks at a file, and a second step.
    let talks = |seen: &Seen| {
        let looked = seen.body["messages"].as_array().unwrap().last().unwrap()["role"] == "tool";
        if looked {
            return Reply::text("All is well.");
        }
        let call = json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function",
            "function": { "name": "read_file", "arguments": "{\"path\":\"Agent.md\"}" } }] });
        Reply::deltas([json!({ "content": "Half of it is done." }), call], "tool_calls")
    };
    let chats = Chats::answering(talks, json!({ "perTurn": 0.5 }), json!({})).await;
    let daemon = chats.project.start().await;
    let ann = chats.telegram.user(ANN, "Ann");
    let with_ann = chats.telegram.private(&ann);
    with_ann.say(&ann, "look");
    let (message, _) = chats.question(ANN).await;
    chats.hear(ANN, "Half of it is done.").await;
    with_ann.press(&ann, message, "+1");
    chats.hear(ANN, "All is well.").await;
    let texts = chats.telegram.read(|world| world.bot_texts(ANN));
    let count = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!((count("Half of it is done."), count("All is well.")), (1, 1), "{texts:#?}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_hear_once_that_an_account_is_empty_and_that_a_cheaper_model_answers() {
    let answers = |seen: &Seen| match seen.last_user_text() {
        text if text.contains("empty") => {
            Reply::status(402, r#"{"error":{"message":"Insufficient Balance"}}"#)
        }
        _ => Reply::text(&format!("{} answers", seen.body["model"].as_str().unwrap())),
    };
    let caps = json!({
        "day": 0.5, "onLimit": "fallback", "prices": { "*": { "perCall": 0.4 }, "cheap": { "perCall": 0.01 } },
    });
    let fallbacks = json!({ "llm": { "fallbacks": [{ "model": "cheap", "budget": true }] } });
    let chats = Chats::answering(answers, caps, fallbacks).await;
    let daemon = chats.project.start().await;
    let ann = chats.telegram.user(ANN, "Ann");
    let with_ann = chats.telegram.private(&ann);
    for _ in 0..2 {
        with_ann.say(&ann, "is it empty");
    }
    chats.hear(ANN, "The account at 127.0.0.1 is empty").await;
    with_ann.say(&ann, "one");
    chats.hear(ANN, "fake answers").await;
    for _ in 0..2 {
        with_ann.say(&ann, "more");
    }
    chats.hear(ANN, "cheap answers instead").await;
    daemon.until_state(&format!("telegram:chat:{ANN}"), "idle").await;
    let texts = chats.telegram.read(|world| world.bot_texts(ANN));
    let count = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!((count("The account at"), count("answers instead")), (1, 1), "{texts:#?}");
    assert!(daemon.stop().await.success());
}
