//! People are not shown what is remembered about others: in every place, on every platform, by every way of reading.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use shipagent::domain::ChatKind;

use crate::fakes::daemon::{Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::in_process::{HandClock, InProcess};

const PEOPLE: [&str; 3] = ["ann", "bob", "cid"];
const PLATFORMS: [&str; 2] = ["telegram", "feishu"];

/// A place where a person speaks.
#[derive(Clone, Debug)]
struct Venue {
    author: String,
    chat: ChatKind,
    thread: String,
    /// The secrets that may be shown there.
    may_see: BTreeSet<String>,
}

fn file(scope: &str) -> String {
    let encoded = scope.replace(':', "%3A");
    match scope {
        "project" | "main" => format!(".ship/memory/{scope}.md"),
        _ if scope.starts_with("group:") => {
            format!(".ship/memory/groups/{}.md", encoded.trim_start_matches("group%3A"))
        }
        _ => format!(".ship/memory/users/{encoded}.md"),
    }
}

fn secret(scope: &str) -> String {
    format!("canary-{}-canary", scope.replace(':', "-"))
}

/// Every scope there is in the test.
fn scopes() -> Vec<String> {
    let mut all: Vec<String> = ["project", "main", "peer:ann"].map(str::to_owned).to_vec();
    for platform in PLATFORMS {
        all.extend(PEOPLE.map(|person| format!("{platform}:user:{person}")));
        all.extend(["-1", "-2"].map(|chat| format!("group:{platform}:chat:{chat}")));
    }
    all
}

/// Every person on every platform in a direct chat, in two groups, one with topics, and a task; and the operator.
fn places(own: impl Fn(&str, &str) -> String) -> Vec<Venue> {
    let place = |author: String, chat: ChatKind, thread: String, scope: Option<String>| Venue {
        author,
        chat,
        thread,
        may_see: [Some("project".to_owned()), scope].into_iter().flatten().collect(),
    };
    let mut all = Vec::new();
    for platform in PLATFORMS {
        for person in PEOPLE {
            let author = format!("{platform}:user:{person}");
            let direct = format!("{platform}:chat:{person}");
            all.push(place(author.clone(), ChatKind::Direct, direct, Some(own(platform, person))));
            for (chat, thread) in [("-1", "-1"), ("-2", "-2:topic:4"), ("-2", "-2:user:9")] {
                let group = Some(format!("group:{platform}:chat:{chat}"));
                all.push(place(author.clone(), ChatKind::Group, format!("{platform}:chat:{thread}"), group));
            }
            all.push(place(
                author.clone(),
                ChatKind::Program,
                format!("task:chat:{platform}-{person}"),
                None,
            ));
        }
    }
    all.push(place(
        "web:user:operator".into(),
        ChatKind::Operator,
        "web:chat:console".into(),
        Some("main".into()),
    ));
    all.push(place("api:user:operator".into(), ChatKind::Program, "api:chat:x".into(), None));
    // Another person comes into a direct chat: from then on no personal memory is used there.
    all.push(place("telegram:user:bob".into(), ChatKind::Direct, "telegram:chat:ann".into(), None));
    all.push(place("telegram:user:ann".into(), ChatKind::Direct, "telegram:chat:ann".into(), None));
    all
}

fn assert_sees(place: &Venue, shown: &str, by: &str) {
    let seen: BTreeSet<String> =
        scopes().into_iter().filter(|scope| shown.contains(&secret(scope))).collect();
    assert_eq!(seen, place.may_see, "{by} in {place:?}: {shown}");
}

async fn check(config: Value, own: impl Fn(&str, &str) -> String) {
    let model = FakeModel::start(Script::compute(|_| Reply::text("well"))).await;
    let mut all = json!({ "language": "en", "memory": { "refreshMinutes": 0 }, "queue": { "mergeMs": 0 } });
    merge(&mut all, config);
    let project = Project::with_model(&model.url(), all);
    for scope in scopes() {
        project.write(&file(&scope), &format!("- {}\n", secret(&scope)));
    }
    let clock = HandClock::evening();
    // The second start finds the threads on the disk.
    for _ in 0..2 {
        let daemon = InProcess::start(&project, &clock);
        for place in places(&own) {
            let Venue { author, chat, thread, .. } = &place;
            daemon.say_as(author, *chat, thread, "hello").await;
            let prompt = model.requests().last().unwrap().body["messages"].to_string();
            assert_sees(&place, &prompt, "the prompt");
            let told = daemon.say_as(author, *chat, thread, "/memory").await;
            assert_sees(&place, &told, "/memory");
        }
        daemon.stop().await;
        // What was said by others in Ann's chat stays there; the next round begins without it.
        std::fs::remove_dir_all(project.path().join(".ship/threads")).unwrap();
        std::fs::remove_dir_all(project.path().join(".ship/state")).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_person_has_a_memory_per_platform_and_nobody_else_is_shown_it() {
    check(json!({}), |platform, person| format!("{platform}:user:{person}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn linked_identities_share_a_memory_and_others_are_not_guessed() {
    let ann = ["telegram:user:ann", "feishu:user:ann"];
    let config = json!({ "memory": { "dmScope": "per-peer" }, "identities": { "ann": ann } });
    check(config, |platform, person| match person {
        "ann" => "peer:ann".to_owned(),
        _ => format!("{platform}:user:{person}"),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_all_direct_chats_share_a_memory_groups_and_tasks_still_do_not() {
    check(json!({ "memory": { "dmScope": "main" } }), |_, _| "main".to_owned()).await;
}
