//! Texts: delivered once, in order, in the right place, with fallbacks for refusals.

use std::time::Duration;

use shipagent::adapters::telegram::ChatTarget;
use shipagent::domain::{Intent, LengthUnit};
use shipagent::ports::DeliveryError;
use shipagent::render::split;

use super::scene::{ANN, FORUM, GROUP, SenderScene, draft, entry, intent, replying, text, thread, topic};
use crate::fakes::telegram::answer::Refusal;
use crate::fakes::telegram::fault::Fault;
use crate::fakes::telegram::log::Deed;

#[tokio::test]
async fn an_entry_becomes_one_message_with_markup_and_a_receipt() {
    let scene = SenderScene::new().await;
    let receipt = scene.deliver(entry(&thread(ANN), "run_1", 0, text("**done** <b>"))).await.unwrap();
    let seen = scene.fake.read(|world| world.visible(ANN));
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].text.as_str(), seen[0].reply_to), ("done <b>", None));
    assert_eq!(seen[0].entities.len(), 1);
    assert_eq!(receipt.platform_message, Some(seen[0].id.to_string()));
    assert_eq!(scene.fake.read(|world| world.log.calls("sendMessage")), 1);
}

#[tokio::test]
async fn what_is_only_shown_gets_no_receipt_when_it_is_delivered() {
    let scene = SenderScene::new().await;
    let progress = Intent::Progress { text: "at it".to_owned(), call_id: None };
    for (index, shown) in [Intent::Typing, progress].into_iter().enumerate() {
        let delivered = scene.deliver(entry(&thread(ANN), "run_1", index, shown)).await;
        assert!(matches!(delivered, Err(DeliveryError::Permanent { .. })), "{delivered:?}");
    }
    assert_eq!(scene.fake.read(|world| world.visible(ANN).len()), 0);
}

#[tokio::test]
async fn in_a_group_the_first_part_of_an_answer_quotes_the_question() {
    let scene = SenderScene::new().await;
    let asked = scene.fake.group(GROUP).say(&scene.fake.user(ANN, "Ann"), "why?");
    for (index, words) in ["one", "two"].into_iter().enumerate() {
        scene.deliver(replying(entry(&thread(GROUP), "run_1", index, text(words)), asked)).await.unwrap();
    }
    scene.deliver(replying(entry(&thread(GROUP), "run_2", 0, text("three")), 999)).await.unwrap();
    scene.deliver(replying(entry(&thread(ANN), "run_3", 0, text("four")), asked)).await.unwrap();
    let replies = |chat| {
        let seen = scene.fake.read(|world| world.visible(chat));
        seen.into_iter().filter(|seen| seen.by_bot).map(|seen| (seen.text, seen.reply_to)).collect::<Vec<_>>()
    };
    assert_eq!(
        replies(GROUP),
        [("one".to_owned(), Some(asked)), ("two".to_owned(), None), ("three".to_owned(), None)]
    );
    assert_eq!(replies(ANN), [("four".to_owned(), None)]);
}

#[tokio::test]
async fn a_long_answer_comes_whole_and_in_order() {
    let scene = SenderScene::new().await;
    let answer: Vec<String> =
        (0..160).map(|n| format!("Paragraph {n} has some **words** in it and a few more.")).collect();
    let parts = split(&answer.join("\n\n"), 3600, LengthUnit::Utf16);
    assert!(parts.len() > 1);
    for (index, part) in parts.iter().enumerate() {
        scene.deliver(entry(&thread(ANN), "run_1", index, text(part))).await.unwrap();
    }
    let seen = scene.texts(ANN).join("\n\n");
    assert_eq!(seen, answer.join("\n\n").replace("**", ""));
    assert_eq!(scene.texts(ANN).len(), parts.len());
}

#[tokio::test]
async fn words_that_no_message_can_hold_come_as_a_file() {
    let scene = SenderScene::new().await;
    let long = "x".repeat(5000);
    scene.deliver(entry(&thread(ANN), "run_1", 0, text(&long))).await.unwrap();
    let media = scene.fake.read(|world| world.visible(ANN)[0].media);
    assert_eq!(media, Some("document"));
    let kept =
        scene.fake.read(|world| world.files.values().map(|file| file.bytes.clone()).collect::<Vec<_>>());
    assert_eq!(kept, [long.clone().into_bytes()]);
    scene.fake.plan(Fault::Refuse(Refusal::bad("message is too long")).once().on("sendMessage"));
    scene.deliver(entry(&thread(ANN), "run_2", 0, text("short"))).await.unwrap();
    assert_eq!(scene.fake.read(|world| world.visible(ANN)[1].media), Some("document"));
}

#[tokio::test]
async fn markup_that_is_refused_goes_as_it_was_written() {
    let scene = SenderScene::new().await;
    scene.fake.plan(Fault::bad_entities().once().on("sendMessage"));
    scene.deliver(entry(&thread(ANN), "run_1", 0, text("**done**"))).await.unwrap();
    assert_eq!(scene.texts(ANN), ["**done**"]);
}

#[tokio::test]
async fn a_topic_that_is_gone_does_not_lose_the_answer() {
    let scene = SenderScene::new().await;
    let deploys = scene.fake.group(FORUM).topic("Deploys");
    scene.deliver(entry(&topic(FORUM, deploys), "run_1", 0, text("there"))).await.unwrap();
    scene.deliver(entry(&topic(FORUM, 1), "run_2", 0, text("general"))).await.unwrap();
    scene.deliver(entry(&topic(FORUM, 4711), "run_3", 0, text("gone"))).await.unwrap();
    let seen = scene.fake.read(|world| world.visible(FORUM));
    let places: Vec<_> = seen.iter().map(|seen| (seen.text.as_str(), seen.topic)).collect();
    assert_eq!(places, [("there", Some(deploys)), ("general", None), ("gone", None)]);
}

#[tokio::test]
async fn a_group_that_moved_is_followed_and_stays_found_after_a_restart() {
    let scene = SenderScene::new().await;
    let to = -1_000_000_000_500;
    drop(scene.fake.group(GROUP).migrate(to));
    scene.deliver(replying(entry(&thread(GROUP), "run_1", 0, text("one")), 1)).await.unwrap();
    let scene = scene.restarted().await;
    scene.deliver(entry(&thread(GROUP), "run_2", 0, text("two"))).await.unwrap();
    assert_eq!(scene.texts(to), ["one", "two"]);
    let refused = scene.fake.read(|world| world.log.refused(400).len());
    assert_eq!(refused, 1, "the old number is tried once");
}

#[tokio::test]
async fn a_person_who_wants_no_more_is_given_up_with_the_reason() {
    let scene = SenderScene::new().await;
    let ann = scene.fake.user(ANN, "Ann");
    scene.fake.private(&ann).remove_bot(&ann);
    let refused = scene.deliver(entry(&thread(ANN), "run_1", 0, text("one"))).await;
    let Err(DeliveryError::Permanent { reason }) = refused else { panic!("{refused:?}") };
    assert!(reason.contains("blocked by the user"), "{reason}");
    let unknown = scene.deliver(entry(&thread(99), "run_1", 0, text("one"))).await;
    assert!(matches!(unknown, Err(DeliveryError::Permanent { reason }) if reason.contains("chat not found")));
    let nowhere = scene.deliver(entry(&"telegram:chat:x".parse().unwrap(), "run_1", 0, text("one"))).await;
    assert!(matches!(nowhere, Err(DeliveryError::Permanent { .. })));
}

/// The times of all calls about a chat.
fn heard(scene: &SenderScene, chat: i64) -> Vec<Duration> {
    scene.fake.read(|world| {
        let entries = world.log.entries().iter().filter(|entry| entry.chat == Some(chat));
        entries.map(|entry| entry.at).collect()
    })
}

#[tokio::test]
async fn a_server_that_asks_to_wait_hears_nothing_of_that_chat_before_the_time_and_of_others_as_ever() {
    for (chat, other) in [(ANN, GROUP), (GROUP, ANN)] {
        let scene = SenderScene::new().await;
        scene.fake.plan(Fault::too_many(2).once().on("sendMessage").in_chat(chat));
        let first = entry(&thread(chat), "run_1", 0, text("one"));
        let refused = scene.deliver(first.clone()).await;
        let Err(DeliveryError::Retry { after, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(after, Some(Duration::from_secs(2)));
        // Optional calls are dropped.
        scene.sender.show(intent(&thread(chat), "run_3", Intent::Typing));
        scene.sender.show(draft(&thread(chat), "run_3", "An answer that is on its way"));
        scene.sender.acknowledge(&ChatTarget { chat, topic: None }, 1).await;
        scene.deliver(entry(&thread(other), "run_2", 0, text("other"))).await.unwrap();
        // A call that is too early is delayed until the time is over.
        scene.deliver(first).await.unwrap();
        let (times, others) = (heard(&scene, chat), heard(&scene, other));
        let (asked, later) = times.split_first().unwrap();
        assert!(!later.is_empty(), "{times:?}");
        assert!(later.iter().all(|at| *at - *asked >= Duration::from_millis(1990)), "{times:?}");
        assert!(others[0] - *asked < Duration::from_secs(1), "{others:?}");
        assert_eq!(scene.texts(chat), ["one"]);
    }
}

#[tokio::test]
async fn where_the_time_is_long_it_is_not_waited_for_on_the_spot() {
    let scene = SenderScene::new().await;
    scene.fake.plan(Fault::too_many(40).once().on("sendMessage").in_chat(ANN));
    let answer = entry(&thread(ANN), "run_1", 0, text("one"));
    for _ in 0..2 {
        let refused = scene.deliver(answer.clone()).await;
        let Err(DeliveryError::Retry { after: Some(after), .. }) = refused else { panic!("{refused:?}") };
        assert!(after > Duration::from_secs(30), "{after:?}");
    }
    assert_eq!(heard(&scene, ANN).len(), 1);
}

#[tokio::test]
async fn a_server_that_asks_to_wait_about_several_people_hears_nothing_of_anybody_before_the_time() {
    let scene = SenderScene::new().await;
    let bob = scene.fake.user(8, "Bob");
    drop(scene.fake.private(&bob));
    for chat in [ANN, 8] {
        scene.fake.plan(Fault::too_many(2).once().on("sendMessage").in_chat(chat));
        assert!(scene.deliver(entry(&thread(chat), "run_1", 0, text("one"))).await.is_err());
    }
    scene.sender.show(intent(&thread(GROUP), "run_3", Intent::Typing));
    scene.deliver(entry(&thread(GROUP), "run_2", 0, text("other"))).await.unwrap();
    let (asked, others) = (heard(&scene, 8)[0], heard(&scene, GROUP));
    assert!(others.iter().all(|at| *at - asked >= Duration::from_millis(1990)), "{asked:?} {others:?}");
}

#[tokio::test]
async fn only_a_send_whose_end_nobody_knows_counts_as_one_that_may_show_twice() {
    let scene = SenderScene::new().await;
    let again = |result| matches!(result, Err(DeliveryError::Retry { .. }));
    let broken = Fault::Refuse(Refusal::new(500, "Internal Server Error"));
    for trouble in [Fault::ResetBefore, Fault::ResetAfter, Fault::Truncated, Fault::BadGateway, broken] {
        scene.fake.plan(trouble.once().on("sendMessage"));
        assert!(again(scene.deliver_again(entry(&thread(ANN), "run_1", 0, text("one"))).await));
    }
    assert_eq!(scene.metrics.deliveries_repeated.get(), 5);
    scene.fake.plan(Fault::too_many(0).once().on("sendMessage"));
    assert!(again(scene.deliver_again(entry(&thread(ANN), "run_1", 0, text("one"))).await));
    assert_eq!(scene.metrics.deliveries_repeated.get(), 5, "the server said that it did nothing");
}

#[tokio::test]
async fn many_chats_are_served_at_once() {
    let scene = SenderScene::new().await;
    for id in 100..300 {
        drop(scene.fake.private(&scene.fake.user(id, "One of many")));
    }
    let chats = (100..300).map(|id| {
        let scene = &scene;
        async move {
            for index in 0..5 {
                let words = index.to_string();
                scene.deliver(entry(&thread(id), "run_1", index, text(&words))).await.unwrap();
            }
        }
    });
    futures_util::future::join_all(chats).await;
    for id in 100..300 {
        assert_eq!(scene.texts(id), ["0", "1", "2", "3", "4"]);
    }
}

#[tokio::test]
async fn a_few_words_a_sign_and_the_menu_need_no_outbox() {
    let scene = SenderScene::new().await;
    let asked = scene.fake.group(GROUP).say(&scene.fake.user(ANN, "Ann"), "why?");
    let place = ChatTarget { chat: GROUP, topic: None };
    scene.sender.say(&place, Some(asked), "_no_").await;
    scene.sender.acknowledge(&place, asked).await;
    scene.sender.acknowledge(&place, 999).await;
    scene.sender.answer_callback("unknown", Some("late")).await;
    let seen = scene.fake.read(|world| world.visible(GROUP).last().unwrap().clone());
    assert_eq!((seen.text.as_str(), seen.reply_to), ("no", Some(asked)));
    assert_eq!(scene.fake.read(|world| world.reaction(GROUP, asked).to_vec()), ["👀"]);
    for _ in 0..2 {
        scene.sender.register_menu().await;
    }
    assert_eq!(scene.fake.read(|world| world.log.calls("setMyCommands")), 4, "once, as nothing has changed");
    for (scope, language) in [
        ("all_private_chats", ""),
        ("all_private_chats", "zh"),
        ("all_group_chats", ""),
        ("all_group_chats", "zh"),
    ] {
        assert!(
            scene.fake.read(|world| world.menu(scope, language).contains(&"approve")),
            "{scope} {language}"
        );
    }
    let refused = scene.fake.read(|world| {
        world.log.entries().iter().filter(|entry| matches!(entry.deed, Deed::Refused(_))).count()
    });
    assert_eq!(refused, 2);
}

#[tokio::test]
async fn a_send_without_an_answer_is_repeated_and_counted() {
    for chat in [ANN, GROUP] {
        for (trouble, seen) in [(Fault::ResetAfter, 2), (Fault::ResetBefore, 1)] {
            let scene = SenderScene::new().await;
            let answer = entry(&thread(chat), "run_1", 0, text("now"));
            scene.fake.plan(trouble.once().on("sendMessage"));
            assert!(matches!(scene.deliver(answer.clone()).await, Err(DeliveryError::Retry { .. })));
            scene.deliver_again(answer).await.unwrap();
            assert_eq!(scene.texts(chat), vec!["now"; seen]);
            assert_eq!(scene.metrics.deliveries_repeated.get(), 1);
            let edits = scene.fake.read(|world| world.log.calls("editMessageText"));
            assert_eq!(edits, 0, "no message is edited to find out");
        }
    }
}

#[tokio::test]
async fn what_the_daemon_before_was_cut_off_from_is_counted_when_it_is_sent_again() {
    for chat in [ANN, GROUP] {
        let scene = SenderScene::new().await;
        let answer = entry(&thread(chat), "run_1", 0, text("now"));
        scene.deliver(answer.clone()).await.unwrap();
        let scene = scene.restarted().await;
        scene.deliver_after_cut(answer).await.unwrap();
        assert_eq!(scene.texts(chat), ["now", "now"]);
        assert_eq!(scene.metrics.deliveries_repeated.get(), 1);
        scene.deliver(entry(&thread(chat), "run_2", 0, text("then"))).await.unwrap();
        assert_eq!(scene.metrics.deliveries_repeated.get(), 1, "only what may show twice is counted");
    }
}

#[tokio::test]
async fn an_answer_that_replaces_its_draft_shows_once_however_often_it_is_cut_off() {
    let scene = SenderScene::new().await;
    let words = "The answer so far is long enough";
    let frame = draft(&thread(GROUP), "run_1", words);
    scene.show_until(&[frame], |world| world.bot_texts(GROUP) == [words]).await;
    let answer = entry(&thread(GROUP), "run_1", 0, text("done"));
    scene.deliver(answer.clone()).await.unwrap();
    let scene = scene.restarted().await;
    scene.deliver_after_cut(answer).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["done"]);
    assert_eq!(scene.metrics.deliveries_repeated.get(), 0, "an edit repeats nothing");
}

#[tokio::test]
async fn a_server_that_says_yes_to_everything_loses_nothing() {
    let scene = SenderScene::new().await;
    scene.fake.reconfigure(|account| account.agreeable = true);
    let answer = entry(&thread(ANN), "run_1", 0, text("now"));
    scene.fake.plan(Fault::ResetBefore.once().on("sendMessage"));
    assert!(matches!(scene.deliver(answer.clone()).await, Err(DeliveryError::Retry { .. })));
    assert_eq!(scene.texts(ANN), Vec::<String>::new(), "it never arrived");
    scene.deliver_again(answer).await.unwrap();
    assert_eq!(scene.texts(ANN), ["now"]);
    assert_eq!(scene.metrics.deliveries_repeated.get(), 1);
}

#[tokio::test]
async fn a_server_that_can_change_messages_no_more_gets_the_answer_as_another_one() {
    let scene = SenderScene::new().await;
    let words = "The answer so far is long enough";
    let frame = draft(&thread(GROUP), "run_1", words);
    scene.show_until(&[frame], |world| world.bot_texts(GROUP) == [words]).await;
    scene.fake.plan(Fault::Refuse(Refusal::not_found()).always().on("editMessageText"));
    scene.deliver(entry(&thread(GROUP), "run_1", 0, text("done"))).await.unwrap();
    assert_eq!(scene.texts(GROUP), ["done"], "the half of it is taken away");
    assert_eq!(scene.fake.read(|world| world.log.sent(GROUP).len()), 2, "one frame, one answer");
}

#[tokio::test]
async fn where_no_message_can_be_changed_the_answer_takes_the_place_of_what_was_shown() {
    let unknown = |refusal| Some(Fault::Refuse(refusal).always().on("editMessageText"));
    for trouble in [None, unknown(Refusal::not_found()), unknown(Refusal::new(400, "Bad Request"))] {
        let scene = SenderScene::new().await;
        scene.fake.reconfigure(|account| (account.agreeable, account.drafts) = (true, false));
        trouble.into_iter().for_each(|plan| scene.fake.plan(plan));
        let frames = ["The answer so far is long enough", "The answer so far is long enough and grows"];
        let frames = [ANN, GROUP].map(|chat| frames.map(|words| draft(&thread(chat), "run_1", words)));
        scene.show_until(frames.as_flattened(), |world| world.log.calls("editMessageText") > 0).await;
        for chat in [ANN, GROUP] {
            scene.deliver(entry(&thread(chat), "run_1", 0, text("done"))).await.unwrap();
            assert_eq!(scene.texts(chat), ["done"]);
        }
        let next = entry(&thread(ANN), "run_2", 0, text("then"));
        scene.deliver(next).await.unwrap();
        assert_eq!(scene.texts(ANN), ["done", "then"]);
    }
}

#[tokio::test]
async fn a_few_words_and_the_answer_to_a_press_are_tried_again() {
    let scene = SenderScene::new().await;
    let place = ChatTarget { chat: ANN, topic: None };
    scene.fake.plan(Fault::BadGateway.once().on("sendMessage"));
    scene.fake.plan(Fault::too_many(0).once().on("sendMessage"));
    scene.sender.say(&place, None, "hello").await;
    assert_eq!(scene.texts(ANN), ["hello"]);
    scene.fake.plan(Fault::ResetBefore.once().on("answerCallbackQuery"));
    scene.fake.plan(Fault::BadGateway.once().on("answerCallbackQuery"));
    scene.sender.answer_callback("unknown", None).await;
    assert_eq!(scene.fake.read(|world| world.log.calls("answerCallbackQuery")), 3);
}

#[tokio::test]
async fn an_edit_that_is_refused_with_words_nobody_knows_does_not_lose_the_answer() {
    for refusal in [
        Refusal::new(400, "Bad Request"),
        Refusal::bad("MESSAGE_AUTHOR_REQUIRED"),
        Refusal::bad("MESSAGE_EDIT_TIME_EXPIRED"),
        Refusal::forbidden("MESSAGE_AUTHOR_REQUIRED"),
    ] {
        let scene = SenderScene::new().await;
        let words = "The answer so far is long enough";
        let frame = draft(&thread(GROUP), "run_1", words);
        scene.show_until(&[frame], |world| world.bot_texts(GROUP) == [words]).await;
        scene.fake.plan(Fault::Refuse(refusal).always().on("editMessageText"));
        let before = scene.fake.read(|world| world.log.calls("editMessageText"));
        let more = draft(&thread(GROUP), "run_1", "The answer so far is long enough and grows");
        scene.show_until(&[more], move |world| world.log.calls("editMessageText") > before).await;
        scene.deliver(entry(&thread(GROUP), "run_1", 0, text("done"))).await.unwrap();
        assert_eq!(scene.texts(GROUP), ["done"]);
        assert_eq!(scene.fake.read(|world| world.log.sent(GROUP).len()), 2, "one frame, one answer");
    }
}
