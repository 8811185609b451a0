//! Authentication, and updates by long poll and by webhook.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::client::Client;
use crate::fakes::telegram::account::{Account, Privacy};
use crate::fakes::telegram::log::Deed;
use crate::fakes::telegram::server::FakeTelegram;
use crate::fakes::telegram::webhook::SECRET_HEADER;

#[tokio::test]
async fn only_the_right_token_and_known_methods_get_in() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let (url, token) = (fake.url(), fake.token());
    for (path, status, words) in [
        ("/bot123456:wrong/getMe".to_owned(), 401, "Unauthorized"),
        ("/botnonsense/getMe".to_owned(), 404, "Not Found"),
        ("/bot/getMe".to_owned(), 404, "Not Found"),
        ("/elsewhere".to_owned(), 404, "Not Found"),
        (format!("/bot{token}/getNothing"), 404, "Not Found"),
        (format!("/bot{token}"), 404, "Not Found"),
        (format!("/file/bot{token}/nowhere"), 404, "Not Found"),
        ("/file/bot123456:wrong/x".to_owned(), 401, "Unauthorized"),
    ] {
        let (code, body) = bot.raw(http::Method::GET, format!("{url}{path}"), "").await;
        assert_eq!(code, status, "{path}");
        assert_eq!(body, json!({ "ok": false, "error_code": status, "description": words }), "{path}");
    }
    let me = bot.ok("gEtMe", json!({})).await;
    assert_eq!(me["username"], Account::NAME);
    assert_eq!((&me["is_bot"], &me["can_read_all_group_messages"]), (&json!(true), &json!(true)));
    fake.reconfigure(|account| (account.privacy, account.topics) = (Privacy::On, true));
    let me = bot.ok("getMe", json!({})).await;
    assert_eq!(
        (&me["can_read_all_group_messages"], &me["has_topics_enabled"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(fake.read(|world| world.log.refused(401).len()), 2);
}

#[tokio::test]
async fn parameters_come_as_json_as_a_form_or_in_the_query() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let chat = fake.private(&fake.user(7, "Ann"));
    let url = format!("{}/bot{}/sendMessage", fake.url(), fake.token());
    let keyboard = "%7B%22inline_keyboard%22%3A%5B%5B%7B%22text%22%3A%22a%22%2C%22callback_data%22%3A%22b%22%7D%5D%5D%7D";
    bot.raw(http::Method::GET, format!("{url}?chat_id=7&text=by+query&reply_markup={keyboard}"), "").await;
    bot.raw(http::Method::POST, url, "chat_id=7&text=by%20form+%F0%9F%98%80").await;
    bot.say(7, "by json").await;
    let form = reqwest::multipart::Form::new().text("chat_id", "7").text("text", "by parts");
    bot.upload("sendMessage", form).await;
    let expected = "Ship: by query [a]\nShip: by form 😀\nShip: by json\nShip: by parts\n";
    assert_eq!(fake.read(|world| world.visible_text(chat.id())), expected);
}

#[tokio::test]
async fn an_offset_confirms_what_is_lower_and_nothing_else_does() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let ann = fake.user(7, "Ann");
    let chat = fake.private(&ann);
    for number in 0..5 {
        chat.say(&ann, &format!("m{number}"));
    }
    let all = bot.poll(json!({})).await;
    assert_eq!(all.len(), 5);
    assert_eq!(bot.poll(json!({ "timeout": 0 })).await, all, "what is not confirmed comes again");
    assert_eq!(bot.poll(json!({ "limit": 2 })).await, all[..2]);
    assert_eq!(bot.poll(json!({ "offset": all[2], "limit": 1 })).await, all[2..3]);
    assert_eq!(bot.poll(json!({})).await, all[2..]);
    assert_eq!(bot.poll(json!({ "offset": -1 })).await, all[4..], "below zero counts from the end");
    assert_eq!(bot.poll(json!({})).await, all[4..], "and forgets the rest");
    assert_eq!(bot.poll(json!({ "offset": all[4] + 1 })).await, [] as [i64; 0]);
    assert_eq!(fake.read(|world| (world.pending(), world.confirmed())), (0, all[4]));
    fake.redeliver(all[1]);
    assert_eq!(bot.poll(json!({ "offset": all[4] + 1 })).await, [all[1]], "the same number once more");
    assert_eq!(bot.poll(json!({ "offset": all[4] + 1 })).await, [] as [i64; 0]);
    let polled = |deed: &Deed| matches!(deed, Deed::Polled { given, .. } if !given.is_empty());
    assert_eq!(fake.read(|world| world.log.of("getUpdates").filter(|entry| polled(&entry.deed)).count()), 8);
}

#[tokio::test]
async fn a_long_poll_ends_with_the_first_update_or_with_its_time() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let ann = fake.user(7, "Ann");
    assert_eq!(bot.poll(json!({ "timeout": 1 })).await, [] as [i64; 0]);
    let waiting = bot.poll(json!({ "timeout": 50, "offset": 1 }));
    let speaking = async {
        fake.wait_for(|world| world.updates.poll == 2).await;
        fake.private(&ann).say(&ann, "hello");
    };
    let (given, ()) = tokio::join!(waiting, speaking);
    assert_eq!(given, [fake.read(|world| world.last_update())]);
}

#[tokio::test]
async fn a_second_poll_ends_the_first_and_a_webhook_ends_both() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let first = bot.refused("getUpdates", json!({ "timeout": 50 }));
    let second = async {
        fake.wait_for(|world| world.updates.poll == 1).await;
        bot.refused("getUpdates", json!({ "timeout": 50 })).await
    };
    let webhook = async {
        fake.wait_for(|world| world.log.calls("getUpdates") == 1).await;
        bot.ok("setWebhook", json!({ "url": "https://bot.example/hook" })).await;
        bot.refused("getUpdates", json!({})).await
    };
    let (first, second, third) = tokio::join!(first, second, webhook);
    assert_eq!(
        first,
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
    );
    assert_eq!(second, "Conflict: terminated by setWebhook request");
    assert_eq!(
        third,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
    );
    bot.ok("deleteWebhook", json!({})).await;
    assert_eq!(bot.poll(json!({})).await, [] as [i64; 0]);
}

#[tokio::test]
async fn kinds_of_updates_come_as_the_bot_asked_and_it_is_remembered() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let ann = fake.user(7, "Ann");
    let chat = fake.private(&ann);
    let message = chat.say(&ann, "one");
    chat.react(&ann, message, "👍");
    assert_eq!(bot.poll(json!({})).await.len(), 1, "reactions come only when they are named");
    let offset = fake.read(|world| world.last_update()) + 1;
    bot.poll(json!({ "offset": offset, "allowed_updates": ["message_reaction"] })).await;
    chat.say(&ann, "two");
    chat.react(&ann, message, "👍");
    assert_eq!(bot.last_update().await["message_reaction"]["new_reaction"][0]["emoji"], "👍");
    assert_eq!(fake.read(|world| world.pending()), 1);
    bot.poll(json!({ "allowed_updates": "[]" })).await;
    chat.say(&ann, "three");
    assert_eq!(bot.last_update().await["message"]["text"], "three");
}

type Hook = Arc<Mutex<(VecDeque<u16>, Vec<(Option<String>, Value)>)>>;

async fn take(State(hook): State<Hook>, headers: HeaderMap, body: String) -> (StatusCode, String) {
    let secret = headers.get(SECRET_HEADER).map(|secret| secret.to_str().unwrap().to_owned());
    let mut hook = hook.lock().unwrap();
    hook.1.push((secret, serde_json::from_str(&body).unwrap()));
    let status = hook.0.pop_front().unwrap_or(200);
    let call = json!({ "method": "sendMessage", "chat_id": 7, "text": "from the hook" });
    (StatusCode::from_u16(status).unwrap(), call.to_string())
}

#[tokio::test]
async fn a_webhook_gets_each_update_with_the_secret_until_it_takes_it() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let ann = fake.user(7, "Ann");
    let chat = fake.private(&ann);
    let hook: Hook = Arc::new(Mutex::new(([500, 403].into(), Vec::new())));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let router = Router::new().fallback(take).with_state(hook.clone());
    let mut serving = JoinSet::new();
    serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
    for (params, words) in [
        (json!({ "url": "http://bot.example" }), "bad webhook: An HTTPS URL must be provided for webhook"),
        (json!({ "url": url, "secret_token": "no spaces" }), "secret token contains unallowed characters"),
        (json!({ "url": url, "secret_token": "x".repeat(257) }), "secret token is too long"),
    ] {
        assert_eq!(bot.refused("setWebhook", params).await, format!("Bad Request: {words}"));
    }
    chat.say(&ann, "dropped");
    let params = json!({ "url": url, "secret_token": "s3cret-_", "allowed_updates": ["message"],
        "drop_pending_updates": true });
    bot.ok("setWebhook", params).await;
    chat.say(&ann, "first");
    chat.say(&ann, "second");
    fake.wait_for(|world| world.pending() == 0 && world.bot_texts(7).len() == 2).await;
    assert_eq!(fake.read(|world| world.webhook_failures()), 2);
    let seen = hook.lock().unwrap().1.clone();
    let texts: Vec<&str> =
        seen.iter().map(|(_, update)| update["message"]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["first", "first", "first", "second"]);
    assert!(seen.iter().all(|(secret, _)| secret.as_deref() == Some("s3cret-_")));
    let info = bot.ok("getWebhookInfo", json!({})).await;
    assert_eq!((&info["url"], &info["pending_update_count"]), (&json!(url), &json!(0)));
    assert_eq!(info["last_error_message"], "Wrong response from the webhook: 403 Forbidden");
    bot.ok("setWebhook", json!({ "url": "" })).await;
    assert_eq!(bot.ok("getWebhookInfo", json!({})).await["url"], "");
}

#[tokio::test]
async fn fifty_chats_write_while_the_bot_comes_and_goes_and_nothing_is_lost() {
    let fake = FakeTelegram::start().await;
    let mut writers = JoinSet::new();
    for id in 1..=50 {
        let user = fake.user(id, "Somebody");
        let chat = fake.private(&user);
        writers.spawn(async move {
            for number in 0..4 {
                chat.say(&user, &format!("{number}"));
                tokio::task::yield_now().await;
            }
        });
    }
    let mut heard = Vec::new();
    let mut offset = 0;
    while heard.len() < 200 {
        // A new bot each time: it knows only the offset.
        let bot = Client::of(&fake);
        let given = bot.poll(json!({ "offset": offset, "timeout": 5, "limit": 30 })).await;
        offset = given.last().expect("somebody writes") + 1;
        heard.extend(given);
    }
    writers.join_all().await;
    let sorted = heard.iter().collect::<std::collections::BTreeSet<_>>();
    assert_eq!((heard.len(), sorted.len()), (200, 200));
}

#[tokio::test]
#[should_panic(expected = "Ann: hello")]
async fn a_wait_in_vain_tells_what_there_was() {
    let fake = FakeTelegram::start().await;
    let ann = fake.user(7, "Ann");
    fake.private(&ann).say(&ann, "hello");
    Client::of(&fake).poll(json!({})).await;
    fake.wait_within(Duration::from_millis(50), |world| world.log.calls("sendMessage") > 0).await;
}

#[tokio::test]
async fn after_logging_out_nothing_works() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    bot.ok("close", json!({})).await;
    bot.ok("logOut", json!({})).await;
    assert_eq!(bot.refused("getMe", json!({})).await, "Logged out");
}
