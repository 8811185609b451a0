//! A chat whose questions have to be sent, and people whose messages carry the platform's time.

use serde_json::json;

use super::driver::{Driver, call, calls, event, rules, said, state_word};
use crate::domain::{Capabilities, Delivery, IngressKind, Intent, Language, Quoted, Said, Timestamp};
use crate::ports::Receipt;
use crate::turn::{Effect, Event, Lookups, ReplyToken, Rules};
use crate::uimessage::Part;

pub(super) const ADA: &str = "web:user:u";
pub(super) const OWNER: &str = "web:user:owner";
pub(super) const BOB: &str = "web:user:bob";
/// The start time, by both clocks.
pub(super) const DAWN: i64 = 1_700_000_000_123;

/// A chat whose questions have to be sent.
pub(super) fn chat() -> Driver {
    let mut settings = push();
    settings.language = Some(Language::En);
    settings.rights.people.push(BOB.parse().unwrap());
    let mut driver = Driver::with(settings, Vec::new());
    driver.now = DAWN;
    driver
}

pub(super) fn push() -> Rules {
    Rules { capabilities: Capabilities { delivery: Delivery::Push, ..Capabilities::pull() }, ..rules() }
}

/// A person's message that was written at a platform time and arrives now.
pub(super) fn says(driver: &mut Driver, by: &str, at: i64, what: Said) -> String {
    let message = format!("m{}", driver.lines.len());
    let mut event = event(&message, IngressKind::Said(what));
    event.author.id = by.parse().unwrap();
    event.at = Timestamp::from_millis(at);
    let (ticket, lookups) = (ReplyToken(99), Lookups::default());
    driver.feed(Event::Arrived { event, ticket, known: false, lookups });
    let told = driver.lines.iter().rev().find(|line| line.id.as_str() == message);
    let told = told.and_then(|line| {
        line.parts.iter().find_map(|part| match part {
            Part::Command(record) => Some(record.reply.clone()),
            _ => None,
        })
    });
    told.unwrap_or_default()
}

pub(super) fn says_now(driver: &mut Driver, by: &str, what: Said) -> String {
    let now = driver.now;
    says(driver, by, now, what)
}

/// Delivers all questions since the last call: the platform message has the approval's id.
pub(super) fn deliver(driver: &mut Driver) {
    let now = Timestamp::from_millis(driver.now);
    for intent in asked(driver) {
        let Intent::ApprovalRequest { number, .. } = &intent else { continue };
        driver.conversation.note_sending(&intent, now);
        let receipt = Receipt { platform_message: Some(number.clone()) };
        driver.conversation.note_sent(&intent, Ok(&receipt));
    }
    driver.effects.clear();
}

pub(super) fn asked(driver: &Driver) -> Vec<Intent> {
    let said = driver.effects.iter().filter_map(|effect| match effect {
        Effect::Commit { say, .. } => Some(say.iter().map(|spoken| spoken.intent.clone())),
        _ => None,
    });
    said.flatten().filter(|intent| matches!(intent, Intent::ApprovalRequest { .. })).collect()
}

/// The model makes a call that needs approval.
pub(super) fn wants(driver: &mut Driver, name: &str) {
    driver.model(calls(vec![call(name, "ask", json!({ "command": name }))]));
}

/// Ada has made a request, and the first question was delivered.
pub(super) fn waiting() -> Driver {
    let mut driver = chat();
    says(&mut driver, ADA, DAWN, said("clean up"));
    wants(&mut driver, "ls");
    deliver(&mut driver);
    driver
}

/// The state of an approval; an approved one runs at once.
pub(super) fn state(driver: &Driver, number: u32) -> String {
    let known = driver.book.values().find(|approval| approval.number.0 == number).unwrap();
    state_word(known).replace("Spent", "Approved")
}

pub(super) fn numbers(driver: &Driver) -> Vec<u32> {
    driver.conversation.pending_approvals().iter().map(|asked| asked.number.0).collect()
}

pub(super) fn quoting(text: &str, message: &str, words: &str) -> Said {
    let quoted = Quoted { platform_message: message.to_owned(), author: None, text: words.to_owned() };
    Said { quoted: Some(quoted), ..said(text) }
}
