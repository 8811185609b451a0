//! Tests of the printer: what is shown of which events.

use serde_json::json;

use super::*;
use crate::commands::chat::question::tests::call;
use crate::commands::result_line::result_line;
use crate::uimessage::Cursor;

fn answer(id: &str, run: &str, status: &str, parts: Value) -> UiMessage {
    let metadata = json!({ "platform": "cli", "threadId": "cli:chat:t", "timestamp": 1, "correlationId": run,
        "status": status });
    let message = json!({ "id": id, "role": "assistant", "metadata": metadata, "parts": parts });
    serde_json::from_value(message).unwrap()
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text, "state": "streaming" })
}

fn step() -> Value {
    json!({ "type": "step-start" })
}

fn following(run: &str) -> TranscriptPrinter {
    let mut printer = TranscriptPrinter::default();
    printer.follow(run.parse().unwrap());
    printer
}

fn live(printer: &mut TranscriptPrinter, cursor: &mut Cursor, message: &UiMessage) -> Vec<Shown> {
    let chunks = cursor.advance(message).into_iter();
    chunks
        .flat_map(|chunk| printer.event(ThreadEvent::Chunk { message: message.id.clone(), chunk }))
        .collect()
}

fn written(printer: &mut TranscriptPrinter, message: UiMessage) -> Vec<Shown> {
    printer.event(ThreadEvent::Written(Arc::new(message)))
}

fn words(text: &str) -> Shown {
    Shown::Words(text.to_owned())
}

#[test]
fn what_grew_is_not_shown_again_when_it_is_whole_and_what_was_missed_is() {
    let (mut printer, mut cursor) = (following("run_1"), Cursor::default());
    let growing = answer("m1", "run_1", "running", json!([step(), text("\n\nLet me")]));
    assert_eq!(live(&mut printer, &mut cursor, &growing), [words("Let me")]);
    assert!(!printer.is_over());
    let tool = json!({ "type": "tool-read_file", "toolCallId": "c1", "state": "output-error",
        "input": { "path": "a" }, "errorText": "no such file" });
    let whole = json!([step(), text("\n\nLet me look."), tool, step(), text("It is not there.")]);
    let shown = written(&mut printer, answer("m1", "run_1", "done", whole));
    let expected = [
        words(" look."),
        Shown::Call("read_file a".to_owned()),
        Shown::CallFailed("no such file".to_owned()),
        Shown::Paragraph,
        words("It is not there."),
    ];
    assert_eq!(shown, expected);
    assert!(printer.is_over());
    assert_eq!(printer.outcome().status, Some(RunStatus::Done));
    assert_eq!(printer.outcome().messages.len(), 1);
}

#[test]
fn an_older_state_that_comes_late_shows_nothing() {
    let mut printer = following("run_1");
    let whole = answer("m1", "run_1", "done", json!([step(), text("hello there")]));
    assert_eq!(written(&mut printer, whole.clone()), [words("hello there")]);
    let late = answer("m1", "run_1", "running", json!([step(), text("hello")]));
    assert_eq!(live(&mut printer, &mut Cursor::default(), &late), []);
    assert_eq!(written(&mut printer, whole), []);
}

#[test]
fn a_turn_that_started_over_is_told_anew() {
    let mut printer = following("run_1");
    let first = answer("m1", "run_1", "running", json!([step(), text("one")]));
    assert_eq!(live(&mut printer, &mut Cursor::default(), &first), [words("one")]);
    let second = answer("m1", "run_1", "running", json!([step(), text("two")]));
    assert_eq!(live(&mut printer, &mut Cursor::default(), &second), [Shown::Paragraph, words("two")]);
}

#[test]
fn a_run_of_several_messages_is_one_answer() {
    let mut printer = following("run_1");
    let first = answer("m1", "run_1", "continued", json!([step(), text("one")]));
    assert_eq!(written(&mut printer, first), [words("one")]);
    assert!(!printer.is_over());
    let second = answer("m2", "run_1", "done", json!([step(), text("two")]));
    assert_eq!(written(&mut printer, second), [Shown::Paragraph, words("two")]);
    assert!(printer.is_over());
}

#[test]
fn runs_of_others_are_none_of_our_business() {
    let mut printer = following("run_1");
    let other = answer("m9", "run_9", "done", json!([step(), text("psst")]));
    assert_eq!(live(&mut printer, &mut Cursor::default(), &other), []);
    assert_eq!(written(&mut printer, other), []);
    assert!(!printer.is_over());
}

#[test]
fn a_stop_is_over_when_both_the_run_and_the_command_are() {
    let mut printer = following("run_1");
    printer.follow("run_2".parse().unwrap());
    assert_eq!(written(&mut printer, answer("m1", "run_1", "stopped", json!([step()]))), []);
    assert!(!printer.is_over());
    let data = json!({ "command": "/stop", "author": "cli:user:operator", "reply": "Stopped." });
    let record = answer("c1", "run_2", "done", json!([{ "type": "data-command", "data": data }]));
    let reply = [Shown::Reply("Stopped.".to_owned())];
    assert_eq!(written(&mut printer, record.clone()), reply);
    assert_eq!(written(&mut printer, record), []);
    assert!(printer.is_over());
    assert_eq!(printer.outcome().status, Some(RunStatus::Stopped));
}

#[test]
fn an_error_is_shown_once() {
    let mut printer = following("run_1");
    let data = json!({ "kind": "auth", "text": "The model refused the API key.", "retryable": false });
    let failed = answer("m1", "run_1", "failed", json!([step(), { "type": "data-error", "data": data }]));
    let trouble = [Shown::Error("The model refused the API key.".to_owned())];
    assert_eq!(live(&mut printer, &mut Cursor::default(), &failed), trouble);
    assert_eq!(written(&mut printer, failed), []);
    assert!(printer.is_over());
}

fn user(id: &str, run: &str) -> UiMessage {
    let metadata =
        json!({ "platform": "cli", "threadId": "cli:chat:t", "timestamp": 1, "correlationId": run });
    let message = json!({ "id": id, "role": "user", "metadata": metadata,
        "parts": [{ "type": "text", "text": "words" }] });
    serde_json::from_value(message).unwrap()
}

fn record(id: &str, run: &str, reply: &str) -> UiMessage {
    let data = json!({ "command": "yes", "author": "cli:user:operator", "reply": reply });
    let mut record = answer(id, run, "done", json!([{ "type": "data-command", "data": data }]));
    record.metadata.command = true;
    record
}

fn run(name: &str) -> CorrelationId {
    name.parse().unwrap()
}

#[test]
fn a_decision_lets_the_run_go_on_that_is_followed_from_there() {
    let mut printer = TranscriptPrinter::default();
    let asking = json!([step(), text("Let me build."), call("c1", "approval-requested")]);
    printer.note(&Arc::new(answer("m1", "run_1", "running", asking)));
    assert!(printer.is_parked());
    printer.follow(run("run_2"));
    let going = json!([step(), text("Let me build."), call("c1", "approval-responded")]);
    let shown = written(&mut printer, answer("m1", "run_1", "running", going));
    assert!(matches!(shown.as_slice(), [Shown::Settled(settled)] if settled.approved), "{shown:?}");
    let reply = [Shown::Reply("A1: approved.".to_owned())];
    assert_eq!(written(&mut printer, record("c2", "run_2", "A1: approved.")), reply);
    assert!(!printer.is_over() && printer.questions().is_empty());
    let whole =
        json!([step(), text("Let me build."), call("c1", "output-available"), step(), text("Built.")]);
    let shown = written(&mut printer, answer("m1", "run_1", "done", whole));
    let [Shown::Result(output), built] = shown.as_slice() else { panic!("{shown:?}") };
    assert_eq!((result_line(output, Language::En), built), ("exit 0 · made".to_owned(), &words("Built.")));
    assert!(printer.is_over());
    let outcome = printer.outcome();
    assert_eq!((outcome.status, outcome.messages.len()), (Some(RunStatus::Done), 1));
}

#[test]
fn a_message_behind_a_question_is_queued_and_a_command_is_not() {
    let mut printer = TranscriptPrinter::default();
    printer.note(&Arc::new(answer("m1", "run_1", "running", json!([call("c1", "approval-requested")]))));
    printer.follow(run("run_2"));
    assert!(!printer.has_event_of(&run("run_2")) && !printer.is_queued(&run("run_2")));
    assert_eq!(written(&mut printer, user("u2", "run_2")), []);
    assert!(printer.is_queued(&run("run_2")) && !printer.is_over());
    printer.follow(run("run_3"));
    written(&mut printer, record("c3", "run_3", "Waiting."));
    assert!(printer.has_event_of(&run("run_3")) && !printer.is_queued(&run("run_3")));
}

#[test]
fn a_question_is_shown_once_and_the_reminder_of_the_daemon_is_left_to_the_chat() {
    let mut printer = following("run_1");
    let asking = answer("m1", "run_1", "running", json!([call("c1", "approval-requested")]));
    written(&mut printer, asking.clone());
    assert_eq!(printer.new_questions().len(), 1);
    written(&mut printer, asking);
    assert_eq!(printer.new_questions(), []);
    for language in [Language::En, Language::Zh] {
        let reminder = Phrase::Reminder(printer.numbers()).say(language);
        assert_eq!(printer.event(ThreadEvent::Progress(reminder)), []);
    }
    assert_eq!(printer.event(ThreadEvent::Progress("again".to_owned())).len(), 1);
}

#[test]
fn runs_that_ended_are_forgotten_and_open_ones_are_not() {
    let mut printer = following("run_1");
    written(&mut printer, answer("m1", "run_1", "done", json!([step(), text("one")])));
    printer.follow(run("run_2"));
    written(&mut printer, answer("m2", "run_2", "running", json!([step(), text("two")])));
    printer.forget_ended();
    assert_eq!((printer.runs.len(), printer.messages.len(), printer.written.len()), (1, 1, 1));
    let more = answer("m2", "run_2", "done", json!([step(), text("two and more")]));
    assert_eq!(written(&mut printer, more), [words(" and more")]);
}
