//! Messages and commands that arrive while a run is in flight.

use serde_json::json;

use super::driver::{Driver, call, calls, id, rules, said, words};
use crate::domain::{Addressed, Command, IngressKind, Said, WhileRunning};
use crate::ports::Acceptance;
use crate::turn::Event;

fn driver(while_running: WhileRunning) -> Driver {
    let mut settings = rules();
    settings.while_running = while_running;
    Driver::with(settings, Vec::new())
}

#[test]
fn a_second_message_joins_a_run_that_has_shown_nothing() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.take_effects();
    driver.now += 500;
    driver.say("m2");
    assert_eq!(driver.take_effects(), ["commit m2 Synced", "accepted", "CancelJobs", "CallModel"]);
    assert_eq!(driver.context(), ["user m1", "user m2"]);
    driver.model(words("both"));
    assert_eq!(driver.transcript(), ["user m1: m1", "user m2: m2", "run_1.1 Done: both"]);
}

#[test]
fn too_late_or_after_the_first_word_a_message_waits_behind_the_answer() {
    for late in [true, false] {
        let mut driver = Driver::new();
        driver.say("m1");
        if late {
            driver.now += 601;
        } else {
            driver.shows("hm");
        }
        driver.say("m2");
        driver.say("m3");
        assert_eq!(driver.context()[0], "user m1", "the later question is not shown yet");
        assert_eq!(driver.context().iter().filter(|line| line.starts_with("user")).count(), 1);
        driver.model(words("hm one"));
        assert_eq!(driver.context(), ["user m1", "assistant hm one", "user m2", "user m3"]);
        driver.model(words("two and three"));
        let expected = [
            "user m1: m1",
            "run_1.1 Done: hm one",
            "user m2: m2",
            "user m3: m3",
            "run_2.1 Done: two and three",
        ];
        assert_eq!(driver.transcript(), expected);
    }
}

#[test]
fn a_zero_merge_window_never_joins() {
    let mut settings = rules();
    settings.merge_ms = 0;
    let mut driver = Driver::with(settings, Vec::new());
    driver.say("m1");
    driver.say("m2");
    assert_eq!(driver.context(), ["user m1"]);
}

#[test]
fn a_full_thread_says_so_and_keeps_nothing() {
    let mut driver = Driver::new();
    driver.say("m0");
    driver.shows("x");
    for message in ["m1", "m2", "m3"] {
        assert!(matches!(driver.say(message), Acceptance::Accepted { .. }));
    }
    let lines = driver.lines.len();
    assert_eq!(driver.say("m4"), Acceptance::Busy);
    assert_eq!(driver.lines.len(), lines);
}

#[test]
fn what_waits_is_bounded_in_bytes_too() {
    let mut driver = Driver::new();
    let long = "x".repeat(5 << 20);
    let mut say = |id: &str| driver.arrive(id, IngressKind::Said(said(&long)));
    assert!(matches!(say("m0"), Acceptance::Accepted { .. }));
    assert_eq!(say("m1"), Acceptance::Busy);
    driver.model(words("read"));
    assert!(matches!(driver.say("m1"), Acceptance::Accepted { .. }));
}

#[test]
fn a_steering_message_is_read_at_the_next_step() {
    let mut driver = driver(WhileRunning::Steer);
    driver.say("m1");
    driver.model(calls(vec![call("c1", "look", json!({}))]));
    driver.now += 5000;
    driver.say("m2");
    driver.tool("c1", "seen");
    assert_eq!(driver.context(), ["user m1", "assistant  look(c1)", "tool c1: seen", "user m2"]);
    driver.model(words("both"));
    assert_eq!(
        driver.transcript(),
        ["user m1: m1", "run_1.1 Continued: ", "user m2: m2", "run_1.2 Done: both"]
    );
}

#[test]
fn a_steering_message_during_the_last_words_is_still_answered() {
    let mut driver = driver(WhileRunning::Steer);
    driver.say("m1");
    driver.shows("one");
    driver.say("m2");
    driver.model(words("one"));
    assert_eq!(driver.context(), ["user m1", "assistant one", "user m2"]);
    driver.model(words("two"));
    assert_eq!(
        driver.transcript(),
        ["user m1: m1", "run_1.1 Continued: one", "user m2: m2", "run_1.2 Done: two"]
    );
}

#[test]
fn an_interrupting_message_breaks_the_step_off() {
    let mut driver = driver(WhileRunning::Interrupt);
    driver.say("m1");
    driver.model(calls(vec![call("c1", "look", json!({}))]));
    driver.now += 5000;
    driver.take_effects();
    driver.say("m2");
    let effects = driver.take_effects();
    assert!(
        effects.contains(&"CancelJobs".to_owned()) && effects.last() == Some(&"CallModel".to_owned()),
        "{effects:?}"
    );
    let context = driver.context();
    assert!(context[2].contains("Interrupted"), "{context:?}");
    assert_eq!(context[3], "user m2");
    driver.tool("c1", "too late");
    driver.model(words("both"));
    assert_eq!(driver.transcript().last().unwrap(), "run_1.2 Done: both");
}

#[test]
fn stop_ends_the_run_at_once_and_what_waits_is_next() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.shows("par");
    driver.say("m2");
    driver.take_effects();
    driver.command("s1", Command::Stop);
    let effects = driver.take_effects();
    let expected = [
        "CancelJobs",
        "ReleaseSlot",
        "commit run_1.1+s1 Synced",
        "accepted",
        "finished run_1",
        "finished run_3",
    ];
    assert_eq!(effects[..6], expected);
    assert_eq!(effects[6..], ["AcquireSlot", "CallModel"]);
    driver.model(words("two"));
    let transcript = driver.transcript();
    assert_eq!(transcript[1], "run_1.1 Stopped: par");
    assert_eq!(transcript.last().unwrap(), "run_2.1 Done: two");
}

#[test]
fn stop_with_nothing_running_says_so_and_is_recognised_again() {
    let mut driver = Driver::new();
    driver.command("s1", Command::Stop);
    assert_eq!(driver.lines.len(), 1);
    assert!(matches!(driver.command("s1", Command::Stop), Acceptance::Duplicate { .. }));
}

#[test]
fn status_and_help_are_answered_while_a_run_goes_on() {
    let mut driver = Driver::new();
    driver.say("m1");
    for (message, command) in [("s1", Command::Status), ("s2", Command::Help)] {
        assert!(matches!(driver.command(message, command), Acceptance::Accepted { .. }));
    }
    driver.model(words("answer"));
    assert_eq!(
        driver.transcript()[1],
        "run_1.1 Done: answer",
        "the run's place comes before what came later"
    );
}

#[test]
fn new_forgets_the_conversation_and_closes_what_waited() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.shows("x");
    driver.say("m2");
    driver.command("n1", Command::New);
    assert!(driver.conversation.is_idle());
    driver.say("m3");
    assert_eq!(driver.context(), ["user m3"]);
    let transcript = driver.transcript();
    assert!(transcript.iter().any(|line| line == "run_2.1 Stopped: "), "{transcript:?}");
}

#[test]
fn what_is_overheard_is_kept_as_context_and_not_answered() {
    let mut driver = Driver::new();
    driver.arrive("o1", IngressKind::Said(Said { addressed: Addressed::CONTEXT, ..said("by the way") }));
    assert!(driver.conversation.is_idle());
    driver.say("m1");
    assert_eq!(driver.context(), ["user by the way", "user m1"]);
}

#[test]
fn editing_a_message_whose_run_has_shown_nothing_starts_the_run_over() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.take_effects();
    driver.arrive("m1", IngressKind::Edited(said("m1 mended")));
    assert_eq!(driver.take_effects(), ["commit m1 Synced", "accepted", "CancelJobs", "CallModel"]);
    assert_eq!(driver.context(), ["user m1 mended"]);
    driver.model(words("fine"));
    assert_eq!(driver.transcript(), ["user m1: m1 mended", "run_1.1 Done: fine"]);
}

#[test]
fn editing_a_message_whose_run_has_shown_something_or_called_a_tool_is_recorded_only() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.shows("x");
    driver.take_effects();
    driver.arrive("m1", IngressKind::Edited(said("m1 mended")));
    assert_eq!(driver.take_effects(), ["commit m1 Synced", "accepted"]);

    let mut driver = Driver::new();
    driver.say("m1");
    driver.model(calls(vec![call("c1", "look", json!({}))]));
    driver.take_effects();
    driver.arrive("m1", IngressKind::Edited(said("m1 mended")));
    let effects = driver.take_effects();
    assert!(!effects.contains(&"CallModel".to_owned()), "{effects:?}");
}

#[test]
fn editing_a_waiting_message_replaces_it_and_an_answered_one_is_corrected() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.shows("x");
    driver.say("m2");
    driver.arrive("m2", IngressKind::Edited(said("m2 mended")));
    driver.model(words("x one"));
    assert_eq!(driver.context().last().unwrap(), "user m2 mended");
    driver.model(words("two")).take_effects();
    driver.arrive("m1", IngressKind::Edited(said("m1 mended")));
    assert!(driver.conversation.is_idle(), "a correction starts no run");
    assert_eq!(driver.transcript()[0], "user m1: m1 mended");
    let again = driver.arrive("m1", IngressKind::Edited(said("m1 mended")));
    assert_eq!(again, Acceptance::Duplicate { message: id("m1") });
}

#[test]
fn the_last_answer_can_be_made_anew_under_its_own_id() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.model(words("first"));
    driver.arrive("r1", IngressKind::Regenerate(Some(id("run_1.1"))));
    assert_eq!(driver.context(), ["user m1"]);
    driver.model(words("second"));
    assert_eq!(driver.transcript(), ["user m1: m1", "run_1.1 Done: second"]);
    driver.arrive("m1", IngressKind::Revised(said("other question")));
    assert_eq!(driver.context(), ["user other question"]);
    driver.model(words("third"));
    assert_eq!(driver.transcript(), ["user m1: other question", "run_1.1 Done: third"]);
    driver.say("m2");
    let refused = driver.arrive("r2", IngressKind::Regenerate(Some(id("run_1.1"))));
    assert!(matches!(refused, Acceptance::Refused(_)));
}

#[test]
fn a_stopping_thread_takes_nothing_in_and_starts_nothing() {
    let mut driver = Driver::new();
    driver.say("m1");
    driver.shows("x");
    driver.say("m2");
    driver.feed(Event::Stopping);
    assert_eq!(driver.say("m3"), Acceptance::Stopping);
    driver.model(words("x one"));
    assert!(driver.conversation.is_drained());
}

#[test]
fn a_command_keeps_the_id_it_came_with_and_no_model_sees_it() {
    let mut driver = Driver::new();
    driver.command("h1", Command::Help);
    assert_eq!(driver.transcript(), ["h1 Done: "]);
    driver.say("m1");
    assert_eq!(driver.context(), ["user m1"]);
    driver.model(words("answer"));
    driver.command("h2", Command::Help);
    let again = driver.arrive("r1", IngressKind::Regenerate(None));
    assert!(
        matches!(again, Acceptance::Accepted { .. }),
        "a command does not stand between an answer and its remake"
    );
}

#[test]
fn a_message_that_waits_is_taken_back_and_stays_so_after_a_restart() {
    let mut driver = driver(WhileRunning::Merge);
    driver.say("m1");
    driver.shows("hm");
    driver.say("m2");
    driver.say("m3");
    driver.take_effects();
    let taken = driver.arrive("m2", IngressKind::Withdrawn);
    assert!(matches!(taken, Acceptance::Accepted { .. }), "{taken:?}");
    let effects = driver.take_effects();
    assert_eq!(effects[..2], ["commit m2 Synced", "accepted"]);
    assert_eq!(driver.conversation.view(true).waiting, [id("m3")]);

    let mut again = Driver::resumed(rules(), driver.lines.clone(), driver.book.clone());
    again.model(words("one"));
    for driver in [&mut driver, &mut again] {
        driver.model(words("hm one"));
        assert!(!driver.context().contains(&"user m2".to_owned()), "{:?}", driver.context());
        driver.model(words("three"));
        assert!(driver.conversation.is_idle());
    }
}

#[test]
fn the_only_message_that_waits_is_taken_back_and_no_run_follows() {
    let mut driver = driver(WhileRunning::Merge);
    driver.say("m1");
    driver.shows("hm");
    driver.say("m2");
    driver.arrive("m2", IngressKind::Withdrawn);
    driver.model(words("hm one"));
    assert!(driver.conversation.is_idle());
    let again = Driver::resumed(rules(), driver.lines.clone(), driver.book.clone());
    assert!(again.conversation.is_idle(), "nor after a restart");
}

#[test]
fn only_a_message_that_waits_can_be_taken_back() {
    let mut driver = driver(WhileRunning::Merge);
    driver.say("m1");
    driver.shows("hm");
    for message in ["m1", "unknown"] {
        let taken = driver.arrive(message, IngressKind::Withdrawn);
        assert!(matches!(taken, Acceptance::Refused(_)), "{taken:?}");
    }
    driver.model(words("hm one"));
    assert!(matches!(driver.arrive("m1", IngressKind::Withdrawn), Acceptance::Refused(_)));
    assert_eq!(driver.transcript(), ["user m1: m1", "run_1.1 Done: hm one"]);
}

#[test]
fn a_question_is_asked_anew_where_it_waits_or_was_the_last_and_not_while_its_answer_is_shown() {
    let mut driver = driver(WhileRunning::Merge);
    driver.say("m1");
    driver.take_effects();
    driver.arrive("m1", IngressKind::Revised(said("better")));
    assert_eq!(driver.take_effects(), ["commit m1 Synced", "accepted", "CancelJobs", "CallModel"]);
    driver.shows("hm");
    let refused = driver.arrive("m1", IngressKind::Revised(said("best")));
    assert!(
        matches!(&refused, Acceptance::Refused(why) if why.contains("stop the answer first")),
        "{refused:?}"
    );
    assert_eq!(driver.context()[0], "user better", "nothing was replaced without a new answer");
    driver.say("m2");
    driver.say("m3");
    driver.arrive("m2", IngressKind::Revised(said("two")));
    driver.model(words("hm one"));
    assert_eq!(driver.context(), ["user better", "assistant hm one", "user two", "user m3"]);
    driver.model(words("both"));
    driver.arrive("m3", IngressKind::Revised(said("three")));
    assert_eq!(driver.context().last().unwrap(), "user three");
}
