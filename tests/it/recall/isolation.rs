//! People find only what is theirs: three people, two platforms, direct chats and a group, over every way to search.

use serde_json::json;
use shipagent::domain::{
    Author, AuthorRole, ChatKind, CommandInvocation, IngressEvent, IngressKind, Said, Timestamp,
};

use super::scene::{reply, result, texts};
use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Script};
use crate::fakes::in_process::{HandClock, InProcess};

/// Where a person speaks.
#[derive(Clone, Copy, Debug)]
struct Chat {
    author: &'static str,
    thread: &'static str,
    kind: ChatKind,
}

const CHATS: &[Chat] = &[
    Chat { author: "web:user:ann", thread: "web:chat:ann", kind: ChatKind::Direct },
    Chat { author: "web:user:ann", thread: "web:chat:ann2", kind: ChatKind::Direct },
    Chat { author: "web:user:bob", thread: "web:chat:bob", kind: ChatKind::Direct },
    Chat { author: "web:user:cy", thread: "web:chat:cy", kind: ChatKind::Direct },
    Chat { author: "api:user:ann", thread: "api:chat:ann", kind: ChatKind::Direct },
    Chat { author: "api:user:bob", thread: "api:chat:bob", kind: ChatKind::Direct },
    Chat { author: "web:user:ann", thread: "web:chat:group", kind: ChatKind::Group },
    Chat { author: "web:user:bob", thread: "web:chat:group2", kind: ChatKind::Group },
    Chat { author: "api:user:task", thread: "api:chat:task", kind: ChatKind::Program },
];

async fn say(daemon: &InProcess, chat: Chat, number: usize, text: &str) {
    let message = format!("{}-{number}", chat.thread.replace(':', "-"));
    let event = IngressEvent {
        thread: chat.thread.parse().unwrap(),
        author: Author {
            id: chat.author.parse().unwrap(),
            name: Some(chat.author.to_owned()),
            role: AuthorRole::Person,
        },
        platform_message: message.clone(),
        message: message.parse().unwrap(),
        at: Timestamp::from_millis(1_795_032_000_000),
        chat: chat.kind,
        kind: match CommandInvocation::parse(text) {
            Some(command) => IngressKind::Command(command),
            None => IngressKind::Said(Said { text: text.to_owned(), ..Said::default() }),
        },
    };
    let message = daemon.take_in(event).await;
    daemon.outcome_in(chat.thread.parse().unwrap(), message).await;
}

fn secret(chat: Chat) -> String {
    format!("The zephyr password of {} is {}-xyzzy.", chat.thread, chat.thread.replace(':', ""))
}

async fn leaks(history: &str) -> Vec<(String, Vec<String>)> {
    let model = FakeModel::start(Script::compute(reply)).await;
    let config = json!({ "queue": { "mergeMs": 0 }, "memory": { "history": history } });
    let project = Project::with_model(&model.url(), config);
    let clock = HandClock::evening();
    let daemon = InProcess::start(&project, &clock);
    for chat in CHATS {
        say(&daemon, *chat, 1, &secret(*chat)).await;
        // Notes of the scope, as an automatic pass or an import leaves them.
        let folder = match chat.kind {
            ChatKind::Direct | ChatKind::Operator => chat.author.replace(':', "%3A"),
            ChatKind::Group => format!("group%3A{}", chat.thread.replace(':', "%3A")),
            ChatKind::Program => continue,
        };
        let id = chat.thread.replace(':', "-");
        let note = format!("- zephyr note for {} <!-- note-{id} 1795032000000 -->\n", chat.thread);
        project.write(&format!(".ship/memory/notes/{folder}/2026-11-{id}.md"), &note);
    }
    // Everything is indexed before anybody searches, and once more after a restart.
    let mut found = Vec::new();
    for chat in CHATS {
        for (number, ask) in [(2, "find zephyr password xyzzy"), (3, "list zephyr")] {
            say(&daemon, *chat, number, ask).await;
            found.push((chat.thread.to_owned(), texts(&result(&model.requests()))));
        }
    }
    daemon.stop().await;
    let daemon = InProcess::start(&project, &clock);
    for chat in CHATS {
        say(&daemon, *chat, 4, "find zephyr password xyzzy").await;
        found.push((chat.thread.to_owned(), texts(&result(&model.requests()))));
        // What is recalled before the turn is in the prompt.
        say(&daemon, *chat, 5, "/new").await;
        say(&daemon, *chat, 6, "What was the zephyr password xyzzy of mine?").await;
        let shown = model.requests().last().unwrap().body["messages"].to_string();
        found.push((chat.thread.to_owned(), vec![shown]));
    }
    daemon.stop().await;
    found
}

fn foreign<'a>(
    found: &'a [(String, Vec<String>)],
    may_read: &dyn Fn(&str, &str) -> bool,
) -> Vec<(&'a str, &'a str)> {
    let mut out = Vec::new();
    for (thread, texts) in found {
        for text in texts {
            for other in CHATS.iter().filter(|chat| !may_read(thread, chat.thread)) {
                // Names are compared whole: ann is not ann2.
                let named = text
                    .split(|c: char| c.is_whitespace() || "\"\\".contains(c))
                    .any(|word| word == other.thread);
                if named {
                    out.push((thread.as_str(), other.thread));
                }
            }
        }
    }
    out
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_stays_in_its_thread_and_scope() {
    let found = leaks("thread").await;
    // Ann's two direct chats share her notes, and nothing else.
    let shares_notes = |thread: &str, other: &str| {
        thread == other || (thread.starts_with("web:chat:ann") && other.starts_with("web:chat:ann"))
    };
    assert_eq!(foreign(&found, &shares_notes), []);
    for (thread, texts) in found.iter().filter(|(thread, _)| thread.starts_with("web:chat:ann")) {
        let other = if thread == "web:chat:ann" { "webchatann2-xyzzy" } else { "webchatann-xyzzy" };
        assert!(!texts.iter().any(|text| text.contains(other)), "{thread}: {texts:?}");
    }
    for chat in CHATS {
        let own = found
            .iter()
            .filter(|(thread, _)| thread == chat.thread)
            .any(|(_, texts)| texts.iter().any(|text| text.contains(&secret(*chat))));
        assert!(own, "{} finds its own", chat.thread);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_in_the_scope_reaches_the_persons_direct_chats_and_no_others() {
    let found = leaks("scope").await;
    let same_person = |thread: &str, other: &str| {
        thread == other || (thread.starts_with("web:chat:ann") && other.starts_with("web:chat:ann"))
    };
    assert_eq!(foreign(&found, &same_person), []);
    let reached = found.iter().any(|(thread, texts)| {
        thread == "web:chat:ann2" && texts.iter().any(|text| text.contains("webchatann-xyzzy"))
    });
    assert!(reached, "Ann's second chat finds what she said in the first");
}
