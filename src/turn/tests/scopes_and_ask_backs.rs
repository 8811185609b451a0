//! Calls that cannot run, questions back with buttons, and how far a yes reaches.

use serde_json::{Value, json};

use super::driver::{Driver, call, calls, event, words};
use crate::domain::{Answer, ApprovalState, Decision, ErrorKind, IngressKind, Intent, Scope, ThreadState};
use crate::ports::{Acceptance, ToolCall};
use crate::turn::{Effect, Event, Lookups, ReplyToken};
use crate::uimessage::{Part, ToolState};

fn asking(inputs: &[Value]) -> Driver {
    let mut driver = Driver::new();
    driver.say("do it");
    let wanted = inputs.iter().enumerate().map(|(at, input)| call(&format!("c{at}"), "ask", input.clone()));
    driver.model(calls(wanted.collect()));
    driver
}

/// Everything that was sent since the effects were last looked at.
fn sent(driver: &Driver) -> impl Iterator<Item = &Intent> {
    let said = driver.effects.iter().filter_map(|effect| match effect {
        Effect::Commit { say, .. } => Some(say),
        _ => None,
    });
    said.flatten().map(|spoken| &spoken.intent)
}

/// The last question back that was sent, and the numbers of the questions it is about.
fn asked_back(driver: &Driver) -> Option<(String, Vec<String>)> {
    let back = |intent: &Intent| match intent {
        Intent::ApprovalAskBack { text, choices, .. } => {
            Some((text.clone(), choices.iter().map(|choice| choice.number.clone()).collect()))
        }
        _ => None,
    };
    sent(driver).filter_map(back).last()
}

/// Presses a button that carries this approval.
fn press(driver: &mut Driver, number: u32, answer: Answer, by: &str) -> Acceptance {
    let approval = driver.book.values().find(|one| one.number.0 == number).unwrap().clone();
    let decision = Decision {
        approval: approval.id.clone(),
        answer,
        reason: None,
        via: "button".to_owned(),
        operator: false,
    };
    let press = driver.effects.len();
    let mut arrived = event(&format!("press{press}"), IngressKind::Decision(decision));
    arrived.author.id = by.parse().unwrap();
    let ticket = ReplyToken(7000 + u64::try_from(press).unwrap());
    let lookups = Lookups { approvals: vec![approval], ..Lookups::default() };
    driver.feed(Event::Arrived { event: arrived, ticket, known: false, lookups });
    let answer = driver.effects.iter().find_map(|effect| match effect {
        Effect::Answer(answered, acceptance) if *answered == ticket => Some(acceptance.clone()),
        _ => None,
    });
    answer.unwrap()
}

#[test]
fn a_call_with_malformed_arguments_goes_back_to_the_model_and_to_no_person() {
    let mut driver = asking(&[json!({"malformed": true})]);
    assert!(driver.conversation.pending_approvals().is_empty() && driver.book.is_empty());
    assert!(driver.context()[2].contains("`malformed` must not be given"), "{:?}", driver.context());
    // Mended, it is asked about.
    driver.model(calls(vec![call("c9", "ask", json!({"n": 1}))]));
    assert_eq!(driver.conversation.state(), ThreadState::AwaitingApproval);
    driver.say("approve");
    driver.tool("c9", "done").model(words("mended"));
    assert!(driver.conversation.is_idle());
}

#[test]
fn a_call_that_is_no_json_or_of_no_tool_goes_back_to_the_model_and_to_no_person() {
    let mut driver = Driver::new();
    driver.say("do it");
    let broken =
        ToolCall { id: "c1".parse().unwrap(), name: "ask".to_owned(), arguments: Err("{\"n\":".to_owned()) };
    driver.model(calls(vec![broken, call("c2", "nowhere", json!({}))]));
    assert!(driver.conversation.pending_approvals().is_empty());
    assert!(driver.context()[2].contains("not a JSON object"), "{:?}", driver.context());
    assert!(driver.context()[3].contains("no tool named"), "{:?}", driver.context());
}

#[test]
fn a_model_that_repeats_malformed_calls_is_stopped_by_the_loop_guard() {
    let mut settings = super::driver::rules();
    settings.max_steps = 40;
    let mut driver = Driver::with(settings, Vec::new());
    driver.say("do it");
    let mut steps = 0;
    while !driver.conversation.is_idle() && steps < 30 {
        // Never the same twice: only that none of them can run.
        driver.model(calls(vec![call(&format!("c{steps}"), "ask", json!({"malformed": steps}))]));
        steps += 1;
    }
    assert_eq!(steps, 7);
    let looped = |part: &Part| matches!(part, Part::Error(record) if record.kind == ErrorKind::Loop);
    assert!(driver.lines.iter().flat_map(|line| &line.parts).any(looped));
    assert!(driver.book.is_empty(), "nobody was asked");
}

#[test]
fn an_unclear_reply_is_asked_back_with_the_questions_it_can_mean() {
    let mut driver = asking(&[json!({"n": 1}), json!({"n": 2})]);
    driver.say("approve A2 if you like");
    let (text, about) = asked_back(&driver).unwrap();
    assert!(text.contains("A2"), "{text}");
    assert_eq!(about, ["A2"], "only the one that is named");
    driver.effects.clear();
    driver.say("yes");
    assert_eq!(asked_back(&driver).unwrap().1, ["A1", "A2"], "both wait and none was named");
    // The page finds the same in the thread.
    let kept = driver.lines.iter().rev().find_map(|line| match line.parts.first() {
        Some(Part::Command(record)) => Some(record.choices.clone()),
        _ => None,
    });
    assert_eq!(kept.unwrap().len(), 2);
}

#[test]
fn what_is_no_decision_is_reminded_with_the_answers_to_every_question() {
    let mut driver = asking(&[json!({"n": 1})]);
    driver.effects.clear();
    driver.say("您好");
    let (text, about) = asked_back(&driver).unwrap();
    assert!(text.contains("A1"), "{text}");
    assert_eq!(about, ["A1"]);
    assert_eq!(driver.conversation.pending_approvals().len(), 1);
}

#[test]
fn a_button_of_a_question_back_decides_that_question_once_and_for_those_who_may() {
    let mut driver = asking(&[json!({"n": 1}), json!({"n": 2})]);
    driver.say("yes");
    let refused = press(&mut driver, 2, Answer::Approve(Scope::Once), "web:user:stranger");
    assert!(matches!(refused, Acceptance::Refused(words) if words.contains("A2")));
    assert_eq!(driver.conversation.pending_approvals().len(), 2);
    assert!(matches!(
        press(&mut driver, 2, Answer::Approve(Scope::Once), "web:user:u"),
        Acceptance::Accepted { .. }
    ));
    let pending: Vec<u32> =
        driver.conversation.pending_approvals().iter().map(|approval| approval.number.0).collect();
    assert_eq!(pending, [1], "the other one still waits");
    let again = press(&mut driver, 2, Answer::Deny, "web:user:owner");
    assert!(
        matches!(&again, Acceptance::Refused(words) if words.contains("A2") && words.contains("Ada")),
        "{again:?}"
    );
}

#[test]
fn a_longer_yes_that_cannot_hold_is_recorded_as_once_and_the_person_is_told() {
    for (reply, by_button) in [("approve for 10 minutes", false), ("", true)] {
        let mut driver = asking(&[json!({"once": true})]);
        driver.take_effects();
        if by_button {
            press(&mut driver, 1, Answer::Approve(Scope::Thread), "web:user:u");
        } else {
            driver.say(reply);
        }
        let words = |intent: &Intent| match intent {
            Intent::ApprovalResolved { text, .. } | Intent::AssistantText { text } => text.clone(),
            _ => String::new(),
        };
        let told: String = sent(&driver).map(words).collect();
        assert!(told.contains("cannot be allowed for longer"), "{told}");
        assert!(!driver.effects.iter().any(|effect| matches!(effect, Effect::Grant(..))));
        let kept = driver.book.values().next().unwrap();
        assert!(
            matches!(
                kept.state,
                ApprovalState::Approved { scope: Scope::Once, .. }
                    | ApprovalState::Spent { scope: Scope::Once, .. }
            ),
            "{kept:?}"
        );
    }
}

#[test]
fn a_grant_that_could_not_be_kept_leaves_a_record_of_once_and_is_told() {
    let mut driver = asking(&[json!({"n": 1}), json!({"n": 2})]);
    press(&mut driver, 2, Answer::Approve(Scope::Thread), "web:user:u");
    let approval = driver.book.values().find(|one| one.number.0 == 2).unwrap().clone();
    assert!(matches!(approval.state, ApprovalState::Approved { scope: Scope::Thread, .. }), "{approval:?}");
    driver.effects.clear();
    driver.feed(Event::NotGranted(approval.id));
    let kept = driver.book.values().find(|one| one.number.0 == 2).unwrap();
    assert!(matches!(kept.state, ApprovalState::Approved { scope: Scope::Once, .. }), "{kept:?}");
    let part = tool_part(&driver, "c1");
    assert_eq!(part["approval"]["descriptor"]["scope"]["type"], "once", "{part}");
}

fn tool_part(driver: &Driver, id: &str) -> Value {
    let parts = driver.lines.iter().rev().flat_map(|line| &line.parts);
    let found = parts.into_iter().find_map(|part| match part {
        Part::Tool(tool) if tool.call_id.as_str() == id => Some(tool),
        _ => None,
    });
    serde_json::to_value(found.unwrap()).unwrap()
}

#[test]
fn the_outcome_of_a_decision_stands_in_the_part_before_its_result_and_stays() {
    let mut driver = asking(&[json!({"n": 1})]);
    let asked = tool_part(&driver, "c0");
    assert_eq!(asked["state"], "approval-requested");
    assert_eq!(
        asked["approval"]["descriptor"]["scopes"],
        json!(["once", "thread", "minutes", "shape", "project"])
    );
    driver.say("approve for 10 minutes");
    // Between the question and the result there is a line of its own.
    let responded = driver.lines.iter().flat_map(|line| &line.parts).any(
        |part| matches!(part, Part::Tool(tool) if matches!(tool.state, ToolState::ApprovalResponded { .. })),
    );
    assert!(responded);
    driver.tool("c0", "done").model(words("all done"));
    let ended = tool_part(&driver, "c0");
    assert_eq!(ended["state"], "output-available");
    let outcome = &ended["approval"]["descriptor"];
    assert_eq!(outcome["number"], "A1", "{ended}");
    assert_eq!(outcome["state"], "approved", "{ended}");
    assert_eq!(outcome["decidedBy"], "web:user:u", "{ended}");
    assert_eq!(outcome["scope"], json!({"type": "minutes", "minutes": 10}), "{ended}");
    assert_eq!(outcome["via"], "text", "{ended}");

    let mut driver = asking(&[json!({"n": 1})]);
    driver.say("deny A1 too risky");
    let ended = tool_part(&driver, "c0");
    assert_eq!(
        (&ended["state"], &ended["approval"]["descriptor"]["state"]),
        (&json!("output-denied"), &json!("denied"))
    );
}
