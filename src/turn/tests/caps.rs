//! A run that does not fit into a spend cap: what people read meanwhile, and what becomes of it.

use serde_json::json;

use super::driver::{Driver, call, calls, words};
use crate::domain::{CapKey, CapScope, CapState, CapUnit, Currency, Intent, Timestamp};
use crate::turn::{CapQuestion, Effect, Event, OverBudget};

/// The question about a day that ends then.
fn question(ends: i64) -> Event {
    let cap = CapState {
        key: CapKey { scope: CapScope::Day, unit: CapUnit::Money, of: None },
        limit: Some(500_000),
        used: 400_000,
        reserved: 0,
        ends: Timestamp::from_millis(ends),
    };
    let question = CapQuestion { cap, needed: 400_000, currency: Currency::default(), ask_in: Vec::new() };
    Event::OverBudget(Box::new(OverBudget::Ask(question)))
}

/// The texts that were sent, and whether the model was called.
fn seen(driver: &mut Driver) -> (Vec<String>, bool) {
    let effects = std::mem::take(&mut driver.effects);
    let says = effects.iter().filter_map(|effect| match effect {
        Effect::Commit { say, .. } => Some(say),
        _ => None,
    });
    let texts = says.flatten().filter_map(|spoken| match &spoken.intent {
        Intent::AssistantText { text } => Some(text.clone()),
        _ => None,
    });
    (texts.collect(), effects.iter().any(|effect| matches!(effect, Effect::CallModel)))
}

fn begun() -> Driver {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.now += 1_000;
    driver.feed(Event::Tick);
    driver
}

#[test]
fn a_question_that_waits_over_midnight_goes_on_in_the_new_day() {
    let mut driver = begun();
    let midnight = driver.now + 10_000;
    driver.feed(question(midnight));
    assert_eq!(driver.book.len(), 1);
    seen(&mut driver);
    driver.now = midnight - 1;
    driver.feed(Event::Tick);
    assert!(!seen(&mut driver).1, "still today");
    driver.now = midnight;
    driver.feed(Event::Tick);
    assert!(seen(&mut driver).1, "a new day has room");
    driver.model(words("done"));
    assert_eq!(seen(&mut driver).0, ["done"]);
}

#[test]
fn what_was_said_so_far_is_sent_once_before_the_first_question() {
    let mut driver = begun();
    let mut step = calls(vec![call("c1", "look", json!({}))]).unwrap();
    step.text = "Half of it.".to_owned();
    driver.model(Ok(step));
    driver.tool("c1", "seen");
    seen(&mut driver);
    let midnight = driver.now + 10_000;
    driver.feed(question(midnight));
    assert_eq!(seen(&mut driver).0, ["Half of it."]);
    driver.now = midnight;
    driver.feed(Event::Tick);
    driver.feed(question(midnight + 10_000));
    assert_eq!(seen(&mut driver).0, Vec::<String>::new(), "not again");
}
