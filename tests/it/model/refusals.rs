//! Servers that refuse, and the requests they get.

use serde_json::json;
use shipagent::domain::ErrorKind;
use shipagent::model::ModelSpec;

use super::asked::{KEY, ask, ask_script, ask_spec, build, shared, spec, whole};
use crate::fakes::fake_model::{FakeModel, Reply, Script};

#[tokio::test]
async fn a_server_without_a_key_is_sent_none() {
    let fake = FakeModel::start([Reply::text("ok")]).await;
    let outcome = ask_spec(&ModelSpec::new(format!("{}/", fake.url()), "fake").with_key(" ")).await;
    assert_eq!(outcome.text(), "ok");
    assert_eq!(fake.requests()[0].authorization, None);
}

#[tokio::test]
async fn refusals_that_will_not_pass_are_told_at_once_and_never_with_the_key() {
    for (status, body, kind) in [
        (401, format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#), ErrorKind::Auth),
        (403, format!("<html>forbidden for {KEY}</html>"), ErrorKind::Auth),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#.to_owned(), ErrorKind::Quota),
        (429, r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#.to_owned(), ErrorKind::Quota),
        (
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"long"}}"#.to_owned(),
            ErrorKind::ContextLength,
        ),
        (400, r#"{"error":{"code":400,"message":"no such field"}}"#.to_owned(), ErrorKind::BadRequest),
        (404, r#"{"detail":"model not found"}"#.to_owned(), ErrorKind::BadRequest),
    ] {
        let (outcome, fake) = ask_script(Reply::status(status, body.clone())).await;
        assert_eq!(outcome.kind(), kind, "{status} {body}");
        assert_eq!((fake.requests().len(), outcome.deltas.len()), (1, 0), "{status} {body}");
        let detail = outcome.result.unwrap_err().detail;
        assert!(detail.contains(&status.to_string()) && !detail.contains(KEY), "{detail}");
    }
}

#[tokio::test]
async fn an_address_that_is_none_is_a_bad_request_and_so_is_one_that_has_moved() {
    let outcome = ask_spec(&ModelSpec::new("not an address", "fake")).await;
    assert_eq!(outcome.kind(), ErrorKind::BadRequest);

    for status in [301, 302, 307, 308] {
        let moved = Reply::status(status, "").header("location", "https://elsewhere/v1");
        let error = ask_script(moved).await.0.result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadRequest);
        assert!(error.detail.contains("https://elsewhere/v1"), "{}", error.detail);
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_sent_is_told_without_asking() {
    let fake = FakeModel::start(Reply::text("x")).await;
    let outcome = ask_spec(&ModelSpec::new(fake.url(), "fake").with_key("sk-a\nb")).await;
    assert_eq!((outcome.kind(), fake.requests().len()), (ErrorKind::Auth, 0));
}

#[tokio::test]
async fn what_is_no_answer_is_a_bad_response() {
    for reply in [
        Reply::raw("text/event-stream", "data: {oops\n\n"),
        Reply::raw("text/html", "<html>the console of a gateway</html>"),
        Reply::raw("application/json", "{\"choices\":"),
        Reply::json(&json!({"choices": []})),
    ] {
        let shown = format!("{reply:?}");
        let (outcome, _) = ask_script([reply.clone(), Reply::text("fine")]).await;
        assert_eq!(outcome.text(), "fine", "{shown}");
        assert_eq!(outcome.troubles(), [(ErrorKind::BadResponse, None)], "{shown}");
    }
}

#[tokio::test]
async fn an_error_with_a_good_status_is_seen() {
    let (outcome, _) = ask_script(Reply::json(&json!({"error": {"code": 401, "message": "who?"}}))).await;
    assert_eq!(outcome.kind(), ErrorKind::Auth);

    let error = json!({"error": {"message": "maximum context length is 10 tokens"}});
    let (outcome, _) = ask_script(Reply::events([error]).done()).await;
    assert_eq!(outcome.kind(), ErrorKind::ContextLength);

    let begun = json!({"choices": [{"delta": {"content": "a"}}]});
    let (outcome, fake) = ask_script(Reply::events([begun, json!({"error": "overloaded"})])).await;
    assert_eq!((outcome.kind(), fake.requests().len()), (ErrorKind::Server, 4));
}

#[tokio::test]
async fn a_server_is_asked_in_the_way_it_understands_and_this_is_remembered() {
    let script = Script::compute(|seen| {
        if seen.body.get("stream_options").is_some() {
            Reply::status(400, r#"{"error":{"message":"Unknown parameter: 'stream_options'"}}"#)
        } else if seen.body["stream"] == true {
            Reply::status(400, r#"{"detail":"streaming is not supported"}"#)
        } else if seen.body.get("max_tokens").is_some() {
            Reply::status(400, r#"{"error":{"message":"Use 'max_completion_tokens' instead."}}"#)
        } else {
            whole(&json!({"content": "ok"}))
        }
    });
    let fake = FakeModel::start(script).await;
    let model = build(&ModelSpec { max_output_tokens: Some(9), ..spec(&fake) }, &[], &shared());
    for requests in [4, 5] {
        let outcome = ask(model.as_ref()).await;
        assert_eq!((outcome.text(), outcome.troubles()), ("ok", vec![]));
        assert_eq!(fake.requests().len(), requests);
    }
    assert_eq!(fake.requests()[4].body["max_completion_tokens"], 9);
}
