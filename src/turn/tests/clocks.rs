//! When a question can have been seen and when a text was written: unsent questions, sends without a response, and
//! clock differences.

use std::sync::Arc;

use serde_json::json;

use super::chat::{
    ADA, DAWN, OWNER, asked, chat, deliver, numbers, push, says, says_now, state, waiting, wants,
};
use super::driver::{Driver, call, calls, check_arguments, effects_of, said, thread, words};
use crate::domain::{DeliveryId, OutboundIntent, Timestamp};
use crate::ports::{DeliveryError, OutboxEntry, ThreadRecord};
use crate::turn::approval::visibility::QuestionVisibility;
use crate::turn::{Conversation, Event};

#[test]
fn what_has_not_been_sent_has_not_been_seen() {
    let mut driver = chat();
    says(&mut driver, ADA, DAWN, said("clean up"));
    wants(&mut driver, "rm");
    driver.now += 3_000;
    for text in ["ok", "approve ask", "approve rm", "同意 ask"] {
        let told = says_now(&mut driver, ADA, said(text));
        assert!(told.contains("A1") && state(&driver, 1) == "Pending", "{text}: {told}");
    }
    // A failed attempt has shown nothing either.
    let question = asked(&driver).pop().unwrap();
    driver.conversation.note_sending(&question, Timestamp::from_millis(driver.now));
    driver.conversation.note_sent(&question, Err(&held()));
    driver.now += 3_000;
    says_now(&mut driver, ADA, said("ok"));
    assert_eq!(state(&driver, 1), "Pending");
    driver.conversation.note_sending(&question, Timestamp::from_millis(driver.now));
    // The receipt may arrive after the answer.
    driver.now += 3_000;
    says_now(&mut driver, ADA, said("ok"));
    assert_eq!(state(&driver, 1), "Approved");
}

fn held() -> DeliveryError {
    DeliveryError::Hold { reason: "not before somebody speaks".to_owned() }
}

fn cut_off() -> DeliveryError {
    DeliveryError::Retry { after: None, reason: "no answer came".to_owned() }
}

#[test]
fn what_may_have_come_through_may_have_been_seen_from_the_first_try_on() {
    // The results of two attempts, four seconds apart, and whether a text written between them counts once another
    // question was settled.
    for (first, second, counts) in [
        (cut_off(), None, true),
        (cut_off(), Some(cut_off()), true),
        (cut_off(), Some(held()), true),
        (held(), None, false),
        (held(), Some(held()), false),
    ] {
        let mut driver = waiting();
        driver.now += 1_000;
        says_now(&mut driver, ADA, said("yes"));
        driver.tool("ls", "done");
        wants(&mut driver, "rm");
        let question = asked(&driver).pop().unwrap();
        let begun = driver.now;
        let sending = |driver: &mut Driver, at| {
            driver.conversation.note_sending(&question, Timestamp::from_millis(at));
        };
        sending(&mut driver, begun + 1_000);
        driver.conversation.note_sent(&question, Err(&first));
        sending(&mut driver, begun + 5_000);
        if let Some(second) = &second {
            driver.conversation.note_sent(&question, Err(second));
        }
        driver.now = begun + 6_000;
        let told = says(&mut driver, ADA, begun + 3_000, said("yes"));
        assert_eq!(state(&driver, 2) == "Approved", counts, "{first:?} {second:?}: {told}");
    }
}

#[test]
fn nothing_is_kept_of_a_question_that_is_sent_after_it_was_answered() {
    let mut driver = chat();
    says(&mut driver, ADA, DAWN, said("clean up"));
    wants(&mut driver, "rm");
    let question = asked(&driver).pop().unwrap();
    says_now(&mut driver, ADA, said("approve A1"));
    assert_eq!(state(&driver, 1), "Approved");
    for failure in [held(), cut_off()] {
        driver.conversation.note_sending(&question, Timestamp::from_millis(driver.now));
        driver.conversation.note_sent(&question, Err(&failure));
    }
    let kept = format!("{:?}", driver.conversation.visibility());
    assert!(kept.starts_with("QuestionVisibility { hidden: {}, since: {}, unsure: {}, posts: []"), "{kept}");
}

#[test]
fn a_question_that_was_left_in_the_outbox_may_have_been_seen() {
    let mut driver = chat();
    says(&mut driver, ADA, DAWN, said("clean up"));
    wants(&mut driver, "rm");
    let intent = asked(&driver).pop().unwrap();
    let sent = OutboundIntent {
        thread_id: thread(),
        correlation_id: "run".parse().unwrap(),
        reply_to: None,
        intent: intent.clone(),
    };
    let at = Timestamp::from_millis(DAWN);
    let entry = OutboxEntry { id: DeliveryId::new("m", 1), at, intent: sent, on_behalf_of: None };
    for sent_again in [false, true] {
        let record = ThreadRecord {
            tail: driver.lines.clone(),
            undelivered: vec![entry.clone()],
            ..ThreadRecord::default()
        };
        let mut again = Driver::resumed_at(DAWN + 30_000, push(), driver.lines.clone(), driver.book.clone());
        again.conversation =
            Conversation::new(thread(), Arc::new(push()), effects_of(), check_arguments(), record);
        again.feed(Event::Resumed(driver.book.values().cloned().collect()));
        if sent_again {
            again.conversation.note_sending(&intent, Timestamp::from_millis(again.now));
        }
        again.now += 1_000;
        let told = says(&mut again, ADA, DAWN + 4_000, said("yes"));
        assert_eq!(state(&again, 1), "Approved", "{sent_again}: {told}");
    }
}

#[test]
fn how_far_the_clocks_are_apart_is_learned_from_the_first_message_of_a_run() {
    // Two messages were joined: the second arrived after the run had begun.
    let mut driver = chat();
    says(&mut driver, ADA, DAWN, said("clean up"));
    driver.now += 500;
    says(&mut driver, ADA, DAWN + 500, said("all of it"));
    wants(&mut driver, "ls");
    deliver(&mut driver);
    driver.now = DAWN + 5_000;
    says_now(&mut driver, OWNER, said("no"));
    driver.model(words("I leave it"));
    // A message dated after its answer says nothing about the clocks.
    let mut lines = driver.lines.clone();
    let mut odd = lines[0].clone();
    (odd.id, odd.metadata.correlation_id) = ("odd".parse().unwrap(), "odd".parse().unwrap());
    let mut answer = lines.last().unwrap().clone();
    (answer.id, answer.metadata.correlation_id) = ("odder".parse().unwrap(), "odd".parse().unwrap());
    odd.metadata.timestamp = Timestamp::from_millis(DAWN + 7_000);
    answer.metadata.timestamp = Timestamp::from_millis(DAWN + 6_000);
    lines.extend([odd, answer]);
    let record = ThreadRecord { tail: lines, ..ThreadRecord::default() };
    let at = Timestamp::from_millis(DAWN + 20_000);
    let told = QuestionVisibility::resumed(&record).said_at(at, Timestamp::from_millis(DAWN + 60_000));
    assert_eq!(told, at);
}

#[test]
fn what_was_said_before_a_question_was_shown_is_asked_back_though_nothing_else_was_ever_asked() {
    let hour = 3_600_000;
    // The platform times of request and answer, and whether it approves. The request arrives at once, the question is
    // shown five seconds later, and the answer arrives after nine.
    for (request, answer, approves) in [
        (DAWN, DAWN + 9_000, true),
        (DAWN, DAWN + 4_000, false),
        (DAWN, DAWN, false),
        (DAWN, DAWN - 60_000, false),
        (DAWN, 1_000, false),
        // A clock that is off by half a minute or a day.
        (DAWN - 30_000, DAWN - 30_000 + 9_000, true),
        (DAWN - 30_000, DAWN - 30_000 + 2_000, false),
        (DAWN + 30_000, DAWN + 30_000 + 9_000, true),
        (DAWN + 30_000, DAWN + 30_000 + 2_000, false),
        (DAWN + 24 * hour, DAWN + 24 * hour + 9_000, true),
        (DAWN + 24 * hour, DAWN + 24 * hour + 1_000, false),
        // A clock that is hours behind, or counts messages, is ignored.
        (DAWN - 24 * hour, DAWN - 24 * hour + 1_000, true),
        (1_000, 2_000, true),
        // A time truncated to the second.
        (DAWN, (DAWN + 5_000) / 1000 * 1000, true),
    ] {
        for words in ["yes", "approve A1", "全部同意"] {
            let mut driver = chat();
            says(&mut driver, ADA, request, said("clean up"));
            driver.now = DAWN + 5_000;
            wants(&mut driver, "rm");
            deliver(&mut driver);
            driver.now = DAWN + 9_000;
            let told = says(&mut driver, ADA, answer, said(words));
            assert_eq!(state(&driver, 1) == "Approved", approves, "{request} {answer} {words}: {told}");
            assert_eq!(
                told.contains("- A1: ask {\"command\":\"rm\"} (`approve A1` / `deny A1`)"),
                !approves,
                "{told}"
            );
        }
    }
}

#[test]
fn a_yes_counts_for_a_later_question_only_from_when_it_was_shown() {
    // When the answer is written, relative to the first question; whether it approves the second one.
    for (answer, approves) in [
        (70_000, true),
        (61_000, true),
        (59_000, false),
        (52_000, false),
        (44_000, false),
        (2_000, false),
        (-1_000, false),
        (-86_400_000, false),
    ] {
        let mut driver = waiting();
        driver.now = DAWN + 35_000;
        says_now(&mut driver, ADA, said("yes"));
        driver.tool("ls", "done");
        driver.model(words("done"));
        driver.now = DAWN + 50_000;
        says_now(&mut driver, ADA, said("and now the rest"));
        driver.now = DAWN + 60_000;
        wants(&mut driver, "rm");
        deliver(&mut driver);
        driver.now = DAWN + 70_000;
        let told = says(&mut driver, ADA, DAWN + answer, said("yes"));
        assert_eq!(state(&driver, 2) == "Approved", approves, "{answer}: {told}");
    }
}

#[test]
fn a_yes_to_all_leaves_out_what_was_not_shown_by_then_however_late_it_comes() {
    let mut driver = chat();
    says(&mut driver, ADA, DAWN, said("clean up"));
    let two =
        vec![call("c1", "ask", json!({ "command": "ls" })), call("c2", "ask", json!({ "command": "rm" }))];
    driver.model(calls(two));
    let (first, second) = (asked(&driver).remove(0), asked(&driver).remove(1));
    driver.conversation.note_sending(&first, Timestamp::from_millis(DAWN + 1_000));
    driver.conversation.note_sending(&second, Timestamp::from_millis(DAWN + 9_000));
    driver.now = DAWN + 10_000;
    says(&mut driver, ADA, DAWN + 5_000, said("全部同意"));
    assert_eq!((state(&driver, 1).as_str(), numbers(&driver)), ("Approved", vec![2]));
}

#[test]
fn a_yes_for_what_went_before_a_restart_does_not_approve_what_is_asked_after_it() {
    for (answer, approves) in [(2_000, false), (31_000, false), (38_000, true), (-1_000, false)] {
        let mut driver = waiting();
        driver.now = DAWN + 5_000;
        says_now(&mut driver, OWNER, said("no"));
        driver.model(words("I leave it"));
        let mut driver = Driver::resumed_at(DAWN + 30_000, push(), driver.lines, driver.book);
        driver.slots_taken = 10;
        says_now(&mut driver, ADA, said("and now the rest"));
        driver.now = DAWN + 35_000;
        wants(&mut driver, "rm");
        deliver(&mut driver);
        driver.now = DAWN + 40_000;
        let told = says(&mut driver, ADA, DAWN + answer, said("yes"));
        assert_eq!(numbers(&driver).is_empty(), approves, "{answer}: {told}");
    }
}

#[test]
fn a_yes_from_before_a_restart_is_no_answer_to_what_is_asked_after_it() {
    let mut driver = waiting();
    let (lines, book) = (driver.lines.clone(), driver.book.clone());
    // A question that was shown before is answered by a text written meanwhile.
    let mut again = Driver::resumed(push(), lines.clone(), book.clone());
    again.now = DAWN + 30_000;
    says(&mut again, ADA, DAWN + 4_000, said("yes"));
    assert_eq!(state(&again, 1), "Approved");
    // A question that is asked afterwards is not.
    driver = Driver::resumed(push(), lines, book);
    driver.now = DAWN + 70_000;
    driver.feed(Event::Tick);
    wants(&mut driver, "rm");
    deliver(&mut driver);
    driver.now += 15_000;
    says(&mut driver, ADA, DAWN + 4_000, said("yes"));
    assert_eq!(numbers(&driver).len(), 1, "it still waits");
}
