//! The run of a task in a conversation of people: it is queued like a message, and shares nothing with theirs.

use serde_json::json;

use super::driver::{Driver, call, calls, id, rules, said, words};
use crate::domain::{
    Capabilities, IngressKind, LengthUnit, Quiet, Said, ScheduledRun, WhileRunning, WhileWaiting,
};
use crate::ports::Acceptance;
use crate::turn::Effect;

fn slot(quiet: Quiet) -> IngressKind {
    let run = ScheduledRun { id: "daily".into(), quiet, ..ScheduledRun::default() };
    IngressKind::Said(Said { automatic: true, scheduled: Some(Box::new(run)), ..said("[task] look") })
}

/// What was sent to people since the last call.
fn sent(driver: &mut Driver) -> Vec<String> {
    let effects = std::mem::take(&mut driver.effects);
    let said = effects.iter().filter_map(|effect| match effect {
        Effect::Commit { say, .. } => Some(say.iter().map(|spoken| format!("{:?}", spoken.intent))),
        _ => None,
    });
    said.flatten().collect()
}

fn push() -> Driver {
    let capabilities = Capabilities { streaming: true, ..Capabilities::plain_text(4000, LengthUnit::Chars) };
    Driver::with(crate::turn::Rules { capabilities, ..rules() }, Vec::new())
}

#[test]
fn it_joins_no_run_and_no_message_joins_it_in_any_mode() {
    for while_running in [WhileRunning::Merge, WhileRunning::Steer, WhileRunning::Interrupt] {
        let mut driver =
            Driver::with(crate::turn::Rules { while_running, mailbox: 9, ..rules() }, Vec::new());
        driver.say("m1");
        driver.arrive("t1", slot(Quiet::Auto));
        assert_eq!(driver.context(), ["user m1"], "{while_running:?}");
        let mut answered = vec!["user m1".to_owned()];
        driver.model(words("one"));
        driver.say("m2");
        driver.arrive("t2", slot(Quiet::Auto));
        driver.say("m3");
        for answer in ["task", "two", "task again", "three"] {
            answered.push(driver.context().last().unwrap().clone());
            driver.model(words(answer));
        }
        assert!(driver.conversation.is_idle(), "{while_running:?}");
        let expected = ["user m1", "user [task] look", "user m2", "user [task] look", "user m3"];
        assert_eq!(answered, expected, "{while_running:?}");
    }
}

#[test]
fn it_takes_the_place_of_no_question_and_decides_none() {
    let mut driver =
        Driver::with(crate::turn::Rules { while_waiting: WhileWaiting::Supersede, ..rules() }, Vec::new());
    driver.say("do it");
    driver.model(calls(vec![call("c1", "ask", json!({}))]));
    driver.arrive("t1", slot(Quiet::Auto));
    let run = ScheduledRun { id: "daily".into(), ..ScheduledRun::default() };
    driver.arrive("t2", IngressKind::Said(Said { scheduled: Some(Box::new(run)), ..said("approve A1") }));
    assert_eq!(driver.conversation.pending_approvals().len(), 1);
    assert_eq!(driver.book.values().map(super::driver::state_word).collect::<Vec<_>>(), ["Pending"]);
}

#[test]
fn its_own_end_stops_neither_the_run_before_it_nor_the_one_behind_it() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.shows("hm");
    driver.arrive("t1", slot(Quiet::Auto));
    driver.say("m2");
    let stop = |driver: &mut Driver, name: &str| driver.arrive(name, IngressKind::StopRun(id("t1")));
    assert!(matches!(stop(&mut driver, "s1"), Acceptance::Accepted { .. }));
    driver.model(words("hm one"));
    driver.model(words("two"));
    assert!(matches!(stop(&mut driver, "s2"), Acceptance::Duplicate { .. }), "it has ended");
    assert!(driver.conversation.is_idle());
    let transcript = driver.transcript();
    assert!(transcript.contains(&"run_1.1 Done: hm one".to_owned()), "{transcript:?}");
    assert!(transcript.contains(&"run_2.1 Stopped: ".to_owned()), "{transcript:?}");
    assert!(transcript.last().unwrap().ends_with("Done: two"), "{transcript:?}");
    // In flight it is stopped, and what waits goes on.
    driver.arrive("t3", slot(Quiet::Auto));
    driver.say("m4");
    driver.shows("looking");
    driver.arrive("s3", IngressKind::StopRun(id("t3")));
    assert_eq!(driver.context().last().unwrap(), "user m4");
}

#[test]
fn a_run_with_nothing_to_report_says_nothing_there_and_a_report_is_said_once() {
    for (quiet, answer, expected) in [
        (Quiet::Auto, "NO_REPLY", None),
        (Quiet::Auto, "All is well.", Some("All is well.")),
        (Quiet::Never, "NO_REPLY", Some("NO_REPLY")),
        (Quiet::Always, "All is well.", None),
    ] {
        let mut driver = push();
        driver.arrive("t1", slot(quiet));
        driver.shows(answer);
        let drafts = driver.effects.iter().filter(|effect| matches!(effect, Effect::Drafted)).count();
        assert_eq!(drafts, 0, "narration is not shown");
        driver.model(words(answer));
        let sent = sent(&mut driver);
        assert_eq!(sent.len(), usize::from(expected.is_some()), "{quiet:?} {answer}: {sent:?}");
        assert!(expected.is_none_or(|words| sent[0].contains(words)), "{sent:?}");
    }
    for (report, expected) in
        [(json!({ "report": false }), None), (json!({ "report": true, "text": "Two." }), Some("Two."))]
    {
        let mut driver = push();
        driver.arrive("t1", slot(Quiet::Auto));
        driver.model(calls(vec![call("c1", "task_done", report)]));
        driver.tool("c1", "noted");
        driver.model(words("Bye."));
        let sent = sent(&mut driver);
        assert_eq!(sent.len(), usize::from(expected.is_some()), "{sent:?}");
        assert!(expected.is_none_or(|words| sent[0].contains(words)), "{sent:?}");
    }
}

#[test]
fn a_failure_there_is_said_and_its_answer_replies_to_no_message() {
    let mut driver = push();
    driver.arrive("t1", slot(Quiet::Always));
    assert_eq!(driver.conversation.replies_to(), None);
    driver.model(super::driver::model_error(crate::domain::ErrorKind::Auth));
    assert_eq!(sent(&mut driver).len(), 1);
    driver.say("m1");
    driver.arrive("t2", slot(Quiet::Auto));
    driver.model(words("one"));
    assert_eq!(driver.conversation.replies_to(), None, "also after it has waited");
}
