//! Approvals in Telegram, from the outside: a whole daemon, a fake server, simulated people.

use serde_json::json;

use crate::fakes::daemon::{Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::telegram::people::Chat;
use crate::fakes::telegram::server::FakeTelegram;
use crate::fakes::telegram::view::Visible;
use crate::fakes::telegram::world::{Environment, Press};

const ANN: i64 = 7;
const GROUP: i64 = -1_001_000_000_001;
const BOT: &str = "@ship_test_bot";

/// A fake Telegram, a model that requests to append a line, and a project for both.
struct Scene {
    fake: FakeTelegram,
    model: FakeModel,
    project: Project,
}

impl Scene {
    async fn new(extra: serde_json::Value) -> Self {
        let script = Script::compute(|seen| {
            let last =
                seen.body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
            match seen.last_user_text() {
                _ if last["role"] == "tool" => Reply::text("appended"),
                // What writes through a redirection can only be allowed once; a script can be allowed for longer.
                text if text.contains("append by script") => {
                    Reply::calls([("exec_shell", json!({ "command": "sh append.sh" }))])
                }
                text if text.contains("append") => {
                    Reply::calls([("exec_shell", json!({ "command": "echo one >> log.txt" }))])
                }
                text if text.contains("hang") => Reply::hang(),
                text => Reply::text(&format!("re: {text}")),
            }
        });
        let fake = FakeTelegram::start().await;
        let model = FakeModel::start(script).await;
        let mut config = json!({
            "language": "en",
            "adapters": { "telegram": { "botToken": fake.token(), "apiUrl": fake.url(), "allowedUsers": [7, 8, 9],
                "allowedChats": [GROUP] } },
            "owners": ["telegram:user:1"],
            "queue": { "mergeMs": 0 },
        });
        merge(&mut config, extra);
        let project = Project::with_model(&model.url(), config);
        project.write("append.sh", "echo one >> log.txt\n");
        Self { fake, model, project }
    }

    fn lines(&self) -> usize {
        std::fs::read_to_string(self.project.path().join("log.txt")).map_or(0, |text| text.lines().count())
    }

    /// The question that a chat shows now.
    async fn question(&self, chat: i64) -> Visible {
        self.fake.wait_for(|world| question(world, chat).is_some()).await;
        self.fake.read(|world| question(world, chat).unwrap())
    }

    /// Presses a button and waits for the answer to the press.
    async fn press(&self, chat: &Chat, user: (i64, &str), data: &str, message: i64) -> Option<String> {
        let query = chat.press_data(&self.fake.user(user.0, user.1), message, data);
        self.fake.wait_for(|world| *world.press(&query) != Press::Waiting).await;
        match self.fake.read(|world| world.press(&query).clone()) {
            Press::Answered(words) => words,
            Press::Waiting => None,
        }
    }

    /// Waits until the bot's last message in a chat has this text.
    async fn until_last(&self, chat: i64, words: &str) {
        self.fake.wait_for(|world| world.bot_texts(chat).last().is_some_and(|last| last == words)).await;
    }

    fn message(&self, chat: i64, id: i64) -> Visible {
        self.fake.read(|world| world.visible(chat).into_iter().find(|seen| seen.id == id).unwrap())
    }
}

fn question(world: &Environment, chat: i64) -> Option<Visible> {
    world.visible(chat).into_iter().rfind(|seen| !seen.buttons.is_empty())
}

fn data(question: &Visible, label: &str) -> String {
    let button = question.buttons.iter().flatten().find(|button| button.text.contains(label));
    button.and_then(|button| button.data.clone()).unwrap_or_else(|| panic!("no {label} in {question:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_is_approved_by_button_by_words_and_by_command() {
    let scene = Scene::new(json!({})).await;
    let ann = scene.fake.user(ANN, "Ann");
    let chat = scene.fake.private(&ann);
    let _daemon = scene.project.start().await;
    for (round, how) in ["button", "approve", "同意", "/approve A4"].into_iter().enumerate() {
        chat.say(&ann, "append");
        let asked = scene.question(ANN).await;
        assert_eq!(scene.lines(), round, "nothing runs before it is allowed");
        if how == "button" {
            scene.press(&chat, (ANN, "Ann"), &data(&asked, "Approve"), asked.id).await;
        } else {
            chat.say(&ann, how);
        }
        scene.until_last(ANN, "appended").await;
        assert_eq!(scene.lines(), round + 1, "{how}");
        let outcome = scene.message(ANN, asked.id);
        assert!(outcome.buttons.is_empty(), "{how}: {outcome:?}");
        assert!(outcome.text.contains("echo one >> log.txt"), "{how}: {outcome:?}");
        assert!(outcome.text.contains("approved") && outcome.text.contains("Ann"), "{how}: {outcome:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_button_from_before_a_crash_works_once_and_then_says_who_decided() {
    let scene = Scene::new(json!({})).await;
    let ann = scene.fake.user(ANN, "Ann");
    let chat = scene.fake.private(&ann);
    let daemon = scene.project.start().await;
    chat.say(&ann, "append");
    let asked = scene.question(ANN).await;
    daemon.until_state("telegram:chat:7", "awaiting-approval").await;
    // A kill before the receipt would show the question twice.
    let outbox = scene.project.path().join(".ship/state/outbox/telegram%3Achat%3A7.jsonl");
    let receipt = |text: String| text.contains("\"receipt\"");
    daemon.until("the receipt", async |_| std::fs::read_to_string(&outbox).is_ok_and(receipt)).await;
    daemon.kill();
    let _daemon = scene.project.start().await;
    let yes = data(&asked, "Approve");
    scene.press(&chat, (ANN, "Ann"), &yes, asked.id).await;
    scene.until_last(ANN, "appended").await;
    let outcome = scene.message(ANN, asked.id);
    assert!(outcome.buttons.is_empty() && outcome.text.contains("Ann"), "{outcome:?}");
    let told = scene.press(&chat, (ANN, "Ann"), &yes, asked.id).await.unwrap();
    assert!(told.contains("approved") && told.contains("A1"), "{told}");
    assert_eq!(scene.lines(), 1);
    assert_eq!(scene.fake.read(|world| world.bot_texts(ANN).len()), 2, "one question, one answer");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_those_who_may_decide_and_everything_stays_in_the_topic() {
    let scene = Scene::new(json!({})).await;
    let (ann, bob) = (scene.fake.user(ANN, "Ann"), scene.fake.user(8, "Bob"));
    let forum = scene.fake.group(GROUP).with_topics();
    let topic = forum.topic("Deploys");
    let daemon = scene.project.start().await;
    forum.say_in_topic(&ann, topic, &format!("{BOT} append by script"));
    let asked = scene.question(GROUP).await;
    assert_eq!(asked.topic, Some(topic));
    let yes = data(&asked, "Approve");
    let told = scene.press(&forum, (8, "Bob"), &yes, asked.id).await.unwrap();
    assert!(told.contains("may not decide A1"), "{told}");
    forum.say_in_topic(&bob, topic, &format!("{BOT} approve"));
    scene.fake.wait_for(|world| world.pending() == 0).await;
    daemon.until_state(&format!("telegram:chat:{GROUP}:topic:{topic}"), "awaiting-approval").await;
    assert_eq!(scene.lines(), 0, "a stranger's yes is no yes");
    // A person who may not decide cannot change the question for the approvers.
    let told = scene.press(&forum, (8, "Bob"), &data(&asked, "longer"), asked.id).await.unwrap();
    assert!(told.contains("may not decide A1"), "{told}");
    // The menu of scopes opens and closes under the same message.
    scene.press(&forum, (ANN, "Ann"), &data(&asked, "longer"), asked.id).await;
    scene.fake.wait_for(|world| question(world, GROUP).is_some_and(|seen| seen.labels().len() == 6)).await;
    scene.press(&forum, (ANN, "Ann"), &yes, asked.id).await;
    scene.fake.wait_for(|world| world.bot_texts(GROUP).iter().any(|text| text == "appended")).await;
    assert_eq!(scene.lines(), 1);
    let topics = scene.fake.read(|world| {
        let mine = world.visible(GROUP).into_iter().filter(|seen| seen.by_bot);
        mine.map(|seen| seen.topic).collect::<Vec<_>>()
    });
    assert!(topics.iter().all(|seen| *seen == Some(topic)), "{topics:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_nobody_answered_says_so_and_its_button_runs_nothing() {
    let scene = Scene::new(json!({ "approvals": { "expireMinutes": 0.05 } })).await;
    let ann = scene.fake.user(ANN, "Ann");
    let chat = scene.fake.private(&ann);
    let _daemon = scene.project.start().await;
    chat.say(&ann, "append");
    let asked = scene.question(ANN).await;
    let id = asked.id;
    let gone =
        |world: &Environment| world.visible(ANN).iter().any(|seen| seen.id == id && seen.buttons.is_empty());
    scene.fake.wait_for(gone).await;
    let told = scene.press(&chat, (ANN, "Ann"), &data(&asked, "Approve"), asked.id).await.unwrap();
    assert!(told.contains("expired"), "{told}");
    assert!(scene.message(ANN, asked.id).text.contains("expired"), "{:?}", scene.message(ANN, asked.id));
    assert_eq!(scene.lines(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_one_chat_hangs_others_are_answered_and_buttons_and_stop_work_at_once() {
    let scene = Scene::new(json!({})).await;
    let (ann, bob, carl) =
        (scene.fake.user(ANN, "Ann"), scene.fake.user(8, "Bob"), scene.fake.user(9, "Carl"));
    let chats = [&ann, &bob, &carl].map(|user| scene.fake.private(user));
    let daemon = scene.project.start().await;
    chats[0].say(&ann, "hang");
    scene.model.wait_for_requests(1).await;
    chats[1].say(&bob, "hello");
    scene.until_last(8, "re: hello").await;
    chats[2].say(&carl, "append");
    let asked = scene.question(9).await;
    scene.press(&chats[2], (9, "Carl"), &data(&asked, "Approve"), asked.id).await;
    scene.until_last(9, "appended").await;
    chats[0].say(&ann, "/stop");
    scene.fake.wait_for(|world| !world.bot_texts(ANN).is_empty()).await;
    daemon.until_state("telegram:chat:7", "idle").await;
    let typed =
        scene.fake.read(|world| world.log.actions(ANN).iter().any(|(_, _, action)| *action == "typing"));
    assert!(typed, "{}", scene.fake.read(|world| world.tell()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_group_only_those_may_withdraw_a_question_who_may_answer_it_or_led_to_it() {
    let scene = Scene::new(json!({ "approvals": { "approvers": ["owners"] } })).await;
    let (ann, bob, boss) =
        (scene.fake.user(ANN, "Ann"), scene.fake.user(8, "Bob"), scene.fake.user(1, "Boss"));
    let group = scene.fake.group(GROUP);
    let daemon = scene.project.start().await;
    let cancel = format!("/cancel{BOT}");
    for (number, who) in [(1, &ann), (2, &boss)] {
        group.say(&ann, &format!("{BOT} append"));
        let asked = scene.question(GROUP).await;
        group.say(&bob, &cancel);
        let refused =
            format!("You may not withdraw A{number}: whoever started it may, and whoever may decide it.");
        scene.fake.wait_for(|world| world.bot_texts(GROUP).contains(&refused)).await;
        daemon.until_state(&format!("telegram:chat:{GROUP}"), "awaiting-approval").await;
        assert!(!scene.message(GROUP, asked.id).buttons.is_empty());
        group.say(who, &cancel);
        scene.fake.wait_for(|world| question(world, GROUP).is_none()).await;
        daemon.until_state(&format!("telegram:chat:{GROUP}"), "idle").await;
    }
    assert_eq!(scene.lines(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_run_a_group_decide_by_words_and_by_button_where_they_may_and_nobody_else_does() {
    let scene = Scene::new(json!({ "approvals": { "approvers": ["admins"] } })).await;
    let (ann, bob, carl) =
        (scene.fake.user(ANN, "Ann"), scene.fake.user(8, "Bob"), scene.fake.user(9, "Carl"));
    let group = scene.fake.group(GROUP).with_admin(&bob);
    let daemon = scene.project.start().await;
    for (round, how) in
        [format!("{BOT} approve"), format!("/approve{BOT}"), "button".to_owned()].iter().enumerate()
    {
        group.say(&ann, &format!("{BOT} append"));
        let asked = scene.question(GROUP).await;
        for person in [&ann, &carl] {
            group.say(person, &format!("{BOT} approve A{}", round + 1));
        }
        scene
            .fake
            .wait_for(|world| {
                let refused = format!("You may not decide A{}", round + 1);
                world.bot_texts(GROUP).iter().filter(|text| text.starts_with(&refused)).count() == 2
            })
            .await;
        daemon.until_state(&format!("telegram:chat:{GROUP}"), "awaiting-approval").await;
        assert_eq!(scene.lines(), round, "whoever asked does not decide here");
        if how == "button" {
            scene.press(&group, (8, "Bob"), &data(&asked, "Approve"), asked.id).await;
        } else {
            group.say(&bob, how);
        }
        daemon.until_state(&format!("telegram:chat:{GROUP}"), "idle").await;
        assert_eq!(scene.lines(), round + 1, "{how}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_button_from_before_a_group_got_its_new_number_works() {
    let scene = Scene::new(json!({ "adapters": { "telegram": { "allowedChats": [-55] } } })).await;
    let ann = scene.fake.user(ANN, "Ann");
    let group = scene.fake.group(-55);
    let _daemon = scene.project.start().await;
    group.say(&ann, &format!("{BOT} append"));
    let asked = scene.question(-55).await;
    group.migrate(GROUP);
    scene.fake.wait_for(|world| world.pending() == 0).await;
    scene.press(&group, (ANN, "Ann"), &data(&asked, "Approve"), asked.id).await;
    scene.until_last(GROUP, "appended").await;
    assert_eq!(scene.lines(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_run_a_group_decide_with_a_button_from_before_it_got_its_new_number() {
    let scene = Scene::new(json!({
        "adapters": { "telegram": { "allowedChats": [-55] } }, "approvals": { "approvers": ["admins"] },
    }))
    .await;
    let (ann, bob) = (scene.fake.user(ANN, "Ann"), scene.fake.user(8, "Bob"));
    let group = scene.fake.group(-55).with_admin(&bob);
    let daemon = scene.project.start().await;
    group.say(&ann, &format!("{BOT} append by script"));
    let asked = scene.question(-55).await;
    group.migrate(GROUP);
    scene.fake.wait_for(|world| world.pending() == 0).await;
    // The settings may name the group by its new id only.
    daemon.kill();
    let file = scene.project.path().join("ship.json");
    let mut config: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    config["adapters"]["telegram"]["allowedChats"] = json!([GROUP]);
    scene.project.write("ship.json", &config.to_string());
    let _daemon = scene.project.start().await;
    let told = scene.press(&group, (8, "Bob"), &data(&asked, "for longer"), asked.id).await;
    assert!(told.as_deref().is_some_and(|words| words.contains("approve A1")), "{told:?}");
    let told = scene.press(&group, (ANN, "Ann"), &data(&asked, "for longer"), asked.id).await;
    assert!(told.as_deref().is_some_and(|words| words.contains("may not decide")), "{told:?}");
    scene.press(&group, (8, "Bob"), &data(&asked, "Approve"), asked.id).await;
    scene.until_last(GROUP, "appended").await;
    assert_eq!(scene.lines(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_run_a_group_end_what_others_began_also_where_they_may_not_decide() {
    let scene = Scene::new(json!({})).await;
    let (ann, bob, carl) =
        (scene.fake.user(ANN, "Ann"), scene.fake.user(8, "Bob"), scene.fake.user(9, "Carl"));
    let group = scene.fake.group(GROUP).with_admin(&bob);
    let daemon = scene.project.start().await;
    let thread = format!("telegram:chat:{GROUP}");
    let said = |world: &Environment, words: &str| {
        world.bot_texts(GROUP).iter().filter(|text| text.contains(words)).count()
    };
    for (round, command) in ["/stop", "/new"].into_iter().enumerate() {
        group.say(&ann, &format!("{BOT} append"));
        scene.question(GROUP).await;
        group.say(&carl, &format!("{command}{BOT}"));
        scene.fake.wait_for(|world| said(world, "Somebody else's request") == round + 1).await;
        group.say(&bob, &format!("{BOT} approve"));
        scene.fake.wait_for(|world| said(world, "You may not decide") == round + 1).await;
        daemon.until_state(&thread, "awaiting-approval").await;
        group.say(&bob, &format!("{command}{BOT}"));
        scene.fake.wait_for(|world| question(world, GROUP).is_none()).await;
        daemon.until_state(&thread, "idle").await;
    }
    assert_eq!(scene.lines(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unclear_reply_is_asked_back_with_buttons_that_decide_that_question() {
    let scene = Scene::new(json!({})).await;
    let (ann, bob) = (scene.fake.user(ANN, "Ann"), scene.fake.user(8, "Bob"));
    let group = scene.fake.group(GROUP);
    let _daemon = scene.project.start().await;
    group.say(&ann, &format!("{BOT} append"));
    let asked = scene.question(GROUP).await;
    group.say(&ann, &format!("{BOT} approve maybe"));
    scene.fake.wait_for(|world| question(world, GROUP).is_some_and(|seen| seen.id != asked.id)).await;
    let back = scene.question(GROUP).await;
    assert_eq!(back.labels(), ["✅ Approve A1", "❌ Deny A1"], "{back:?}");
    assert!(back.text.contains("approve A1") && back.text.contains("button below"), "{back:?}");
    assert_eq!(scene.lines(), 0, "asking back runs nothing");
    let yes = data(&back, "Approve A1");
    let told = scene.press(&group, (bob.id, "Bob"), &yes, back.id).await.unwrap();
    assert!(told.contains("may not decide A1"), "{told}");
    scene.press(&group, (ANN, "Ann"), &yes, back.id).await;
    scene.fake.wait_for(|world| world.bot_texts(GROUP).iter().any(|text| text == "appended")).await;
    assert_eq!(scene.lines(), 1);
    let outcome = scene.message(GROUP, asked.id);
    assert!(outcome.buttons.is_empty() && outcome.text.contains("Ann"), "{outcome:?}");
    let told = scene.press(&group, (ANN, "Ann"), &data(&back, "Deny A1"), back.id).await.unwrap();
    assert!(told.contains("approved") && told.contains("Ann"), "{told}");
    assert_eq!(scene.lines(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_can_only_be_allowed_once_has_no_button_for_longer() {
    let scene = Scene::new(json!({})).await;
    let ann = scene.fake.user(ANN, "Ann");
    let chat = scene.fake.private(&ann);
    let _daemon = scene.project.start().await;
    chat.say(&ann, "append");
    let asked = scene.question(ANN).await;
    assert_eq!(asked.labels(), ["✅ Approve", "❌ Deny"], "{asked:?}");
    // Said in words it counts once, and the chat says so before the result.
    chat.say(&ann, "approve A1 for 10 minutes");
    scene.until_last(ANN, "appended").await;
    let outcome = scene.message(ANN, asked.id);
    assert!(
        outcome.text.contains("approved once by Ann") && outcome.text.contains("cannot be"),
        "{outcome:?}"
    );
    chat.say(&ann, "append");
    scene.fake.wait_for(|world| question(world, ANN).is_some_and(|seen| seen.id != asked.id)).await;
    assert_eq!(scene.lines(), 1, "the next call asks again");
}
