//! Listing threads, their messages, and writing to them.

use serde_json::{Value, json};

use super::test_server::{TestServer, json as read, refusal, text, user};
use crate::domain::{ChatKind, Command, IngressKind, ThreadState};
use crate::ports::{Acceptance, Audit as _, AuditQuery, ThreadView};

#[tokio::test]
async fn the_list_tells_what_threads_are_doing_now() {
    let (stage, mut threads) = TestServer::new();
    stage.store.put(user("web:chat:1", "m1", "first words"));
    stage.store.put(user("api:chat:2", "m1", "others"));
    let view = ThreadView { state: ThreadState::Running, pending_approvals: 1, ..ThreadView::default() };
    let (response, ()) = tokio::join!(
        stage.get("/api/threads"),
        threads.tells_views(vec![("web:chat:1".parse().unwrap(), view)])
    );
    let (_, body) = read(response).await;
    let expected = json!({ "threads": [
        { "threadId": "api:chat:2", "state": "idle", "title": "others", "updatedAt": "2026-01-01T00:00:00Z",
          "messageCount": 1, "pendingApprovals": 0 },
        { "threadId": "web:chat:1", "state": "running", "title": "first words",
          "updatedAt": "2026-01-01T00:00:00Z", "messageCount": 1, "pendingApprovals": 1 },
    ]});
    assert_eq!(body, expected);
}

#[tokio::test]
async fn messages_come_in_pages() {
    let (stage, _threads) = TestServer::new();
    for index in 0..300 {
        stage.store.put(user("web:chat:a%3Ab", &format!("m{index}"), "x"));
    }
    let path = "/api/threads/web%3Achat%3Aa%253Ab/messages";
    for (query, first, count) in [
        ("", "m250", 50),
        ("?limit=2", "m298", 2),
        ("?limit=999", "m100", 200),
        ("?limit=0", "m299", 1),
        ("?before=m250", "m200", 50),
    ] {
        let (status, body) = read(stage.get(&format!("{path}{query}")).await).await;
        let messages = body["messages"].as_array().unwrap();
        assert_eq!(
            (status.as_u16(), messages.len(), &messages[0]["id"]),
            (200, count, &json!(first)),
            "{query}"
        );
    }
    assert_eq!(stage.get(&format!("{path}?limit=x")).await.status(), 400);
    let (_, body) = read(stage.get("/api/threads/web:chat:new/messages").await).await;
    assert_eq!(body, json!({ "messages": [] }));
}

#[tokio::test]
async fn words_for_an_own_thread_are_accepted() {
    let (stage, mut threads) = TestServer::new();
    for (path, words, duplicate, author) in [
        ("/api/threads/web:chat:1/messages", "hi", false, "web:user:operator"),
        ("/api/threads/cli:chat:1/messages", "hi", true, "cli:user:operator"),
    ] {
        let (response, event) = tokio::join!(stage.post(path, json!({ "id": "m1", "text": words })), async {
            if duplicate {
                threads.takes(Acceptance::Duplicate { message: "m1".parse().unwrap() }).await
            } else {
                threads.accepts().await
            }
        });
        let correlation = if duplicate { Value::Null } else { json!("run_1") };
        let expected = json!({ "messageId": "m1", "correlationId": correlation, "duplicate": duplicate });
        assert_eq!(read(response).await, (http::StatusCode::ACCEPTED, expected));
        assert_eq!(event.author.id.as_str(), author);
    }
}

#[tokio::test]
async fn words_for_another_platforms_thread_are_the_operators_and_audited() {
    let (stage, mut threads) = TestServer::new();
    for thread in ["telegram:chat:1", "api:chat:1", "task:chat:daily"] {
        let path = format!("/api/threads/{thread}/messages");
        let (response, event) =
            tokio::join!(stage.post(&path, json!({ "id": "m1", "text": "hi" })), threads.accepts());
        assert_eq!(response.status(), 202);
        assert_eq!(event.author.id.as_str(), "web:user:operator", "not a person of that platform");
        assert_eq!(event.chat, ChatKind::Program, "the operator's own memory stays out of it");
    }
    let lines = stage.audit.read(AuditQuery { limit: 9, ..AuditQuery::default() }).await.unwrap().lines;
    let wrote = lines.iter().filter(|line| line.text.contains("operator-wrote"));
    assert_eq!(wrote.count(), 3);
    let own = "/api/threads/web:chat:1/messages";
    assert_eq!(stage.post(own, json!({ "id": "m1", "text": " " })).await.status(), 400);
    assert_eq!(stage.post(own, json!({ "id": "", "text": "x" })).await.status(), 400);
    assert!(threads.nobody_came());
}

#[tokio::test]
async fn a_stop_is_a_command_for_a_thread_that_exists() {
    let (stage, mut threads) = TestServer::new();
    assert_eq!(stage.post("/api/threads/web:chat:1/stop", json!(null)).await.status(), 404);
    stage.store.put(user("web:chat:1", "m1", "hi"));
    let (response, event) =
        tokio::join!(stage.post("/api/threads/web:chat:1/stop", json!(null)), threads.accepts());
    assert_eq!(response.status(), 200);
    assert_eq!(
        (event.kind, event.thread.as_str()),
        (IngressKind::Command(Command::Stop.into()), "web:chat:1")
    );
}

#[tokio::test]
async fn an_approval_that_nobody_asked_for_is_not_found() {
    let (stage, _threads) = TestServer::new();
    assert_eq!(read(stage.get("/api/approvals?state=pending").await).await.1, json!({ "approvals": [] }));
    let (status, words) =
        refusal(stage.post("/api/approvals/A1", json!({ "decision": "approve" })).await).await;
    assert_eq!((status.as_u16(), words.as_str()), (404, "there is no such approval"));
}

#[tokio::test]
async fn files_of_a_thread_are_served_to_be_kept() {
    let (stage, _threads) = TestServer::new();
    let folder = stage.files.path().join("files/web%3Achat%3A1");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["a.png", "b.html"] {
        std::io::Write::write_all(&mut std::fs::File::create(folder.join(name)).unwrap(), b"bytes").unwrap();
    }
    std::fs::File::create(stage.files.path().join("files/secret")).unwrap();
    let header = |response: &http::Response<axum::body::Body>, name: &str| {
        response.headers().get(name).unwrap().to_str().unwrap().to_owned()
    };

    let picture = stage.get("/api/files/web%3Achat%3A1/a.png").await;
    assert_eq!(
        (header(&picture, "content-type"), header(&picture, "content-disposition")),
        ("image/png".into(), "inline".into())
    );
    assert_eq!(header(&picture, "content-length"), "5");
    assert_eq!(text(picture).await.1, "bytes");

    let page = stage.get("/api/files/web:chat:1/b.html").await;
    assert_eq!(header(&page, "content-type"), "application/octet-stream");
    assert_eq!(header(&page, "content-disposition"), "attachment; filename*=UTF-8''b%2Ehtml");
    assert_eq!(header(&page, "content-security-policy"), "default-src 'none'; sandbox");
    assert_eq!(header(&page, "x-content-type-options"), "nosniff");

    for (path, status) in [
        ("/api/files/web:chat:1/none.png", 404),
        ("/api/files/web:chat:2/a.png", 404),
        ("/api/files/web:chat:1/..%2Fsecret", 400),
        ("/api/files/web:chat:1/%2E%2E", 400),
        ("/api/files/web:chat:../secret", 404),
    ] {
        assert_eq!(stage.get(path).await.status(), status, "{path}");
    }
}

#[tokio::test]
async fn a_page_that_cannot_be_is_refused_in_our_words() {
    let (stage, _threads) = TestServer::new();
    let (status, words) = refusal(stage.get("/api/threads/web:chat:1/messages?limit=many").await).await;
    assert!(status == 400 && words.starts_with("limit must be a number"), "{words}");
}

#[tokio::test]
async fn the_list_is_given_in_pages_that_can_be_narrowed() {
    let (stage, mut threads) = TestServer::new();
    for n in 0..120 {
        stage.store.put(user(&format!("web:chat:{n:03}"), "u1", "hello"));
    }
    stage.store.put(user("qq:chat:1", "u1", "hello"));
    let mut list = async |query: &str| {
        let view = |state| ThreadView { state, ..ThreadView::default() };
        let live = vec![
            ("web:chat:007".parse().unwrap(), view(ThreadState::Running)),
            ("web:chat:008".parse().unwrap(), view(ThreadState::AwaitingApproval)),
            ("web:chat:009".parse().unwrap(), view(ThreadState::Idle)),
        ];
        let path = format!("/api/threads{query}");
        let (response, ()) = tokio::join!(stage.get(&path), threads.tells_views(live));
        let body = read(response).await.1;
        let ids: Vec<String> = body["threads"]
            .as_array()
            .unwrap()
            .iter()
            .map(|thread| thread["threadId"].as_str().unwrap().to_owned())
            .collect();
        (ids, body["nextBefore"].as_str().map(str::to_owned))
    };
    let (mut all, mut next) = list("").await;
    assert_eq!(all.len(), 50);
    while let Some(before) = next {
        let (page, further) = list(&format!("?before={before}")).await;
        all.extend(page);
        next = further;
    }
    assert_eq!(all.len(), 121);
    assert_eq!(list("?limit=3").await.0, all[..3]);
    assert_eq!(list("?limit=9999").await.0.len(), 121, "at most 200");
    assert_eq!(list("?platform=qq").await.0, ["qq:chat:1"]);
    assert_eq!(list("?state=running").await.0, ["web:chat:007"]);
    assert_eq!(list("?state=awaiting-approval").await.0, ["web:chat:008"]);
    assert_eq!(list("?state=idle&limit=200").await.0.len(), 119);
    assert_eq!(list("?state=running&platform=qq").await, (vec![], None));
}

#[tokio::test]
async fn the_operator_stops_a_thread_of_any_platform_and_the_audit_says_so() {
    for platform in ["telegram", "feishu", "qq", "api", "cli", "web"] {
        let (stage, mut threads) = TestServer::new();
        let thread = format!("{platform}:chat:1");
        stage.store.put(user(&thread, "u1", "hello"));
        let path = format!("/api/threads/{thread}/stop");
        let (response, event) = tokio::join!(stage.post(&path, json!({})), threads.accepts());
        assert_eq!(response.status(), 200);
        assert_eq!(
            (event.thread.as_str(), event.kind),
            (thread.as_str(), IngressKind::Command(Command::Stop.into()))
        );
        let everything = AuditQuery { limit: 9, ..AuditQuery::default() };
        let mut lines = stage.audit.read(everything).await.unwrap().lines;
        assert_eq!(lines.len(), 1);
        let line = lines.remove(0).facts;
        let fact = |name: &str| line[name].as_str().unwrap().to_owned();
        assert_eq!(
            ["event", "threadId", "author", "via"].map(fact),
            ["thread-stopped", &thread, "web:user:operator", "http"]
        );
    }
}

fn change(path: &str, method: &str, body: Option<Value>) -> http::Request<axum::body::Body> {
    let request = super::test_server::post(path, body.unwrap_or(Value::Null));
    let (mut parts, body) = request.into_parts();
    parts.method = method.parse().unwrap();
    http::Request::from_parts(parts, body)
}

#[tokio::test]
async fn a_thread_is_named_pinned_and_archived() {
    let (stage, mut threads) = TestServer::new();
    stage.store.put(user("web:chat:1", "m1", "first words"));
    stage.store.put(user("web:chat:2", "m1", "second words"));
    let one = "/api/threads/web:chat:1";
    for (body, expected) in [
        (json!({ "title": " Harbour " }), json!({ "title": "Harbour", "pinned": false, "archived": false })),
        (json!({ "pinned": true }), json!({ "title": "Harbour", "pinned": true, "archived": false })),
        (json!({ "archived": true }), json!({ "title": "Harbour", "pinned": true, "archived": true })),
    ] {
        let (response, ()) =
            tokio::join!(stage.send(change(one, "PATCH", Some(body))), threads.tells_views(Vec::new()));
        assert_eq!(read(response).await, (http::StatusCode::OK, expected));
    }
    let listed = async |query: &str, threads: &mut super::test_server::Threads| {
        let path = format!("/api/threads{query}");
        let (response, ()) = tokio::join!(stage.get(&path), threads.tells_views(Vec::new()));
        let (_, body) = read(response).await;
        let rows = body["threads"].as_array().unwrap().clone();
        rows.iter().map(|row| row["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed("", &mut threads).await, ["second words"], "what is archived is not listed");
    assert_eq!(listed("?state=archived", &mut threads).await, ["Harbour"]);
    for (path, body, status) in [
        (one, json!({ "titel": "x" }), 400),
        (one, json!({ "title": "x".repeat(201) }), 400),
        ("/api/threads/nonsense", json!({ "pinned": true }), 400),
    ] {
        assert_eq!(stage.send(change(path, "PATCH", Some(body))).await.status(), status, "{path}");
    }
    let (response, ()) = tokio::join!(
        stage.send(change(one, "PATCH", Some(json!({ "title": null })))),
        threads.tells_views(Vec::new())
    );
    assert_eq!(read(response).await.1["title"], Value::Null, "the first message is its title again");
    assert_eq!(stage.get("/api/threads?w=x").await.status(), 400, "a key that is not read is refused");
}

#[tokio::test]
async fn a_thread_at_work_is_not_deleted() {
    let (stage, mut threads) = TestServer::new();
    stage.store.put(user("web:chat:1", "m1", "first words"));
    let (response, ()) =
        tokio::join!(stage.send(change("/api/threads/web:chat:1", "DELETE", None)), threads.says_nothing());
    let (status, words) = refusal(response).await;
    assert_eq!((status.as_u16(), words.as_str()), (409, "the thread is at work: stop it first"));
}
