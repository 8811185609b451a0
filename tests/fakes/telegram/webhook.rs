//! Webhook deliveries: one update at a time, retried until the bot accepts it.

use std::time::Duration;

use serde_json::Value;

use super::calls;
use super::request::Params;
use super::world::Shared;

#[derive(Clone, Debug)]
pub(crate) struct Webhook {
    pub(crate) url: String,
    /// The value of the secret header.
    pub(crate) secret: Option<String>,
    /// How many deliveries failed.
    pub(crate) failures: usize,
    /// The message of the last failure.
    pub(crate) last_error: Option<String>,
}

/// The header that authenticates the server.
pub(crate) const SECRET_HEADER: &str = "X-Telegram-Bot-Api-Secret-Token";

/// The delay before a retry; the real server is slower.
const PAUSE: Duration = Duration::from_millis(20);

/// Delivers as long as the server runs.
pub(crate) async fn deliver(shared: Shared) {
    let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(10)).build().unwrap();
    let mut bell = shared.listen();
    loop {
        bell.borrow_and_update();
        let next = shared.change_quietly(|world| {
            let webhook = world.webhook.clone()?;
            Some((webhook, world.updates.give(0, 1).into_iter().next()?))
        });
        let Some((webhook, (id, update))) = next else {
            if bell.changed().await.is_err() {
                return;
            }
            continue;
        };
        match post(&http, &webhook, &update).await {
            Ok(reply) => {
                shared.change(|world| world.updates.taken(id));
                if let Some(call) = reply {
                    answer_with_a_call(&shared, call).await;
                }
            }
            Err(error) => {
                shared.change(|world| {
                    if let Some(webhook) = &mut world.webhook {
                        webhook.failures += 1;
                        webhook.last_error = Some(error);
                    }
                });
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Sends one update; the response may contain a call.
async fn post(http: &reqwest::Client, webhook: &Webhook, update: &Value) -> Result<Option<Value>, String> {
    let mut request = http.post(&webhook.url).json(update);
    if let Some(secret) = &webhook.secret {
        request = request.header(SECRET_HEADER, secret);
    }
    let response = request.send().await.map_err(|error| error.to_string())?;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("Wrong response from the webhook: {status}"));
    }
    Ok(response.json().await.ok())
}

/// Performs a method in the bot's response; the bot does not get its result.
async fn answer_with_a_call(shared: &Shared, call: Value) {
    let Value::Object(mut params) = call else { return };
    if let Some(Value::String(method)) = params.remove("method") {
        let params = Params::from_object(params);
        drop(calls::perform(shared, &method.to_ascii_lowercase(), &params).await);
    }
}
