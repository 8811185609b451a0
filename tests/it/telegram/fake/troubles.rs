//! Injected failures and rate limits.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use crate::fakes::fake_model::Latch;
use crate::fakes::telegram::answer::Refusal;
use crate::fakes::telegram::fault::Fault;
use crate::fakes::telegram::flood::Rate;
use crate::fakes::telegram::log::{Deed, ResponseSent};
use crate::fakes::telegram::post::{File, Post};
use crate::fakes::telegram::server::FakeTelegram;

fn hello() -> Value {
    json!({ "chat_id": 7, "text": "hello" })
}

async fn stage() -> (FakeTelegram, Client) {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    fake.private(&fake.user(7, "Ann"));
    (fake, bot)
}

#[tokio::test]
async fn a_planned_refusal_comes_as_often_as_planned_and_leaves_no_trace_in_the_chat() {
    let (fake, bot) = stage().await;
    for (trouble, code, words) in [
        (Fault::too_many(3), 429, "Too Many Requests: retry after 3"),
        (
            Fault::bad_entities(),
            400,
            "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 0",
        ),
        (Fault::blocked(), 403, "Forbidden: bot was blocked by the user"),
        (Fault::kicked(), 403, "Forbidden: bot was kicked from the supergroup chat"),
        (
            Fault::conflict(),
            409,
            "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
        ),
        (Fault::migrated(-1_007), 400, "Bad Request: group chat was upgraded to a supergroup chat"),
        (Fault::Refuse(Refusal::new(500, "Internal Server Error")), 500, "Internal Server Error"),
    ] {
        fake.plan(trouble.times(2).on("SendMessage").in_chat(7));
        for _ in 0..2 {
            let body = bot.call("sendMessage", hello()).await;
            assert_eq!((&body["error_code"], &body["description"]), (&json!(code), &json!(words)));
            bot.ok("getMe", json!({})).await;
        }
    }
    assert_eq!(fake.read(|world| world.visible_text(7)), "");
    bot.say(7, "at last").await;
    assert_eq!(fake.read(|world| world.log.refused(429).len()), 2);
    let retry = fake.read(|world| match &world.log.refused(429)[0].deed {
        Deed::Refused(refusal) => refusal.parameters.clone(),
        _ => None,
    });
    assert_eq!(retry, Some(json!({ "retry_after": 3 })));
}

#[tokio::test]
async fn a_plan_may_wait_and_be_called_off() {
    let (fake, bot) = stage().await;
    fake.plan(Fault::blocked().always().after(1));
    bot.ok("getMe", json!({})).await;
    bot.refused("getMe", json!({})).await;
    bot.refused("sendMessage", hello()).await;
    fake.clear_troubles();
    bot.ok("getMe", json!({})).await;
}

#[tokio::test]
async fn a_connection_breaks_before_the_call_is_done_or_after() {
    let (fake, bot) = stage().await;
    fake.plan(Fault::ResetBefore.once().on("sendMessage"));
    assert!(bot.try_call("sendMessage", &hello()).await.is_err());
    assert_eq!(fake.read(|world| world.visible_text(7)), "", "nothing was done");
    fake.plan(Fault::ResetAfter.once().on("sendMessage"));
    assert!(bot.try_call("sendMessage", &hello()).await.is_err());
    assert_eq!(
        fake.read(|world| world.visible_text(7)),
        "Ship: hello\n",
        "it was done, and the bot does not know"
    );
    let told: Vec<ResponseSent> =
        fake.read(|world| world.log.of("sendMessage").map(|entry| entry.told).collect());
    assert_eq!(told, [ResponseSent::Yes, ResponseSent::Lost]);
    assert!(fake.read(|world| world.log.entries()[0].deed == Deed::Broken("reset")));
    assert!(fake.read(|world| world.log.to_string()).contains("(answer lost)"));
    bot.ok("getMe", json!({})).await;
}

#[tokio::test]
async fn an_answer_may_be_half_or_a_page_of_a_proxy() {
    let (fake, bot) = stage().await;
    fake.plan(Fault::Truncated.once());
    let half = bot.try_call("getMe", &json!({})).await.unwrap().text().await.unwrap();
    assert!(half.starts_with("{\"ok\":true") && serde_json::from_str::<Value>(&half).is_err());
    fake.plan(Fault::BadGateway.once());
    let page = bot.try_call("sendMessage", &hello()).await.unwrap();
    assert_eq!(page.status().as_u16(), 502);
    assert!(page.text().await.unwrap().starts_with("<html>"));
    assert_eq!(fake.read(|world| world.bot_texts(7).len()), 0);
}

#[tokio::test]
async fn a_call_may_hang_while_others_pass() {
    let (fake, bot) = stage().await;
    let gate = Latch::new();
    fake.plan(Fault::Held(gate.clone()).once().on("sendMessage"));
    let held = bot.say(7, "held");
    let others = async {
        fake.plan(Fault::Stall(Duration::from_millis(30)).once().on("getMe"));
        let began = Instant::now();
        bot.ok("getMe", json!({})).await;
        assert!(began.elapsed() >= Duration::from_millis(30));
        assert_eq!(fake.read(|world| world.bot_texts(7).len()), 0);
        gate.open();
    };
    tokio::join!(held, others);
    fake.wait_for(|world| world.bot_texts(7) == ["held"]).await;
}

#[tokio::test]
async fn a_download_may_be_slow_cut_or_refused() {
    let (fake, bot) = stage().await;
    let ann = fake.user(7, "Ann");
    let file = File::new("a.txt", "text/plain", vec![b'x'; 1000]);
    fake.private(&ann).post(&ann, Post::file("document", file));
    let id = bot.last_update().await["message"]["document"]["file_id"].clone();
    let path = bot.ok("getFile", json!({ "file_id": id })).await["file_path"].as_str().unwrap().to_owned();
    let began = Instant::now();
    fake.plan(Fault::Slow { piece: 300, pause: Duration::from_millis(10) }.once().on("download"));
    assert_eq!(bot.fetch(&path).await.unwrap().bytes().await.unwrap().len(), 1000);
    assert!(began.elapsed() >= Duration::from_millis(40));
    fake.plan(Fault::Truncated.once().on("download"));
    assert!(bot.fetch(&path).await.unwrap().bytes().await.is_err());
    fake.plan(Fault::ResetAfter.once().on("download"));
    assert!(bot.fetch(&path).await.is_err());
    fake.plan(Fault::BadGateway.once().on("download"));
    assert_eq!(bot.fetch(&path).await.unwrap().status().as_u16(), 502);
}

#[tokio::test]
async fn who_writes_too_fast_is_told_to_wait_and_it_is_remembered() {
    let (fake, bot) = stage().await;
    fake.private(&fake.user(8, "Bob"));
    // So slow that no machine is too slow for the test.
    let never = 0.0001;
    fake.limit(Rate { burst: 2.0, per_second: never }, Rate { burst: 4.0, per_second: never });
    let sent = bot.say(7, "one").await;
    bot.ok("editMessageText", json!({ "chat_id": 7, "message_id": sent, "text": "two" })).await;
    bot.ok("sendChatAction", json!({ "chat_id": 7, "action": "typing" })).await;
    let refused = bot.call("sendMessage", hello()).await;
    assert_eq!(refused["error_code"], 429);
    assert!(refused["parameters"]["retry_after"].as_u64().unwrap() > 5000);
    bot.say(8, "another chat").await;
    bot.say(8, "has room of its own").await;
    fake.private(&fake.user(9, "Eve"));
    bot.refused("sendMessage", json!({ "chat_id": 9, "text": "but not all together" })).await;
    let violations = fake.read(|world| world.violations().to_vec());
    assert_eq!(violations, [(7, "sendmessage".to_owned()), (9, "sendmessage".to_owned())]);
}
