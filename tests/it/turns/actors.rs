//! The actors with a push platform: order, receipts, retries, permanent failures, and storage failures.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use shipagent::domain::{ErrorKind, Intent, ThreadId};
use shipagent::ports::{Acceptance, DeliveryError, RunMessage, RunMessageSource, ThreadStore};
use shipagent::uimessage::{Role, RunStatus};

use crate::fakes::daemon::PATIENCE;
use crate::fakes::scripted_threads::{Recorder, ScriptedThreads, said};

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !is_so() {
        assert!(tokio::time::Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn retry() -> DeliveryError {
    DeliveryError::Retry { after: None, reason: "busy".to_owned() }
}

#[tokio::test]
async fn a_long_answer_goes_out_in_order_in_pieces_that_fit() {
    let dir = tempfile::tempdir().unwrap();
    let stage = ScriptedThreads::open(dir.path(), Arc::default());
    stage.say("a", "m1", "one two three four five six seven eight nine ten").await;
    until("all of it", || stage.recorder.texts().join(" ").ends_with("ten")).await;
    let texts = stage.recorder.texts();
    assert!(texts.len() > 2 && texts.iter().all(|text| text.chars().count() <= 20), "{texts:?}");
    assert_eq!(texts.join(" ").split_whitespace().count(), 10);
    stage.stop().await;
}

#[tokio::test]
async fn an_answer_that_would_flood_the_chat_is_sent_as_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let stage = ScriptedThreads::open(dir.path(), Arc::default());
    let long: Vec<String> = (0..200).map(|number| format!("word{number}")).collect();
    stage.say("a", "m1", &long.join(" ")).await;
    until("the file", || stage.recorder.attachments().len() == 1).await;
    assert_eq!(stage.recorder.texts().len(), 1, "its beginning");
    let file = dir.path().join("files").join(stage.recorder.attachments().remove(0).path());
    assert_eq!(std::fs::read_to_string(file).unwrap(), long.join(" "));
    stage.stop().await;
}

#[tokio::test]
async fn what_a_call_says_in_another_thread_is_said_once_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = Arc::new(Recorder::default());
    let run_message = || RunMessage {
        from: "task:chat:other".parse().unwrap(),
        correlation: "run_1".parse().unwrap(),
        source: RunMessageSource::Call("call_1".parse().unwrap()),
        intent: Intent::AssistantText { text: "the build is red".to_owned() },
    };
    let thread: ThreadId = "task:chat:a".parse().unwrap();
    let stage = ScriptedThreads::open(dir.path(), recorder.clone());
    assert!(matches!(stage.threads.say(thread.clone(), run_message()).await, Acceptance::Accepted { .. }));
    assert!(matches!(stage.threads.say(thread.clone(), run_message()).await, Acceptance::Duplicate { .. }));
    until("the words", || recorder.texts().len() == 1).await;
    stage.stop().await;
    let stage = ScriptedThreads::open(dir.path(), recorder.clone());
    assert!(matches!(stage.threads.say(thread.clone(), run_message()).await, Acceptance::Duplicate { .. }));
    let page = stage.store.page(&thread, None, 10).await.unwrap();
    assert_eq!(page.len(), 1);
    assert_eq!((page[0].role, page[0].text().as_str()), (Role::Assistant, "the build is red"));
    stage.say("a", "m1", "and now?").await;
    until("the answer", || recorder.texts().len() == 2).await;
    assert_eq!(recorder.texts(), ["the build is red", "and now?"]);
    stage.stop().await;
}

#[tokio::test]
async fn a_refused_delivery_is_tried_again_and_holds_back_what_follows() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = Arc::new(Recorder::default());
    recorder.troubles.lock().unwrap().push_back(retry());
    let stage = ScriptedThreads::open(dir.path(), recorder);
    stage.say("a", "m1", "first").await;
    stage.say("a", "m2", "second").await;
    until("both", || stage.recorder.texts().len() == 2).await;
    assert_eq!(stage.recorder.texts(), ["first", "second"]);
    assert_eq!(stage.recorder.tries.load(Ordering::SeqCst), 3);
    stage.stop().await;
}

#[tokio::test]
async fn what_can_never_be_delivered_is_kept_as_a_dead_letter_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = Arc::new(Recorder::default());
    recorder
        .troubles
        .lock()
        .unwrap()
        .push_back(DeliveryError::Permanent { reason: "blocked by the user".to_owned() });
    let stage = ScriptedThreads::open(dir.path(), recorder);
    stage.say("a", "m1", "first").await;
    until("the dead letter", || stage.metrics.dead_letters.get() == 1).await;
    stage.say("a", "m2", "second").await;
    until("the next", || stage.recorder.texts() == ["second"]).await;
    let mut status = said("a", "s1", "");
    status.kind = shipagent::domain::IngressKind::Command(shipagent::domain::Command::Status.into());
    stage.threads.deliver(status).await;
    until("the status", || stage.recorder.texts().join(" ").contains("could not")).await;
    stage.stop().await;
    let outbox = std::fs::read_to_string(dir.path().join("state/outbox/task%3Achat%3Aa.jsonl")).unwrap();
    assert!(outbox.contains("blocked by the user"), "{outbox}");
}

#[tokio::test]
async fn after_a_crash_what_was_delivered_is_not_sent_again_and_what_was_not_is() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = Arc::new(Recorder::default());
    let stage = ScriptedThreads::open(dir.path(), recorder.clone());
    stage.say("a", "m1", "first").await;
    until("the first", || stage.metrics.deliveries.get() == 1).await;
    recorder.troubles.lock().unwrap().extend((0..50).map(|_| retry()));
    stage.say("a", "m2", "second").await;
    until("a failed try", || stage.metrics.delivery_retries.get() > 0).await;
    stage.crash().await;
    recorder.troubles.lock().unwrap().clear();
    let stage = ScriptedThreads::open(dir.path(), recorder.clone());
    until("the second", || recorder.texts().len() == 2).await;
    assert_eq!(recorder.texts(), ["first", "second"]);
    stage.stop().await;
    let stage = ScriptedThreads::open(dir.path(), recorder.clone());
    stage.say("b", "m3", "elsewhere").await;
    until("the third", || recorder.texts().len() == 3).await;
    assert_eq!(recorder.texts()[2], "elsewhere");
    stage.stop().await;
}

#[tokio::test]
async fn the_next_daemon_knows_which_attempt_was_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = Arc::new(Recorder::default());
    let may_repeat = || -> Vec<bool> {
        recorder.attempts.lock().unwrap().drain(..).map(|attempt| attempt.may_repeat).collect()
    };
    let stage = ScriptedThreads::open(dir.path(), recorder.clone());
    // The answer is longer than a message: its first part arrives, and the answer of the platform does not.
    recorder.hangs.store(true, Ordering::SeqCst);
    stage.say("a", "m1", "one two three four five six").await;
    until("the first part", || recorder.texts().len() == 1).await;
    stage.crash().await;
    recorder.hangs.store(false, Ordering::SeqCst);
    let stage = ScriptedThreads::open(dir.path(), recorder.clone());
    until("the rest", || stage.metrics.deliveries.get() == 2).await;
    let (first, second) = ("one two three four", "five six");
    assert_eq!(recorder.texts(), [first, first, second]);
    assert_eq!(may_repeat(), [false, true, false], "only the part that was cut off may show twice");
    // A refusal is an answer.
    recorder.troubles.lock().unwrap().extend((0..50).map(|_| retry()));
    stage.say("a", "m2", "third").await;
    until("a failed try", || stage.metrics.delivery_retries.get() > 0).await;
    stage.crash().await;
    recorder.troubles.lock().unwrap().clear();
    let stage = ScriptedThreads::open(dir.path(), recorder.clone());
    until("the third", || stage.metrics.deliveries.get() == 1).await;
    assert!(may_repeat().iter().all(|may_repeat| !may_repeat));
    stage.stop().await;
}

#[tokio::test]
async fn what_the_platform_answered_is_not_sent_again_though_the_disk_refused_its_receipt() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = Arc::new(Recorder::default());
    let stage = ScriptedThreads::open(dir.path(), recorder.clone());
    *recorder.refuses_after.lock().unwrap() = Some(stage.store.clone());
    stage.say("a", "m1", "first").await;
    until("a full disk", || stage.store.refuses.load(Ordering::SeqCst)).await;
    let refused = stage.say("a", "m2", "second").await;
    assert!(matches!(refused, Acceptance::StorageFailed(_)), "{refused:?}");
    stage.store.refuses.store(false, Ordering::SeqCst);
    stage.say("a", "m3", "third").await;
    until("the third", || recorder.texts().len() == 2).await;
    assert_eq!(recorder.texts(), ["first", "third"]);
    stage.stop().await;
    let stage = ScriptedThreads::open(dir.path(), recorder.clone());
    stage.say("a", "m4", "fourth").await;
    until("the fourth", || recorder.texts().len() == 3).await;
    assert_eq!(recorder.texts(), ["first", "third", "fourth"]);
    stage.stop().await;
}

#[tokio::test]
async fn idle_actors_leave_and_come_back_without_loss() {
    let dir = tempfile::tempdir().unwrap();
    let stage = ScriptedThreads::open(dir.path(), Arc::default());
    for round in 0..5 {
        let id = format!("m{round}");
        assert!(matches!(stage.say("a", &id, &id).await, Acceptance::Accepted { .. }));
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while !stage.threads.views().await.is_empty() {
            assert!(tokio::time::Instant::now() < deadline, "the actor stays");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert!(matches!(stage.say("a", &id, &id).await, Acceptance::Duplicate { .. }), "it is remembered");
    }
    assert_eq!(stage.recorder.texts(), ["m0", "m1", "m2", "m3", "m4"]);
    stage.stop().await;
}

#[tokio::test]
async fn a_panicking_model_ends_the_turn_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let stage = ScriptedThreads::open(dir.path(), Arc::default());
    stage.say("a", "m1", "panic").await;
    let thread = said("a", "m1", "").thread;
    let outcome = stage.threads.outcome(thread, "m1".parse().unwrap()).await.unwrap();
    assert_eq!(outcome.status, Some(RunStatus::Failed));
    assert_eq!(outcome.error.unwrap().kind, ErrorKind::Internal);
    stage.say("a", "m2", "fine").await;
    until("the next answer", || stage.recorder.texts().iter().any(|text| text == "fine")).await;
    stage.stop().await;
}

#[tokio::test]
async fn panics_that_lie_far_apart_never_keep_a_thread_from_being_taken_up_again() {
    let dir = tempfile::tempdir().unwrap();
    let stage = ScriptedThreads::open(dir.path(), Arc::default());
    for round in 1..=6 {
        stage.store.startles.store(true, Ordering::SeqCst);
        assert_eq!(stage.say("a", "m1", "hello").await, Acceptance::Stopping, "nobody was there to take it");
        until("the thread to be taken up again", || stage.store.loads.load(Ordering::SeqCst) == 2 * round)
            .await;
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while !stage.threads.views().await.is_empty() {
            assert!(tokio::time::Instant::now() < deadline, "the actor stays");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    stage.stop().await;
}

#[tokio::test]
async fn a_run_that_cannot_be_read_is_told_from_one_that_never_was() {
    let dir = tempfile::tempdir().unwrap();
    let stage = ScriptedThreads::open(dir.path(), Arc::default());
    let ask = async || {
        let thread = said("a", "m1", "").thread;
        let outcome = stage.threads.outcome(thread, "m1".parse().unwrap()).await.unwrap();
        (outcome.status, outcome.error.map(|error| (error.kind, error.retryable)))
    };
    assert_eq!(ask().await, (None, None), "nothing was said there");
    stage.store.is_blind.store(true, Ordering::SeqCst);
    assert_eq!(ask().await, (Some(RunStatus::Failed), Some((ErrorKind::Storage, true))));
    stage.stop().await;
}

#[tokio::test]
async fn a_disk_that_refuses_is_told_and_when_it_takes_writes_again_so_does_the_thread() {
    let dir = tempfile::tempdir().unwrap();
    let stage = ScriptedThreads::open(dir.path(), Arc::default());
    stage.say("a", "m1", "before").await;
    until("the first answer", || stage.recorder.texts() == ["before"]).await;
    stage.store.refuses.store(true, Ordering::SeqCst);
    assert!(matches!(stage.say("a", "m2", "refused").await, Acceptance::StorageFailed(_)));
    assert!(matches!(stage.say("a", "m3", "refused").await, Acceptance::StorageFailed(_)));
    stage.store.refuses.store(false, Ordering::SeqCst);
    assert!(
        matches!(stage.say("a", "m2", "after").await, Acceptance::Accepted { .. }),
        "nothing of the refused one stayed"
    );
    until("the last answer", || stage.recorder.texts() == ["before", "after"]).await;
    stage.stop().await;
}

#[tokio::test]
async fn a_thread_that_healed_with_nothing_left_to_do_is_not_called_running() {
    let dir = tempfile::tempdir().unwrap();
    let stage = ScriptedThreads::open(dir.path(), Arc::default());
    stage.say("a", "m1", "before").await;
    until("the first answer", || stage.metrics.deliveries.get() == 1).await;
    stage.store.refuses.store(true, Ordering::SeqCst);
    assert!(matches!(stage.say("a", "m2", "refused").await, Acceptance::StorageFailed(_)));
    stage.store.refuses.store(false, Ordering::SeqCst);
    assert!(matches!(stage.say("a", "m1", "before").await, Acceptance::Duplicate { .. }), "it has healed");
    stage.stop().await;
    let stage = ScriptedThreads::open(dir.path(), Arc::default());
    assert_eq!(stage.store.unfinished(), []);
    stage.stop().await;
}

#[tokio::test]
async fn without_its_state_directory_a_daemon_still_finds_what_is_unanswered() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = Arc::new(Recorder::default());
    let stage = ScriptedThreads::open(dir.path(), recorder.clone());
    stage.say("a", "m1", "answered").await;
    stage.say("b", "m2", "asked").await;
    until("both", || stage.metrics.deliveries.get() == 2).await;
    stage.stop().await;
    let file = dir.path().join("threads/task%3Achat%3Ab.jsonl");
    let question = std::fs::read_to_string(&file).unwrap().find('\n').unwrap() + 1;
    std::fs::File::options().write(true).open(&file).unwrap().set_len(question as u64).unwrap();
    std::fs::remove_dir_all(dir.path().join("state")).unwrap();
    let stage = ScriptedThreads::open(dir.path(), recorder.clone());
    assert_eq!(stage.store.unfinished(), [said("b", "m2", "").thread]);
    // The first two answers are of different threads, which run side by side.
    let sorted = || {
        let mut texts = recorder.texts();
        texts.sort();
        texts
    };
    until("the answer", || sorted() == ["answered", "asked", "asked"]).await;
    stage.stop().await;
}

#[tokio::test]
async fn a_full_mailbox_refuses_messages_and_still_answers_questions() {
    let dir = tempfile::tempdir().unwrap();
    let stage = ScriptedThreads::open(dir.path(), Arc::default());
    let thread = said("a", "m", "").thread;
    // All of it reaches the router before the thread's actor is loaded.
    let ids: Vec<String> = (0..20).map(|number| format!("m{number}")).collect();
    let says = futures_util::future::join_all(ids.iter().map(|id| stage.say("a", id, id)));
    let watches = futures_util::future::join_all((0..20).map(|_| stage.threads.watch(thread.clone())));
    let (said, watching) = tokio::join!(says, watches);
    assert!(said.contains(&Acceptance::Busy), "{said:?}");
    assert!(watching.iter().all(Option::is_some), "somebody who only watches was turned away");
    drop(watching);
    stage.stop().await;
}
