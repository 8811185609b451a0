//! A bare yes counts for a question that whoever says it can have seen, and for no other.

use std::sync::Arc;

use serde_json::json;

use super::driver::{Driver, call, calls, effects_of, event, rules, said, state_word, thread, words};
use crate::domain::{
    Answer, Capabilities, Command, Decision, Delivery, DeliveryId, IngressKind, Intent, Language,
    OutboundIntent, Quoted, Said, Scope, Timestamp,
};
use crate::ports::{DeliveryError, OutboxEntry, Receipt, ThreadRecord};
use crate::turn::sight::Sight;
use crate::turn::{Brought, Conversation, Effect, Event, Rules, Ticket};
use crate::uimessage::Part;

const ADA: &str = "web:user:u";
const OWNER: &str = "web:user:owner";
const BOB: &str = "web:user:bob";
/// When the day begins, by both clocks.
const DAWN: i64 = 1_700_000_000_123;

/// A chat whose questions have to be sent.
fn chat() -> Driver {
    let mut settings = push();
    settings.language = Some(Language::En);
    settings.rights.people.push(BOB.parse().unwrap());
    let mut driver = Driver::with(settings, Vec::new());
    driver.now = DAWN;
    driver
}

/// The rules of such a chat.
fn push() -> Rules {
    Rules { capabilities: Capabilities { delivery: Delivery::Push, ..Capabilities::pull() }, ..rules() }
}

/// Somebody says something at a time of the platform's that reaches us now.
fn says(driver: &mut Driver, by: &str, at: i64, what: Said) -> String {
    let message = format!("m{}", driver.lines.len());
    let mut event = event(&message, IngressKind::Said(what));
    event.author.id = by.parse().unwrap();
    event.at = Timestamp::from_millis(at);
    let (ticket, brought) = (Ticket(99), Brought::default());
    driver.feed(Event::Arrived { event, ticket, known: false, brought });
    let told = driver.lines.iter().rev().find(|line| line.id.as_str() == message);
    let told = told.and_then(|line| {
        line.parts.iter().find_map(|part| match part {
            Part::Command(record) => Some(record.reply.clone()),
            _ => None,
        })
    });
    told.unwrap_or_default()
}

fn says_now(driver: &mut Driver, by: &str, what: Said) -> String {
    let now = driver.now;
    says(driver, by, now, what)
}

/// Everything that was asked since the last look is shown now: the message is called like the question.
fn deliver(driver: &mut Driver) {
    let now = Timestamp::from_millis(driver.now);
    for intent in asked(driver) {
        let Intent::ApprovalRequest { number, .. } = &intent else { continue };
        driver.conversation.note_sending(&intent, now);
        let receipt = Receipt { platform_message: Some(number.clone()) };
        driver.conversation.note_sent(&intent, Ok(&receipt));
    }
    driver.effects.clear();
}

fn asked(driver: &Driver) -> Vec<Intent> {
    let said = driver.effects.iter().filter_map(|effect| match effect {
        Effect::Commit { say, .. } => Some(say.iter().map(|spoken| spoken.intent.clone())),
        _ => None,
    });
    said.flatten().filter(|intent| matches!(intent, Intent::ApprovalRequest { .. })).collect()
}

/// The model wants to do something that needs a yes.
fn wants(driver: &mut Driver, name: &str) {
    driver.model(calls(vec![call(name, "ask", json!({ "command": name }))]));
}

/// Ada has asked for something, and the first question is on her screen.
fn waiting() -> Driver {
    let mut driver = chat();
    says(&mut driver, ADA, DAWN, said("clean up"));
    wants(&mut driver, "ls");
    deliver(&mut driver);
    driver
}

/// What became of a question; one that was approved runs at once.
fn state(driver: &Driver, number: u32) -> String {
    let known = driver.book.values().find(|approval| approval.number.0 == number).unwrap();
    state_word(known).replace("Spent", "Approved")
}

fn numbers(driver: &Driver) -> Vec<u32> {
    driver.conversation.pending_approvals().iter().map(|asked| asked.number.0).collect()
}

fn quoting(text: &str, message: &str, words: &str) -> Said {
    let quoted = Quoted { platform_message: message.to_owned(), author: None, text: words.to_owned() };
    Said { quoted: Some(quoted), ..said(text) }
}

#[test]
fn a_yes_for_a_question_that_expired_does_not_approve_the_one_that_came_after_it() {
    // How long after the new question is shown it is said and comes in; what; whether it approves.
    let plain = |text: &str| said(text);
    for (said_after, comes_after, what, approves) in [
        (-1_000, 500, plain("yes"), false),
        (-1_000, 20_000, plain("yes"), false),
        (-1_000, 20_000, plain("全部同意"), false),
        (900, 1_000, plain("yes"), false),
        (12_000, 12_500, plain("yes"), true),
        (-1_000, 500, plain("approve A2"), true),
        // Its command and its tool may be those of the one before.
        (-1_000, 500, plain("approve rm"), false),
        (-1_000, 500, plain("approve ask"), false),
        (-1_000, 500, plain("同意 ask"), false),
        (12_000, 12_500, plain("approve ask"), true),
        (-1_000, 500, quoting("yes", "A2", ""), true),
        (12_000, 12_500, quoting("yes", "A1", ""), false),
        // Which message showed what is not known any more, but it says so itself.
        (-1_000, 500, quoting("yes", "9", "🔴 A2: may I do this?\n\nrm"), true),
        (-1_000, 500, quoting("yes", "9", "🟡 **A2：可以执行吗？**"), true),
        (12_000, 12_500, quoting("yes", "9", "🔴 A1: may I do this?\n\nls"), false),
        (12_000, 12_500, quoting("yes", "9", "how are you?"), true),
        // People speak of numbers as well, and of paper.
        (12_000, 12_500, quoting("yes", "9", "shall we print it on A4?"), true),
        (12_000, 12_500, quoting("yes", "9", "A4 or A1, I cannot tell"), true),
        (-1_000, 500, quoting("yes", "9", "what about A2?"), false),
    ] {
        let shown = format!("{said_after} {what:?}");
        let mut driver = waiting();
        driver.now += 60_000;
        driver.feed(Event::Tick);
        assert_eq!(state(&driver, 1), "Expired");
        driver.now += 2_000;
        wants(&mut driver, "rm");
        deliver(&mut driver);
        let at = driver.now;
        driver.now = at + comes_after;
        let told = says(&mut driver, ADA, at + said_after, what);
        assert_eq!(state(&driver, 2) == "Approved", approves, "{shown}: {told}");
        if !approves {
            assert_eq!(numbers(&driver), [2], "{shown}: it still waits");
        }
        if !approves && !shown.contains("quoted: Some") {
            assert!(told.contains("- A2: ask {\"command\":\"rm\"} (`approve A2` / `deny A2`)"), "{told}");
        }
    }
}

#[test]
fn a_yes_that_was_said_twice_answers_one_question() {
    let mut driver = waiting();
    driver.now += 5_000;
    says_now(&mut driver, ADA, said("yes"));
    let first = driver.now;
    driver.tool("ls", "done");
    driver.now += 4_000;
    wants(&mut driver, "rm");
    deliver(&mut driver);
    driver.now += 100;
    says(&mut driver, ADA, first + 700, said("yes"));
    assert_eq!(state(&driver, 3), "Pending", "it was said before A3 was shown");
    // Whoever answered the last one themselves may answer the next one at once.
    says_now(&mut driver, ADA, said("yes"));
    assert_eq!(state(&driver, 3), "Approved");
}

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
    // A try that came to nothing has shown nothing either.
    let question = asked(&driver).pop().unwrap();
    driver.conversation.note_sending(&question, Timestamp::from_millis(driver.now));
    driver.conversation.note_sent(&question, Err(&held()));
    driver.now += 3_000;
    says_now(&mut driver, ADA, said("ok"));
    assert_eq!(state(&driver, 1), "Pending");
    driver.conversation.note_sending(&question, Timestamp::from_millis(driver.now));
    // Its receipt may be slower than the person.
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
    // What becomes of two tries, four seconds apart; whether what was said between them counts, once another question
    // has gone.
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
        assert_eq!(state(&driver, 3) == "Approved", counts, "{first:?} {second:?}: {told}");
    }
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
    let entry = OutboxEntry { id: DeliveryId::new("m", 1), at, intent: sent };
    for sent_again in [false, true] {
        let record = ThreadRecord {
            tail: driver.lines.clone(),
            undelivered: vec![entry.clone()],
            ..ThreadRecord::default()
        };
        let mut again = Driver::resumed_at(DAWN + 30_000, push(), driver.lines.clone(), driver.book.clone());
        again.conversation = Conversation::new(thread(), Arc::new(push()), effects_of(), record);
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
    // Two messages were joined: the second came after the run had begun.
    let mut driver = chat();
    says(&mut driver, ADA, DAWN, said("clean up"));
    driver.now += 500;
    says(&mut driver, ADA, DAWN + 500, said("all of it"));
    wants(&mut driver, "ls");
    deliver(&mut driver);
    driver.now = DAWN + 5_000;
    says_now(&mut driver, OWNER, said("no"));
    driver.model(words("I leave it"));
    // What says it was said after it was answered tells nothing.
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
    let told = Sight::resumed(&record).said_at(at, None, Timestamp::from_millis(DAWN + 60_000));
    assert_eq!(told, at);
}

#[test]
fn a_platform_with_a_strange_clock_is_answered_all_the_same() {
    let hour = 3_600_000;
    // When the request is said and when the answer is, by a clock that is off, stands still or counts messages. Nobody was
    // ever asked anything else here, so there is nothing else that the answer could be for.
    for (request, answer) in [
        (DAWN, DAWN),
        (1_000, 2_000),
        (DAWN - 24 * hour, DAWN - 24 * hour + 1_000),
        (DAWN + 24 * hour, DAWN + 24 * hour + 1_000),
        // Half a minute behind, and half a minute ahead.
        (DAWN - 30_000, DAWN - 30_000 + 9_000),
        (DAWN + 30_000, DAWN + 30_000 + 9_000),
        (DAWN - 30_000, DAWN - 30_000 + 2_000),
        (DAWN + 30_000, DAWN + 30_000 + 2_000),
        // It counts messages, from when it began.
        (DAWN, DAWN + 1_000),
        // Only one of the two has a real time.
        (DAWN, 1_000),
        (DAWN, DAWN - 60_000),
        // A second that was cut off.
        (DAWN, (DAWN + 5_000) / 1000 * 1000),
    ] {
        let mut driver = chat();
        says(&mut driver, ADA, request, said("clean up"));
        driver.now = DAWN + 5_000;
        wants(&mut driver, "rm");
        deliver(&mut driver);
        driver.now = DAWN + 9_000;
        says(&mut driver, ADA, answer, said("yes"));
        assert_eq!(state(&driver, 1), "Approved", "{request} {answer}");
    }
}

#[test]
fn a_yes_by_a_strange_clock_is_asked_back_only_where_another_question_was_open_by_then() {
    // When the answer is said, from when the first question was asked on; whether it approves the second one.
    for (answer, approves) in [
        (70_000, true),
        // Late, and for the first one.
        (2_000, false),
        (36_000, false),
        (44_000, false),
        // Before anything was asked: it tells no time.
        (-1_000, true),
        (-86_400_000, true),
        (-DAWN, true),
        // Too long after the first one went to be for it, though nobody saw the second one yet.
        (52_000, true),
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
        assert_eq!(state(&driver, 3) == "Approved", approves, "{answer}: {told}");
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
    for (answer, approves) in [(2_000, false), (31_000, true), (38_000, true), (-1_000, true)] {
        let mut driver = waiting();
        driver.now = DAWN + 5_000;
        says_now(&mut driver, OWNER, said("no"));
        driver.model(words("I leave it"));
        let mut driver = Driver::resumed_at(DAWN + 30_000, push(), driver.lines, driver.book);
        driver.seats = 10;
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
    // What was on the screen before is answered by what was said meanwhile.
    let mut again = Driver::resumed(push(), lines.clone(), book.clone());
    again.now = DAWN + 30_000;
    says(&mut again, ADA, DAWN + 4_000, said("yes"));
    assert_eq!(state(&again, 1), "Approved");
    // What is asked only afterwards is not.
    driver = Driver::resumed(push(), lines, book);
    driver.now = DAWN + 70_000;
    driver.feed(Event::Tick);
    wants(&mut driver, "rm");
    deliver(&mut driver);
    driver.now += 15_000;
    says(&mut driver, ADA, DAWN + 4_000, said("yes"));
    assert_eq!(numbers(&driver).len(), 1, "it still waits");
}

#[test]
fn whoever_withdrew_a_question_knows_that_it_is_gone_and_others_do_not() {
    for (by, approves) in [(OWNER, false), (ADA, true)] {
        let mut driver = waiting();
        driver.now += 5_000;
        let mut cancel = event("cancel", IngressKind::Command(Command::Cancel.into()));
        cancel.author.id = by.parse().unwrap();
        let (ticket, brought) = (Ticket(98), Brought::default());
        driver.feed(Event::Arrived { event: cancel, ticket, known: false, brought });
        assert_eq!(state(&driver, 1), "Cancelled");
        driver.now += 1_000;
        wants(&mut driver, "rm");
        deliver(&mut driver);
        driver.now += 1_000;
        says_now(&mut driver, ADA, said("yes"));
        assert_eq!(state(&driver, 2) == "Approved", approves, "{by}");
    }
}

#[test]
fn of_several_questions_a_reply_means_the_one_it_points_at() {
    let mut driver = chat();
    says(&mut driver, ADA, DAWN, said("clean up"));
    let two =
        vec![call("c1", "ask", json!({ "command": "ls" })), call("c2", "ask", json!({ "command": "rm" }))];
    driver.model(calls(two));
    deliver(&mut driver);
    driver.now += 5_000;
    says_now(&mut driver, ADA, quoting("ok", "A1", ""));
    assert_eq!(numbers(&driver), [2]);
    says_now(&mut driver, ADA, quoting("deny A2", "A1", ""));
    assert_eq!((state(&driver, 2), numbers(&driver).len()), ("Denied".to_owned(), 0));
}

#[test]
fn who_may_not_answer_hears_that_and_a_new_request_is_no_crossing() {
    let mut driver = waiting();
    driver.now += 5_000;
    says_now(&mut driver, ADA, said("yes"));
    driver.tool("ls", "done");
    driver.model(words("done"));
    driver.now += 1_000;
    says_now(&mut driver, ADA, said("and now the rest"));
    wants(&mut driver, "rm");
    deliver(&mut driver);
    driver.now += 500;
    let told = says_now(&mut driver, "web:user:eve", said("yes"));
    assert!(told.contains("may not decide A3"), "{told}");
    let told = says_now(&mut driver, OWNER, said("yes"));
    assert!(told.contains("approve A3") && state(&driver, 3) == "Pending", "not read yet: {told}");
    driver.now += 3_000;
    says_now(&mut driver, OWNER, said("yes"));
    assert_eq!(state(&driver, 3), "Approved");
}

#[test]
fn the_operator_is_one_person_on_every_surface() {
    for (operator, approves) in [(true, true), (false, false)] {
        let mut driver = chat();
        says(&mut driver, "api:user:operator", DAWN, said("clean up"));
        wants(&mut driver, "ls");
        deliver(&mut driver);
        driver.now += 5_000;
        let approval = driver.conversation.pending_approvals()[0].id.clone();
        let (answer, via) = (Answer::Approve(Scope::Once), "console".to_owned());
        let decision = Decision { approval, answer, via, operator, reason: None };
        let mut event = event("d1", IngressKind::Decision(decision));
        event.author.id = if operator { "web:user:operator" } else { BOB }.parse().unwrap();
        let (ticket, brought) = (Ticket(98), Brought::default());
        driver.feed(Event::Arrived { event, ticket, known: false, brought });
        assert_eq!(state(&driver, 1), "Approved");
        driver.tool("ls", "done");
        driver.now += 1_000;
        wants(&mut driver, "rm");
        deliver(&mut driver);
        driver.now += 500;
        let told = says_now(&mut driver, "api:user:operator", said("yes"));
        assert_eq!(state(&driver, 3) == "Approved", approves, "{told}");
    }
}

#[test]
fn whoever_requested_something_new_may_answer_for_it_at_once() {
    for (by, approves) in [(ADA, true), (OWNER, false)] {
        let mut driver = waiting();
        driver.now += 5_000;
        says_now(&mut driver, BOB, said("yes"));
        assert_eq!(state(&driver, 1), "Approved");
        driver.tool("ls", "done");
        driver.model(words("done"));
        driver.now += 1_000;
        says_now(&mut driver, ADA, said("and now the rest"));
        wants(&mut driver, "rm");
        deliver(&mut driver);
        driver.now += 500;
        let told = says_now(&mut driver, by, said("yes"));
        assert_eq!(state(&driver, 3) == "Approved", approves, "{by}: {told}");
    }
}

#[test]
fn what_waited_already_when_a_question_was_withdrawn_may_be_taken_for_it() {
    let mut driver = waiting();
    driver.now += 4_000;
    says_now(&mut driver, ADA, said("and then clean the rest"));
    driver.now += 1_000;
    let mut stop = event("stop", IngressKind::Command(Command::Stop.into()));
    stop.author.id = OWNER.parse().unwrap();
    driver.feed(Event::Arrived {
        event: stop,
        ticket: Ticket(98),
        known: false,
        brought: Brought::default(),
    });
    driver.now += 1_000;
    wants(&mut driver, "rm");
    deliver(&mut driver);
    driver.now += 500;
    let told = says_now(&mut driver, ADA, said("yes"));
    assert!(told.contains("approve A2") && state(&driver, 2) == "Pending", "{told}");
}
