//! Interrupted anywhere and resumed: every question is answered once, and every prompt is valid for providers.

use proptest::prelude::*;
use serde_json::json;

use super::driver::{Driver, assert_provider_valid, call, calls, rules, words};
use crate::domain::{ApprovalKind, Command, CorrelationId, WhileRunning};
use crate::uimessage::{Role, RunStatus, UiMessage, fold, to_model, unfinished_runs};

/// Answers until no work is left. Every run makes one read-only call, then answers.
fn drive_to_rest(driver: &mut Driver) {
    for round in 0..200 {
        if driver.conversation.is_idle() {
            return;
        }
        assert_provider_valid(&to_model(driver.conversation.context()));
        if let Some(approval) = driver.conversation.pending_approvals().first() {
            driver.say(&format!("skip {}", approval.number));
            continue;
        }
        let open: Vec<_> = (0..500)
            .map(|n| format!("c{n}"))
            .filter(|c| driver.conversation.is_running(&c.parse().unwrap()))
            .collect();
        if let Some(call) = open.first() {
            driver.tool(call, "seen");
            continue;
        }
        let looked = driver.context().last().is_some_and(|line| line.starts_with("tool"));
        let step = driver.lines.len() + round;
        driver.model(if looked {
            words("done")
        } else {
            calls(vec![call(&format!("c{step}"), "look", json!({"n": step}))])
        });
    }
    panic!("did not come to rest");
}

fn finals(lines: &[UiMessage]) -> Vec<CorrelationId> {
    let messages = fold(lines.to_vec());
    let ended = messages.iter().filter(|m| m.metadata.status.is_some_and(|status| status.is_final()));
    ended.map(|message| message.metadata.correlation_id.clone()).collect()
}

fn assert_answered_once(lines: &[UiMessage], accepted: &[String]) {
    let messages = fold(lines.to_vec());
    let ended = finals(lines);
    for id in accepted {
        let said = messages
            .iter()
            .find(|message| message.id.as_str() == id)
            .unwrap_or_else(|| panic!("{id} is lost"));
        let answers = ended.iter().filter(|run| **run == said.metadata.correlation_id).count();
        assert_eq!(answers, 1, "{id} has {answers} answers");
    }
}

/// A sequence with merging, waiting, tools and a stop.
fn busy_day(while_running: WhileRunning) -> Vec<UiMessage> {
    let mut settings = rules();
    settings.while_running = while_running;
    let mut driver = Driver::with(settings, Vec::new());
    driver.say("m1");
    driver.say("m2");
    driver.model(calls(vec![
        call("c1", "look", json!({})),
        call("c2", "act", json!({})),
        call("c3", "act", json!({"x": 1})),
    ]));
    driver.now += 5000;
    driver.say("m3");
    driver.tool("c1", "one").tool("c2", "two").tool("c3", "three");
    driver.model(words("first answer"));
    driver.shows("second");
    driver.say("m4");
    driver.command("s1", Command::Stop);
    drive_to_rest(&mut driver);
    driver.lines
}

#[test]
fn cut_after_any_line_every_question_is_answered_once() {
    for while_running in [WhileRunning::Merge, WhileRunning::Steer, WhileRunning::Interrupt] {
        let lines = busy_day(while_running);
        for cut in 0..=lines.len() {
            let prefix = lines[..cut].to_vec();
            let accepted: Vec<String> = fold(prefix.clone())
                .iter()
                .filter(|m| m.role == Role::User && !m.metadata.command)
                .map(|m| m.id.to_string())
                .collect();
            let mut driver = Driver::with(rules(), prefix);
            drive_to_rest(&mut driver);
            assert_answered_once(&driver.lines, &accepted);
            assert_eq!(unfinished_runs(&fold(driver.lines.clone())), Vec::<CorrelationId>::new());
        }
    }
}

#[test]
fn a_call_that_changes_something_is_never_run_again() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.model(calls(vec![call("c1", "act", json!({}))]));
    let mut again = Driver::with(rules(), driver.lines);
    let effects = again.take_effects();
    assert!(effects.iter().all(|effect| !effect.starts_with("run act")), "{effects:?}");
    assert_eq!(again.conversation.pending_approvals()[0].kind, ApprovalKind::UnknownOutcome);
}

#[test]
fn a_call_that_only_looks_is_simply_run_again() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.model(calls(vec![call("c1", "look", json!({}))]));
    let mut again = Driver::with(rules(), driver.lines);
    assert!(again.take_effects().contains(&"run look c1".to_owned()));
    again.tool("c1", "seen").model(words("done"));
    assert_eq!(again.transcript(), ["user m1: m1", "run_1.1 Done: done"]);
}

/// A run whose long tool results fill several messages.
fn long_run() -> Vec<UiMessage> {
    let mut driver = Driver::new();
    driver.say("m1");
    for n in 0..4 {
        driver.model(calls(vec![call(&format!("c{n}"), "look", json!({ "n": n }))]));
        driver.tool(&format!("c{n}"), &"x".repeat(70_000));
    }
    driver.model(calls(vec![call("c9", "look", json!({}))]));
    driver.lines
}

#[test]
fn a_run_whose_first_messages_are_not_in_memory_goes_on_under_the_next_number() {
    let lines = long_run();
    let (first, last) = (lines.first().cloned().unwrap(), lines.last().cloned().unwrap());
    assert_eq!(last.id.as_str(), "run_1.5");
    let mut again = Driver::with(rules(), vec![first, last]);
    again.tool("c9", "seen").model(words("done"));
    assert_eq!(again.lines.last().unwrap().id.as_str(), "run_1.5");
}

#[test]
fn the_steps_before_a_restart_count() {
    let mut again = Driver::with(rules(), long_run());
    again.tool("c9", "seen");
    let last = again.lines.last().unwrap();
    assert_eq!(last.metadata.status, Some(RunStatus::Failed), "five steps are all it has: {last:?}");
}

fn assert_ends_well(moves: &[u8], cut: f64, mode: u8) {
    let mut settings = rules();
    settings.while_running =
        [WhileRunning::Merge, WhileRunning::Steer, WhileRunning::Interrupt][usize::from(mode)];
    let mut driver = Driver::with(settings.clone(), Vec::new());
    for (at, next) in moves.iter().enumerate() {
        match next {
            0 | 1 => drop(driver.say(&format!("m{at}"))),
            2 => _ = driver.shows("x"),
            3 => _ = driver.model(words("x answer")),
            4 => _ = driver.model(calls(vec![call(&format!("c{at}"), "look", json!({"at": at}))])),
            5 => {
                for n in 0..moves.len() {
                    driver.tool(&format!("c{n}"), "seen");
                }
            }
            6 => drop(driver.command(&format!("s{at}"), Command::Stop)),
            _ => driver.now += 700,
        }
        assert_provider_valid(&to_model(driver.conversation.context()));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a small number"
    )]
    let cut = (driver.lines.len() as f64 * cut) as usize;
    let prefix: Vec<UiMessage> = driver.lines[..cut].to_vec();
    assert_provider_valid(&to_model(&fold(prefix.clone())));
    let accepted: Vec<String> = fold(prefix.clone())
        .iter()
        .filter(|m| m.role == Role::User && !m.metadata.command)
        .map(|m| m.id.to_string())
        .collect();
    let mut again = Driver::with(settings, prefix);
    drive_to_rest(&mut again);
    assert_answered_once(&again.lines, &accepted);
}

#[test]
fn stopped_and_asked_again_by_turns_and_cut_in_the_middle_it_ends_well() {
    assert_ends_well(&[6, 0, 6, 0, 6], 0.53, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any sequence of events, interrupted at any point.
    #[test]
    fn any_day_cut_anywhere_ends_well(moves in proptest::collection::vec(0_u8..8, 1..40), cut in 0.0_f64..1.0, mode in 0_u8..3) {
        assert_ends_well(&moves, cut, mode);
    }
}
