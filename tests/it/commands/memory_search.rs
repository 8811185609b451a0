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
fn every_spelling_of_a_scope_has_notes_of_its_own() {
    let project = offline();
    let scopes = [
        "project",
        "main",
        "telegram:user:7",
        "feishu:user:ou_84aad35d084aa403a838cf73ee18467",
        "peer:ann",
        "peer:小明",
        "group:telegram:chat:-100",
        "group:feishu:chat:oc_a0553eda9014c201e6969b478895c230",
    ];
    for (number, scope) in scopes.iter().enumerate() {
        let line = json!({ "id": format!("n{number}"), "at": 1, "author": "Ann", "text": format!("lantern {number}") });
        project.write(&format!("in{number}/notes.jsonl"), &format!("{line}\n"));
        let folder = project.path().join(format!("in{number}"));
        let import = ["memory", "import", folder.to_str().unwrap(), "--scope", scope, "--json"];
        assert_eq!(printed(&project, &import)["added"], 1, "{scope}");
    }
    for (number, scope) in scopes.iter().enumerate() {
        let found = printed(&project, &["memory", "search", "lantern", "--scope", scope, "--json"]);
        assert_eq!(ids(&found), [format!("n{number}")], "{scope}");
        let equals = format!("--scope={scope}");
        assert_eq!(printed(&project, &["memory", "search", "lantern", &equals, "--json"]), found, "{scope}");
    }
    for bad in [
        "everybody",
        "",
        "Project",
        "user:7",
        "peer:",
        "group:-100",
        "group:telegram:chat:-100:topic:4",
        "../x",
    ] {
        let output = project.run(&["memory", "search", "x", "--scope", bad]);
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{bad}");
        assert!(output.stderr.contains("is not a scope: give project, main,"), "{bad}: {}", output.stderr);
    }
}

#[test]
fn texts_ids_and_order_are_kept_whatever_they_are() {
    let project = offline();
    let long = format!("glacier {}", "word ".repeat(700));
    let texts = [
        ("D1:1", "anchor first\nsecond line\n\nfourth line"),
        ("<!-- x -->", "badger <!-- k9 --> ends in --> and `code`"),
        ("1/2 3", "- canyon\n- is a list"),
        ("4", "# dolphin\n```\nfenced\n```"),
        ("五", "翡翠　重跑gen-itgc后，“引号” 👩‍👩‍👧"),
        ("6", "ember\ttab, \"quotes\", back\\slash, %3A &amp; \u{202e}"),
        ("7", long.trim_end()),
    ];
    let mut lines = String::new();
    for (number, (id, text)) in texts.iter().enumerate() {
        let line = json!({ "id": id, "at": 1_795_032_000_000_i64 + i64::try_from(number).unwrap(), "author": "Ann <a@b>: x", "text": text });
        lines.push_str(&format!("{line}\n"));
    }
    project.write("in/a.jsonl", &lines);
    let folder = project.path().join("in");
    let import = ["memory", "import", folder.to_str().unwrap(), "--json"];
    assert_eq!(
        printed(&project, &import),
        json!({ "files": 1, "added": 7, "known": 0, "forgotten": 0, "bad": 0 })
    );
    assert_eq!(
        printed(&project, &import),
        json!({ "files": 1, "added": 0, "known": 7, "forgotten": 0, "bad": 0 })
    );
    for ((id, text), word) in
        texts.iter().zip(["anchor", "badger", "canyon", "dolphin", "翡翠", "ember", "glacier"])
    {
        let found = printed(&project, &["memory", "search", word, "--json"]);
        let first = &found["results"][0];
        assert_eq!((&first["id"], &first["text"]), (&json!(id), &json!(text)), "{word}: {found}");
        assert_eq!(first["author"], "Ann <a@b>: x");
    }
    let shown = printed(&project, &["memory", "show", "--json"]);
    let told = shown.to_string();
    let places: Vec<Option<usize>> =
        ["anchor", "badger", "canyon", "dolphin", "翡翠", "ember"].map(|word| told.find(word)).into();
    let newest_first = places.is_sorted_by(|one, other| one > other);
    assert!(places.iter().all(Option::is_some) && (newest_first || places.is_sorted()), "{places:?} {told}");
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
    let none = project.path().join("empty");
    std::fs::create_dir(&none).unwrap();
    assert_eq!(printed(&project, &["memory", "import", none.to_str().unwrap(), "--json"])["added"], 0);
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
