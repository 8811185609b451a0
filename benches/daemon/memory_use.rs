//! Memory at 100,000 messages: import, rebuild of the index, search, and what an open index costs.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::conversation::Conversation;
use crate::fakes::daemon::Project;
use crate::fakes::dice::Dice;
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::measure::{Memory, Samples, millis, ms};
use crate::site::Site;
use crate::table::Table;
use crate::thread_files;

const MESSAGES: usize = 100_000;
const QUERIES: usize = 200;
const ASKED: usize = 200;
const THREADS: usize = 10_000;
/// Words that people use; the first are the most frequent.
const VOCABULARY: u64 = 20_000;
/// One message in so many is Chinese.
const CHINESE: usize = 4;

/// Texts as people write them: few words often, most words seldom.
#[derive(Debug)]
struct Speech(Dice);

impl Speech {
    fn rank(&mut self, most: u64) -> u64 {
        let roll = self.0.roll(1_000) + 1;
        // The cube makes small numbers frequent.
        (roll * roll * roll * most / 1_000_000_000 + self.0.roll(7)).min(most - 1)
    }

    fn word(&mut self) -> String {
        let mut number = self.rank(VOCABULARY) + 30;
        let mut word = String::new();
        while number > 0 {
            let syllable =
                ["ba", "ne", "ri", "to", "ku", "sa", "le", "mi", "do", "fu"][(number % 10) as usize];
            word.push_str(syllable);
            number /= 10;
        }
        word
    }

    fn text(&mut self, number: usize) -> String {
        let mut text = String::new();
        for _ in 0..8 + self.0.roll(20) {
            if number.is_multiple_of(CHINESE) {
                let han = 0x4e00 + u32::try_from(self.rank(3_000)).unwrap();
                text.push(char::from_u32(han).unwrap());
            } else {
                write!(text, "{} ", self.word()).unwrap();
            }
        }
        text
    }

    fn query(&mut self) -> String {
        (0..2 + self.0.roll(3)).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

/// Answers `find X` with a search for X, and times how long its result takes.
#[derive(Debug, Default)]
struct TimedSearch {
    begun: Option<Instant>,
    took: Samples,
}

impl TimedSearch {
    fn reply(&mut self, seen: &Seen) -> Reply {
        let last = seen.body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        if last["role"] == "tool" {
            if let Some(begun) = self.begun.take() {
                self.took.add(begun.elapsed());
            }
            return Reply::text("found");
        }
        let text = seen.last_user_text();
        let Some(query) = text.strip_prefix("find ") else { return Reply::text("well") };
        self.begun = Some(Instant::now());
        Reply::calls([("memory_search", json!({ "query": query }))])
    }
}

pub(crate) async fn figures(table: &mut Table) {
    import(table);
    search(table).await;
    acceptance(table).await;
    thread_search(table);
}

fn import(table: &mut Table) {
    let project = Project::new(json!({ "llm": { "provider": "offline" } }));
    let mut speech = Speech(Dice::new(3));
    let mut lines = String::new();
    for number in 0..MESSAGES {
        let line = json!({ "id": format!("m{number}"), "at": 1_780_000_000_000_usize + number * 60_000,
            "author": "Ann", "text": speech.text(number) });
        writeln!(lines, "{line}").unwrap();
    }
    project.write("import/all.jsonl", &lines);
    let folder = project.path().join("import");
    let command = ["memory", "import", folder.to_str().unwrap(), "--scope", "project", "--json"];
    let begun = Instant::now();
    let first = project.run(&command);
    let per_second = MESSAGES as f64 / begun.elapsed().as_secs_f64();
    assert!(first.stdout.contains(&format!("\"added\":{MESSAGES}")), "{first:?}");
    let begun = Instant::now();
    let second = project.run(&command);
    assert!(second.stdout.contains("\"added\":0"), "{second:?}");
    let figure = format!("`memory import` of {MESSAGES} lines");
    let measured = format!("{per_second:.0} lines/s; the same once more {}", ms(begun.elapsed()));
    table.target(&figure, "≥ 50,000 lines/s", &measured, per_second >= 50_000.0);
    let begun = Instant::now();
    let found = project.run(&["memory", "search", &speech.query(), "--json"]);
    assert!(found.stdout.contains("\"results\""), "{found:?}");
    table.plain("the first `memory search` after it, which indexes all of them", &ms(begun.elapsed()));
    let begun = Instant::now();
    project.run(&["memory", "search", &speech.query(), "--json"]);
    table.plain("the next `memory search`", &ms(begun.elapsed()));
}

async fn search(table: &mut Table) {
    let timed: Arc<Mutex<TimedSearch>> = Arc::default();
    let searches = timed.clone();
    let script = Script::compute(move |seen| searches.lock().unwrap().reply(seen));
    let model = FakeModel::unrecorded(script).await;
    let project = Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0 } }));
    let mut speech = Speech(Dice::new(5));
    thread_files::spoken(project.path(), "long", MESSAGES, |number| speech.text(number));
    let begun = Instant::now();
    let rebuilt = project.run(&["memory", "reindex", "--json"]);
    let took = begun.elapsed();
    assert!(rebuilt.stdout.contains(&format!("\"texts\":{MESSAGES}")), "{rebuilt:?}");
    let figure = format!("the index of {MESSAGES} messages made anew");
    table.target(&figure, "≤ 10 s", &format!("{:.1} s", took.as_secs_f64()), took <= Duration::from_secs(10));
    let size = std::fs::metadata(project.path().join(".ship/state/search.sqlite")).unwrap().len();
    table.plain("its size", &format!("{:.0} B a message", size as f64 / MESSAGES as f64));

    let daemon = project.start().await;
    for number in 0..QUERIES {
        // Each in a conversation of its own turn, so that the prompt stays short.
        if number.is_multiple_of(10) {
            daemon.execute(json!({ "instructions": "/new", "chatId": "long" })).await;
        }
        let body = json!({ "instructions": format!("find {}", speech.query()), "chatId": "long" });
        assert_eq!(daemon.execute(body).await["output"], "found");
    }
    let took = timed.lock().unwrap().took.clone();
    let measured = format!("p50 {}, p95 {}", ms(took.median()), ms(took.percentile(95)));
    let figure = format!(
        "`memory_search` in a thread of {MESSAGES} messages, from the call to its result at the model"
    );
    table.target(&figure, "p95 ≤ 50 ms", &measured, millis(took.percentile(95)) <= 50.0);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let memory = Memory::of(daemon.pid());
    table.target(
        "RSS with an open index, 5 s after the last search",
        "≤ 24 MB",
        &memory.to_string(),
        memory.resident <= 24.0,
    );
    assert!(daemon.stop().await.success());
}

/// The search of the console over many conversations.
fn thread_search(table: &mut Table) {
    const RARE: &str = "zebrafish";
    let site = Site::new();
    thread_files::many(site.project.path(), THREADS);
    thread_files::spoken(site.project.path(), "rare", 2, |number| format!("{RARE} number {number}"));
    let (process, _) = site.start();
    let ask = |words: &str| {
        let begun = Instant::now();
        let answer = site.get(&format!("/api/threads?q={words}")).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("snippet"), "{answer}");
        begun.elapsed()
    };
    table.plain(&format!("the first search over {THREADS} threads, which makes the index"), &ms(ask(RARE)));
    for (words, which) in [(RARE, "one of them found"), ("cache", "all of them found, a page with snippets")]
    {
        let took: Samples = (0..ASKED / 10).map(|_| ask(words)).collect();
        let measured = format!("p50 {}, p95 {}", ms(took.median()), ms(took.percentile(95)));
        let figure = format!("`GET /api/threads?q=` over {THREADS} threads, {which}");
        table.target(&figure, "p95 ≤ 150 ms", &measured, millis(took.percentile(95)) <= 150.0);
    }
    process.stop();
}

/// A message must not take longer because an index follows.
async fn acceptance(table: &mut Table) {
    let mut conversation = Conversation::begin().await;
    let (mut without, mut with) = (Samples::default(), Samples::default());
    for number in 0..ASKED {
        without.add(conversation.ask(&format!("a{}", number % 20)).await);
    }
    assert_eq!(conversation.project.run(&["memory", "reindex"]).code, Some(0));
    for number in 0..ASKED {
        with.add(conversation.ask(&format!("a{}", number % 20)).await);
    }
    let more = millis(with.median()) - millis(without.median());
    let measured = format!("{more:+.1} ms ({} without, {} with)", ms(without.median()), ms(with.median()));
    table.target(
        "overhead of a message where an index follows, p50",
        "≤ 0.5 ms more",
        &measured,
        more <= 0.5,
    );
}
