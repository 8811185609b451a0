//! Approvals of calls that are too long to be shown whole.

use serde_json::json;

use super::chat::push;
use super::driver::{Driver, call, calls, rules};
use crate::domain::{Capabilities, Intent, LengthUnit};
use crate::turn::{Effect, Rules};
use crate::uimessage::Part;

/// A chat with short messages, where a call needs approval.
fn asked_about(text: &str, files: bool) -> Driver {
    let push = push();
    let capabilities =
        Capabilities { files, max_length: Some(2_000), length_unit: LengthUnit::Utf16, ..push.capabilities };
    let mut driver = Driver::with(Rules { capabilities, ..push }, Vec::new());
    driver.say("m1");
    driver.effects.clear();
    driver.model(calls(vec![call("c1", "ask", json!({ "long": text }))]));
    driver
}

/// The messages sent, and how much was stored before them.
fn sent(driver: &Driver) -> (Vec<(String, Intent)>, Vec<usize>) {
    let (mut sent, mut kept) = (Vec::new(), Vec::new());
    for effect in &driver.effects {
        match effect {
            Effect::KeepFile { text, .. } => {
                assert!(sent.is_empty(), "a file is kept before anything names it");
                kept.push(text.len());
            }
            Effect::Commit { say, .. } => {
                sent.extend(say.iter().map(|spoken| (spoken.source.clone(), spoken.intent.clone())));
            }
            _ => {}
        }
    }
    (sent, kept)
}

#[test]
fn a_file_with_the_whole_is_kept_and_sent_before_the_question() {
    let driver = asked_about(&"x".repeat(9_000), true);
    let (sent, kept) = sent(&driver);
    assert_eq!(kept, [9_000]);
    let [(file_source, Intent::Attachment { name, .. }), (source, Intent::ApprovalRequest { details, .. })] =
        sent.as_slice()
    else {
        panic!("{sent:?}")
    };
    assert_eq!((file_source, name.as_str()), (&format!("{source}.whole"), "A1-command.sh.txt"));
    let details = details.as_deref().unwrap();
    assert!(details.contains("A1-command.sh.txt") && details.encode_utf16().count() < 2_000, "{details}");
    let parts = &driver.lines.last().unwrap().parts;
    assert!(parts.iter().any(|part| matches!(part, Part::File(_))), "the thread names the file");
}

#[test]
fn where_there_are_no_files_the_whole_is_said_before_the_question() {
    let (sent, kept) = sent(&asked_about(&"x".repeat(9_000), false));
    assert_eq!(kept, Vec::<usize>::new());
    let [(_, Intent::AssistantText { text }), (_, Intent::ApprovalRequest { .. })] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert!(text.contains(&"x".repeat(9_000)));
}

#[test]
fn a_short_call_is_asked_about_in_one_message() {
    let (sent, kept) = sent(&asked_about("short", true));
    assert!(matches!(sent.as_slice(), [(_, Intent::ApprovalRequest { .. })]), "{sent:?}");
    assert_eq!(kept, Vec::<usize>::new());
    let mut pulled = Driver::with(rules(), Vec::new());
    pulled.say("m1");
    pulled.model(calls(vec![call("c1", "ask", json!({ "long": "x".repeat(9_000) }))]));
    assert!(
        !pulled.effects.iter().any(|effect| matches!(effect, Effect::KeepFile { .. })),
        "it is read whole"
    );
}
