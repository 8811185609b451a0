//! Access: pairing codes, roles, and revoking, with and without a daemon.

use serde_json::json;
use shipagent::domain::{Author, AuthorRole, Role, Timestamp};
use shipagent::ports::{AccessStore, Clock, PairingConfirmation, PairingRequest, SystemClock};
use shipagent::store::FileAccess;

use crate::access::audit::{delete, post, short, trail};
use crate::fakes::approval_scene::Scene;
use crate::fakes::daemon::{Output, Project};
use crate::fakes::stranger::{self, book};

async fn request_pairing(book: &FileAccess, person: &str, now: Timestamp) -> PairingRequest {
    let who = Author { id: person.parse().unwrap(), name: Some("Ada".to_owned()), role: AuthorRole::Person };
    book.ask_in(who, now).await.unwrap()
}

fn ok(output: &Output) -> &str {
    assert_eq!(output.code, Some(0), "{output:?}");
    &output.stdout
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_is_let_in_by_their_code_with_and_without_a_daemon() {
    let project = Project::new(json!({ "llm": { "provider": "offline" } }));
    let nobody = "nobody was let in beyond what ship.json says, and nobody asks\n";
    assert_eq!(ok(&project.run(&["access", "list"])), nobody);
    assert!(!project.path().join(".ship").exists(), "a look makes no state");
    let daemon = project.start().await;
    let book = book(&project);
    let (ada, bob) = ("telegram:user:1", "feishu:user:ou_2");
    let (first, second) = (
        stranger::request_pairing(&project, ada, Some("Ada")).await,
        stranger::request_pairing(&project, bob, Some("Ada")).await,
    );
    assert_ne!(first, second);

    // The console approves the first, the command line the second; both list both.
    let listed = daemon.get_json("/api/access").await;
    assert_eq!(listed["asking"][0]["code"], json!(first), "{listed}");
    let wrong = post(&daemon, "/api/access/approve", json!({ "code": "AAAAAAAA" })).await;
    assert_eq!(wrong.0, 404, "{}", wrong.1);
    let (status, text) = post(&daemon, "/api/access/approve", json!({ "code": first.to_lowercase() })).await;
    assert_eq!(status, 200, "{text}");
    assert_eq!(
        book.role_of(&ada.parse().unwrap()).await.unwrap(),
        Some(Role::Member),
        "seen at once by a book of another hand"
    );
    assert_eq!(book.role_of(&bob.parse().unwrap()).await.unwrap(), None);
    let let_in = project.run(&["access", "approve", &second]);
    assert_eq!(ok(&let_in), "feishu:user:ou_2 (Ada) may talk to the agent now\n");
    assert_eq!(book.role_of(&bob.parse().unwrap()).await.unwrap(), Some(Role::Member));
    assert_eq!(project.run(&["access", "approve", &second]).code, Some(1), "a code is good once");
    assert_eq!(delete(&daemon, "/api/access/feishu%3Auser%3Aou_2").await.0, 204);
    assert_eq!(delete(&daemon, "/api/access/feishu%3Auser%3Aou_2").await.0, 404);
    assert_eq!(book.role_of(&bob.parse().unwrap()).await.unwrap(), None);
    assert!(daemon.stop().await.success());

    let owner = "telegram:user:9".parse().unwrap();
    let platform = "telegram".parse().unwrap();
    book.open_chat(&platform, "-100", &owner, SystemClock.now()).await.unwrap();
    assert!(
        book.is_open(&platform, "-100").await.unwrap() && !book.is_open(&platform, "-101").await.unwrap()
    );
    assert!(ok(&project.run(&["access", "list"])).contains("telegram:chat:-100"));
    ok(&project.run(&["access", "revoke", "telegram:chat:-100"]));
    assert!(!book.is_open(&platform, "-100").await.unwrap());
    assert_eq!(project.run(&["access", "revoke", "telegram:chat:-100"]).code, Some(1));
    assert_eq!(project.run(&["access", "revoke", "somebody"]).code, Some(2));

    let story: Vec<String> = trail(project.path())
        .iter()
        .map(|line| format!("{} {}", short(line), line["guest"].as_str().unwrap_or("-")))
        .collect();
    assert_eq!(
        story,
        [
            "access-approved refused - web:user:operator -",
            "access-approved approved - web:user:operator telegram:user:1",
            "access-approved approved - cli:user:operator feishu:user:ou_2",
            "access-approved refused - cli:user:operator -",
            "access-revoked - - web:user:operator feishu:user:ou_2",
            "access-revoked - - cli:user:operator telegram:chat:-100",
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_several_processes_write_at_once_is_all_there() {
    let project = Project::new(json!({ "llm": { "provider": "offline" } }));
    std::fs::create_dir_all(project.path().join(".ship")).unwrap();
    let book = book(&project);
    let mut codes = Vec::new();
    for platform in ["telegram", "feishu", "qq"] {
        for person in 0..2 {
            codes.push(
                stranger::request_pairing(&project, &format!("{platform}:user:{person}"), Some("Ada")).await,
            );
        }
    }
    let children: Vec<_> = codes
        .iter()
        .map(|code| {
            project.command(&["access", "approve", code]).stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    let owner = "telegram:user:9".parse().unwrap();
    for chat in 0..20 {
        book.open_chat(&"telegram".parse().unwrap(), &format!("-{chat}"), &owner, SystemClock.now())
            .await
            .unwrap();
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let known = book.list(SystemClock.now()).await.unwrap();
    assert_eq!((known.people.len(), known.chats.len(), known.asking.len()), (6, 20, 0), "{known:?}");
}

#[tokio::test]
async fn codes_die_after_an_hour_and_guessing_is_stopped() {
    let project = Project::new(json!({ "llm": { "provider": "offline" }, "language": "zh" }));
    std::fs::create_dir_all(project.path().join(".ship")).unwrap();
    let book = book(&project);
    let operator = "cli:user:operator".parse().unwrap();
    let begin = Timestamp::from_millis(1_000_000_000_000);
    let PairingRequest::Code { code, expires, fresh: true } =
        request_pairing(&book, "qq:user:1", begin).await
    else {
        panic!("no code");
    };
    assert_eq!(expires.millis_since(begin), 3_600_000);
    assert_eq!(
        book.approve(&code, Role::Member, &operator, expires).await.unwrap(),
        PairingConfirmation::NoSuchCode
    );
    let code = stranger::request_pairing(&project, "qq:user:1", Some("Ada")).await;
    for _ in 0..10 {
        let wrong = project.run(&["access", "approve", "ZZZZZZZZ"]);
        assert_eq!(wrong.code, Some(1));
        assert!(wrong.stderr.contains("没有人持有这个配对码"), "{wrong:?}");
    }
    let locked = project.run(&["access", "approve", &code]);
    assert_eq!(locked.code, Some(1));
    assert!(locked.stderr.contains("错误的配对码太多"), "{locked:?}");
    assert_eq!(book.role_of(&"qq:user:1".parse().unwrap()).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_garbled_access_book_lets_nobody_in_and_is_kept() {
    let project = Project::new(json!({ "llm": { "provider": "offline" } }));
    project.write(".ship/access.json", "{\"people\": 1}");
    let book = book(&project);
    assert!(book.role_of(&"qq:user:1".parse().unwrap()).await.is_err());
    let listed = project.run(&["access", "list"]);
    assert_eq!(listed.code, Some(1), "{listed:?}");
    assert!(listed.stderr.contains("access.json is not valid and is ignored"), "{listed:?}");
    assert_eq!(project.run(&["access", "approve", "AAAAAAAA"]).code, Some(1));
    let kept = std::fs::read_to_string(project.path().join(".ship/access.json")).unwrap();
    assert_eq!(kept, "{\"people\": 1}");
}

/// Gives access from the command line, beside a running daemon.
async fn let_in(scene: &Scene, person: &str, role: &str) {
    let code = stranger::request_pairing(&scene.project, person, Some("Ada")).await;
    let said = scene.project.run(&["access", "approve", &code, "--role", role]);
    assert!(ok(&said).contains(role), "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_allows_nothing_an_owner_everything_and_a_change_holds_at_once() {
    let scene = Scene::new(json!({})).await;
    let_in(&scene, "api:user:ada", "guest").await;
    let_in(&scene, "api:user:olga", "owner").await;
    let asked = scene.ask(&["echo one >> out/log.txt"]).await.remove(0);
    let refused = scene.say("approve", "guest-yes").await;
    assert!(refused["output"].as_str().unwrap().contains("may not decide"), "{refused}");
    assert_eq!(scene.stands(&asked).await["state"], "pending");
    assert!(scene.lines().is_empty());
    scene.say_as("olga", "a", "approve", "owner-yes").await;
    scene.outcome("a", "m1").await;
    assert_eq!(scene.lines(), ["one"]);
    let stands = scene.stands(&asked).await;
    assert_eq!((&stands["state"], &stands["decidedBy"]), (&json!("spent"), &json!("api:user:olga")));

    // The console makes the guest a member, who may then approve their own requests.
    let (status, text) =
        post(&scene.daemon, "/api/access/api%3Auser%3Aada", json!({ "role": "member" })).await;
    assert_eq!(status, 200, "{text}");
    let waiting = scene.say("run [\"echo two >> out/log.txt\"]", "m2").await;
    assert_eq!(waiting["status"], "awaiting-approval", "{waiting}");
    scene.say("approve", "member-yes").await;
    scene.outcome("a", "m2").await;
    assert_eq!(scene.lines(), ["one", "two"]);

    // The command line makes the owner a member, who may no longer decide for others.
    let said = scene.project.run(&["access", "role", "api:user:olga", "member"]);
    assert_eq!(ok(&said), "api:user:olga is member now\n");
    let waiting = scene.say("run [\"echo three >> out/log.txt\"]", "m3").await;
    assert_eq!(waiting["status"], "awaiting-approval", "{waiting}");
    let refused = scene.say_as("olga", "a", "approve", "no-owner").await;
    assert!(refused["output"].as_str().unwrap().contains("may not decide"), "{refused}");
    scene.say("deny", "no").await;
    scene.outcome("a", "m3").await;

    let listed = ok(&scene.project.run(&["access", "list"])).to_owned();
    assert!(listed.contains("api:user:olga") && !listed.contains("guest"), "{listed}");
    assert_eq!(
        scene.project.run(&["access", "role", "api:user:eve", "guest"]).code,
        Some(1),
        "nobody let her in"
    );
    assert_eq!(scene.project.run(&["access", "role", "api:user:ada", "king"]).code, Some(2));
    let (status, text) =
        post(&scene.daemon, "/api/access/api%3Auser%3Aeve", json!({ "role": "guest" })).await;
    let refused: serde_json::Value = serde_json::from_str(&text).unwrap();
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert_eq!((status, message.starts_with("api:user:eve was not let in")), (404, true), "{text}");
    let changes: Vec<String> = trail(scene.project.path())
        .iter()
        .filter(|line| line["event"] == "access-changed")
        .map(|line| format!("{} {}", line["guest"].as_str().unwrap(), line["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(changes, ["api:user:ada as member", "api:user:olga as member"]);
    scene.end().await;
}
