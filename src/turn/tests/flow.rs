//! One run, from a question to its end.

use serde_json::json;

use super::driver::{Driver, call, calls, model_error, rules, words};
use crate::domain::{ErrorKind, ThreadState};
use crate::ports::{Acceptance, CallDelta, ModelDelta, ToolCall, Usage};
use crate::turn::Event;
use crate::uimessage::{Part, ToolState};

#[test]
fn a_message_is_on_the_disk_before_it_is_accepted_and_answered() {
    let mut driver = Driver::new();
    driver.say("m1");
    assert_eq!(driver.take_effects(), ["commit m1 Synced", "accepted", "AcquireSlot", "CallModel"]);
    assert_eq!(driver.conversation.state(), ThreadState::Running);
    driver.shows("he").shows("llo").model(words("hello"));
    assert_eq!(driver.take_effects(), ["commit run_1.1 Synced", "ReleaseSlot", "finished run_1"]);
    assert_eq!(driver.transcript(), ["user m1: m1", "run_1.1 Done: hello"]);
    assert!(driver.conversation.is_idle());
}

#[test]
fn calls_that_only_look_run_side_by_side_and_then_the_model_goes_on() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.model(calls(vec![call("c1", "look", json!({"at": 1})), call("c2", "look", json!({"at": 2}))]));
    let effects = driver.take_effects();
    assert_eq!(
        effects[4..],
        ["commit run_1.1 Written", "run look c1", "commit run_1.1 Written", "run look c2"]
    );
    driver.tool("c2", "two");
    assert_eq!(driver.take_effects(), Vec::<String>::new());
    driver.tool("c1", "one");
    assert_eq!(driver.take_effects(), ["commit run_1.1 Written", "CallModel"]);
    assert_eq!(driver.context(), ["user m1", "assistant  look(c1) look(c2)", "tool c1: one", "tool c2: two"]);
    driver.model(words("done"));
    assert_eq!(driver.transcript(), ["user m1: m1", "run_1.1 Done: done"]);
}

#[test]
fn calls_that_change_something_run_alone_in_order_and_durably() {
    let mut driver = Driver::new();
    driver.say("m1");
    let step = vec![
        call("c1", "look", json!({})),
        call("c2", "act", json!({})),
        call("c3", "look", json!({"b": 1})),
    ];
    driver.model(calls(step)).take_effects();
    driver.tool("c1", "seen");
    assert_eq!(driver.take_effects(), ["commit run_1.1 Synced", "run act c2"]);
    driver.tool("c2", "acted");
    assert_eq!(driver.take_effects(), ["commit run_1.1 Synced", "commit run_1.1 Written", "run look c3"]);
}

#[test]
fn bad_arguments_and_unknown_tools_go_back_to_the_model() {
    let mut driver = Driver::new();
    driver.say("m1");
    let broken =
        ToolCall { id: "c1".parse().unwrap(), name: "look".to_owned(), arguments: Err("{\"a\":".to_owned()) };
    driver.model(calls(vec![broken, call("c2", "fly", json!({}))]));
    let context = driver.context();
    assert!(context[2].contains("not a JSON object"), "{context:?}");
    assert!(context[3].contains("no tool named \"fly\""), "{context:?}");
    driver.model(words("sorry"));
    assert_eq!(driver.transcript()[1], "run_1.1 Done: sorry");
}

#[test]
fn a_model_that_repeats_itself_is_warned_and_then_stopped() {
    let mut settings = rules();
    settings.max_steps = 50;
    let mut driver = Driver::with(settings, Vec::new());
    driver.say("m1");
    for round in 0..7 {
        driver.model(calls(vec![call(&format!("c{round}"), "look", json!({"same": true}))]));
        driver.tool(&format!("c{round}"), "same");
    }
    let Part::Error(error) = driver.lines.last().unwrap().parts.last().unwrap() else {
        panic!("no error part")
    };
    assert_eq!(error.kind, ErrorKind::Loop);
    assert!(driver.conversation.is_idle());
}

#[test]
fn a_run_ends_when_it_has_taken_all_its_steps() {
    let mut driver = Driver::new();
    driver.say("m1");
    for round in 0..5 {
        driver.model(calls(vec![call(&format!("c{round}"), "look", json!({"round": round}))]));
        driver.tool(&format!("c{round}"), "ok");
    }
    assert!(driver.conversation.is_idle());
    let Part::Error(error) = driver.lines.last().unwrap().parts.last().unwrap() else {
        panic!("no error part")
    };
    assert_eq!(error.kind, ErrorKind::TooManySteps);
}

#[test]
fn a_model_error_ends_the_run_with_words_for_the_person() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.model(model_error(ErrorKind::Auth));
    assert_eq!(driver.transcript()[1], "run_1.1 Failed: ");
    let Part::Error(error) = driver.lines.last().unwrap().parts.last().unwrap() else {
        panic!("no error part")
    };
    assert_eq!((error.kind, error.retryable), (ErrorKind::Auth, false));
    assert!(!error.text.is_empty());
}

#[test]
fn a_prompt_that_is_too_long_is_tried_with_half_the_window_twice() {
    let mut driver = Driver::new();
    driver.say("m1");
    for divisor in [2, 4] {
        driver.take_effects();
        driver.model(model_error(ErrorKind::ContextLength));
        assert_eq!(driver.take_effects(), ["Compact { reason: Overflow, focus: None }", "CallModel"]);
        assert_eq!(driver.conversation.window_divisor(), divisor, "nothing could be compacted");
    }
    driver.model(model_error(ErrorKind::ContextLength));
    assert!(driver.conversation.is_idle());
}

#[test]
fn an_empty_answer_is_asked_for_once_more() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.take_effects();
    driver.model(words("  "));
    assert_eq!(driver.take_effects(), ["CallModel"]);
    driver.model(words(""));
    assert!(driver.transcript()[1].starts_with("run_1.1 Failed"));
}

#[test]
fn what_was_shown_of_a_stream_that_broke_off_is_withdrawn() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.shows("half an ans");
    driver.feed(Event::Delta(ModelDelta::StartOver));
    assert_eq!(driver.conversation.draft(), None);
    driver.shows("a whole ");
    driver.model(words("a whole answer"));
    assert_eq!(driver.transcript(), ["user m1: m1", "run_1.1 Done: a whole answer"]);
}

#[test]
fn half_an_answer_is_not_kept_where_the_model_fails_for_good() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.shows("half an ans");
    driver.model(model_error(ErrorKind::Network));
    let transcript = driver.transcript();
    assert!(!transcript.concat().contains("half"), "{transcript:?}");
}

#[test]
fn a_retry_is_told_once_in_a_run() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.take_effects();
    for _ in 0..3 {
        driver.feed(Event::Delta(ModelDelta::Retrying { kind: ErrorKind::Rate, next_model: None }));
    }
    let shown = driver.take_effects();
    assert_eq!(shown.iter().filter(|effect| effect.starts_with("show Progress")).count(), 1, "{shown:?}");
}

#[test]
fn a_streamed_call_keeps_its_place_and_a_dropped_one_vanishes() {
    let mut driver = Driver::new();
    driver.say("m1");
    for (index, name, letters) in [(0, "c1", "{\"a\""), (0, "c1", ":1}"), (1, "ghost", "{")] {
        let delta = CallDelta {
            index,
            id: name.parse().unwrap(),
            name: "look".to_owned(),
            arguments: letters.to_owned(),
        };
        driver.feed(Event::Delta(ModelDelta::ToolInput(Box::new(delta))));
    }
    driver.model(calls(vec![call("c1", "look", json!({"a": 1}))]));
    let snapshot = driver.lines.last().unwrap();
    let states = snapshot.parts.iter().filter_map(|part| match part {
        Part::Tool(tool) => Some((tool.call_id.as_str(), &tool.state)),
        _ => None,
    });
    let states: Vec<_> = states.collect();
    assert_eq!(states, [("c1", &ToolState::InputAvailable { input: json!({"a": 1}) })]);
}

#[test]
fn a_long_run_goes_on_in_a_further_message() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.model(calls(vec![call("c1", "look", json!({}))]));
    driver.tool("c1", &"x".repeat(70_000));
    driver.model(words("short"));
    assert_eq!(driver.transcript(), ["user m1: m1", "run_1.1 Continued: ", "run_1.2 Done: short"]);
    assert!(driver.conversation.is_idle());
}

#[test]
fn an_answer_keeps_what_it_cost() {
    let mut driver = Driver::new();
    driver.say("m1");
    let mut answer = words("ok").unwrap();
    answer.usage = Some(Usage { input: 1500, output: 3, cached: 1000, ..Usage::default() });
    driver.model(Ok(answer));
    let usage = &driver.lines.last().unwrap().metadata.extra["usage"];
    assert_eq!(*usage, json!({ "in": 1500, "out": 3, "cached": 1000, "unpriced": true }));
}

#[test]
fn the_same_message_again_does_nothing() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.model(words("hello")).take_effects();
    let lines = driver.lines.len();
    assert_eq!(driver.say("m1"), Acceptance::Duplicate { message: "m1".parse().unwrap() });
    assert_eq!(driver.lines.len(), lines);
}
