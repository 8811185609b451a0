//! The smallest Telegram bot that asks a model: what teloxide gives, one call, one answer. It keeps nothing, so whatever
//! it is doing when it dies is lost, and whoever writes twice is not remembered. It stands beside the daemon in
//! `cargo bench --bench telegram`, to show what the difference costs.
//!
//! ```text
//! TELEGRAM_BOT_TOKEN=… TELEGRAM_API_URL=http://… OPENAI_BASE_URL=http://…/v1 OPENAI_MODEL=… \
//!     cargo run --release --example bare_teloxide
//! ```
//!
//! It is built without TLS, so both addresses have to be plain.

#![expect(clippy::disallowed_methods, reason = "an example has no settings but its environment")]

use std::env;

use anyhow::Context as _;
use serde_json::{Value, json};
use teloxide::prelude::*;

/// Who the model is told to be.
const SYSTEM: &str = "You are the agent of a scratch project. Say hello.";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let telegram = setting("TELEGRAM_API_URL")?.parse().context("TELEGRAM_API_URL is no address")?;
    let address = format!("{}/chat/completions", setting("OPENAI_BASE_URL")?.trim_end_matches('/'));
    let (model, key) = (setting("OPENAI_MODEL")?, env::var("OPENAI_API_KEY").unwrap_or_default());
    let http = teloxide::net::default_reqwest_settings().build()?;
    let bot = Bot::with_client(setting("TELEGRAM_BOT_TOKEN")?, http.clone()).set_api_url(telegram);
    teloxide::repl(bot, move |bot: Bot, message: Message| {
        let call = message.text().map(|question| {
            let system = json!({ "role": "system", "content": SYSTEM });
            let messages = json!([system, { "role": "user", "content": question }]);
            let body = json!({ "model": model, "stream": true, "messages": messages });
            http.post(&address).bearer_auth(&key).json(&body)
        });
        async move {
            let Some(call) = call else { return Ok(()) };
            let said = async { anyhow::Ok(call.send().await?.error_for_status()?.text().await?) }.await;
            let words = said.map_or_else(|error| error.to_string(), |stream| words_of(&stream));
            bot.send_message(message.chat.id, words).await.map(drop)
        }
    })
    .await;
    Ok(())
}

fn setting(name: &str) -> anyhow::Result<String> {
    env::var(name).with_context(|| format!("{name} is not set"))
}

/// What a stream of completion events says.
fn words_of(stream: &str) -> String {
    let events = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let chunks = events.filter_map(|event| serde_json::from_str::<Value>(event).ok());
    let said = |chunk: Value| Some(chunk.pointer("/choices/0/delta/content")?.as_str()?.to_owned());
    chunks.filter_map(said).collect()
}
