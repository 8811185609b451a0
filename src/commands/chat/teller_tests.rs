//! Tests of the teller: what is shown of which events.

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
    let mut teller = TranscriptPrinter::default();
    teller.follow(run.parse().unwrap());
    teller
}

fn live(teller: &mut TranscriptPrinter, cursor: &mut Cursor, message: &UiMessage) -> Vec<Shown> {
    let heard = cursor.advance(message).into_iter();
    heard.flat_map(|chunk| teller.hear(ThreadEvent::Chunk { message: message.id.clone(), chunk })).collect()
}

fn written(teller: &mut TranscriptPrinter, message: UiMessage) -> Vec<Shown> {
    teller.hear(ThreadEvent::Written(Arc::new(message)))
}

fn words(text: &str) -> Shown {
    Shown::Words(text.to_owned())
}

#[test]
fn what_grew_is_not_shown_again_when_it_is_whole_and_what_was_missed_is() {
    let (mut teller, mut cursor) = (following("run_1"), Cursor::default());
    let growing = answer("m1", "run_1", "running", json!([step(), text("\n\nLet me")]));
    assert_eq!(live(&mut teller, &mut cursor, &growing), [words("Let me")]);
    assert!(!teller.is_over());
    let tool = json!({ "type": "tool-read_file", "toolCallId": "c1", "state": "output-error",
        "input": { "path": "a" }, "errorText": "no such file" });
    let whole = json!([step(), text("\n\nLet me look."), tool, step(), text("It is not there.")]);
    let shown = written(&mut teller, answer("m1", "run_1", "done", whole));
    let expected = [
        words(" look."),
        Shown::Call("read_file a".to_owned()),
        Shown::CallFailed("no such file".to_owned()),
        Shown::Paragraph,
        words("It is not there."),
    ];
    assert_eq!(shown, expected);
    assert!(teller.is_over());
    assert_eq!(teller.outcome().status, Some(RunStatus::Done));
    assert_eq!(teller.outcome().messages.len(), 1);
}

#[test]
fn an_older_state_that_comes_late_shows_nothing() {
    let mut teller = following("run_1");
    let whole = answer("m1", "run_1", "done", json!([step(), text("hello there")]));
    assert_eq!(written(&mut teller, whole.clone()), [words("hello there")]);
    let late = answer("m1", "run_1", "running", json!([step(), text("hello")]));
    assert_eq!(live(&mut teller, &mut Cursor::default(), &late), []);
    assert_eq!(written(&mut teller, whole), []);
}

#[test]
fn a_turn_that_started_over_is_told_anew() {
    let mut teller = following("run_1");
    let first = answer("m1", "run_1", "running", json!([step(), text("one")]));
    assert_eq!(live(&mut teller, &mut Cursor::default(), &first), [words("one")]);
    let second = answer("m1", "run_1", "running", json!([step(), text("two")]));
    assert_eq!(live(&mut teller, &mut Cursor::default(), &second), [Shown::Paragraph, words("two")]);
}

#[test]
fn a_run_of_several_messages_is_one_answer() {
    let mut teller = following("run_1");
    let first = answer("m1", "run_1", "continued", json!([step(), text("one")]));
    assert_eq!(written(&mut teller, first), [words("one")]);
    assert!(!teller.is_over());
    let second = answer("m2", "run_1", "done", json!([step(), text("two")]));
    assert_eq!(written(&mut teller, second), [Shown::Paragraph, words("two")]);
    assert!(teller.is_over());
}

#[test]
fn runs_of_others_are_none_of_our_business() {
    let mut teller = following("run_1");
    let other = answer("m9", "run_9", "done", json!([step(), text("psst")]));
    assert_eq!(live(&mut teller, &mut Cursor::default(), &other), []);
    assert_eq!(written(&mut teller, other), []);
    assert!(!teller.is_over());
}

#[test]
fn a_stop_is_over_when_both_the_run_and_the_command_are() {
    let mut teller = following("run_1");
    teller.follow("run_2".parse().unwrap());
    assert_eq!(written(&mut teller, answer("m1", "run_1", "stopped", json!([step()]))), []);
    assert!(!teller.is_over());
    let data = json!({ "command": "/stop", "author": "cli:user:operator", "reply": "Stopped." });
    let record = answer("c1", "run_2", "done", json!([{ "type": "data-command", "data": data }]));
    let reply = [Shown::Reply("Stopped.".to_owned())];
    assert_eq!(written(&mut teller, record.clone()), reply);
    assert_eq!(written(&mut teller, record), []);
    assert!(teller.is_over());
    assert_eq!(teller.outcome().status, Some(RunStatus::Stopped));
}

#[test]
fn an_error_is_shown_once() {
    let mut teller = following("run_1");
    let data = json!({ "kind": "auth", "text": "The model refused the API key.", "retryable": false });
    let failed = answer("m1", "run_1", "failed", json!([step(), { "type": "data-error", "data": data }]));
    let trouble = [Shown::Trouble("The model refused the API key.".to_owned())];
    assert_eq!(live(&mut teller, &mut Cursor::default(), &failed), trouble);
    assert_eq!(written(&mut teller, failed), []);
    assert!(teller.is_over());
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
    let mut teller = TranscriptPrinter::default();
    let asking = json!([step(), text("Let me build."), call("c1", "approval-requested")]);
    teller.note(&Arc::new(answer("m1", "run_1", "running", asking)));
    assert!(teller.is_parked());
    teller.follow(run("run_2"));
    let going = json!([step(), text("Let me build."), call("c1", "approval-responded")]);
    let shown = written(&mut teller, answer("m1", "run_1", "running", going));
    assert!(matches!(shown.as_slice(), [Shown::Settled(settled)] if settled.approved), "{shown:?}");
    let reply = [Shown::Reply("A1: approved.".to_owned())];
    assert_eq!(written(&mut teller, record("c2", "run_2", "A1: approved.")), reply);
    assert!(!teller.is_over() && teller.questions().is_empty());
    let whole =
        json!([step(), text("Let me build."), call("c1", "output-available"), step(), text("Built.")]);
    let shown = written(&mut teller, answer("m1", "run_1", "done", whole));
    let [Shown::Result(output), built] = shown.as_slice() else { panic!("{shown:?}") };
    assert_eq!((result_line(output, Language::En), built), ("exit 0 · made".to_owned(), &words("Built.")));
    assert!(teller.is_over());
    let outcome = teller.outcome();
    assert_eq!((outcome.status, outcome.messages.len()), (Some(RunStatus::Done), 1));
}

#[test]
fn a_message_behind_a_question_is_queued_and_a_command_is_not() {
    let mut teller = TranscriptPrinter::default();
    teller.note(&Arc::new(answer("m1", "run_1", "running", json!([call("c1", "approval-requested")]))));
    teller.follow(run("run_2"));
    assert!(!teller.has_heard(&run("run_2")) && !teller.is_queued(&run("run_2")));
    assert_eq!(written(&mut teller, user("u2", "run_2")), []);
    assert!(teller.is_queued(&run("run_2")) && !teller.is_over());
    teller.follow(run("run_3"));
    written(&mut teller, record("c3", "run_3", "Waiting."));
    assert!(teller.has_heard(&run("run_3")) && !teller.is_queued(&run("run_3")));
}

#[test]
fn a_question_is_shown_once_and_the_reminder_of_the_daemon_is_left_to_the_chat() {
    let mut teller = following("run_1");
    let asking = answer("m1", "run_1", "running", json!([call("c1", "approval-requested")]));
    written(&mut teller, asking.clone());
    assert_eq!(teller.new_questions().len(), 1);
    written(&mut teller, asking);
    assert_eq!(teller.new_questions(), []);
    for language in [Language::En, Language::Zh] {
        let reminder = Phrase::Reminder(teller.numbers()).say(language);
        assert_eq!(teller.hear(ThreadEvent::Progress(reminder)), []);
    }
    assert_eq!(teller.hear(ThreadEvent::Progress("again".to_owned())).len(), 1);
}

#[test]
fn runs_that_ended_are_forgotten_and_open_ones_are_not() {
    let mut teller = following("run_1");
    written(&mut teller, answer("m1", "run_1", "done", json!([step(), text("one")])));
    teller.follow(run("run_2"));
    written(&mut teller, answer("m2", "run_2", "running", json!([step(), text("two")])));
    teller.forget_ended();
    assert_eq!((teller.runs.len(), teller.told.len(), teller.written.len()), (1, 1, 1));
    let more = answer("m2", "run_2", "done", json!([step(), text("two and more")]));
    assert_eq!(written(&mut teller, more), [words(" and more")]);
}
