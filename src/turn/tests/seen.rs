//! A bare yes counts only for a question that its author can have seen.

use serde_json::json;

use super::chat::{
    ADA, BOB, DAWN, OWNER, chat, deliver, numbers, quoting, says, says_now, state, waiting, wants,
};
use super::driver::{Driver, call, calls, event, said, words};
use crate::domain::{Answer, Command, Decision, IngressKind, Scope};
use crate::turn::{Event, Lookups, ReplyToken};

#[test]
fn a_yes_for_a_question_that_expired_does_not_approve_the_one_that_came_after_it() {
    // How long after the new question is shown the text is written and arrives; the text; whether it approves.
    let plain = |text: &str| said(text);
    for (said_after, comes_after, what, approves) in [
        (-1_000, 500, plain("yes"), false),
        (-1_000, 20_000, plain("yes"), false),
        (-1_000, 20_000, plain("全部同意"), false),
        (900, 1_000, plain("yes"), false),
        (12_000, 12_500, plain("yes"), true),
        // Its number was not known yet.
        (-1_000, 500, plain("approve A2"), false),
        (-1_000, 500, plain("/approve A2"), false),
        (500, 600, plain("approve A2"), true),
        // Its command and its tool may be the same as the one before.
        (-1_000, 500, plain("approve rm"), false),
        (-1_000, 500, plain("approve ask"), false),
        (-1_000, 500, plain("同意 ask"), false),
        (12_000, 12_500, plain("approve ask"), true),
        (-1_000, 500, quoting("yes", "A2", ""), true),
        (12_000, 12_500, quoting("yes", "A1", ""), false),
        // The platform message is no longer known, but its text has the number.
        (-1_000, 500, quoting("yes", "9", "🔴 A2: may I do this?\n\nrm"), true),
        (-1_000, 500, quoting("yes", "9", "🟡 **A2：可以执行吗？**"), true),
        (12_000, 12_500, quoting("yes", "9", "🔴 A1: may I do this?\n\nls"), false),
        (12_000, 12_500, quoting("yes", "9", "how are you?"), true),
        // People mention numbers and paper sizes too.
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
    assert_eq!(state(&driver, 2), "Pending", "it was said before A2 was shown");
    // A person who answered the last one may answer the next one at once.
    says_now(&mut driver, ADA, said("yes"));
    assert_eq!(state(&driver, 2), "Approved");
}

#[test]
fn whoever_withdrew_a_question_knows_that_it_is_gone_and_others_do_not() {
    for (by, approves) in [(OWNER, false), (ADA, true)] {
        let mut driver = waiting();
        driver.now += 5_000;
        let mut cancel = event("cancel", IngressKind::Command(Command::Cancel.into()));
        cancel.author.id = by.parse().unwrap();
        let (ticket, lookups) = (ReplyToken(98), Lookups::default());
        driver.feed(Event::Arrived { event: cancel, ticket, known: false, lookups });
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

/// The approved call has ended, and half a second ago Ada's next request led to another approval.
fn and_now_the_rest(driver: &mut Driver) {
    driver.tool("ls", "done");
    driver.model(words("done"));
    driver.now += 1_000;
    says_now(driver, ADA, said("and now the rest"));
    wants(driver, "rm");
    deliver(driver);
    driver.now += 500;
}

#[test]
fn who_may_not_answer_hears_that_and_a_new_request_is_no_crossing() {
    let mut driver = waiting();
    driver.now += 5_000;
    says_now(&mut driver, ADA, said("yes"));
    and_now_the_rest(&mut driver);
    let told = says_now(&mut driver, "web:user:eve", said("yes"));
    assert!(told.contains("may not decide A2"), "{told}");
    let told = says_now(&mut driver, OWNER, said("yes"));
    assert!(told.contains("approve A2") && state(&driver, 2) == "Pending", "not read yet: {told}");
    driver.now += 3_000;
    says_now(&mut driver, OWNER, said("yes"));
    assert_eq!(state(&driver, 2), "Approved");
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
        let (ticket, lookups) = (ReplyToken(98), Lookups::default());
        driver.feed(Event::Arrived { event, ticket, known: false, lookups });
        assert_eq!(state(&driver, 1), "Approved");
        driver.tool("ls", "done");
        driver.now += 1_000;
        wants(&mut driver, "rm");
        deliver(&mut driver);
        driver.now += 500;
        let told = says_now(&mut driver, "api:user:operator", said("yes"));
        assert_eq!(state(&driver, 2) == "Approved", approves, "{told}");
    }
}

#[test]
fn whoever_requested_something_new_may_answer_for_it_at_once() {
    for (by, approves) in [(ADA, true), (OWNER, false)] {
        let mut driver = waiting();
        driver.now += 5_000;
        says_now(&mut driver, BOB, said("yes"));
        assert_eq!(state(&driver, 1), "Approved");
        and_now_the_rest(&mut driver);
        let told = says_now(&mut driver, by, said("yes"));
        assert_eq!(state(&driver, 2) == "Approved", approves, "{by}: {told}");
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
        ticket: ReplyToken(98),
        known: false,
        lookups: Lookups::default(),
    });
    driver.now += 1_000;
    wants(&mut driver, "rm");
    deliver(&mut driver);
    driver.now += 500;
    let told = says_now(&mut driver, ADA, said("yes"));
    assert!(told.contains("approve A2") && state(&driver, 2) == "Pending", "{told}");
}
