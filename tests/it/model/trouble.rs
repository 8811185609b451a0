//! Network and server errors: retries, permanent failures, and fallback models.

use std::time::Duration;

use shipagent::domain::ErrorKind;
use shipagent::model::ModelSpec;
use shipagent::ports::ModelDelta;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::asked::{ask, ask_script, ask_spec, build, hasty, prompt, shared, spec};
use crate::fakes::fake_model::{FakeModel, Reply};

#[tokio::test]
async fn trouble_that_passes_is_waited_for_and_told_once() {
    let (outcome, fake) =
        ask_script([Reply::status(500, "oops"), Reply::status(502, "<html>"), Reply::text("fine")]).await;
    assert_eq!(outcome.text(), "fine");
    assert_eq!(outcome.troubles(), [(ErrorKind::Server, None)]);
    assert_eq!(fake.requests().len(), 3);
}

#[tokio::test]
async fn a_wish_to_wait_is_honoured() {
    let refusal = |wish| Reply::status(429, "slow down").header("retry-after", wish);
    let (outcome, _) = ask_script([refusal("0"), Reply::text("fine")]).await;
    assert_eq!((outcome.text(), outcome.troubles()), ("fine", vec![(ErrorKind::Rate, None)]));

    let (outcome, fake) = ask_script([refusal("3600"), Reply::text("never asked")]).await;
    assert_eq!((outcome.kind(), fake.requests().len()), (ErrorKind::Rate, 1));
    assert_eq!(outcome.result.unwrap_err().retry_after, Some(Duration::from_secs(3600)));
}

#[tokio::test]
async fn a_server_that_keeps_failing_is_given_up_on() {
    let (outcome, fake) = ask_script(Reply::status(503, "{}")).await;
    assert_eq!((outcome.kind(), fake.requests().len()), (ErrorKind::Server, 4));
    assert_eq!(outcome.troubles(), [(ErrorKind::Server, None)]);
}

#[tokio::test]
async fn a_server_that_hangs_is_a_timeout_and_its_connection_is_closed() {
    let fake = FakeModel::start(Reply::hang()).await;
    assert_eq!(ask_spec(&hasty(&fake)).await.kind(), ErrorKind::Timeout);
    fake.wait_until_idle().await;
}

#[tokio::test]
async fn silence_in_the_middle_of_an_answer_is_a_timeout_and_tried_again_once() {
    let fake = FakeModel::start(Reply::text("one two").hang_after(2)).await;
    let outcome = ask_spec(&hasty(&fake)).await;
    assert_eq!((outcome.kind(), outcome.shown_text().as_str()), (ErrorKind::Timeout, "one one "));
    assert_eq!(fake.requests().len(), 2);
}

#[tokio::test]
async fn an_answer_slower_than_the_timeout_is_read_as_long_as_it_keeps_coming() {
    let pieces = ["a"; 12];
    let fake = FakeModel::start([Reply::pieces(pieces).paced(Duration::from_millis(90))]).await;
    assert_eq!(ask_spec(&hasty(&fake)).await.text(), "aaaaaaaaaaaa");
}

#[tokio::test]
async fn a_connection_lost_before_the_first_word_is_tried_again() {
    let (outcome, fake) = ask_script([Reply::text("x").cut_after(1), Reply::text("fine")]).await;
    assert_eq!((outcome.text(), fake.requests().len()), ("fine", 2));
    assert_eq!(outcome.troubles(), [(ErrorKind::Network, None)]);
}

#[tokio::test]
async fn a_stream_that_breaks_off_after_some_words_is_asked_for_again() {
    let (outcome, fake) = ask_script([Reply::text("one two").cut_after(2), Reply::text("again")]).await;
    assert_eq!((outcome.text(), fake.requests().len()), ("again", 2));
    let trouble = ModelDelta::Retrying { kind: ErrorKind::Network, next_model: None };
    let expected = [ModelDelta::Text("one ".into()), ModelDelta::StartOver, trouble];
    assert_eq!(outcome.deltas[..3], expected);
}

#[tokio::test]
async fn a_stream_that_always_breaks_off_is_given_up_after_the_last_attempt() {
    let fake = FakeModel::start(Reply::text("one two").cut_after(2)).await;
    let outcome = ask_spec(&spec(&fake)).await;
    assert_eq!((outcome.kind(), fake.requests().len()), (ErrorKind::Network, 4));
    let detail = outcome.result.unwrap_err().detail;
    assert!(detail.contains("broke off"), "{detail}");
}

#[tokio::test]
async fn an_answer_without_measure_is_cut_and_its_connection_closed() {
    let letters = "x".repeat(256 * 1024);
    let (outcome, fake) = ask_script([Reply::pieces(vec![letters.as_str(); 40]).hang_after(40)]).await;
    let completion = outcome.result.unwrap();
    assert_eq!((completion.text.len(), completion.truncated), (2 * 1024 * 1024, true));
    fake.wait_until_idle().await;
}

#[tokio::test]
async fn nobody_listening_is_a_network_error() {
    // A port that was free a moment ago, and is again.
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let spec = ModelSpec::new(format!("http://{address}/v1"), "fake");
    let outcome = ask_spec(&ModelSpec { timeout: Duration::from_secs(1), ..spec }).await;
    assert_eq!(outcome.kind(), ErrorKind::Network);
}

#[tokio::test]
async fn another_model_is_asked_where_the_first_cannot() {
    let broken = FakeModel::start(Reply::status(401, "{}")).await;
    let working = FakeModel::start([Reply::text("fine")]).await;
    let spare = ModelSpec { model: "spare".into(), ..spec(&working) };
    let model = build(&spec(&broken), &[spare], &shared());
    let outcome = ask(model.as_ref()).await;
    assert_eq!((outcome.text(), outcome.troubles()), ("fine", vec![(ErrorKind::Auth, Some("spare"))]));
    assert_eq!((broken.requests().len(), working.requests().len()), (1, 1));
    assert_eq!(working.requests()[0].body["model"], "spare");
    assert_eq!(model.name(), "fake");
}

#[tokio::test]
async fn another_model_is_asked_where_the_first_always_breaks_off() {
    let broken = FakeModel::start(Reply::text("one two").cut_after(2)).await;
    let spare = FakeModel::start(Reply::text("whole")).await;
    let outcome = ask(build(&spec(&broken), &[spec(&spare)], &shared()).as_ref()).await;
    assert_eq!((outcome.text(), spare.requests().len()), ("whole", 1));
    let last_withdrawal = outcome.deltas.iter().rposition(|delta| *delta == ModelDelta::StartOver).unwrap();
    let after: String = outcome.deltas[last_withdrawal..]
        .iter()
        .filter_map(|delta| match delta {
            ModelDelta::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(after, "whole");
}

#[tokio::test]
async fn dropping_the_call_closes_its_connection() {
    for reply in [Reply::hang(), Reply::text("one two").hang_after(2)] {
        let fake = FakeModel::start(reply).await;
        let model = build(&spec(&fake), &[], &shared());
        let (live, _shown) = mpsc::channel(4);
        let call = model.complete(prompt("hi"), live);
        tokio::select! {
            result = call => panic!("nothing was to come: {result:?}"),
            () = fake.wait_for_requests(1) => {}
        }
        timeout(Duration::from_secs(30), fake.wait_until_idle())
            .await
            .expect("the server sees the client leave");
    }
}
