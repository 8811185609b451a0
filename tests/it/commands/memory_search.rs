//! `shipagent memory import` and `search`, as programs use them.

use std::path::Path;

use serde_json::{Value, json};

use crate::fakes::daemon::Project;

fn offline() -> Project {
    Project::new(json!({ "llm": { "provider": "offline" } }))
}

fn fixtures(language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/memory").join(language);
    path.to_string_lossy().into_owned()
}

fn printed(project: &Project, args: &[&str]) -> Value {
    let output = project.run(args);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{args:?}");
    serde_json::from_str(&output.stdout).unwrap()
}

fn ids(found: &Value) -> Vec<&str> {
    found["results"].as_array().unwrap().iter().map(|result| result["id"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn imported_conversations_are_found_with_and_without_a_daemon() {
    let project = offline();
    let group = "group:telegram:chat:-100";
    let english = fixtures("english");
    let import = ["memory", "import", english.as_str(), "--scope", group, "--json"];
    let first = printed(&project, &import);
    assert_eq!((&first["added"], &first["known"], &first["bad"]), (&json!(685), &json!(0), &json!(0)));
    assert_eq!(printed(&project, &import)["added"], 0, "a second time changes nothing");
    let ask =
        ["memory", "search", "What is Biscuit allergic to?", "--scope", group, "--limit", "10", "--json"];
    let alone = printed(&project, &ask);
    assert!(ids(&alone).contains(&"en1-9:14"), "{alone}");
    assert_eq!((ids(&alone).len(), &alone["hasMore"]), (10, &json!(true)));
    let result =
        alone["results"].as_array().unwrap().iter().find(|result| result["id"] == "en1-9:14").unwrap();
    assert_eq!(result["author"], "Nora");
    assert_eq!(result["text"], "Chicken, of all things. She only gets fish now.");
    assert!(result["at"].is_i64() && result["score"].as_f64().unwrap() > 0.0);
    let elsewhere = printed(&project, &["memory", "search", "Biscuit", "--scope", "project", "--json"]);
    assert_eq!(elsewhere, json!({ "results": [], "hasMore": false }));

    let daemon = project.start().await;
    assert_eq!(printed(&project, &ask), alone);
    let chinese = fixtures("chinese");
    assert_eq!(printed(&project, &["memory", "import", &chinese, "--json"])["added"], 107);
    let found = printed(&project, &["memory", "search", "豆包", "--json"]);
    assert!(!ids(&found).is_empty());
    assert_eq!(printed(&project, &["memory", "status", "--json"])["texts"], 792);
    assert_eq!(printed(&project, &["memory", "reindex", "--json"])["texts"], 792);
    drop(daemon);
}

#[test]
fn mistakes_are_named() {
    let project = offline();
    let output = project.run(&["memory", "search", "x", "--scope", "everybody"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(output.stderr.contains("\"everybody\" is not a scope"), "{}", output.stderr);
    let output = project.run(&["memory", "import", "/no/such/folder"]);
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("/no/such/folder"), "{}", output.stderr);
    project.write("bad.jsonl", "{\"id\":\"a\",\"at\":1,\"author\":\"x\",\"text\":\"good\"}\nnot json\n{\"id\":[],\"at\":1,\"text\":\"\"}\n");
    let folder = project.path().to_string_lossy().into_owned();
    let output = project.run(&["memory", "import", &folder]);
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.starts_with("1 notes added to project"), "{}", output.stdout);
    assert!(
        output.stderr.contains("bad.jsonl:2: ") && output.stderr.contains("bad.jsonl:3: `id`"),
        "{}",
        output.stderr
    );
}
