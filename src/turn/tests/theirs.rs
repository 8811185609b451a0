//! Participants and their rights: a person may end what that person began where others speak as well.

use super::driver::{Driver, call, calls, event, id, rules, said, words};
use crate::domain::{AuthorRole, ChatKind, Command, IngressKind, Language, ThreadState};
use crate::turn::{Event, Lookups, ReplyToken};
use crate::uimessage::Part;

const ADA: &str = "web:user:ada";
const BOB: &str = "web:user:bob";

fn arrive(driver: &mut Driver, message: &str, by: &str, role: AuthorRole, kind: IngressKind) -> String {
    let mut event = event(message, kind);
    event.author.id = by.parse().unwrap();
    event.author.role = role;
    event.chat = ChatKind::Group;
    let (ticket, lookups) = (ReplyToken(99), Lookups::default());
    driver.feed(Event::Arrived { event, ticket, known: false, lookups });
    let told = driver.lines.iter().rev().find(|line| line.id == id(message));
    let told = told.and_then(|line| {
        line.parts.iter().find_map(|part| match part {
            Part::Command(record) => Some(record.reply.clone()),
            _ => None,
        })
    });
    told.unwrap_or_default()
}

fn say(driver: &mut Driver, by: &str, text: &str) {
    arrive(driver, text, by, AuthorRole::Person, IngressKind::Said(said(text)));
}

fn order(driver: &mut Driver, by: &str, role: AuthorRole, command: Command) -> String {
    let message = format!("order {}", driver.lines.len());
    arrive(driver, &message, by, role, IngressKind::Command(command.into()))
}

/// A group in which Ada's request needs approval.
fn group(language: Language) -> Driver {
    let mut settings = rules();
    settings.language = Some(language);
    let mut driver = Driver::with(settings, Vec::new());
    say(&mut driver, ADA, "clean up");
    driver.model(calls(vec![call("c1", "ask", serde_json::json!({}))]));
    driver
}

#[test]
fn in_a_group_only_those_above_whoever_began_a_turn_may_end_it_besides_them() {
    use AuthorRole::{Admin, Anonymous, Owner, Person};
    for command in [Command::Stop, Command::New] {
        for (by, role, may) in [
            (ADA, Person, true),
            (BOB, Person, false),
            (BOB, Anonymous, false),
            (BOB, Admin, true),
            (BOB, Owner { admin: false }, true),
            ("web:user:owner", Person, true),
        ] {
            let mut driver = group(Language::En);
            let told = order(&mut driver, by, role, command);
            let stands = driver.conversation.state() == ThreadState::AwaitingApproval;
            assert_eq!(stands, !may, "{command:?} {by} {role:?}: {told}");
            assert_eq!(told.contains("Somebody else's request"), !may, "{told}");
            let open = driver.conversation.pending_approvals().len();
            assert_eq!(open, usize::from(!may), "{command:?} {by} {role:?}");
        }
        let mut driver = group(Language::Zh);
        let told = order(&mut driver, BOB, Person, command);
        assert!(told.contains("别人的请求"), "{told}");
    }
}

#[test]
fn a_run_that_answers_two_people_may_be_ended_by_both_and_by_no_third() {
    for command in [Command::Stop, Command::New] {
        for (by, may) in [(ADA, true), (BOB, true), ("web:user:cid", false)] {
            let mut driver = Driver::new();
            say(&mut driver, ADA, "clean up");
            driver.now += 100;
            say(&mut driver, BOB, "and the logs");
            driver.model(calls(vec![call("c1", "ask", serde_json::json!({}))]));
            let told = order(&mut driver, by, AuthorRole::Person, command);
            let stands = driver.conversation.state() == ThreadState::AwaitingApproval;
            assert_eq!(stands, !may, "{command:?} {by}: {told}");
        }
    }
}

#[test]
fn what_others_wait_for_is_not_thrown_away_and_a_refusal_changes_nothing() {
    let mut driver = group(Language::En);
    say(&mut driver, BOB, "and the logs");
    let told = order(&mut driver, ADA, AuthorRole::Person, Command::New);
    assert!(told.contains("Somebody else's request"), "Bob's message waits: {told}");
    // A run may be stopped by its requester, and the waiting message is next.
    order(&mut driver, ADA, AuthorRole::Person, Command::Stop);
    assert_eq!(driver.conversation.requester().unwrap().as_str(), BOB);
    assert!(driver.context().contains(&"user clean up".to_owned()), "a refused /new forgets nothing");
    driver.model(words("done"));
    assert!(driver.conversation.is_idle());
    // Without work in progress, any person may begin a new conversation.
    let told = order(&mut driver, "web:user:cid", AuthorRole::Person, Command::New);
    assert!(told.contains("new conversation"), "{told}");
    assert!(!driver.context().contains(&"user clean up".to_owned()));
}

#[test]
fn in_private_and_in_a_thread_of_ones_own_whoever_speaks_may_end_what_goes_on() {
    let mut driver = group(Language::En);
    driver.command("m9", Command::Stop);
    assert!(driver.conversation.is_idle(), "the operator, say, or a person with two accounts");
}

#[test]
fn a_second_person_is_not_forgotten_when_their_words_are_out_of_memory() {
    let says = |driver: &mut Driver, message: &str, by: &str| {
        let mut event = event(message, IngressKind::Said(said(message)));
        event.author.id = by.parse().unwrap();
        driver.feed(Event::Arrived {
            event,
            ticket: ReplyToken(9),
            known: false,
            lookups: Lookups::default(),
        });
        driver.model(words("fine"));
    };
    let mut driver = Driver::new();
    says(&mut driver, "m1", ADA);
    says(&mut driver, "m2", ADA);
    assert_eq!(driver.conversation.private_with(), Some(ADA.parse().unwrap()));
    says(&mut driver, "m3", BOB);
    says(&mut driver, "m4", ADA);
    says(&mut driver, "m5", ADA);
    assert_eq!(driver.conversation.private_with(), None);
    // All messages left in memory are Ada's.
    let from = driver.lines.iter().position(|line| line.id == id("m5")).unwrap();
    let mut later = Driver::with(rules(), driver.lines.split_off(from));
    assert_eq!(later.conversation.private_with(), None);
    says(&mut later, "m6", ADA);
    assert_eq!(later.conversation.private_with(), None);
}
