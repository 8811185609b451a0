//! The audit trail, grants and access, tested from the outside.

use std::path::Path;

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply};

fn shell(command: &str) -> Reply {
    Reply::calls([("exec_shell", json!({ "command": command }))])
}

/// Every line of the trail, oldest first.
pub(crate) fn trail(project: &Path) -> Vec<Value> {
    let mut files: Vec<_> = std::fs::read_dir(project.join(".ship/logs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("audit-"))
        .collect();
    files.sort();
    let texts = files.iter().map(|path| std::fs::read_to_string(path).unwrap());
    texts
        .flat_map(|text| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>())
        .collect()
}

/// A line in short: event, outcome, subject, person.
pub(crate) fn short(line: &Value) -> String {
    let text = |key: &str| line[key].as_str().unwrap_or("-");
    let result = line["verdict"].as_str().or(line["outcome"].as_str()).unwrap_or("-");
    let grants: Vec<&str> = line["grants"]
        .as_array()
        .map_or(Vec::new(), |all| all.iter().map(|grant| grant.as_str().unwrap()).collect());
    format!("{} {result} {} {} {}", text("event"), text("number"), grants.join("+"), text("author"))
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

async fn ask(daemon: &Daemon, id: &str, text: &str, user: &str) -> Value {
    daemon.execute(json!({ "instructions": text, "chatId": "a", "messageId": id, "userId": user })).await
}

pub(crate) async fn delete(daemon: &Daemon, path: &str) -> (u16, String) {
    let request = daemon.http.delete(format!("{}{path}", daemon.base));
    let answer = request.bearer_auth(crate::fakes::daemon::TOKEN).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

pub(crate) async fn post(daemon: &Daemon, path: &str, body: Value) -> (u16, String) {
    let answer = daemon.post(path, &body).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_story_stands_in_the_trail_line_by_line() {
    let touch = || shell("touch one.txt");
    let model = FakeModel::start([
        touch(),
        Reply::text("made"),
        touch(),
        Reply::text("made again"),
        touch(),
        Reply::text("not made"),
    ])
    .await;
    let project = Project::with_model(&model.url(), json!({}));
    let daemon = project.start().await;
    let asked = ask(&daemon, "m1", "make it", "ada").await;
    assert_eq!(asked["status"], "awaiting-approval", "{asked}");
    ask(&daemon, "m2", "同意", "eve").await;
    let id = asked["approvals"][0]["id"].as_str().unwrap().to_owned();
    let decision = json!({ "decision": "approve", "scope": "thread", "via": "console" });
    let (status, text) = post(&daemon, &format!("/api/approvals/{id}"), decision.clone()).await;
    assert_eq!(status, 200, "{text}");
    assert_eq!(ask(&daemon, "m1", "make it", "ada").await["output"], "made");
    assert_eq!(post(&daemon, &format!("/api/approvals/{id}"), decision).await.0, 409);
    assert_eq!(post(&daemon, "/api/approvals/A9", json!({ "decision": "approve" })).await.0, 404);

    assert_eq!(ask(&daemon, "m3", "again", "ada").await["output"], "made again", "the grant covers it");
    let grants = daemon.get_json("/api/grants").await;
    assert_eq!(grants["grants"][0]["id"], "G1", "{grants}");
    assert_eq!(grants["grants"][0]["scope"], "thread");
    assert_eq!(grants["grants"][0]["threadId"], "api:chat:a");
    assert_eq!(grants["grants"][0]["grantedBy"], "web:user:operator");
    let (status, text) = delete(&daemon, "/api/grants/G1").await;
    assert_eq!(status, 200, "{text}");
    assert_eq!(delete(&daemon, "/api/grants/G1").await.0, 404);

    let again = ask(&daemon, "m4", "once more", "ada").await;
    assert_eq!(again["status"], "awaiting-approval", "it was taken back: {again}");
    let denied = project.run(&["approvals", "deny", "A2", "--reason", "no sk-test-canary-123456"]);
    assert_eq!((denied.code, denied.stdout.as_str()), (Some(0), "A2 denied: touch one.txt\n"), "{denied:?}");
    assert_eq!(ask(&daemon, "m4", "once more", "ada").await["output"], "not made");
    assert!(daemon.stop().await.success());

    let lines = trail(project.path());
    let ada = "api:user:ada";
    let operator = "web:user:operator";
    let expected = [
        format!("verdict ask A1 {ada}"),
        "decision refused A1 api:user:eve".to_owned(),
        format!("decision approved A1 {operator}"),
        format!("grant-added - A1 G1 {operator}"),
        format!("verdict allow A1 {ada}"),
        format!("execution ok - {ada}"),
        format!("decision refused A1 {operator}"),
        format!("grant-used - - G1 {ada}"),
        format!("verdict allow - {ada}"),
        format!("execution ok - {ada}"),
        format!("grant-revoked - - G1 {operator}"),
        format!("verdict ask A2 {ada}"),
        format!("decision denied A2 {operator}"),
    ];
    assert_eq!(lines.iter().map(short).collect::<Vec<_>>(), expected, "{lines:#?}");
    let ran = &lines[5];
    assert_eq!((&ran["exitCode"], &ran["tool"]), (&json!(0), &json!("exec_shell")), "{ran}");
    assert!(ran["durationMs"].is_u64() && ran["correlationId"].is_string(), "{ran}");
    assert_eq!(ran["fingerprint"], lines[2]["fingerprint"], "what ran is what was allowed");
    assert_eq!((&lines[2]["via"], &lines[12]["via"]), (&json!("console"), &json!("cli")));
    assert_eq!(lines[12]["reason"], "no [redacted]", "a secret is in no line");
    assert_eq!(lines[2]["scope"]["type"], "thread");

    let shown = project.run(&["audit", "--event", "decision", "--limit", "2"]);
    let told: Vec<&str> = shown.stdout.lines().collect();
    assert_eq!(told.len(), 2, "{shown:?}");
    assert!(told[1].contains("denied") && told[1].contains("(no [redacted])"), "{shown:?}");
    let raw = project.run(&["audit", "--since", "1h", "--thread", "api:chat:a", "--json"]);
    let raw: Vec<Value> = raw.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(raw, lines);
    assert!(project.run(&["audit", "--thread", "api:chat:b", "--json"]).stdout.is_empty());
    assert_eq!(project.run(&["audit", "--since", "yesterday"]).code, Some(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_is_stopped_has_its_line_too() {
    let extra = json!({ "permissions": { "exec_shell": { "mode": "allow" } } });
    let model = FakeModel::start([shell("echo begun > begun.txt; sleep 60")]).await;
    let project = Project::with_model(&model.url(), extra);
    let daemon = project.start().await;
    let body = json!({ "instructions": "go", "chatId": "a", "messageId": "m1", "timeoutMs": 1 });
    daemon.execute(body).await;
    let begun = project.path().join("begun.txt");
    daemon.until("the command to begin", async |_: &Daemon| begun.exists()).await;
    assert_eq!(post(&daemon, "/api/threads/api%3Achat%3Aa/stop", json!({})).await.0, 200);
    let stopped = |line: &Value| line["event"] == "execution" && line["outcome"] == "aborted";
    daemon.until("the line", async |_: &Daemon| trail(project.path()).iter().any(stopped)).await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_are_listed_and_taken_back_in_the_chat_by_those_who_may() {
    let model = FakeModel::start([shell("touch one.txt"), Reply::text("made")]).await;
    let project = Project::with_model(&model.url(), json!({}));
    let daemon = project.start().await;
    ask(&daemon, "m1", "make it", "ada").await;
    ask(&daemon, "m2", "allow it in this thread", "ada").await;
    assert_eq!(ask(&daemon, "m1", "make it", "ada").await["output"], "made");
    let said = async |id: &str, text: &str, user: &str| {
        ask(&daemon, id, text, user).await["output"].as_str().unwrap().to_owned()
    };
    let list = said("g1", "/grants", "eve").await;
    assert!(list.starts_with("- G1: `touch") && list.contains("by api:user:ada"), "{list}");
    assert!(said("g2", "/grants revoke G1", "eve").await.contains("may not"), "eve may not");
    assert!(said("g3", "/grants revoke G9", "ada").await.contains("no grant G9"));
    assert!(said("g4", "/grants burn G1", "ada").await.contains("/grants revoke G1"));
    assert!(said("g5", "/grants 撤销 G1", "ada").await.contains("no longer holds"));
    assert!(said("g6", "/grants", "ada").await.contains("Nothing is allowed here"));
    assert!(daemon.stop().await.success());
    let revoked: Vec<Value> =
        trail(project.path()).into_iter().filter(|line| line["event"] == "grant-revoked").collect();
    assert_eq!(revoked.len(), 1);
    assert_eq!((&revoked[0]["author"], &revoked[0]["via"]), (&json!("api:user:ada"), &json!("text")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_garbled_grants_file_is_told_and_kept_and_stops_nobody() {
    let model = FakeModel::start([shell("touch one.txt"), Reply::text("made")]).await;
    let project = Project::with_model(&model.url(), json!({}));
    project.write(".ship/grants.json", "{ not json");
    let daemon = project.start().await;
    let asked = ask(&daemon, "m1", "make it", "ada").await;
    assert_eq!(asked["status"], "awaiting-approval", "nothing is granted: {asked}");
    let id = asked["approvals"][0]["id"].as_str().unwrap();
    let decision = json!({ "decision": "approve", "scope": "project" });
    assert_eq!(post(&daemon, &format!("/api/approvals/{id}"), decision).await.0, 200);
    assert_eq!(ask(&daemon, "m1", "make it", "ada").await["output"], "made", "this call was allowed");
    let answer = daemon.get("/api/grants").send().await.unwrap();
    assert_eq!(answer.status(), 500);
    assert!(answer.text().await.unwrap().contains("grants.json is not valid and is ignored"));
    let told = ask(&daemon, "m2", "/grants", "ada").await;
    assert!(told["output"].as_str().unwrap().contains(".ship/grants.json"), "{told}");
    let listed = project.run(&["grants", "list"]);
    assert_eq!(listed.code, Some(1), "{listed:?}");
    assert!(listed.stderr.contains("grants.json is not valid and is ignored"), "{listed:?}");
    let kept = std::fs::read_to_string(project.path().join(".ship/grants.json")).unwrap();
    assert_eq!(kept, "{ not json");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_are_seen_and_answered_on_the_command_line() {
    let model = FakeModel::start([shell("touch one.txt"), Reply::text("made")]).await;
    let project = Project::with_model(&model.url(), json!({ "language": "zh" }));
    assert_eq!(project.run(&["approvals", "list"]).stdout, "没有等待决定的请求\n");
    let daemon = project.start().await;
    ask(&daemon, "m1", "make it", "ada").await;
    let list = project.run(&["approvals", "list"]);
    assert!(list.stdout.starts_with("编号  状态    风险"), "{list:?}");
    assert!(list.stdout.contains("A1    待决定") && list.stdout.contains("touch one.txt"), "{list:?}");
    let shown = project.run(&["approvals", "show", "a1", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!((&shown["number"], &shown["state"]), (&json!("A1"), &json!("pending")));
    let wrong = project.run(&["approvals", "approve", "A7"]);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(1), ""), "{wrong:?}");
    assert!(wrong.stderr.contains("这里没有请求 \"A7\""), "{wrong:?}");
    daemon.kill();

    let alone = project.run(&["approvals", "approve", "A1"]);
    assert_eq!(alone.code, Some(1), "{alone:?}");
    assert!(alone.stderr.contains("shipagent run"), "{alone:?}");
    let daemon = project.start().await;
    daemon.until_state("api:chat:a", "awaiting-approval").await;
    let done = project.run(&["approvals", "done", "A1"]);
    assert_eq!(done.code, Some(1), "only a call that was cut off can have been done: {done:?}");
    let approved = project.run(&["approvals", "approve", "A1", "--scope", "minutes=5"]);
    assert_eq!(approved.stdout, "A1 已同意：touch one.txt\n", "{approved:?}");
    assert_eq!(ask(&daemon, "m1", "make it", "ada").await["output"], "made");
    let late = project.run(&["approvals", "deny", "A1"]);
    assert_eq!(late.code, Some(1));
    assert!(late.stderr.contains("was approved by web:user:operator"), "{late:?}");
    let all = project.run(&["approvals", "list", "--state", "all", "--json"]);
    let all: Value = serde_json::from_str(&all.stdout).unwrap();
    assert_eq!(
        (&all["approvals"][0]["state"], &all["approvals"][0]["via"]),
        (&json!("spent"), &json!("cli"))
    );
    let grants = project.run(&["grants", "list"]);
    assert!(grants.stdout.contains("G1") && grants.stdout.contains("api:chat:a"), "{grants:?}");
    assert_eq!(project.run(&["grants", "revoke", "G1"]).stdout, "G1 已撤销：助手会再次询问\n");
    assert_eq!(project.run(&["grants", "list"]).stdout, "没有长期授权：每次都会先问\n");
    assert_eq!(project.run(&["grants", "revoke", "G1"]).code, Some(1));
    assert_eq!(project.run(&["grants", "revoke", "everything"]).code, Some(2));
    assert!(daemon.stop().await.success());
    let by_cli = trail(project.path()).into_iter().find(|line| line["event"] == "grant-revoked").unwrap();
    assert_eq!((&by_cli["author"], &by_cli["via"]), (&json!("cli:user:operator"), &json!("cli")));
}

/// Approves the pending question for this thread.
async fn approve_for_the_thread(daemon: &Daemon, asked: &Value) {
    assert_eq!(asked["status"], "awaiting-approval", "{asked}");
    let id = asked["approvals"][0]["id"].as_str().unwrap();
    let decision = json!({ "decision": "approve", "scope": "thread" });
    assert_eq!(post(daemon, &format!("/api/approvals/{id}"), decision).await.0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_covers_the_same_command_in_the_same_folder_while_its_script_is_unchanged() {
    let run =
        |command: &str, cwd: &str| Reply::calls([("exec_shell", json!({ "command": command, "cwd": cwd }))]);
    let model = FakeModel::start([
        run("bash x.sh a", ""),
        Reply::text("one"),
        run("bash x.sh a", "."),
        Reply::text("two"),
        run("bash x.sh b", ""),
        Reply::text("other words"),
        run("bash x.sh a", "sub"),
        Reply::text("other folder"),
        run("bash x.sh a", ""),
        Reply::text("other script"),
    ])
    .await;
    let project = Project::with_model(&model.url(), json!({}));
    project.write("x.sh", "echo one");
    project.write("sub/x.sh", "echo one");
    let daemon = project.start().await;
    let asked = ask(&daemon, "m1", "go", "ada").await;
    approve_for_the_thread(&daemon, &asked).await;
    assert_eq!(ask(&daemon, "m1", "go", "ada").await["output"], "one");
    assert_eq!(ask(&daemon, "m2", "again", "ada").await["output"], "two", "the grant covers it");
    let deny = json!({ "decision": "deny" });
    for (id, answer, number) in [("m3", "other words", "A2"), ("m4", "other folder", "A3")] {
        let asked = ask(&daemon, id, "more", "ada").await;
        assert_eq!(asked["status"], "awaiting-approval", "{asked}");
        assert_eq!(post(&daemon, &format!("/api/approvals/{number}"), deny.clone()).await.0, 200);
        assert_eq!(ask(&daemon, id, "more", "ada").await["output"], answer);
    }
    project.write("x.sh", "echo two");
    let asked = ask(&daemon, "m5", "once more", "ada").await;
    assert_eq!(asked["status"], "awaiting-approval", "the script is another one: {asked}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_hide_a_denied_command_asks_where_everything_is_allowed_and_is_never_granted() {
    let hidden = "X=rm; echo $X > y.txt";
    let model =
        FakeModel::start([shell(hidden), Reply::text("one"), shell(hidden), Reply::text("two")]).await;
    let permissions = json!({ "exec_shell": { "mode": "allow", "deny": ["rm"] } });
    let project = Project::with_model(&model.url(), json!({ "permissions": permissions, "language": "en" }));
    let daemon = project.start().await;
    let asked = ask(&daemon, "m1", "go", "ada").await;
    let pending = daemon.get_json("/api/approvals?state=pending").await;
    let approval = &pending["approvals"][0];
    assert_eq!(approval["risk"], "high", "{approval}");
    let details = approval["details"].as_str().unwrap();
    assert!(details.contains("it may hide a command the project forbids"), "{details}");
    assert!(details.contains("This can only be allowed once."), "{details}");
    approve_for_the_thread(&daemon, &asked).await;
    assert_eq!(ask(&daemon, "m1", "go", "ada").await["output"], "one");
    assert_eq!(daemon.get_json("/api/grants").await["grants"], json!([]));
    assert_eq!(ask(&daemon, "m2", "again", "ada").await["status"], "awaiting-approval");
    assert!(daemon.stop().await.success());
}
