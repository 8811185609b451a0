//! How far a yes reaches, from the outside: a program named in words, scopes that can hold, and calls that cannot
//! run and are not asked about.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::fakes::approval_scene::Scene;
use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply, Seen};

const SCRIPT: &str = "#!/bin/sh\necho \"$@\" >> out/log.txt\n";

fn executable(project: &Project, name: &str, text: &str) {
    project.write(name, text);
    let path = project.path().join(name);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a command in a chat; returns whether it asks for approval.
async fn asks(scene: &Scene, chat: &str, command: &str, id: &str) -> bool {
    let answer = scene.say_as("ada", chat, &format!("run {}", json!([command])), id).await;
    match answer["status"].as_str().unwrap() {
        "awaiting-approval" => {
            // The next command starts from a quiet thread.
            scene.say_as("ada", chat, "deny", &format!("{id}-deny")).await;
            scene.daemon.until_state(&format!("api:chat:{chat}"), "idle").await;
            true
        }
        "done" => false,
        other => panic!("{other}: {answer}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn naming_the_program_of_a_call_allows_it_with_other_plain_arguments_for_that_time() {
    for (reply, chat) in [("allow ./bump.sh for 10 minutes", "a"), ("在 10 分钟内都同意 ./bump.sh", "b")]
    {
        let scene = Scene::new(json!({ "permissions": { "exec_shell": { "deny": ["shutdown"] } } })).await;
        executable(&scene.project, "bump.sh", SCRIPT);
        executable(&scene.project, "sub/bump.sh", SCRIPT);
        let asked = scene.say_as("ada", chat, "run [\"./bump.sh g1\"]", "m1").await;
        assert_eq!(asked["status"], "awaiting-approval", "{asked}");
        let approval = &asked["approvals"][0];
        assert!(approval["scopes"].as_array().unwrap().contains(&json!("program")), "{approval}");
        assert!(
            approval["details"].as_str().unwrap().contains("allow ./bump.sh for 10 minutes"),
            "{approval}"
        );

        // Another program than that of the call is no answer to it.
        for wrong in
            ["allow ./other.sh for 10 minutes", "在 10 分钟内都同意 ./other.sh", "allow bash for 10 minutes"]
        {
            scene.say_as("ada", chat, wrong, wrong).await;
            assert_eq!(scene.stands(approval).await["state"], "pending", "{wrong}");
        }
        scene.say_as("ada", chat, reply, "yes").await;
        scene.daemon.until_state(&format!("api:chat:{chat}"), "idle").await;
        let settled = scene.stands(approval).await;
        assert_eq!(settled["scope"], json!({ "type": "program", "minutes": 10 }), "{settled}");

        for (command, asks_again) in [
            ("./bump.sh g2", false),
            ("./bump.sh g3 v1.2.3", false),
            ("./bump.sh", false),
            ("./bump.sh --force", true),
            ("./bump.sh g1 -x", true),
            ("./bump.sh $HOME", true),
            ("./bump.sh *", true),
            ("./bump.sh `id`", true),
            ("./bump.sh g1 > x", true),
            ("./bump.sh ../x", true),
            ("./bump.sh .env", true),
            ("./bump.sh g1 && ./bump.sh --all", true),
            ("./bump.sh shutdown", true),
            ("X=1 ./bump.sh g1", true),
            ("sh ./bump.sh g1", true),
            ("cd sub && ./bump.sh g1", true),
        ] {
            assert_eq!(asks(&scene, chat, command, command).await, asks_again, "{command}");
        }
        assert!(asks(&scene, "elsewhere", "./bump.sh g2", "other-thread").await);
        assert_eq!(scene.lines(), ["g1", "g2", "g3 v1.2.3", ""]);

        executable(&scene.project, "bump.sh", "#!/bin/sh\necho changed >> out/log.txt\n");
        assert!(asks(&scene, chat, "./bump.sh g4", "changed").await, "another script than was seen");
        scene.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scope_that_cannot_hold_is_not_offered_and_not_recorded() {
    let scene = Scene::new(json!({})).await;
    executable(&scene.project, "bump.sh", SCRIPT);
    for (round, (command, scopes)) in [
        ("echo one >> out/log.txt", json!(["once"])),
        ("git push origin main", json!(["once"])),
        ("touch out/a", json!(["once", "thread", "minutes", "shape", "project"])),
        ("./bump.sh a", json!(["once", "thread", "minutes", "shape", "project", "program"])),
        ("./bump.sh --all", json!(["once", "thread", "minutes", "shape", "project"])),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("scopes-{round}");
        let asked = scene.say(&format!("run {}", json!([command])), &id).await;
        assert_eq!(asked["approvals"][0]["scopes"], scopes, "{command}: {asked}");
        scene.say("deny", &format!("{id}-deny")).await;
        scene.daemon.until_state("api:chat:a", "idle").await;
    }
    let asked = scene.say("run [\"echo one >> out/log.txt\"]", "over-http").await;
    let id = asked["approvals"][0]["id"].as_str().unwrap().to_owned();
    let body = json!({ "decision": "approve", "scope": "project" });
    let answer = scene.daemon.post(&format!("/api/approvals/{id}"), &body).send().await.unwrap();
    let decided: Value = answer.json().await.unwrap();
    assert_eq!(decided["scope"], json!({ "type": "once" }), "what is recorded is what held: {decided}");
    scene.daemon.until_state("api:chat:a", "idle").await;
    assert_eq!(scene.lines(), ["one"]);
    let grants = scene.daemon.get_json("/api/grants").await;
    assert_eq!(grants["grants"], json!([]), "{grants}");
    let messages = scene.daemon.get_json("/api/threads/api%3Achat%3Aa/messages").await.to_string();
    assert!(
        messages.contains("\"decidedBy\":\"web:user:operator\""),
        "the outcome stands in the thread: {messages}"
    );
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tool_calls_with_missing_or_malformed_arguments_go_back_to_the_model() {
    let wrong = [
        ("exec_shell", json!({})),
        ("exec_shell", json!({ "command": ["ls"] })),
        ("exec_shell", json!({ "command": "  " })),
        ("exec_shell", json!({ "cmd": "touch made" })),
        ("write_file", json!({ "path": "made" })),
        ("write_file", json!({ "content": "x" })),
        ("write_file", json!({ "path": {}, "content": "x" })),
        ("write_file", json!({ "path": " ", "content": "x" })),
        ("edit_file", json!({ "path": "made", "old": "a" })),
        ("edit_file", json!({ "path": "made", "old": "", "new": "b" })),
        ("edit_file", json!({ "path": "made", "old": "a", "new": "a" })),
        ("memory_upsert", json!({ "scope": "project", "action": "add" })),
        ("memory_upsert", json!({ "scope": "everybody", "action": "add", "text": "x" })),
        ("memory_upsert", json!({ "scope": "project", "action": "replace", "text": "x" })),
        ("chat_send", json!({ "thread": "telegram:chat:1" })),
        ("chat_send", json!({ "thread": "nobody", "text": "hi" })),
        ("send_file", json!({})),
        ("no_such_tool", json!({ "a": 1 })),
    ];
    let calls = wrong.clone();
    let model = FakeModel::start([Reply::calls(calls), Reply::text("I see")]).await;
    let project = Project::with_model(&model.url(), json!({}));
    let daemon = project.start().await;
    let answer = daemon.execute(json!({ "instructions": "go", "chatId": "a", "messageId": "m1" })).await;
    assert_eq!((&answer["status"], &answer["output"]), (&json!("done"), &json!("I see")), "{answer}");
    assert_eq!(daemon.get_json("/api/approvals").await["approvals"], json!([]), "nobody was asked");
    let told: Vec<String> = model.requests()[1].body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect();
    assert_eq!(told.len(), wrong.len());
    for ((tool, input), told) in wrong.iter().zip(&told) {
        assert!(
            told.contains("invalid arguments") || told.contains("no tool named"),
            "{tool} {input}: {told}"
        );
    }
    assert!(!project.path().join("made").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_never_gets_the_arguments_right_is_stopped() {
    let mut round = 0;
    let scene = Scene::with(
        move |_: &Seen| {
            round += 1;
            Reply::calls([("write_file", json!({ "path": format!("f{round}") }))])
        },
        json!({}),
    )
    .await;
    let answer = scene.say("go", "m1").await;
    assert_eq!(answer["status"], "failed", "{answer}");
    assert_eq!(scene.model.requests().len(), 7, "long before the limit of steps");
    assert!(scene.pending().await.is_empty());
}
