//! Tables about the parts of the machine, each without the others.

use std::sync::Arc;

use serde_json::json;

use super::driver::{
    call, calls, check_arguments, effects_of, event, id, judge, model_error, rules, said, state_word, thread,
    words,
};
use crate::domain::{
    Answer, Approval, ApprovalKind, ApprovalNumber, AuthorRole, Class, CorrelationId, Decided, ErrorKind,
    IngressKind, Intent, MemoryScope, Scope, Timestamp, ToolCallId, WhileRunning,
};
use crate::ports::{Acceptance, Judgement, ModelDelta, Ruling, ThreadRecord};
use crate::turn::approval::approvals::{AnswerCheck, AnswerOutcome, Approvals, DecisionAuthority};
use crate::turn::approval::question::{Question, QuestionRequest};
use crate::turn::context::{ConversationSettings, TurnContext};
use crate::turn::history::History;
use crate::turn::queue::{Edit, Queue, RunRelation};
use crate::turn::runs::run::{Run, RunPhase};
use crate::turn::user_message::user_message;
use crate::turn::{ApprovalSlot, Effect, Rules};
use crate::uimessage::{CheckpointReason, Part, ToolState, UiMessage};

/// What the parts read: settings and a history.
struct Thread {
    settings: ConversationSettings,
    history: History,
}

impl Thread {
    fn new(rules: Rules, tail: Vec<UiMessage>) -> Self {
        let settings = ConversationSettings {
            thread: thread(),
            rules: Arc::new(rules),
            effects_of: effects_of(),
            check_arguments: check_arguments(),
        };
        Self { settings, history: History::new(ThreadRecord { tail, ..ThreadRecord::default() }) }
    }

    fn at(&self, now: i64) -> TurnContext<'_> {
        let now = Timestamp::from_millis(now);
        TurnContext { settings: &self.settings, history: &self.history, now }
    }
}

fn run_id(name: &str) -> CorrelationId {
    CorrelationId::made("run_", name)
}

fn call_id(name: &str) -> ToolCallId {
    name.parse().unwrap()
}

/// The kinds of effects, without what only refreshes a view.
fn kinds(effects: &[Effect]) -> Vec<String> {
    let word = |effect: &Effect| format!("{effect:?}").chars().take_while(|c| c.is_alphabetic()).collect();
    effects.iter().map(word).filter(|word: &String| !matches!(word.as_str(), "Publish" | "Show")).collect()
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
enum Stage {
    WithoutSlot,
    Thinking,
    Shown,
    Acting,
    Parked,
}

fn question(
    approvals: &mut Approvals,
    kind: ApprovalKind,
    judgement: Judgement,
    ctx: &TurnContext<'_>,
) -> Question {
    let request = QuestionRequest {
        kind,
        run: run_id("a"),
        call: call_id("c1"),
        tool: "ask".to_owned(),
        input: json!({}),
        requested_by: "web:user:u".parse().unwrap(),
        memory_scope: MemoryScope::default(),
        asked_in: Vec::new(),
    };
    let slot = ApprovalSlot { id: format!("apr_{:020}", 1).parse().unwrap(), number: ApprovalNumber(1) };
    approvals.ask(request, judgement, slot, ctx)
}

fn run_at(stage: Stage, ctx: &TurnContext<'_>) -> Run {
    let mut run = Run::new(&thread(), run_id("a"), None, ctx.now);
    if matches!(stage, Stage::WithoutSlot) {
        return run;
    }
    run.slot_granted(ctx);
    match stage {
        Stage::WithoutSlot | Stage::Thinking => {}
        Stage::Shown => drop(run.delta(ModelDelta::Text("hm".to_owned()), ctx)),
        Stage::Acting => drop(run.model_ended(calls(vec![call("c1", "look", json!({}))]), ctx)),
        Stage::Parked => {
            run.model_ended(calls(vec![call("c1", "ask", json!({}))]), ctx);
            let mut approvals = Approvals::new(&ThreadRecord::default());
            let judgement = judge("ask", &json!({}), "");
            run.ask(question(&mut approvals, ApprovalKind::Tool, judgement, ctx));
            run.advance_calls(ctx);
            assert_eq!(run.phase(), RunPhase::AwaitingApproval);
        }
    }
    run
}

fn accept(
    queue: &mut Queue,
    name: &str,
    run: Option<&Run>,
    ctx: &TurnContext<'_>,
) -> Option<(RunRelation, String)> {
    let (what, mut made) = (said(name), 0);
    let mut fresh = || {
        made += 1;
        run_id(&format!("{name}{made}"))
    };
    let event = event(name, IngressKind::Said(what.clone()));
    let accepted = queue.accept(&event, &what, run, ctx, &mut fresh)?;
    assert_eq!(accepted.message.metadata.correlation_id, accepted.correlation);
    Some((accepted.relation, accepted.correlation.to_string()))
}

#[test]
fn how_a_message_relates_to_the_run_in_flight() {
    use RunRelation::{First, Interrupt as Interrupts, Join, Steer as Steers, Wait};
    use Stage::{Acting, Parked, Shown, Thinking, WithoutSlot};
    use WhileRunning::{Interrupt, Merge, Steer};
    let table = [
        (None, 0, Merge, First),
        (Some(WithoutSlot), 9000, Merge, Join),
        (Some(Thinking), 600, Interrupt, Join),
        (Some(Thinking), 601, Merge, Wait),
        (Some(Thinking), 601, Steer, Steers),
        (Some(Thinking), 601, Interrupt, Interrupts),
        (Some(Shown), 1, Merge, Wait),
        (Some(Shown), 1, Steer, Steers),
        (Some(Acting), 1, Merge, Wait),
        (Some(Acting), 1, Interrupt, Interrupts),
        (Some(Parked), 1, Steer, Wait),
        (Some(Parked), 1, Interrupt, Wait),
    ];
    for (stage, later, while_running, expected) in table {
        let thread = Thread::new(Rules { while_running, ..rules() }, Vec::new());
        let run = stage.map(|stage| run_at(stage, &thread.at(1000)));
        let (relation, correlation) =
            accept(&mut Queue::default(), "m", run.as_ref(), &thread.at(1000 + later)).unwrap();
        assert_eq!(relation, expected, "{stage:?} {later} {while_running:?}");
        let joins = matches!(relation, Join | Steers | Interrupts);
        assert_eq!(correlation == run_id("a").to_string(), joins, "{stage:?} {relation:?}");
    }
}

#[test]
fn what_waits_is_one_run_until_it_is_taken_removed_or_full() {
    let thread = Thread::new(rules(), Vec::new());
    let ctx = thread.at(9000);
    let run = run_at(Stage::Shown, &thread.at(1000));
    let mut queue = Queue::default();
    let runs: Vec<_> = ["m1", "m2", "m3", "m4"].map(|name| accept(&mut queue, name, Some(&run), &ctx)).into();
    let waits = Some((RunRelation::Wait, run_id("m11").to_string()));
    assert_eq!(runs, [waits.clone(), waits.clone(), waits, None], "one run, and three messages at most");
    assert!(!queue.is_alone(&id("m1")) && queue.len() == 3);
    queue.remove(&id("m1"));
    queue.remove(&id("m2"));
    assert!(queue.is_alone(&id("m3")));
    queue.close();
    assert_eq!(queue.next_run(), None, "a closed queue starts nothing");
    assert_eq!(queue.take_all().len(), 1);
    assert!(queue.is_empty());
}

#[test]
fn an_event_is_turned_away_when_the_daemon_stops_or_it_is_known() {
    let message = event("m1", IngressKind::Said(said("hi")));
    let edit = event("m1", IngressKind::Edited(said("ho")));
    let known = Some(Acceptance::Duplicate { message: id("m1") });
    let table = [
        (&message, false, false, None),
        (&message, false, true, known),
        (&edit, false, true, None),
        (&message, true, true, Some(Acceptance::Stopping)),
        (&edit, true, false, Some(Acceptance::Stopping)),
    ];
    for (event, closed, known, expected) in table {
        let mut queue = Queue::default();
        if closed {
            queue.close();
        }
        assert_eq!(queue.turned_away(event, known), expected, "{:?} {closed} {known}", event.kind);
    }
}

#[test]
fn an_edit_replaces_what_is_in_memory_and_corrects_what_is_not() {
    let empty = Thread::new(rules(), Vec::new());
    let sent = event("m1", IngressKind::Said(said("hi")));
    let stored = user_message(&sent, &said("hi"), &run_id("a"), &empty.at(1));
    let full = Thread::new(rules(), vec![stored.clone()]);
    let mut fresh = || run_id("new");
    let mut read = |thread: &Thread, text: &str, earlier: Option<&UiMessage>| match Queue::edit(
        &sent,
        &said(text),
        earlier,
        &thread.at(2),
        &mut fresh,
    ) {
        Edit::Unknown => "unknown".to_owned(),
        Edit::Unchanged => "unchanged".to_owned(),
        Edit::Replaced(line) => format!("{} {} {}", line.id, line.text(), line.metadata.correlation_id),
        Edit::Corrected { line, note } => {
            assert!(note.metadata.context && note.metadata.extra["corrects"] == "m1");
            format!("{} {} {}", line.id, line.text(), note.metadata.correlation_id)
        }
    };
    assert_eq!(read(&empty, "ho", None), "unknown");
    assert_eq!(read(&full, "hi", None), "unchanged");
    assert_eq!(read(&full, "ho", None), format!("m1 ho {}", run_id("a")));
    assert_eq!(read(&empty, "hi", Some(&stored)), "unchanged");
    assert_eq!(read(&empty, "ho", Some(&stored)), format!("m1 ho {}", run_id("new")));
}

#[test]
fn an_event_that_comes_in_the_wrong_phase_changes_nothing() {
    let thread = Thread::new(rules(), Vec::new());
    let ctx = thread.at(1000);
    for stage in [Stage::WithoutSlot, Stage::Acting, Stage::Parked] {
        let mut run = run_at(stage, &ctx);
        let before = run.message().clone();
        assert_eq!(run.delta(ModelDelta::Text("late".to_owned()), &ctx), []);
        assert_eq!(run.model_ended(words("late"), &ctx), []);
        assert_eq!(run.tool_ended(&call_id("c1"), Ok(json!("late")), &ctx), []);
        assert_eq!(*run.message(), before, "{stage:?}");
    }
}

#[test]
fn a_run_ends_with_one_commit_and_gives_its_slot_back() {
    let thread = Thread::new(rules(), Vec::new());
    let ctx = thread.at(1000);
    let ends = ["Commit", "ReleaseSlot", "Finished"];
    let table = [
        (words("done"), &ends[..], RunPhase::Ended),
        (words(""), &["CallModel"][..], RunPhase::Thinking),
        (model_error(ErrorKind::Auth), &ends[..], RunPhase::Ended),
        (model_error(ErrorKind::ContextLength), &["Compact"][..], RunPhase::Thinking),
        (calls(vec![call("c1", "look", json!({}))]), &["Judge"][..], RunPhase::Acting),
        (calls(vec![call("c1", "unknown", json!({}))]), &["Commit", "CallModel"][..], RunPhase::Thinking),
    ];
    for (result, expected, phase) in table {
        let mut run = run_at(Stage::Thinking, &ctx);
        let shown = format!("{result:?}");
        assert_eq!(kinds(&run.model_ended(result, &ctx)), expected, "{shown}");
        assert_eq!(run.phase(), phase, "{shown}");
    }
}

#[test]
fn a_prompt_that_stays_too_long_is_compacted_and_shrunk_before_the_run_gives_up() {
    let thread = Thread::new(rules(), Vec::new());
    let ctx = thread.at(1000);
    let mut run = run_at(Stage::Thinking, &ctx);
    for divisor in [2, 4] {
        assert_eq!(kinds(&run.model_ended(model_error(ErrorKind::ContextLength), &ctx)), ["Compact"]);
        assert_eq!(kinds(&run.compacted(false, CheckpointReason::Overflow)), ["CallModel"]);
        assert_eq!(run.window_divisor(), divisor);
    }
    run.model_ended(model_error(ErrorKind::ContextLength), &ctx);
    assert_eq!(run.phase(), RunPhase::Ended);
}

#[test]
fn calls_that_only_look_run_together_and_one_that_acts_waits_for_them() {
    let thread = Thread::new(rules(), Vec::new());
    let ctx = thread.at(1000);
    let mut run = run_at(Stage::Thinking, &ctx);
    let step = calls(vec![call("c1", "look", json!({})), call("c2", "act", json!({}))]);
    assert_eq!(kinds(&run.model_ended(step, &ctx)), ["Judge"], "one at a time");
    run.clear_call(&call_id("c1"), Class::ReadOnly);
    assert_eq!(kinds(&run.advance_calls(&ctx)), ["Judge", "Commit", "RunTool"]);
    run.clear_call(&call_id("c2"), Class::ProjectWritable);
    assert_eq!(kinds(&run.advance_calls(&ctx)), [""; 0]);
    assert_eq!(kinds(&run.tool_ended(&call_id("c1"), Ok(json!("seen")), &ctx)), ["Commit", "RunTool"]);
    let ended = run.tool_ended(&call_id("c2"), Ok(json!("done")), &ctx);
    assert_eq!(
        kinds(&ended),
        ["Commit", "Commit", "CallModel"],
        "its result is written before anything else"
    );
}

/// An approval as it is after an answer at `now`.
fn answered(
    by: &str,
    kind: ApprovalKind,
    input: &serde_json::Value,
    answer: &Answer,
    now: i64,
) -> (AnswerOutcome, String, Vec<String>, Option<Approval>) {
    let thread = Thread::new(rules(), Vec::new());
    let mut approvals = Approvals::new(&ThreadRecord::default());
    let asked = question(&mut approvals, kind, judge("ask", input, ""), &thread.at(1000));
    let by = by.parse().unwrap();
    let decided = Decided { by, at: Timestamp::from_millis(now), via: "text".to_owned(), reason: None };
    let authority = DecisionAuthority::Speaker(AuthorRole::Person);
    let result = approvals.answer(&asked.approval.id, answer, decided, authority, &thread.at(now));
    let settled = result.settled.into_iter().next();
    assert_eq!(approvals.pending().is_empty(), settled.is_some(), "a settled question is not pending");
    let saved = settled.as_ref().map(|one| kinds(&one.effects)).unwrap_or_default();
    let approval = settled.map(|one| one.approval);
    (result.outcome, approval.as_ref().map(state_word).unwrap_or_default(), saved, approval)
}

#[test]
fn what_becomes_of_an_answer() {
    use AnswerOutcome::{Counted, CountedOnce, NotAnAnswer, NotTheirs, TooLate};
    use ApprovalKind::{Tool, UnknownOutcome};
    let (ada, bob) = ("web:user:u", "web:user:bob");
    let (any, once) = (json!({}), json!({"once": true}));
    let yes = Answer::Approve;
    let table = [
        (ada, Tool, &any, yes(Scope::Once), 1001, Counted, "Approved", false),
        (ada, Tool, &any, yes(Scope::Thread), 1001, Counted, "Approved", true),
        (ada, Tool, &once, yes(Scope::Thread), 1001, CountedOnce, "Approved", false),
        (ada, Tool, &any, Answer::Deny, 1001, Counted, "Denied", false),
        (ada, Tool, &any, Answer::Done, 1001, NotAnAnswer, "", false),
        (ada, UnknownOutcome, &any, Answer::Done, 1001, Counted, "Spent", false),
        (bob, Tool, &any, Answer::Deny, 1001, NotTheirs, "", false),
        (ada, Tool, &any, yes(Scope::Once), 61_000, TooLate, "Expired", false),
    ];
    for (by, kind, input, answer, now, outcome, state, grants) in table {
        let got = answered(by, kind, input, &answer, now);
        assert_eq!((&got.0, got.1.as_str()), (&outcome, state), "{by} {kind:?} {answer:?} {now}");
        assert_eq!(got.2.first().is_some_and(|first| first == "SaveApproval"), !state.is_empty());
        assert_eq!(got.2.contains(&"Grant".to_owned()), grants, "{by} {kind:?} {answer:?} {now}");
    }
}

#[test]
fn a_settled_question_sets_its_call_going_or_ends_it() {
    let thread = Thread::new(rules(), Vec::new());
    let ctx = thread.at(1000);
    let table = [
        (ApprovalKind::Tool, Answer::Approve(Scope::Once), 1001, "ApprovalResponded"),
        (ApprovalKind::Tool, Answer::Deny, 1001, "OutputDenied"),
        (ApprovalKind::Tool, Answer::Deny, 61_000, "OutputDenied"),
        (ApprovalKind::UnknownOutcome, Answer::Done, 1001, "OutputAvailable"),
    ];
    for (kind, answer, now, expected) in table {
        let approval = answered("web:user:u", kind, &json!({}), &answer, now).3.unwrap();
        let mut run = run_at(Stage::Parked, &ctx);
        let notice = Intent::ApprovalResolved { approval_id: approval.id.clone(), text: "so".to_owned() };
        assert_eq!(kinds(&[run.resolve(&approval, notice)]), ["Commit"]);
        let state = run.message().parts.iter().find_map(|part| match part {
            Part::Tool(tool) => Some(&tool.state),
            _ => None,
        });
        assert!(format!("{:?}", state.unwrap()).starts_with(expected), "{kind:?} {answer:?}: {state:?}");
        let goes_on = matches!(state, Some(ToolState::ApprovalResponded { .. }));
        assert_eq!(kinds(&run.go_on(&ctx)), ["AcquireSlot"], "a parked run needs a slot again");
        let next = if goes_on { "Judge" } else { "CallModel" };
        assert_eq!(kinds(&run.slot_granted(&ctx)), [next], "{kind:?} {answer:?}");
    }
}

#[test]
fn an_approved_call_is_checked_once_and_its_approval_is_spent_or_cancelled() {
    let thread = Thread::new(rules(), Vec::new());
    let denied = Judgement { ruling: Ruling::Deny("no more".to_owned()), ..judge("ask", &json!({}), "") };
    let table = [
        (judge("ask", &json!({}), ""), AnswerCheck::Unchanged, "Spent"),
        (judge("ask", &json!({}), "another world"), AnswerCheck::Changed, "Cancelled"),
        (denied, AnswerCheck::Denied("no more".to_owned()), "Cancelled"),
    ];
    for (judgement, expected, state) in table {
        let mut approvals = Approvals::new(&ThreadRecord::default());
        let tool = ApprovalKind::Tool;
        let asked = question(&mut approvals, tool, judge("ask", &json!({}), ""), &thread.at(1000)).approval;
        let now = Timestamp::from_millis(1001);
        assert_eq!(approvals.check(&asked.tool_call, &judgement, now), None, "not before a person said yes");
        let by = "web:user:u".parse().unwrap();
        let decided = Decided { by, at: now, via: "text".to_owned(), reason: None };
        let yes = Answer::Approve(Scope::Once);
        approvals.answer(&asked.id, &yes, decided, DecisionAuthority::Operator, &thread.at(1001));
        let (check, effects) = approvals.check(&asked.tool_call, &judgement, now).unwrap();
        assert_eq!(check, expected);
        assert!(matches!(effects.first(), Some(Effect::SaveApproval(saved)) if state_word(saved) == state));
        assert_eq!(approvals.check(&asked.tool_call, &judgement, now), None, "an approval holds once");
    }
}

#[test]
fn people_are_reminded_once_in_a_run() {
    let thread = Thread::new(rules(), Vec::new());
    let ctx = thread.at(1000);
    let run = run_at(Stage::Parked, &ctx);
    let mut approvals = Approvals::new(&ThreadRecord::default());
    question(&mut approvals, ApprovalKind::Tool, judge("ask", &json!({}), ""), &ctx);
    assert_eq!(kinds(&approvals.remind(&run, &ctx)), ["Commit"]);
    assert_eq!(kinds(&approvals.remind(&run, &ctx)), [""; 0]);
    approvals.run_ended();
    assert!(approvals.pending().is_empty());
    assert_eq!(kinds(&approvals.remind(&run, &ctx)), ["Commit"]);
}
