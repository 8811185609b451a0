//! kill -9, repeatedly, while fifty people write in Telegram: nothing is lost or done twice, and an answer shows twice
//! only where the daemon has counted a send that was cut off.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::fakes::daemon::{PATIENCE, Project};
use crate::fakes::dice::{Dice, seed};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::telegram::account::User;
use crate::fakes::telegram::people::Chat;
use crate::fakes::telegram::server::FakeTelegram;
use crate::fakes::telegram::view::Visible;

const KILLS: usize = 200;
const CHATS: i64 = 50;
/// One message in this many makes the agent run a command that must not run twice.
const ACTS: u64 = 12;

/// Answers with the text of the question; for some, after a command that appends a line.
fn answer(seen: &Seen) -> Reply {
    let messages = seen.body["messages"].as_array().cloned().unwrap_or_default();
    let acted = messages.last().is_some_and(|last| last["role"] == "tool");
    let said = seen.last_user_text().to_owned();
    if said.ends_with(" act") && !acted {
        let line = said.trim_end_matches(" act");
        return Reply::calls([("exec_shell", json!({ "command": format!("echo {line} >> lines.txt") }))]);
    }
    Reply::text(&format!("echo {said}")).after(Duration::from_millis(u64::try_from(said.len()).unwrap() % 30))
}

struct Writer {
    fake: Arc<FakeTelegram>,
    chat: Chat,
    user: User,
    lines: PathBuf,
}

impl Writer {
    /// Writes one message after the other, each after the answer to the last. Returns how many.
    async fn write(self, stop: watch::Receiver<bool>, mut dice: Dice) -> usize {
        let mut pressed = BTreeSet::new();
        for number in 0.. {
            if *stop.borrow() {
                return number;
            }
            let act = if dice.one_in(ACTS) { " act" } else { "" };
            let words = format!("chat{}-message{number}", self.chat.id());
            let said = self.chat.say(&self.user, &format!("{words}{act}"));
            self.wait_for_answer(said, &words, &format!("echo {words}{act}"), &mut pressed).await;
        }
        0
    }

    /// Waits for the answer; questions meanwhile are answered truthfully. A question whose send was cut off may show
    /// twice, and only one of both loses its buttons. Only messages after `said` are read: the fake must not be slow.
    async fn wait_for_answer(&self, said: i64, words: &str, expected: &str, pressed: &mut BTreeSet<i64>) {
        let chat = self.chat.id();
        loop {
            let known = pressed.clone();
            let asked = |messages: Vec<Visible>| {
                let mut open = messages.into_iter().filter(|message| !message.buttons.is_empty());
                open.find(|message| !known.contains(&message.id))
            };
            self.fake
                .wait_within(PATIENCE * 3, |world| {
                    let messages = world.bot_messages_after(chat, said);
                    messages.iter().any(|message| message.text == expected) || asked(messages).is_some()
                })
                .await;
            let Some(question) = asked(self.fake.read(|world| world.bot_messages_after(chat, said))) else {
                return;
            };
            let done = lines_of(&self.lines).contains_key(words);
            let button = if done { "✔ It was done" } else { "🔁 Re-run" };
            self.chat.press(&self.user, question.id, button);
            pressed.insert(question.id);
        }
    }
}

fn lines_of(path: &Path) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
        *lines.entry(line.to_owned()).or_insert(0) += 1;
    }
    lines
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_people_lose_nothing_and_only_counted_answers_show_twice_over_two_hundred_kills() {
    let seed = seed();
    println!("SHIPAGENT_TEST_SEED={seed}");
    let mut dice = Dice::new(seed);
    let model = FakeModel::start(Script::compute(answer)).await;
    let fake = Arc::new(FakeTelegram::start().await);
    let people: Vec<User> = (1..=CHATS).map(|id| fake.user(id, &format!("P{id}"))).collect();
    let telegram = json!({
        "botToken": fake.token(), "apiUrl": fake.url(), "allowedUsers": (1..=CHATS).collect::<Vec<_>>(),
    });
    let project = Project::with_model(
        &model.url(),
        json!({
            "adapters": { "telegram": telegram, "web": { "listen": "127.0.0.1:0", "token": crate::fakes::daemon::TOKEN } },
            "permissions": { "exec_shell": { "mode": "allow", "compound": "analyze" } },
            "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 120 }, "limits": { "maxConcurrentRuns": 64 },
        }),
    );
    let lines = project.path().join("lines.txt");
    let (stop, stopped) = watch::channel(false);
    let mut daemon = project.start().await;
    let mut writers = JoinSet::new();
    for (user, number) in people.iter().zip(1..) {
        let chat = fake.private(user);
        let writer = Writer { fake: fake.clone(), chat, user: user.clone(), lines: lines.clone() };
        writers.spawn(writer.write(stopped.clone(), Dice::new(seed ^ (number * 7919))));
    }
    for _ in 0..KILLS {
        tokio::time::sleep(Duration::from_micros(dice.roll(250_000))).await;
        daemon.kill();
        daemon = project.start().await;
    }
    stop.send_replace(true);
    let written: usize = writers.join_all().await.into_iter().sum();
    assert!(daemon.stop().await.success());

    let (mut answered, mut repeated) = (0, 0);
    for user in 1..=CHATS {
        let mut texts: BTreeMap<String, usize> = BTreeMap::new();
        for text in fake.read(|world| world.bot_texts(user)) {
            *texts.entry(text).or_insert(0) += 1;
        }
        let echoes: Vec<_> = texts.iter().filter(|(text, _)| text.starts_with("echo ")).collect();
        repeated += echoes.iter().map(|(_, count)| **count - 1).sum::<usize>();
        answered += echoes.len();
    }
    assert_eq!(answered, written, "each message has its answer");
    // Each daemon counts for itself, and most are killed before they can be asked. The log has every count.
    let counted = project.log().matches("send repeated, may be a duplicate").count();
    assert!(repeated <= counted, "{repeated} answers show twice, {counted} are counted");
    let lines = lines_of(&lines);
    assert!(lines.values().all(|count| *count == 1), "done twice: {lines:?}");
    let calls = fake.read(|world| (world.log.calls("sendMessage"), world.log.calls("editMessageText")));
    println!("{written} messages, {} lines, {KILLS} kills, sends and edits {calls:?}", lines.len());
    println!("{repeated} answers show twice, {counted} sends are counted");
    assert!(written >= KILLS / 2, "too few messages got through to prove anything: {written}");
}
