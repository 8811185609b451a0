//! kill -9, repeatedly, while commands append lines to files: no line twice, none lost silently, and every unknown
//! outcome is asked about.
//!
//! The people of this test answer truthfully: they check whether the line is there. Every call they are not asked about
//! must be right by itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::fakes::checker::check_project;
use crate::fakes::daemon::{PATIENCE, Project, TOKEN};
use crate::fakes::dice::{Dice, seed};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::prompt::check_prompts;

const KILLS: usize = 200;
const CHATS: usize = 4;
const STEPS: usize = 2;

/// Appends a line, with a delay before and after it.
const APPEND: &str = "sleep \"$2\"\necho \"$1\" >> \"$3\"\nsleep \"$4\"\n";

/// One call of the model: the line it appends is its name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Planned {
    line: String,
    command: String,
}

/// The model's calls in a step of a turn. They depend on the turn alone, so that a model that is called again after a
/// kill returns the same.
fn plan(chat: usize, turn: usize, step: usize) -> Vec<Planned> {
    let mut dice = Dice::new(((chat * 1_000_003 + turn) * 7 + step) as u64 * 2_654_435_761);
    for _ in 0..8 {
        dice.roll(2);
    }
    let calls = 1 + dice.roll(2);
    let one = |index| {
        let line = format!("line-{chat}-{turn}-{step}-{index}");
        let script = if dice.one_in(2) { "free.sh" } else { "asked.sh" };
        let (before, after) = match dice.roll(4) {
            0 => (0, 0),
            1 => (0, 20 + dice.roll(100)),
            2 => (20 + dice.roll(100), 0),
            _ => (20 + dice.roll(50), 20 + dice.roll(50)),
        };
        let command = format!("sh {script} {line} 0.{before:03} out/{chat}.txt 0.{after:03}");
        Planned { line, command }
    };
    (0..calls).map(one).collect()
}

/// Follows the plan named in the last message.
fn follow_plan(seen: &Seen) -> Reply {
    let messages = seen.body["messages"].as_array().unwrap();
    let said = messages.iter().rposition(|message| message["role"] == "user").unwrap();
    let words = messages[..=said].iter().rev().take_while(|message| message["role"] == "user");
    let named = words.filter_map(|message| message["content"].as_str()?.strip_prefix("turn ")).next();
    let Some((chat, turn)) = named.and_then(|named| named.split_once(' ')) else {
        return Reply::text("that came too late");
    };
    let steps = messages[said..].iter().filter(|message| message["tool_calls"].is_array()).count();
    if steps == STEPS {
        return Reply::text(&format!("finished {turn}"));
    }
    let calls = plan(chat.parse().unwrap(), turn.parse().unwrap(), steps);
    Reply::calls(calls.iter().map(|call| ("exec_shell", json!({ "command": call.command }))))
}

/// The number of lines when a person told the daemon to skip a call.
type Skips = Arc<Mutex<BTreeMap<String, usize>>>;

/// A person in one chat: sends turn after turn, and answers questions.
struct Person {
    chat: usize,
    dice: Dice,
    bases: watch::Receiver<String>,
    stop: watch::Receiver<bool>,
    http: reqwest::Client,
    file: PathBuf,
    skips: Skips,
    /// How many unknown outcomes were asked about.
    unknown: usize,
    words: usize,
}

impl Person {
    /// Runs turns until told to stop; returns how many were finished, and how many outcomes were asked about.
    async fn live(mut self) -> (usize, usize, usize) {
        let mut turns = 0;
        while !*self.stop.borrow() {
            self.finish(turns).await;
            turns += 1;
        }
        (self.chat, turns, self.unknown)
    }

    async fn finish(&mut self, turn: usize) {
        let (chat, id) = (self.chat, format!("turn-{}-{turn}", self.chat));
        let mut deadline = None;
        loop {
            // While the daemon is being killed, a turn may take long.
            if *self.stop.borrow() {
                let now = tokio::time::Instant::now();
                assert!(now < *deadline.get_or_insert(now + PATIENCE), "{id} does not come to its end");
            }
            let answer = self.say(&format!("turn {chat} {turn}"), &id).await;
            match answer.as_ref().and_then(|answer| answer["status"].as_str()) {
                Some("done") => {
                    assert_eq!(answer.unwrap()["output"], format!("finished {turn}"), "{id}");
                    return;
                }
                Some("awaiting-approval") => {
                    let pending = answer.unwrap()["approvals"].as_array().unwrap().clone();
                    self.answer(&pending).await;
                }
                Some("running") => {}
                None => tokio::time::sleep(Duration::from_millis(4)).await,
                Some(_) => panic!("{id}: {}", answer.unwrap()),
            }
        }
    }

    /// Sends a message; `None` when the daemon is killed meanwhile.
    async fn say(&self, text: &str, id: &str) -> Option<Value> {
        let chat = format!("e{}", self.chat);
        let body = json!({ "instructions": text, "chatId": chat, "messageId": id, "userId": "ada" });
        self.post("/api/execute", &body).await.filter(|(status, _)| *status == 200).map(|(_, answer)| answer)
    }

    async fn post(&self, path: &str, body: &Value) -> Option<(u16, Value)> {
        let url = format!("{}{path}", self.bases.borrow().clone());
        let request = self.http.post(url).bearer_auth(TOKEN).header("content-type", "application/json");
        let answer = request.body(body.to_string()).timeout(PATIENCE).send().await.ok()?;
        let status = answer.status().as_u16();
        Some((status, serde_json::from_str(&answer.text().await.ok()?).ok()?))
    }

    async fn answer(&mut self, pending: &[Value]) {
        let plain = pending.iter().all(|approval| approval["kind"] == "tool");
        if plain && pending.len() > 1 && self.dice.one_in(3) {
            let all = ["approve all", "全部同意"][usize::from(self.dice.one_in(2))];
            self.tell(all).await;
            return;
        }
        for approval in pending {
            let (number, id) = (approval["number"].as_str().unwrap(), approval["id"].as_str().unwrap());
            let word = match approval["kind"].as_str().unwrap() {
                "tool" => "approve",
                "unknown-outcome" => self.look(approval),
                other => panic!("nobody expects {other}"),
            };
            if self.dice.one_in(2) {
                let decided = self.post(&format!("/api/approvals/{id}"), &json!({ "decision": word })).await;
                if let Some((status, answer)) = decided {
                    // A person without a confirmation asks again, and is told who decided.
                    let heard = status == 200 || (status == 409 && answer.to_string().contains("operator"));
                    let withdrawn = status == 409 && answer.to_string().contains("withdrawn");
                    assert!(heard || withdrawn || status == 503, "{status} {answer}");
                }
            } else {
                let zh = BTreeMap::from([
                    ("approve", "同意"),
                    ("rerun", "重跑"),
                    ("skip", "跳过"),
                    ("done", "已经做了"),
                ]);
                let word = if self.dice.one_in(2) { zh[word] } else { word };
                self.tell(&format!("{word} {number}")).await;
            }
        }
    }

    /// Checks whether the line of a call is there, and returns the decision.
    fn look(&mut self, approval: &Value) -> &'static str {
        self.unknown += 1;
        let line = line_of(approval["input"]["command"].as_str().unwrap());
        let there = count(&self.file, line);
        match (there, self.dice.roll(8)) {
            (0, 1..) => "rerun",
            (1.., 1..4) => "done",
            _ => {
                self.skips.lock().unwrap().insert(line.to_owned(), there);
                "skip"
            }
        }
    }

    async fn tell(&mut self, text: &str) {
        self.words += 1;
        let id = format!("words-{}-{}", self.chat, self.words);
        self.say(text, &id).await;
    }
}

fn line_of(command: &str) -> &str {
    command.split(' ').nth(2).unwrap()
}

fn count(file: &Path, line: &str) -> usize {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter(|known| *known == line).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_side_effect_is_repeated_or_lost_in_silence_over_two_hundred_kills() {
    let model = FakeModel::start(Script::compute(follow_plan)).await;
    let project = Project::with_model(
        &model.url(),
        json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 120 },
            "permissions": { "exec_shell": { "allow": ["sh free.sh"] } } }),
    );
    project.write("free.sh", APPEND);
    project.write("asked.sh", APPEND);
    for chat in 0..CHATS {
        project.write(&format!("out/{chat}.txt"), "");
    }
    let seed = seed();
    println!("SHIPAGENT_TEST_SEED={seed}");
    let mut dice = Dice::new(seed);
    let mut daemon = project.start().await;
    let mut started = Duration::ZERO;
    let (base, bases) = watch::channel(daemon.base.clone());
    let (stop, stopped) = watch::channel(false);
    let skips = Skips::default();
    let mut people = JoinSet::new();
    for chat in 0..CHATS {
        let person = Person {
            chat,
            dice: Dice::new(seed.wrapping_mul(31).wrapping_add(chat as u64)),
            bases: bases.clone(),
            stop: stopped.clone(),
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
            file: project.path().join(format!("out/{chat}.txt")),
            skips: skips.clone(),
            unknown: 0,
            words: 0,
        };
        people.spawn(person.live());
    }
    for _ in 0..KILLS {
        // On a loaded machine everything takes longer, and so must the time between two kills: no turn would ever end.
        let longest = (Duration::from_millis(60) + started * 2).min(Duration::from_millis(500));
        let micros = u64::try_from(longest.as_micros()).unwrap();
        tokio::time::sleep(Duration::from_micros(dice.roll(micros))).await;
        daemon.kill();
        let killed = tokio::time::Instant::now();
        daemon = project.start().await;
        started = killed.elapsed();
        base.send_replace(daemon.base.clone());
    }
    stop.send_replace(true);
    let lives = people.join_all().await;
    let turns: usize = lives.iter().map(|(_, turns, _)| turns).sum();
    let unknown: usize = lives.iter().map(|(_, _, unknown)| unknown).sum();
    println!("{turns} turns over {KILLS} kills, {unknown} unknown outcomes asked about");
    assert!(turns >= CHATS && unknown >= KILLS / 4, "too little happened to prove anything");

    let pending = daemon.get_json("/api/approvals?state=pending").await;
    let left: Vec<&Value> =
        pending["approvals"].as_array().unwrap().iter().map(|one| &one["number"]).collect();
    assert!(left.is_empty(), "nobody can answer these any more: {left:?}");
    assert!(daemon.stop().await.success());
    check_prompts(&model.requests());
    let skips = skips.lock().unwrap().clone();
    assert_each_once(&project, &lives, &skips);
}

/// Each planned call has one result in its thread, and its line is in the file as often as the result says.
fn assert_each_once(project: &Project, lives: &[(usize, usize, usize)], skips: &BTreeMap<String, usize>) {
    let threads = check_project(project.path());
    for &(chat, turns, _) in lives {
        let file = project.path().join(format!("out/{chat}.txt"));
        let mut results: BTreeMap<&str, &Value> = BTreeMap::new();
        let messages = &threads[&format!("api%3Achat%3Ae{chat}.jsonl")];
        for part in messages.iter().flat_map(|message| message["parts"].as_array().unwrap()) {
            if let Some(command) = part["input"]["command"].as_str() {
                assert!(results.insert(command, part).is_none(), "{command} stands twice");
            }
        }
        let planned: Vec<Planned> =
            (0..turns).flat_map(|turn| (0..STEPS).flat_map(move |step| plan(chat, turn, step))).collect();
        for Planned { line, command } in &planned {
            let part = results.remove(command.as_str()).unwrap_or_else(|| panic!("{command} is not there"));
            let expected = match part["state"].as_str().unwrap() {
                "output-available" if part["output"]["outcome"] == "done" => 1,
                "output-available" if part["output"]["exitCode"] == 0 => 1,
                "output-denied" => *skips.get(line).unwrap_or_else(|| panic!("nobody skipped {part:#}")),
                _ => panic!("nobody expects {part:#}"),
            };
            assert_eq!(count(&file, line), expected, "{part:#}");
        }
        assert_eq!(results.len(), 0, "nobody planned {results:?}");
        let lines = std::fs::read_to_string(&file).unwrap();
        for line in lines.lines() {
            assert!(planned.iter().any(|call| call.line == line), "nobody planned {line}");
        }
    }
}
