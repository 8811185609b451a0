//! What a running turn shows, and that only its answer stays.

use std::time::Duration;

use shipagent::domain::{ErrorKind, Intent};

use super::scene::{ANN, FORUM, GROUP, SenderScene, draft, entry, intent, progress, text, thread, topic};
use crate::fakes::fake_model::Latch;
use crate::fakes::telegram::answer::Refusal;
use crate::fakes::telegram::fault::Fault;
use crate::fakes::telegram::log::Deed;
use crate::fakes::telegram::world::Environment;

const SO_FAR: &str = "The answer so far is long enough to be worth showing";

/// A chat that shows the first part of an answer.
async fn half_an_answer() -> SenderScene {
    let scene = SenderScene::new().await;
    scene
        .show_until(&[draft(&thread(GROUP), "run_1", SO_FAR)], |world| world.bot_texts(GROUP) == [SO_FAR])
        .await;
    scene
}

#[tokio::test]
async fn in_private_an_answer_grows_as_a_draft_and_is_then_sent_once() {
    let scene = SenderScene::new().await;
    let frame = draft(&thread(ANN), "run_1", "The **answer");
    scene.show_until(&[frame], |world| !world.drafts(ANN).is_empty()).await;
    assert_eq!(scene.fake.read(|world| world.drafts(ANN)[0].text.clone()), "The answer");
    assert_eq!(scene.texts(ANN), Vec::<String>::new());
    scene
        .show_until(&[progress(&thread(ANN), "run_1", "reading")], |world| {
            world.drafts(ANN).iter().any(|draft| draft.text == "The answer\n\nreading")
        })
        .await;
    scene.deliver(entry(&thread(ANN), "run_1", 0, text("The **answer** is here"))).await.unwrap();
    assert_eq!(scene.texts(ANN), ["The answer is here"]);
    assert!(scene.fake.read(|world| world.drafts(ANN).is_empty()));
    let numbers: Vec<i64> = scene.fake.read(|world| {
        let numbers = world.log.deeds(ANN).filter_map(|deed| match deed {
            Deed::Drafted { draft, .. } => Some(*draft),
            _ => None,
        });
        numbers.collect()
    });
    assert!(numbers.len() >= 2 && numbers.iter().all(|number| *number == numbers[0]), "{numbers:?}");
}

#[tokio::test]
async fn an_answer_that_is_there_at_once_is_not_shown_growing() {
    let scene = SenderScene::new().await;
    for chat in [ANN, GROUP] {
        scene.sender.show(draft(&thread(chat), "run_1", SO_FAR));
        scene.deliver(entry(&thread(chat), "run_1", 0, text("done"))).await.unwrap();
        assert_eq!(scene.texts(chat), ["done"]);
    }
    let calls = scene.fake.read(|world| world.log.entries().len());
    assert_eq!(calls, 2, "{}", scene.fake.read(|world| world.tell()));
}

#[tokio::test]
async fn in_a_group_one_message_grows_and_becomes_the_answer() {
    let scene = SenderScene::new().await;
    let more = format!("{SO_FAR} and more");
    scene
        .show_until(&[draft(&thread(GROUP), "run_1", SO_FAR)], |world| world.bot_texts(GROUP) == [SO_FAR])
        .await;
    let grown = more.clone();
    scene
        .show_until(&[draft(&thread(GROUP), "run_1", &more)], move |world| {
            world.bot_texts(GROUP) == [grown.as_str()]
        })
        .await;
    for (index, words) in ["The **answer**", "and its end"].into_iter().enumerate() {
        scene.deliver(entry(&thread(GROUP), "run_1", index, text(words))).await.unwrap();
    }
    assert_eq!(scene.texts(GROUP), ["The answer", "and its end"]);
    assert_eq!(scene.fake.read(|world| world.log.sent(GROUP).len()), 2);
    let next = draft(&thread(GROUP), "run_2", SO_FAR);
    scene.show_until(&[next], |world| world.bot_texts(GROUP).len() == 3).await;
    assert_eq!(scene.texts(GROUP)[0], "The answer", "an answer does not grow again");
}

#[tokio::test]
async fn a_server_without_drafts_is_shown_edits_in_private_too() {
    for refusal in [Refusal::not_found(), Refusal::new(400, "Bad Request"), Refusal::bad("unsupported")] {
        without_drafts(refusal).await;
    }
}

async fn without_drafts(refusal: Refusal) {
    let scene = SenderScene::new().await;
    scene.fake.plan(Fault::Refuse(refusal).always().on("sendMessageDraft"));
    scene.show_until(&[draft(&thread(ANN), "run_1", SO_FAR)], |world| world.bot_texts(ANN) == [SO_FAR]).await;
    scene.deliver(entry(&thread(ANN), "run_1", 0, text("done"))).await.unwrap();
    assert_eq!(scene.texts(ANN), ["done"]);
    assert_eq!(scene.fake.read(|world| world.log.calls("sendMessageDraft")), 1, "it is asked once");
}

#[tokio::test]
async fn after_a_crash_the_answer_is_put_on_the_message_that_was_left() {
    let scene = half_an_answer().await;
    scene.settle(&thread(GROUP)).await;
    let scene = scene.restarted().await;
    let answer = entry(&thread(GROUP), "run_1", 0, text("done"));
    scene.deliver(answer.clone()).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["done"]);
    // Again, as if the receipt had been lost.
    let scene = scene.restarted().await;
    scene.deliver(answer).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["done"]);
    assert_eq!(scene.fake.read(|world| world.log.sent(GROUP).len()), 1);
}

#[tokio::test]
async fn half_an_answer_that_never_ended_makes_room_for_the_next() {
    let scene = half_an_answer().await;
    scene.settle(&thread(GROUP)).await;
    let scene = scene.restarted().await;
    let next = draft(&thread(GROUP), "run_2", "Another answer");
    scene.show_until(&[next], |world| world.bot_texts(GROUP) == ["Another answer"]).await;
}

#[tokio::test]
async fn a_message_that_a_person_removed_is_sent_anew() {
    let scene = half_an_answer().await;
    let message = scene.fake.read(|world| world.visible(GROUP).last().unwrap().id);
    scene.fake.group(GROUP).erase(message);
    scene.deliver(entry(&thread(GROUP), "run_1", 0, text("done"))).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["done"]);
}

#[tokio::test]
async fn an_edit_that_has_to_wait_is_tried_again_on_the_same_message() {
    let scene = half_an_answer().await;
    scene.fake.plan(Fault::too_many(0).once().on("editMessageText"));
    let answer = entry(&thread(GROUP), "run_1", 0, text("done"));
    assert!(scene.deliver(answer.clone()).await.is_err());
    scene.deliver(answer).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["done"]);
    assert_eq!(scene.fake.read(|world| world.log.sent(GROUP).len()), 1);
}

#[tokio::test]
async fn progress_is_one_line_that_is_changed_and_gone_at_the_end() {
    let scene = SenderScene::new().await;
    scene
        .show_until(&[progress(&thread(GROUP), "run_1", "reading a.txt")], |world| {
            world.bot_texts(GROUP) == ["reading a.txt"]
        })
        .await;
    let italic = scene.fake.read(|world| world.visible(GROUP).last().unwrap().entities[0]["type"].clone());
    assert_eq!(italic, "italic");
    scene
        .show_until(&[progress(&thread(GROUP), "run_1", "reading b.txt")], |world| {
            world.bot_texts(GROUP) == ["reading b.txt"]
        })
        .await;
    let failed = Intent::Error { kind: ErrorKind::Network, text: "It broke.".to_owned(), retryable: true };
    scene.deliver(entry(&thread(GROUP), "run_1", 0, failed)).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["It broke."]);
    assert_eq!(scene.fake.read(|world| world.log.sent(GROUP).len()), 1);
}

#[tokio::test]
async fn another_turns_words_leave_what_is_shown() {
    let scene = half_an_answer().await;
    scene.deliver(entry(&thread(GROUP), "cmd_1", 0, text("I am busy."))).await.unwrap();
    assert_eq!(scene.texts(GROUP), [SO_FAR, "I am busy."]);
    scene.deliver(entry(&thread(GROUP), "run_1", 0, text("done"))).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["done", "I am busy."]);
}

#[tokio::test]
async fn typing_is_shown_in_the_topic_it_is_about() {
    let scene = SenderScene::new().await;
    let deploys = scene.fake.group(FORUM).topic("Deploys");
    for place in [topic(FORUM, deploys), thread(FORUM), thread(ANN)] {
        scene.sender.show(intent(&place, "run_1", Intent::Typing));
    }
    scene
        .fake
        .wait_for(|world| world.log.actions(FORUM).len() == 2 && world.log.actions(ANN).len() == 1)
        .await;
    let mut topics: Vec<_> =
        scene.fake.read(|world| world.log.actions(FORUM).iter().map(|(_, topic, _)| *topic).collect());
    topics.sort_unstable();
    assert_eq!(topics, [None, Some(deploys)]);
}

#[tokio::test]
async fn typing_goes_on_while_the_answer_is_seen_to_grow() {
    let scene = SenderScene::new().await;
    for chat in [ANN, GROUP] {
        let grows = |world: &Environment| match chat {
            ANN => !world.drafts(ANN).is_empty(),
            _ => world.bot_texts(chat) == [SO_FAR],
        };
        scene.show_until(&[draft(&thread(chat), "run_1", SO_FAR)], grows).await;
        let typed = scene.fake.read(|world| world.log.actions(chat).len());
        scene.sender.show(draft(&thread(chat), "run_1", "The answer has grown meanwhile"));
        scene.sender.show(intent(&thread(chat), "run_1", Intent::Typing));
        scene.fake.wait_for(|world| world.log.actions(chat).len() > typed).await;
        scene.deliver(entry(&thread(chat), "run_1", 0, text("done"))).await.unwrap();
        assert_eq!(scene.texts(chat), ["done"]);
    }
}

#[tokio::test]
async fn work_that_takes_long_without_a_word_is_told_of_in_one_line_that_is_gone_at_the_end() {
    let scene = SenderScene::new().await;
    let typing = |chat| intent(&thread(chat), "run_1", Intent::Typing);
    let waits = |text: &str| text.starts_with('⏳');
    let both = [typing(ANN), typing(GROUP)];
    scene
        .show_until(&both, |world| {
            let told = world.bot_texts(GROUP);
            told.len() == 1
                && waits(&told[0])
                && world.drafts(ANN).last().is_some_and(|draft| waits(&draft.text))
        })
        .await;
    for chat in [ANN, GROUP] {
        scene.deliver(entry(&thread(chat), "run_1", 0, text("done"))).await.unwrap();
        assert_eq!(scene.texts(chat), ["done"]);
        assert_eq!(scene.fake.read(|world| world.log.sent(chat).len()), 1);
    }
}

#[tokio::test]
async fn what_was_shown_of_a_turn_that_ends_without_a_word_is_gone_before_the_next_word() {
    let scene = SenderScene::new().await;
    let group = thread(GROUP);
    scene
        .show_until(&[progress(&group, "run_1", "reading")], |world| world.bot_texts(GROUP) == ["reading"])
        .await;
    // It is due, and must not be shown any more.
    scene.sender.show(progress(&group, "run_1", "reading on"));
    scene.sender.over(&group, &"run_1".parse().unwrap());
    scene.deliver(entry(&group, "cmd_1", 0, text("Stopped."))).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["Stopped."]);
    scene
        .show_until(&[draft(&group, "run_2", SO_FAR)], |world| world.bot_texts(GROUP) == ["Stopped.", SO_FAR])
        .await;
    scene.settle(&group).await;
    let scene = scene.restarted().await;
    scene.sender.over(&group, &"run_2".parse().unwrap());
    scene.settle(&group).await;
    assert_eq!(scene.texts(GROUP), ["Stopped."], "also what the daemon before has left");
}

#[tokio::test]
async fn a_frame_that_may_have_arrived_is_not_shown_again() {
    for trouble in [Fault::ResetAfter, Fault::Truncated, Fault::BadGateway] {
        let scene = SenderScene::new().await;
        let group = thread(GROUP);
        scene.fake.plan(trouble.once().on("sendMessage"));
        scene
            .show_until(&[draft(&group, "run_1", SO_FAR)], |world| world.log.calls("sendMessage") == 1)
            .await;
        let more = [draft(&group, "run_1", "It has grown"), intent(&group, "run_1", Intent::Typing)];
        let typed = |world: &Environment| world.log.actions(GROUP).len();
        let before = scene.fake.read(typed);
        scene.show_until(&more, |world| typed(world) > before + 40).await;
        assert_eq!(scene.fake.read(|world| world.log.calls("sendMessage")), 1, "one frame");
        scene.deliver(entry(&group, "run_1", 0, text("done"))).await.unwrap();
        assert_eq!(scene.fake.read(|world| world.log.calls("sendMessage")), 2, "one frame, one answer");
    }
}

#[tokio::test]
async fn a_frame_that_comes_behind_the_answer_is_taken_away() {
    let scene = SenderScene::new().await;
    let (group, gate) = (thread(GROUP), Latch::new());
    scene.fake.plan(Fault::Held(gate.clone()).once().on("sendMessage"));
    // The delivery waits for the message no longer than it may.
    scene.sender.show(draft(&group, "run_1", SO_FAR));
    gate.until_reached().await;
    scene.deliver(entry(&group, "run_1", 0, text("done"))).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["done"]);
    gate.open();
    scene.fake.wait_for(|world| world.log.calls("deleteMessage") == 1).await;
    scene.fake.wait_for(|world| world.bot_texts(GROUP) == ["done"]).await;
    assert_eq!(scene.fake.read(|world| world.log.sent(GROUP).len()), 2, "it did arrive");
}

#[tokio::test]
async fn a_message_that_could_not_be_taken_away_is_taken_away_later() {
    let scene = SenderScene::new().await;
    let group = thread(GROUP);
    let reading = |world: &Environment| world.bot_texts(GROUP).last().is_some_and(|text| text == "reading");
    scene.show_until(&[progress(&group, "run_1", "reading")], reading).await;
    scene.fake.plan(Fault::BadGateway.once().on("deleteMessage"));
    scene.sender.over(&group, &"run_1".parse().unwrap());
    scene.deliver(entry(&group, "cmd_1", 0, text("Stopped."))).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["Stopped."]);
    // The next daemon remembers it too.
    scene.show_until(&[progress(&group, "run_2", "reading")], reading).await;
    scene.fake.plan(Fault::BadGateway.times(2).on("deleteMessage"));
    scene.sender.over(&group, &"run_2".parse().unwrap());
    scene.deliver(entry(&group, "cmd_2", 0, text("Stopped again."))).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["Stopped.", "reading", "Stopped again."]);
    let scene = scene.restarted().await;
    scene.deliver(entry(&group, "run_3", 0, text("done"))).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["Stopped.", "Stopped again.", "done"]);
}

#[tokio::test]
async fn an_answer_is_put_on_its_message_by_a_server_that_stalls_however_long_a_send_may_take() {
    let scene = SenderScene::new().await;
    let frame = draft(&thread(GROUP), "run_1", SO_FAR);
    scene.show_until(&[frame], |world| world.bot_texts(GROUP) == [SO_FAR]).await;
    scene.fake.plan(Fault::Stall(Duration::from_secs(21)).once().on("editMessageText"));
    scene.deliver(entry(&thread(GROUP), "run_1", 0, text("done"))).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["done"]);
    assert_eq!(scene.fake.read(|world| world.log.sent(GROUP).len()), 1);
}
