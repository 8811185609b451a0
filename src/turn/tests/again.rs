//! Texts about settled approvals, and texts that only a model can classify.

use serde_json::json;

use super::driver::{Driver, call, calls, event, id, rules, said, words};
use crate::domain::{ApprovalNumber, Command, CommandInvocation, IngressKind, ReadReplies, Said, Timestamp};
use crate::policy::reply::{Leaning, ModelHint};
use crate::turn::{Effect, Event, Lookups, ReplyToken};
use crate::uimessage::{Part, UiMessage};

/// A run that asks for approval of one or several calls.
fn asking(driver: &mut Driver, names: &[&str]) {
    driver.say("do it");
    driver.model(calls(names.iter().map(|name| call(name, "ask", json!({}))).collect()));
}

/// The daemon's reply to the message of this id.
fn reply(driver: &Driver, message: &str) -> Option<String> {
    let of = |line: &UiMessage| {
        line.parts.iter().find_map(|part| match part {
            Part::Command(record) if record.command == message || line.id == id(message) => {
                Some(record.reply.clone())
            }
            _ => None,
        })
    };
    driver.lines.iter().rev().find_map(of)
}

fn order(command: Command, words: &str) -> IngressKind {
    IngressKind::Command(CommandInvocation { command, words: words.to_owned() })
}

#[test]
fn deciding_again_in_words_says_who_decided() {
    let mut driver = Driver::new();
    asking(&mut driver, &["c1"]);
    driver.say("approve");
    driver.tool("c1", "done");
    driver.model(words("all done"));
    for (at, kind) in [
        IngressKind::Said(said("approve A1")),
        IngressKind::Said(said("拒绝 A1")),
        order(Command::Approve, "A1"),
        order(Command::Deny, "1 too risky"),
    ]
    .into_iter()
    .enumerate()
    {
        let message = format!("again{at}");
        driver.take_effects();
        driver.arrive(&message, kind);
        let told = reply(&driver, &message).unwrap();
        assert!(told.contains("A1") && told.contains("Ada"), "{message}: {told}");
        let effects = driver.take_effects();
        assert!(
            !effects.iter().any(|effect| effect.contains("run ") || effect == "CallModel"),
            "{effects:?}"
        );
    }
    // The model does not see it.
    assert!(!driver.context().iter().any(|line| line.contains("A1")), "{:?}", driver.context());
    // The attempt is in the audit trail.
    driver.arrive("once more", IngressKind::Said(said("approve A1")));
    let audited = driver.effects.iter().any(|effect| matches!(effect, Effect::Audit(_)));
    assert!(audited);
}

#[test]
fn words_that_name_no_question_of_this_thread_are_for_the_agent() {
    let mut driver = Driver::new();
    asking(&mut driver, &["c1"]);
    driver.say("deny");
    driver.model(words("fine"));
    for text in ["approve A7", "yes", "print A1 on A4 paper", "approve 1"] {
        driver.say(text);
        assert_eq!(reply(&driver, text), None, "{text}");
        assert!(driver.context().iter().any(|line| *line == format!("user {text}")), "{text}");
        driver.model(words("hm"));
    }
    let forwarded = Said { forwarded_from: Some("Eve".to_owned()), ..said("approve A1") };
    driver.arrive("passed on", IngressKind::Said(forwarded));
    assert_eq!(reply(&driver, "passed on"), None);
}

#[test]
fn one_reply_can_settle_a_question_and_hear_of_another() {
    let mut driver = Driver::new();
    asking(&mut driver, &["c1", "c2"]);
    driver.say("approve A1");
    driver.take_effects();
    driver.say("deny A1 and A2");
    let told = reply(&driver, "deny A1 and A2").unwrap();
    assert!(told.contains("A2: denied") && told.contains("A1") && told.contains("Ada"), "{told}");
    let effects = driver.take_effects();
    assert!(effects.contains(&"save A2 Denied".to_owned()), "{effects:?}");
    assert!(!effects.contains(&"save A1 Denied".to_owned()), "{effects:?}");
    // A settled approval is not asked again while another is pending.
    let mut driver = Driver::new();
    asking(&mut driver, &["c1", "c2"]);
    driver.say("approve A1");
    driver.say("approve A1 please");
    let told = reply(&driver, "approve A1 please").unwrap();
    assert!(told.contains("Ada") && !told.contains("A2"), "{told}");
}

#[test]
fn only_what_is_named_is_meant_beside_a_question_that_is_settled() {
    let mut driver = Driver::new();
    asking(&mut driver, &["c1", "c2"]);
    driver.say("approve A1");
    driver.take_effects();
    driver.say("only approve A1");
    let told = reply(&driver, "only approve A1").unwrap();
    assert!(told.contains("Ada") && told.contains("- A2: ask {} (`approve A2` / `deny A2`)"), "{told}");
    let effects = driver.take_effects();
    assert!(!effects.iter().any(|effect| effect.starts_with("save A2")), "{effects:?}");
}

#[test]
fn a_yes_that_crossed_another_persons_on_its_way_approves_nothing_new() {
    let owner_says = |driver: &mut Driver, message: &str, text: &str| {
        let mut owner = event(message, IngressKind::Said(said(text)));
        owner.author.id = "web:user:owner".parse().unwrap();
        owner.at = Timestamp::from_millis(driver.now);
        let (ticket, lookups) = (ReplyToken(99), Lookups::default());
        driver.feed(Event::Arrived { event: owner, ticket, known: false, lookups });
    };
    for (late, named, approved) in [(1_000, false, false), (11_000, false, true), (1_000, true, true)] {
        let mut driver = Driver::new();
        asking(&mut driver, &["c1"]);
        driver.say("yes");
        driver.tool("c1", "done");
        driver.model(calls(vec![call("c2", "ask", json!({}))]));
        driver.now += late;
        driver.take_effects();
        owner_says(&mut driver, "m5", if named { "approve A2" } else { "yes" });
        let effects = driver.take_effects();
        assert_eq!(effects.contains(&"save A2 Approved".to_owned()), approved, "{late} {named}: {effects:?}");
        if !approved {
            let told = reply(&driver, "m5").unwrap();
            assert!(told.contains("- A2: ask {} (`approve A2` / `deny A2`)"), "{told}");
        }
    }
}

fn reader() -> Driver {
    let mut settings = rules();
    settings.read_replies = ReadReplies::Model;
    Driver::with(settings, Vec::new())
}

fn hint(leaning: Leaning, numbers: &[u32]) -> Option<ModelHint> {
    Some(ModelHint { leaning, numbers: numbers.iter().copied().map(ApprovalNumber).collect() })
}

const LOOSE: &str = "meinetwegen, nur zu";

#[test]
fn a_model_that_reads_a_yes_only_asks_back() {
    let mut driver = reader();
    asking(&mut driver, &["c1"]);
    driver.take_effects();
    driver.say(LOOSE);
    let effects = driver.take_effects();
    assert!(effects.iter().any(|effect| effect.contains("ReadReply")), "{effects:?}");
    assert!(!effects.iter().any(|effect| effect.contains("reminder")), "{effects:?}");
    driver.feed(Event::ReplyRead {
        message: id(LOOSE),
        words: LOOSE.to_owned(),
        hint: hint(Leaning::Approve, &[]),
    });
    assert_eq!(
        reply(&driver, LOOSE).as_deref(),
        Some("Do you mean: approve A1?\nAnswer `approve A1` or `deny A1`.")
    );
    let effects = driver.take_effects();
    assert!(
        !effects.iter().any(|effect| effect.starts_with("save") || effect.starts_with("run")),
        "{effects:?}"
    );
    // A clear answer then decides, and the text that was questioned is not shown to the model.
    driver.say("yes");
    driver.tool("c1", "done");
    driver.model(words("all done"));
    assert!(driver.conversation.is_idle(), "nothing is left to answer");
    assert!(!driver.context().iter().any(|line| line.contains(LOOSE)), "{:?}", driver.context());
}

#[test]
fn what_a_model_cannot_place_waits_its_turn_with_one_reminder() {
    for hint in [None, hint(Leaning::Unrelated, &[])] {
        let mut driver = reader();
        asking(&mut driver, &["c1"]);
        driver.say(LOOSE);
        driver.say("and another thing");
        driver.take_effects();
        for message in [LOOSE, "and another thing"] {
            driver.feed(Event::ReplyRead {
                message: id(message),
                words: message.to_owned(),
                hint: hint.clone(),
            });
        }
        let effects = driver.take_effects();
        assert_eq!(
            effects.iter().filter(|effect| effect.contains("show Progress")).count(),
            1,
            "{effects:?}"
        );
        driver.say("deny");
        driver.model(words("fine"));
        let shown = driver.context();
        assert!(
            shown.contains(&format!("user {LOOSE}")) && shown.contains(&"user and another thing".to_owned())
        );
    }
}

#[test]
fn of_several_waiting_messages_only_the_one_that_was_asked_back_about_is_taken_out() {
    let mut driver = reader();
    asking(&mut driver, &["c1"]);
    driver.say(LOOSE);
    driver.say("what is the weather");
    driver.feed(Event::ReplyRead {
        message: id(LOOSE),
        words: LOOSE.to_owned(),
        hint: hint(Leaning::Deny, &[1]),
    });
    assert_eq!(
        reply(&driver, LOOSE).as_deref(),
        Some("Do you mean: deny A1?\nAnswer `approve A1` or `deny A1`.")
    );
    // The waiter of this message must not get the other message's outcome.
    let (own, _) = driver.conversation.run_of(&id(LOOSE)).unwrap();
    let moved = format!("{:?}", Effect::Moved { message: id(LOOSE), to: own.clone() });
    let effects = driver.take_effects();
    let place = |name: &str| effects.iter().position(|effect| effect == name);
    assert!(place(&moved).is_some() && place(&moved) < place(&format!("finished {own}")), "{effects:?}");
    driver.say("deny");
    driver.model(words("fine"));
    let shown = driver.context();
    assert!(shown.contains(&"user what is the weather".to_owned()), "{shown:?}");
    assert!(!shown.iter().any(|line| line.contains(LOOSE)), "{shown:?}");
}

#[test]
fn what_a_model_says_too_late_changes_nothing() {
    let mut driver = reader();
    asking(&mut driver, &["c1"]);
    driver.say(LOOSE);
    driver.say("deny");
    driver.model(words("fine"));
    let lines = driver.lines.len();
    driver.feed(Event::ReplyRead {
        message: id(LOOSE),
        words: LOOSE.to_owned(),
        hint: hint(Leaning::Approve, &[]),
    });
    driver.feed(Event::ReplyRead {
        message: id("never said"),
        words: "never said".to_owned(),
        hint: hint(Leaning::Approve, &[]),
    });
    assert_eq!(driver.lines.len(), lines);
}

#[test]
fn a_model_is_shown_nothing_of_those_who_may_not_decide_nor_what_is_not_a_short_reply() {
    let mut driver = reader();
    asking(&mut driver, &["c1"]);
    driver.take_effects();
    let mut stranger = event("m9", IngressKind::Said(said(LOOSE)));
    stranger.author.id = "web:user:stranger".parse().unwrap();
    let (ticket, lookups) = (ReplyToken(77), Lookups::default());
    driver.feed(Event::Arrived { event: stranger, ticket, known: false, lookups });
    driver.arrive("m10", IngressKind::Said(said(&"long words ".repeat(60))));
    let forwarded = Said { forwarded_from: Some("Eve".to_owned()), ..said("go ahead with it") };
    driver.arrive("passed on", IngressKind::Said(forwarded));
    let effects = driver.take_effects();
    assert!(!effects.iter().any(|effect| effect.contains("ReadReply")), "{effects:?}");
    // With rules only, no model is called.
    let mut driver = Driver::new();
    asking(&mut driver, &["c1"]);
    driver.say(LOOSE);
    assert!(!driver.take_effects().iter().any(|effect| effect.contains("ReadReply")));
}
