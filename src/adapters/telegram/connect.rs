//! Connects the bot and runs the update loop.

use std::sync::Arc;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::adapter::TelegramAdapter;
use super::api::{ApiError, BotApi};
use super::inbound::TelegramInbound;
use super::phrases::{bad_token, bad_webhook};
use super::poll::{UpdateLoop, asked_wait, delete_webhook};
use super::section::WebhookOptions;
use super::update::UpdateReader;
use super::webhook::{CHECK, check_webhook};
use super::wire::Me;
use crate::adapters::Backoff;
use crate::adapters::chat::AccessPolicy;
use crate::adapters::chat::inbound::{InFlight, InboundOptions, Pipeline};
use crate::ports::{AdapterError, AdapterIo};

/// The requested kinds of updates.
pub(super) const ALLOWED_UPDATES: [&str; 5] =
    ["message", "edited_message", "callback_query", "my_chat_member", "stopped_message_generation"];
/// Deadline of an optional call.
const BRIEFLY: Duration = Duration::from_secs(5);
/// Deadline of a first call.
const PATIENCE: Duration = Duration::from_secs(20);
/// The back-off while Telegram cannot be reached.
const RETRY: Backoff = Backoff {
    first: Duration::from_millis(300),
    longest: Duration::from_secs(30),
    stable_after: Duration::ZERO,
};

/// Receives updates until stopped.
pub(super) async fn receive(
    adapter: &TelegramAdapter,
    io: &AdapterIo,
    stop: &CancellationToken,
) -> Result<(), AdapterError> {
    let TelegramAdapter { options, parts, api, aliases, .. } = adapter;
    aliases.load(&*parts.notes).await.map_err(|error| AdapterError::Broken(error.to_string()))?;
    let me = tokio::select! {
        () = stop.cancelled() => return Ok(()),
        me = greet(adapter) => me?,
    };
    adapter.peers.connected(me.id.to_string(), me.username.clone(), Some(me.hears_all));
    io.health.alive(io.clock.now());
    tracing::info!(bot = me.username, hears_all = me.hears_all, "telegram bot connected");
    let followups = adapter.intake.followups().clone();
    let sender = adapter.sender.clone();
    followups.run(async move { sender.register_menu().await });
    let InboundOptions { allow, groups, .. } = &options.inbound;
    let platform = TelegramInbound {
        reader: UpdateReader {
            platform: adapter.platform.clone(),
            me,
            aliases: aliases.clone(),
            threading: groups.threading,
            peers: adapter.peers.clone(),
        },
        api: api.clone(),
        sender: adapter.sender.clone(),
        access: AccessPolicy::new(adapter.platform.clone(), allow.clone(), parts.access.clone()),
        parts: parts.clone(),
        followups,
        acknowledge: options.acknowledge,
    };
    let receiving = async |pipeline: Arc<Pipeline>| match &adapter.hook {
        Some(hook) => hook.serve(pipeline, stop, CHECK, || check_webhook(api, io)).await,
        None => UpdateLoop { api, pipeline, working: InFlight::default(), io, parts, stop }.run().await,
    };
    Box::pin(adapter.intake.run(Arc::new(platform), io.threads.clone(), receiving)).await
}

/// Identifies the bot, and in parallel sets or deletes the webhook.
async fn greet(adapter: &TelegramAdapter) -> Result<Me, AdapterError> {
    let api = &adapter.api;
    let language = adapter.parts.language.unwrap_or_default();
    let mut breaks = 0;
    loop {
        let nothing = json!({});
        let me = api.ask::<Me>("getMe", &nothing, PATIENCE);
        let transport = async {
            match &adapter.options.webhook {
                Some(webhook) => set_webhook(api, webhook).await,
                None => {
                    // If the webhook still exists, `getUpdates` will report it.
                    if tokio::time::timeout(BRIEFLY, delete_webhook(api)).await.is_err() {
                        tracing::warn!("deleteWebhook timed out");
                    }
                    Ok(())
                }
            }
        };
        let (me, transport) = tokio::join!(me, transport);
        let known = me.is_ok();
        let error = match (me, transport) {
            (Ok(me), Ok(())) => return Ok(me),
            (Ok(me), Err(error @ (ApiError::Refused { code: 404, .. } | ApiError::NoSuchCall(_)))) => {
                tracing::error!(
                    %error,
                    "setWebhook not supported: set the webhook address at the server itself"
                );
                return Ok(me);
            }
            (Err(error), _) | (Ok(_), Err(error)) => error,
        };
        match &error {
            ApiError::Refused { code: 401 | 404, .. } if !known => {
                return Err(AdapterError::Fatal(bad_token(&error.to_string(), language)));
            }
            ApiError::Refused { code: 400, .. } if adapter.options.webhook.is_some() => {
                return Err(AdapterError::Fatal(bad_webhook(&error.to_string(), language)));
            }
            _ => {}
        }
        breaks += 1;
        let wait =
            asked_wait(&error).unwrap_or_default().max(RETRY.delay(breaks, adapter.parts.ids.chance()));
        tracing::warn!(%error, breaks, ?wait, "getMe or setWebhook failed");
        tokio::time::sleep(wait).await;
    }
}

async fn set_webhook(api: &BotApi, webhook: &WebhookOptions) -> Result<(), ApiError> {
    let body = json!({
        "url": webhook.url,
        "secret_token": webhook.secret.expose_secret(),
        "allowed_updates": ALLOWED_UPDATES,
        "drop_pending_updates": false,
    });
    api.ask::<Value>("setWebhook", &body, PATIENCE).await.map(drop)
}
