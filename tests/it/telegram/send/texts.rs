//! Texts: delivered once, in order, in the right place, with fallbacks for refusals.

use std::time::Duration;

use shipagent::adapters::telegram::ChatTarget;
use shipagent::domain::{Intent, LengthUnit};
use shipagent::ports::DeliveryError;
use shipagent::render::split;

use super::desk::{ANN, Desk, FORUM, GROUP, draft, entry, intent, replying, text, thread, topic};
use crate::fakes::telegram::answer::Refusal;
use crate::fakes::telegram::log::Deed;
use crate::fakes::telegram::trouble::Trouble;

#[tokio::test]
async fn an_entry_becomes_one_message_with_markup_and_a_receipt() {
    let desk = Desk::new().await;
    let receipt = desk.deliver(entry(&thread(ANN), "run_1", 0, text("**done** <b>"))).await.unwrap();
    let seen = desk.fake.read(|world| world.visible(ANN));
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].text.as_str(), seen[0].reply_to), ("done <b>", None));
    assert_eq!(seen[0].entities.len(), 1);
    assert_eq!(receipt.platform_message, Some(seen[0].id.to_string()));
    assert_eq!(desk.fake.read(|world| world.log.calls("sendMessage")), 1);
}

#[tokio::test]
async fn what_is_only_shown_gets_no_receipt_when_it_is_delivered() {
    let desk = Desk::new().await;
    let progress = Intent::Progress { text: "at it".to_owned(), call_id: None };
    for (index, shown) in [Intent::Typing, progress].into_iter().enumerate() {
        let delivered = desk.deliver(entry(&thread(ANN), "run_1", index, shown)).await;
        assert!(matches!(delivered, Err(DeliveryError::Permanent { .. })), "{delivered:?}");
    }
    assert_eq!(desk.fake.read(|world| world.visible(ANN).len()), 0);
}

#[tokio::test]
async fn in_a_group_the_first_part_of_an_answer_quotes_the_question() {
    let desk = Desk::new().await;
    let asked = desk.fake.group(GROUP).say(&desk.fake.user(ANN, "Ann"), "why?");
    for (index, words) in ["one", "two"].into_iter().enumerate() {
        desk.deliver(replying(entry(&thread(GROUP), "run_1", index, text(words)), asked)).await.unwrap();
    }
    desk.deliver(replying(entry(&thread(GROUP), "run_2", 0, text("three")), 999)).await.unwrap();
    desk.deliver(replying(entry(&thread(ANN), "run_3", 0, text("four")), asked)).await.unwrap();
    let replies = |chat| {
        let seen = desk.fake.read(|world| world.visible(chat));
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
    let desk = Desk::new().await;
    let answer: Vec<String> =
        (0..160).map(|n| format!("Paragraph {n} has some **words** in it and a few more.")).collect();
    let parts = split(&answer.join("\n\n"), 3600, LengthUnit::Utf16);
    assert!(parts.len() > 1);
    for (index, part) in parts.iter().enumerate() {
        desk.deliver(entry(&thread(ANN), "run_1", index, text(part))).await.unwrap();
    }
    let seen = desk.texts(ANN).join("\n\n");
    assert_eq!(seen, answer.join("\n\n").replace("**", ""));
    assert_eq!(desk.texts(ANN).len(), parts.len());
}

#[tokio::test]
async fn words_that_no_message_can_hold_come_as_a_file() {
    let desk = Desk::new().await;
    let long = "x".repeat(5000);
    desk.deliver(entry(&thread(ANN), "run_1", 0, text(&long))).await.unwrap();
    let media = desk.fake.read(|world| world.visible(ANN)[0].media);
    assert_eq!(media, Some("document"));
    let kept =
        desk.fake.read(|world| world.files.values().map(|file| file.bytes.clone()).collect::<Vec<_>>());
    assert_eq!(kept, [long.clone().into_bytes()]);
    desk.fake.plan(Trouble::Refuse(Refusal::bad("message is too long")).once().on("sendMessage"));
    desk.deliver(entry(&thread(ANN), "run_2", 0, text("short"))).await.unwrap();
    assert_eq!(desk.fake.read(|world| world.visible(ANN)[1].media), Some("document"));
}

#[tokio::test]
async fn markup_that_is_refused_goes_as_it_was_written() {
    let desk = Desk::new().await;
    desk.fake.plan(Trouble::bad_entities().once().on("sendMessage"));
    desk.deliver(entry(&thread(ANN), "run_1", 0, text("**done**"))).await.unwrap();
    assert_eq!(desk.texts(ANN), ["**done**"]);
}

#[tokio::test]
async fn a_topic_that_is_gone_does_not_lose_the_answer() {
    let desk = Desk::new().await;
    let deploys = desk.fake.group(FORUM).topic("Deploys");
    desk.deliver(entry(&topic(FORUM, deploys), "run_1", 0, text("there"))).await.unwrap();
    desk.deliver(entry(&topic(FORUM, 1), "run_2", 0, text("general"))).await.unwrap();
    desk.deliver(entry(&topic(FORUM, 4711), "run_3", 0, text("gone"))).await.unwrap();
    let seen = desk.fake.read(|world| world.visible(FORUM));
    let places: Vec<_> = seen.iter().map(|seen| (seen.text.as_str(), seen.topic)).collect();
    assert_eq!(places, [("there", Some(deploys)), ("general", None), ("gone", None)]);
}

#[tokio::test]
async fn a_group_that_moved_is_followed_and_stays_found_after_a_restart() {
    let desk = Desk::new().await;
    let to = -1_000_000_000_500;
    drop(desk.fake.group(GROUP).migrate(to));
    desk.deliver(replying(entry(&thread(GROUP), "run_1", 0, text("one")), 1)).await.unwrap();
    let desk = desk.restarted().await;
    desk.deliver(entry(&thread(GROUP), "run_2", 0, text("two"))).await.unwrap();
    assert_eq!(desk.texts(to), ["one", "two"]);
    let refused = desk.fake.read(|world| world.log.refused(400).len());
    assert_eq!(refused, 1, "the old number is tried once");
}

#[tokio::test]
async fn a_person_who_wants_no_more_is_given_up_with_the_reason() {
    let desk = Desk::new().await;
    let ann = desk.fake.user(ANN, "Ann");
    desk.fake.private(&ann).remove_bot(&ann);
    let refused = desk.deliver(entry(&thread(ANN), "run_1", 0, text("one"))).await;
    let Err(DeliveryError::Permanent { reason }) = refused else { panic!("{refused:?}") };
    assert!(reason.contains("blocked by the user"), "{reason}");
    let unknown = desk.deliver(entry(&thread(99), "run_1", 0, text("one"))).await;
    assert!(matches!(unknown, Err(DeliveryError::Permanent { reason }) if reason.contains("chat not found")));
    let nowhere = desk.deliver(entry(&"telegram:chat:x".parse().unwrap(), "run_1", 0, text("one"))).await;
    assert!(matches!(nowhere, Err(DeliveryError::Permanent { .. })));
}

/// The times of all calls about a chat.
fn heard(desk: &Desk, chat: i64) -> Vec<Duration> {
    desk.fake.read(|world| {
        let entries = world.log.entries().iter().filter(|entry| entry.chat == Some(chat));
        entries.map(|entry| entry.at).collect()
    })
}

#[tokio::test]
async fn a_server_that_asks_to_wait_hears_nothing_of_that_chat_before_the_time_and_of_others_as_ever() {
    for (chat, other) in [(ANN, GROUP), (GROUP, ANN)] {
        let desk = Desk::new().await;
        desk.fake.plan(Trouble::too_many(2).once().on("sendMessage").in_chat(chat));
        let first = entry(&thread(chat), "run_1", 0, text("one"));
        let refused = desk.deliver(first.clone()).await;
        let Err(DeliveryError::Retry { after, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(after, Some(Duration::from_secs(2)));
        // Optional calls are dropped.
        desk.sender.show(intent(&thread(chat), "run_3", Intent::Typing));
        desk.sender.show(draft(&thread(chat), "run_3", "An answer that is on its way"));
        desk.sender.acknowledge(&ChatTarget { chat, topic: None }, 1).await;
        desk.deliver(entry(&thread(other), "run_2", 0, text("other"))).await.unwrap();
        // A call that is too early is delayed until the time is over.
        desk.deliver(first).await.unwrap();
        let (times, others) = (heard(&desk, chat), heard(&desk, other));
        let (asked, later) = times.split_first().unwrap();
        assert!(!later.is_empty(), "{times:?}");
        assert!(later.iter().all(|at| *at - *asked >= Duration::from_millis(1990)), "{times:?}");
        assert!(others[0] - *asked < Duration::from_secs(1), "{others:?}");
        assert_eq!(desk.texts(chat), ["one"]);
    }
}

#[tokio::test]
async fn where_the_time_is_long_it_is_not_waited_for_on_the_spot() {
    let desk = Desk::new().await;
    desk.fake.plan(Trouble::too_many(40).once().on("sendMessage").in_chat(ANN));
    let answer = entry(&thread(ANN), "run_1", 0, text("one"));
    for _ in 0..2 {
        let refused = desk.deliver(answer.clone()).await;
        let Err(DeliveryError::Retry { after: Some(after), .. }) = refused else { panic!("{refused:?}") };
        assert!(after > Duration::from_secs(30), "{after:?}");
    }
    assert_eq!(heard(&desk, ANN).len(), 1);
}

#[tokio::test]
async fn a_server_that_asks_to_wait_about_several_people_hears_nothing_of_anybody_before_the_time() {
    let desk = Desk::new().await;
    let bob = desk.fake.user(8, "Bob");
    drop(desk.fake.private(&bob));
    for chat in [ANN, 8] {
        desk.fake.plan(Trouble::too_many(2).once().on("sendMessage").in_chat(chat));
        assert!(desk.deliver(entry(&thread(chat), "run_1", 0, text("one"))).await.is_err());
    }
    desk.sender.show(intent(&thread(GROUP), "run_3", Intent::Typing));
    desk.deliver(entry(&thread(GROUP), "run_2", 0, text("other"))).await.unwrap();
    let (asked, others) = (heard(&desk, 8)[0], heard(&desk, GROUP));
    assert!(others.iter().all(|at| *at - asked >= Duration::from_millis(1990)), "{asked:?} {others:?}");
}

#[tokio::test]
async fn only_a_send_whose_end_nobody_knows_counts_as_one_that_may_show_twice() {
    let desk = Desk::new().await;
    let again = |result| matches!(result, Err(DeliveryError::Retry { .. }));
    let broken = Trouble::Refuse(Refusal::new(500, "Internal Server Error"));
    for trouble in
        [Trouble::ResetBefore, Trouble::ResetAfter, Trouble::Truncated, Trouble::BadGateway, broken]
    {
        desk.fake.plan(trouble.once().on("sendMessage"));
        assert!(again(desk.deliver_again(entry(&thread(ANN), "run_1", 0, text("one"))).await));
    }
    assert_eq!(desk.metrics.deliveries_repeated.get(), 5);
    desk.fake.plan(Trouble::too_many(0).once().on("sendMessage"));
    assert!(again(desk.deliver_again(entry(&thread(ANN), "run_1", 0, text("one"))).await));
    assert_eq!(desk.metrics.deliveries_repeated.get(), 5, "the server said that it did nothing");
}

#[tokio::test]
async fn many_chats_are_served_at_once() {
    let desk = Desk::new().await;
    for id in 100..300 {
        drop(desk.fake.private(&desk.fake.user(id, "One of many")));
    }
    let chats = (100..300).map(|id| {
        let desk = &desk;
        async move {
            for index in 0..5 {
                let words = index.to_string();
                desk.deliver(entry(&thread(id), "run_1", index, text(&words))).await.unwrap();
            }
        }
    });
    futures_util::future::join_all(chats).await;
    for id in 100..300 {
        assert_eq!(desk.texts(id), ["0", "1", "2", "3", "4"]);
    }
}

#[tokio::test]
async fn a_few_words_a_sign_and_the_menu_need_no_outbox() {
    let desk = Desk::new().await;
    let asked = desk.fake.group(GROUP).say(&desk.fake.user(ANN, "Ann"), "why?");
    let place = ChatTarget { chat: GROUP, topic: None };
    desk.sender.say(&place, Some(asked), "_no_").await;
    desk.sender.acknowledge(&place, asked).await;
    desk.sender.acknowledge(&place, 999).await;
    desk.sender.answer_callback("unknown", Some("late")).await;
    let seen = desk.fake.read(|world| world.visible(GROUP).last().unwrap().clone());
    assert_eq!((seen.text.as_str(), seen.reply_to), ("no", Some(asked)));
    assert_eq!(desk.fake.read(|world| world.reaction(GROUP, asked).to_vec()), ["👀"]);
    for _ in 0..2 {
        desk.sender.register_menu().await;
    }
    assert_eq!(desk.fake.read(|world| world.log.calls("setMyCommands")), 4, "once, as nothing has changed");
    for (scope, language) in [
        ("all_private_chats", ""),
        ("all_private_chats", "zh"),
        ("all_group_chats", ""),
        ("all_group_chats", "zh"),
    ] {
        assert!(
            desk.fake.read(|world| world.menu(scope, language).contains(&"approve")),
            "{scope} {language}"
        );
    }
    let refused = desk.fake.read(|world| {
        world.log.entries().iter().filter(|entry| matches!(entry.deed, Deed::Refused(_))).count()
    });
    assert_eq!(refused, 2);
}

#[tokio::test]
async fn a_send_without_an_answer_is_repeated_and_counted() {
    for chat in [ANN, GROUP] {
        for (trouble, seen) in [(Trouble::ResetAfter, 2), (Trouble::ResetBefore, 1)] {
            let desk = Desk::new().await;
            let answer = entry(&thread(chat), "run_1", 0, text("now"));
            desk.fake.plan(trouble.once().on("sendMessage"));
            assert!(matches!(desk.deliver(answer.clone()).await, Err(DeliveryError::Retry { .. })));
            desk.deliver_again(answer).await.unwrap();
            assert_eq!(desk.texts(chat), vec!["now"; seen]);
            assert_eq!(desk.metrics.deliveries_repeated.get(), 1);
            let edits = desk.fake.read(|world| world.log.calls("editMessageText"));
            assert_eq!(edits, 0, "no message is edited to find out");
        }
    }
}

#[tokio::test]
async fn what_the_daemon_before_was_cut_off_from_is_counted_when_it_is_sent_again() {
    for chat in [ANN, GROUP] {
        let desk = Desk::new().await;
        let answer = entry(&thread(chat), "run_1", 0, text("now"));
        desk.deliver(answer.clone()).await.unwrap();
        let desk = desk.restarted().await;
        desk.deliver_after_cut(answer).await.unwrap();
        assert_eq!(desk.texts(chat), ["now", "now"]);
        assert_eq!(desk.metrics.deliveries_repeated.get(), 1);
        desk.deliver(entry(&thread(chat), "run_2", 0, text("then"))).await.unwrap();
        assert_eq!(desk.metrics.deliveries_repeated.get(), 1, "only what may show twice is counted");
    }
}

#[tokio::test]
async fn an_answer_that_replaces_its_draft_shows_once_however_often_it_is_cut_off() {
    let desk = Desk::new().await;
    let words = "The answer so far is long enough";
    let frame = draft(&thread(GROUP), "run_1", words);
    desk.show_until(&[frame], |world| world.bot_texts(GROUP) == [words]).await;
    let answer = entry(&thread(GROUP), "run_1", 0, text("done"));
    desk.deliver(answer.clone()).await.unwrap();
    let desk = desk.restarted().await;
    desk.deliver_after_cut(answer).await.unwrap();
    assert_eq!(desk.texts(GROUP), ["done"]);
    assert_eq!(desk.metrics.deliveries_repeated.get(), 0, "an edit repeats nothing");
}

#[tokio::test]
async fn a_server_that_says_yes_to_everything_loses_nothing() {
    let desk = Desk::new().await;
    desk.fake.reconfigure(|account| account.agreeable = true);
    let answer = entry(&thread(ANN), "run_1", 0, text("now"));
    desk.fake.plan(Trouble::ResetBefore.once().on("sendMessage"));
    assert!(matches!(desk.deliver(answer.clone()).await, Err(DeliveryError::Retry { .. })));
    assert_eq!(desk.texts(ANN), Vec::<String>::new(), "it never arrived");
    desk.deliver_again(answer).await.unwrap();
    assert_eq!(desk.texts(ANN), ["now"]);
    assert_eq!(desk.metrics.deliveries_repeated.get(), 1);
}

#[tokio::test]
async fn a_server_that_can_change_messages_no_more_gets_the_answer_as_another_one() {
    let desk = Desk::new().await;
    let words = "The answer so far is long enough";
    let frame = draft(&thread(GROUP), "run_1", words);
    desk.show_until(&[frame], |world| world.bot_texts(GROUP) == [words]).await;
    desk.fake.plan(Trouble::Refuse(Refusal::not_found()).always().on("editMessageText"));
    desk.deliver(entry(&thread(GROUP), "run_1", 0, text("done"))).await.unwrap();
    assert_eq!(desk.texts(GROUP), ["done"], "the half of it is taken away");
    assert_eq!(desk.fake.read(|world| world.log.sent(GROUP).len()), 2, "one frame, one answer");
}

#[tokio::test]
async fn where_no_message_can_be_changed_for_certain_only_the_answer_is_one() {
    let unknown = |refusal| Some(Trouble::Refuse(refusal).always().on("editMessageText"));
    for trouble in [None, unknown(Refusal::not_found()), unknown(Refusal::new(400, "Bad Request"))] {
        let desk = Desk::new().await;
        desk.fake.reconfigure(|account| (account.agreeable, account.drafts) = (true, false));
        trouble.into_iter().for_each(|plan| desk.fake.plan(plan));
        let frames = ["The answer so far is long enough", "The answer so far is long enough and grows"];
        let frames = [ANN, GROUP].map(|chat| frames.map(|words| draft(&thread(chat), "run_1", words)));
        desk.show_until(frames.as_flattened(), |world| world.log.calls("editMessageText") > 0).await;
        for chat in [ANN, GROUP] {
            desk.deliver(entry(&thread(chat), "run_1", 0, text("done"))).await.unwrap();
            assert_eq!(desk.texts(chat), ["done"]);
            assert_eq!(desk.fake.read(|world| world.log.sent(chat).len()), 1);
        }
    }
}

#[tokio::test]
async fn a_few_words_and_the_answer_to_a_press_are_tried_again() {
    let desk = Desk::new().await;
    let place = ChatTarget { chat: ANN, topic: None };
    desk.fake.plan(Trouble::BadGateway.once().on("sendMessage"));
    desk.fake.plan(Trouble::too_many(0).once().on("sendMessage"));
    desk.sender.say(&place, None, "hello").await;
    assert_eq!(desk.texts(ANN), ["hello"]);
    desk.fake.plan(Trouble::ResetBefore.once().on("answerCallbackQuery"));
    desk.fake.plan(Trouble::BadGateway.once().on("answerCallbackQuery"));
    desk.sender.answer_callback("unknown", None).await;
    assert_eq!(desk.fake.read(|world| world.log.calls("answerCallbackQuery")), 3);
}

#[tokio::test]
async fn an_edit_that_is_refused_with_words_nobody_knows_does_not_lose_the_answer() {
    for refusal in [
        Refusal::new(400, "Bad Request"),
        Refusal::bad("MESSAGE_AUTHOR_REQUIRED"),
        Refusal::bad("MESSAGE_EDIT_TIME_EXPIRED"),
        Refusal::forbidden("MESSAGE_AUTHOR_REQUIRED"),
    ] {
        let desk = Desk::new().await;
        let words = "The answer so far is long enough";
        let frame = draft(&thread(GROUP), "run_1", words);
        desk.show_until(&[frame], |world| world.bot_texts(GROUP) == [words]).await;
        desk.fake.plan(Trouble::Refuse(refusal).always().on("editMessageText"));
        let before = desk.fake.read(|world| world.log.calls("editMessageText"));
        let more = draft(&thread(GROUP), "run_1", "The answer so far is long enough and grows");
        desk.show_until(&[more], move |world| world.log.calls("editMessageText") > before).await;
        desk.deliver(entry(&thread(GROUP), "run_1", 0, text("done"))).await.unwrap();
        assert_eq!(desk.texts(GROUP), ["done"]);
        assert_eq!(desk.fake.read(|world| world.log.sent(GROUP).len()), 2, "one frame, one answer");
    }
}
