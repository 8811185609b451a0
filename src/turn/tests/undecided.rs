//! Texts that decide nothing though they read as a yes: struck through, quoted, code, forwarded, automatic, or edited
//! afterwards.

use super::chat::{ADA, numbers, quoting, says_now, state, waiting};
use super::driver::{event, said};
use crate::domain::{Command, CommandInvocation, IngressKind, Said, Timestamp};
use crate::turn::{Event, Lookups, ReplyToken};

fn marked(text: &str, marked_up: &str) -> Said {
    Said { marked_up: Some(marked_up.to_owned()), ..said(text) }
}

#[test]
fn a_yes_that_is_struck_through_quoted_code_passed_on_or_automatic_decides_nothing() {
    let forwarded = |text: &str| Said { forwarded_from: Some("Bo".to_owned()), ..said(text) };
    let automatic = |text: &str| Said { automatic: true, ..said(text) };
    for (what, approves) in [
        (said("yes"), true),
        (marked("approve ls", "approve `ls`"), true),
        (marked("approve A1", "approve `A1`"), false),
        (marked("yes", "~~yes~~"), false),
        (marked("yes", "`yes`"), false),
        (marked("yes", "```yes```"), false),
        (marked("yes", "# yes"), false),
        (marked("approve A1", "~~approve A1~~"), false),
        (marked("/approve A1", "`/approve A1`"), false),
        (marked("approve A1", "approve ~~A1~~"), false),
        (said("~~yes~~"), false),
        (said("> yes"), false),
        (said("`approve A1`"), false),
        (said("```\nyes\n```"), false),
        (forwarded("yes"), false),
        (forwarded("approve A1"), false),
        (forwarded("/approve A1"), false),
        (automatic("yes"), false),
        (automatic("approve A1"), false),
        // The quoted text is not part of the reply.
        (quoting("thanks", "9", "yes"), false),
        (quoting("hm", "A1", "approve A1"), false),
    ] {
        let mut driver = waiting();
        driver.now += 5_000;
        let shown = format!("{what:?}");
        let told = says_now(&mut driver, ADA, what);
        assert_eq!(state(&driver, 1) == "Approved", approves, "{shown}: {told}");
        assert_eq!(numbers(&driver).is_empty(), approves, "{shown}: {told}");
    }
}

#[test]
fn an_edit_decides_nothing_neither_of_a_known_message_nor_of_an_unknown_one() {
    let mut driver = waiting();
    driver.now += 5_000;
    says_now(&mut driver, ADA, said("what does it do?"));
    let known = driver.lines.iter().rev().find(|line| line.text() == "what does it do?").unwrap().id.clone();
    for id in [known.as_str(), "never-seen"] {
        for text in ["yes", "approve A1", "/approve A1"] {
            let mut edit = event(id, IngressKind::Edited(said(text)));
            edit.author.id = ADA.parse().unwrap();
            edit.at = Timestamp::from_millis(driver.now);
            let (ticket, lookups) = (ReplyToken(98), Lookups::default());
            driver.feed(Event::Arrived { event: edit, ticket, known: true, lookups });
            assert_eq!(state(&driver, 1), "Pending", "{id} {text}");
        }
    }
    // A command from before the question was shown decides nothing either.
    let order = CommandInvocation { command: Command::Approve, words: "A1".to_owned() };
    let mut early = event("early", IngressKind::Command(order));
    early.author.id = ADA.parse().unwrap();
    early.at = Timestamp::from_millis(driver.now - 60_000);
    let (ticket, lookups) = (ReplyToken(97), Lookups::default());
    driver.feed(Event::Arrived { event: early, ticket, known: false, lookups });
    assert_eq!(state(&driver, 1), "Pending");
}

#[test]
fn a_reply_that_is_not_clear_is_asked_back_with_the_words_that_would_be() {
    let mut driver = waiting();
    driver.now += 5_000;
    let told = says_now(&mut driver, ADA, said("请求批准"));
    assert!(told.contains("A1") && told.contains("approve A1") && told.contains("deny A1"), "{told}");
    let told = says_now(&mut driver, ADA, said("yes tomorrow"));
    assert!(told.ends_with("Answer `approve A1` or `deny A1`, or press a button below."), "{told}");
    assert_eq!(state(&driver, 1), "Pending");
    says_now(&mut driver, ADA, said("approve A1"));
    assert_eq!(state(&driver, 1), "Approved");
}
