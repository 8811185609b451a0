//! The isolation matrix: three people on two platforms, in direct chats, groups and tasks, over every way to read memory and
//! history; and once more after kill -9 in the middle of a turn of each place. Nothing may leak.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script, Seen};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;
use crate::fakes::telegram::server::FakeTelegram;
use crate::learning::scene::until;
use crate::telegram::scene::BOT;

const PEOPLE: [(&str, i64); 3] = [("ann", 7), ("bob", 8), ("cid", 9)];
const GROUP: i64 = -1001;
const TASKS: [&str; 2] = ["first", "second"];
/// Rare words: what has them is recalled before a turn.
const RARE: &str = "zephyr quartz lantern harbour velvet";

/// Where a person speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Venue {
    TelegramDirect(&'static str, i64),
    TelegramGroup(&'static str, i64),
    FeishuDirect(&'static str),
    FeishuGroup(&'static str),
    Task(&'static str),
}

impl Venue {
    fn all() -> Vec<Self> {
        let people = PEOPLE.into_iter().flat_map(|(name, id)| {
            [
                Self::TelegramDirect(name, id),
                Self::TelegramGroup(name, id),
                Self::FeishuDirect(name),
                Self::FeishuGroup(name),
            ]
        });
        people.chain(TASKS.map(Self::Task)).collect()
    }

    /// The memory that may be read there beside the project's.
    fn scope(&self) -> Option<String> {
        match self {
            Self::TelegramDirect(_, id) => Some(format!("telegram:user:{id}")),
            Self::TelegramGroup(..) => Some(format!("group:telegram:chat:{GROUP}")),
            Self::FeishuDirect(name) => Some(format!("feishu:user:ou_{name}")),
            Self::FeishuGroup(_) => Some("group:feishu:chat:oc_group".to_owned()),
            Self::Task(_) => None,
        }
    }

    /// The conversation it belongs to, as a word.
    fn thread(&self) -> String {
        match self {
            Self::TelegramDirect(_, id) => format!("telegram{id}"),
            Self::TelegramGroup(..) => "telegramgroup".to_owned(),
            Self::FeishuDirect(name) => format!("feishu{name}"),
            Self::FeishuGroup(_) => "feishugroup".to_owned(),
            Self::Task(name) => format!("task{name}"),
        }
    }

    fn may_see(&self) -> BTreeSet<String> {
        let scopes = std::iter::once("project".to_owned()).chain(self.scope());
        let memory = scopes.flat_map(|scope| [canary("core", &scope), canary("note", &scope)]);
        memory.chain([canary("said", &self.thread())]).collect()
    }
}

fn canary(kind: &str, of: &str) -> String {
    format!("[[{kind} {}]]", of.replace([':', '_'], "-"))
}

/// The canaries in a text.
fn canaries(text: &str) -> BTreeSet<String> {
    let parts = text.split("[[").skip(1);
    parts.filter_map(|part| Some(format!("[[{}]]", part.split_once("]]")?.0))).collect()
}

fn scopes() -> BTreeSet<String> {
    Venue::all().iter().filter_map(Venue::scope).chain(["project".to_owned(), "main".to_owned()]).collect()
}

fn core_file(scope: &str) -> String {
    let encoded = scope.replace(':', "%3A");
    match scope.strip_prefix("group:") {
        Some(chat) => format!(".ship/memory/groups/{}.md", chat.replace(':', "%3A")),
        None if scope == "project" || scope == "main" => format!(".ship/memory/{scope}.md"),
        None => format!(".ship/memory/users/{encoded}.md"),
    }
}

/// The mark of a conversation in the newest message of a person.
fn asked_in(seen: &Seen) -> Option<String> {
    let text = seen.last_user_text();
    let mark = text.rsplit_once("place=")?.1;
    Some(mark.split(|c: char| !c.is_alphanumeric()).next()?.to_owned())
}

fn number_in(seen: &Seen) -> String {
    let text = seen.last_user_text();
    let mark = text.rsplit_once("turn=").map_or("", |(_, mark)| mark);
    mark.chars().take_while(char::is_ascii_digit).collect()
}

/// Searches and lists when it is told to; where a gate is closed, the answer after that waits.
fn script(seen: &Seen, gate: &Mutex<Option<Latch>>) -> Reply {
    let last = seen.body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
    let text = seen.last_user_text();
    let done = Reply::text(&format!("done {}", number_in(seen)));
    if last["role"] == "tool" {
        return match &*gate.lock().unwrap() {
            Some(gate) => done.behind(gate),
            None => done,
        };
    }
    if text.contains("SEARCHNOW") {
        Reply::calls([("memory_search", json!({ "query": RARE, "limit": 20 }))])
    } else if text.contains("LISTNOW") {
        Reply::calls([("chat_load_history", json!({ "keyword": "zephyr", "limit": 50 }))])
    } else {
        done
    }
}

struct Scene {
    telegram: FakeTelegram,
    feishu: Feishu,
    model: FakeModel,
    project: Project,
    gate: Arc<Mutex<Option<Latch>>>,
    turns: Mutex<u32>,
}

impl Scene {
    async fn new() -> Self {
        let (telegram, feishu) = (FakeTelegram::start().await, Feishu::start().await);
        let gate: Arc<Mutex<Option<Latch>>> = Arc::default();
        let held = gate.clone();
        let model = FakeModel::start(Script::compute(move |seen| script(seen, &held))).await;
        let people: Vec<i64> = PEOPLE.iter().map(|(_, id)| *id).collect();
        let mut config = json!({
            "language": "en", "queue": { "mergeMs": 0 },
            "memory": { "auto": "off", "refreshMinutes": 0 },
            "adapters": { "telegram": { "botToken": telegram.token(), "apiUrl": telegram.url(),
                "allowedUsers": people, "allowedChats": [GROUP] } },
        });
        let users: Vec<String> = PEOPLE.iter().map(|(name, _)| format!("ou_{name}")).collect();
        merge(&mut config, feishu.section(json!({ "allowedUsers": users })));
        let project = Project::with_model(&model.url(), config);
        for scope in scopes() {
            let word = canary("core", &scope);
            project.write(&core_file(&scope), &format!("- the zephyr fact is {word}\n"));
            let line = json!({ "id": format!("n-{scope}"), "at": 1_795_032_000_000_i64, "author": "Zoe",
                "text": format!("{RARE} note is {}", canary("note", &scope)) });
            let folder = project.path().join(format!("import-{}", scope.replace(':', "-")));
            project.write(&format!("import-{}/notes.jsonl", scope.replace(':', "-")), &format!("{line}\n"));
            let done = project.run(&["memory", "import", folder.to_str().unwrap(), "--scope", &scope]);
            assert_eq!(done.code, Some(0), "{done:?}");
        }
        for name in TASKS {
            let text = format!(
                "{RARE} word is {} SEARCHNOW place=task{name}",
                canary("said", &format!("task{name}"))
            );
            project.write(
                &format!(".ship/tasks/{name}.md"),
                &format!("---\nschedule: \"0 9 1 1 *\"\ndeliver: none\n---\n{text}\n"),
            );
        }
        Self { telegram, feishu, model, project, gate, turns: Mutex::new(0) }
    }

    fn next_turn(&self) -> u32 {
        let mut turns = self.turns.lock().unwrap();
        *turns += 1;
        *turns
    }

    /// What the agent has said in the chat of a place.
    fn answers(&self, place: &Venue) -> Vec<String> {
        match place {
            Venue::TelegramDirect(_, id) => self.telegram.read(|world| world.bot_texts(*id)),
            Venue::TelegramGroup(..) => self.telegram.read(|world| world.bot_texts(GROUP)),
            Venue::FeishuDirect(name) => self.feishu.look(|world| world.said(&format!("oc_{name}"))),
            Venue::FeishuGroup(_) => self.feishu.look(|world| world.said("oc_group")),
            Venue::Task(_) => Vec::new(),
        }
    }

    fn write(&self, place: &Venue, text: &str) {
        match place {
            Venue::TelegramDirect(name, id) => {
                let user = self.telegram.user(*id, name);
                self.telegram.private(&user).say(&user, text);
            }
            Venue::TelegramGroup(name, id) => {
                let user = self.telegram.user(*id, name);
                let text = match text.strip_prefix("/memory") {
                    Some(_) => format!("/memory{BOT}"),
                    None => format!("{BOT} {text}"),
                };
                self.telegram.group(GROUP).say(&user, &text);
            }
            Venue::FeishuDirect(name) => {
                self.feishu.write(&Message::private(&format!("ou_{name}"), text));
            }
            Venue::FeishuGroup(name) => {
                self.feishu.write(&Message::group("oc_group", &format!("ou_{name}"), text).mentioning());
            }
            Venue::Task(_) => {}
        }
    }

    /// One turn to its end.
    async fn say(&self, place: &Venue, text: &str) {
        let turn = self.next_turn();
        self.write(place, &format!("{text} place={} turn={turn}", place.thread()));
        let answer = format!("done {turn}");
        until(&answer, || self.answers(place).iter().any(|said| said.contains(&answer))).await;
    }

    /// A command to its answer.
    async fn order(&self, place: &Venue, order: &str) -> String {
        let before = self.answers(place).len();
        self.write(place, order);
        until(order, || self.answers(place).len() > before).await;
        self.answers(place).last().unwrap().clone()
    }

    async fn run_task(&self, daemon: &Daemon, place: &Venue, name: &str) {
        let before = self.model.requests().len();
        let response = daemon.post(&format!("/api/tasks/{name}/run"), &json!({})).send().await.unwrap();
        assert!(response.status().is_success(), "{}", response.text().await.unwrap());
        until("the task", || {
            let seen = self.model.requests();
            seen.iter().skip(before).filter(|seen| asked_in(seen) == Some(place.thread())).count() >= 2
        })
        .await;
    }

    /// Every way to read, in every place.
    async fn read_everything(&self, daemon: &Daemon) {
        for place in &Venue::all() {
            if let Venue::Task(name) = place {
                self.run_task(daemon, place, name).await;
                continue;
            }
            self.say(place, &format!("my {RARE} word is {}", canary("said", &place.thread()))).await;
            self.say(place, "SEARCHNOW please").await;
            self.say(place, "LISTNOW please").await;
            let told = self.order(place, "/memory").await;
            let own = std::iter::once("project".to_owned()).chain(place.scope());
            let both = |scope: String| ["core", "note"].map(|kind| canary(kind, &scope));
            let expected: BTreeSet<String> = own.flat_map(both).collect();
            assert_eq!(canaries(&told), expected, "/memory in {place:?}: {told}");
        }
        for place in Venue::all().iter().filter(|place| !matches!(place, Venue::Task(_))) {
            // Nothing of the conversation is in the prompt any more: what is shown now was recalled.
            self.order(place, "/new").await;
            self.say(place, &format!("what was {RARE} about?")).await;
        }
        for scope in scopes() {
            let expected: BTreeSet<String> = ["core", "note"].map(|kind| canary(kind, &scope)).into();
            let shown = daemon.get_json(&format!("/api/memory?scope={scope}")).await.to_string();
            assert_eq!(canaries(&shown), expected, "HTTP, {scope}: {shown}");
            let found =
                daemon.get_json(&format!("/api/memory/search?q=zephyr&scope={scope}")).await.to_string();
            assert_eq!(canaries(&found), expected, "search over HTTP, {scope}: {found}");
            let shown = self.project.run(&["memory", "show", "--scope", &scope, "--json"]).stdout;
            assert_eq!(canaries(&shown), expected, "CLI, {scope}: {shown}");
            let found = self.project.run(&["memory", "search", "zephyr", "--scope", &scope, "--json"]).stdout;
            assert_eq!(canaries(&found), expected, "search by CLI, {scope}: {found}");
        }
    }

    /// Compares all that the model was sent with what each place may see. Returns what each conversation was shown.
    fn check(&self) -> BTreeMap<String, BTreeSet<String>> {
        let allowed: BTreeMap<String, BTreeSet<String>> =
            Venue::all().iter().map(|place| (place.thread(), place.may_see())).collect();
        let mut shown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for seen in self.model.requests() {
            let messages = seen.body["messages"].to_string();
            let place = asked_in(&seen).unwrap_or_else(|| panic!("where was this asked? {messages}"));
            let found = canaries(&messages);
            let leaks: Vec<&String> = found.difference(&allowed[&place]).collect();
            assert!(leaks.is_empty(), "{leaks:?} leaked to {place}: {messages}");
            shown.entry(place).or_default().extend(found);
        }
        shown
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_reads_what_is_not_theirs_by_any_way_also_after_kill_and_resume() {
    let scene = Scene::new().await;
    let daemon = scene.project.start().await;
    scene.read_everything(&daemon).await;

    // Each conversation is in the middle of a turn that has searched when the daemon dies.
    *scene.gate.lock().unwrap() = Some(Latch::new());
    let mut threads: Vec<Venue> = Venue::all();
    threads.dedup_by_key(|place| place.thread());
    let mut held = Vec::new();
    let mut known = BTreeSet::new();
    for place in threads.iter().filter(|place| known.insert(place.thread())) {
        let before = scene.model.requests().len();
        let turn = scene.next_turn();
        match place {
            Venue::Task(name) => scene.run_task(&daemon, place, name).await,
            _ => {
                scene.write(place, &format!("SEARCHNOW again place={} turn={turn}", place.thread()));
                held.push((place.clone(), format!("done {turn}")));
                until("the search", || {
                    let seen = scene.model.requests();
                    let own = seen.iter().skip(before).filter(|seen| asked_in(seen) == Some(place.thread()));
                    own.filter(|seen| seen.body["messages"].to_string().contains("\"tool\"")).count() >= 1
                })
                .await;
            }
        }
    }
    daemon.kill();
    *scene.gate.lock().unwrap() = None;
    let daemon = scene.project.start().await;
    for (place, answer) in &held {
        until(answer, || scene.answers(place).iter().any(|said| said.contains(answer))).await;
    }
    scene.read_everything(&daemon).await;
    daemon.kill();

    let shown = scene.check();
    // The test can see: each conversation was shown all that it may see.
    for place in Venue::all() {
        assert_eq!(shown[&place.thread()], place.may_see(), "{place:?}");
    }
    let recalled = |seen: &Seen| seen.body["messages"].to_string().contains("<recalled>");
    let recalls = scene.model.requests().iter().filter(|seen| recalled(seen)).count();
    assert!(recalls >= PEOPLE.len(), "{recalls} prompts with recalled texts");
    let requests = scene.model.requests().len();
    println!("{} places, {requests} prompts, {recalls} with recalled texts, 0 leaks", Venue::all().len());
}
