//! Messages that a tool posts beside the answer.

use serde_json::json;

use super::driver::{Driver, call, calls, rules, thread, words};
use crate::domain::{AttachmentKind, Intent, StoredFile};
use crate::ports::{Acceptance, RunMessage, RunMessageSource};
use crate::turn::{Effect, Event, ReplyToken};
use crate::uimessage::{Part, fold};

fn text(text: &str) -> Intent {
    Intent::AssistantText { text: text.to_owned() }
}

/// Posts a message from a call, and returns its acceptance and the deliveries.
fn voice(driver: &mut Driver, from: &str, intent: Intent) -> (Acceptance, Vec<Intent>) {
    driver.effects.clear();
    let run_message = RunMessage {
        from: from.parse().unwrap(),
        correlation: "run_9".parse().unwrap(),
        source: RunMessageSource::Call("c1".parse().unwrap()),
        intent,
    };
    driver.feed(Event::RunMessage {
        run_message: Box::new(run_message),
        ticket: ReplyToken(90),
        known: false,
    });
    let mut answer = None;
    let mut said = Vec::new();
    for effect in &driver.effects {
        match effect {
            Effect::Answer(_, acceptance) => answer = Some(acceptance.clone()),
            Effect::Commit { say, .. } => said.extend(say.iter().map(|spoken| spoken.intent.clone())),
            _ => {}
        }
    }
    (answer.unwrap(), said)
}

fn here() -> String {
    thread().to_string()
}

/// A driver whose model has called a tool that posts a message.
fn speaking() -> Driver {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.model(calls(vec![call("c1", "tell", json!({}))]));
    driver
}

#[test]
fn a_running_call_speaks_once_and_not_again_after_a_restart() {
    let mut driver = speaking();
    let (answer, said) = voice(&mut driver, &here(), text("hi"));
    assert!(matches!(answer, Acceptance::Accepted { .. }));
    assert_eq!(said, [text("hi")]);
    let (answer, said) = voice(&mut driver, &here(), text("hi"));
    assert!(matches!(answer, Acceptance::Duplicate { .. }) && said.is_empty());

    let mut driver = Driver::resumed(rules(), driver.lines, driver.book);
    let ran = driver.effects.iter().any(|effect| matches!(effect, Effect::RunTool { .. }));
    assert!(ran, "what only speaks is simply run again");
    let (answer, said) = voice(&mut driver, &here(), text("hi"));
    assert!(matches!(answer, Acceptance::Duplicate { .. }), "it was said before the crash");
    assert!(said.is_empty());
    driver.tool("c1", "sent").model(words("done"));
    assert!(driver.conversation.is_idle());
}

#[test]
fn a_file_that_was_sent_is_part_of_the_answer() {
    let mut driver = speaking();
    let file = StoredFile::new(thread(), "", "a.png");
    let intent = Intent::Attachment {
        file: file.clone(),
        name: "a.png".to_owned(),
        media_type: "image/png".to_owned(),
        kind: AttachmentKind::Image,
        caption: None,
    };
    let (_, said) = voice(&mut driver, &here(), intent.clone());
    assert_eq!(said, [intent]);
    driver.tool("c1", "sent").model(words("there"));
    let answer = fold(driver.lines.clone()).pop().unwrap();
    assert!(answer.parts.iter().any(|part| matches!(part, Part::File(part) if part.url == file.url())));
}

#[test]
fn a_call_that_does_not_run_cannot_speak_here() {
    let mut driver = Driver::new();
    let (answer, said) = voice(&mut driver, &here(), text("hi"));
    assert!(matches!(answer, Acceptance::Refused(_)) && said.is_empty());
}

#[test]
fn words_from_another_thread_are_the_agents_own_here_too() {
    let mut driver = Driver::new();
    let (answer, said) = voice(&mut driver, "web:chat:other", text("the build is red"));
    assert!(matches!(answer, Acceptance::Accepted { .. }));
    assert_eq!(said, [text("the build is red")]);
    driver.say("m1");
    assert_eq!(driver.context().first().unwrap(), "assistant the build is red");
    driver.model(words("because"));
    assert!(driver.conversation.is_idle());
}
