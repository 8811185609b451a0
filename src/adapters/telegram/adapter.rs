//! The Telegram adapter: capabilities and composition.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::aliases::Aliases;
use super::api::Api;
use super::deliver::Sender;
use super::html::SOURCE_LIMIT;
use super::options::TelegramOptions;
use super::run;
use super::webhook::{Call, TelegramHook};
use crate::adapters::chat::{ChatParts, DraftTask, TaskSlot};
use crate::domain::{Capabilities, CorrelationId, Delivery, LengthUnit, OutboundIntent, Platform, ThreadId};
use crate::metrics::Metrics;
use crate::ports::{
    Adapter, AdapterError, AdapterIo, Attempt, BoxFuture, DeliveryError, Hook, OutboxEntry, Receipt,
};

/// Without a heartbeat for this long the adapter counts as dead; a poll ends well before.
const STALE_AFTER: Duration = Duration::from_secs(90);

/// One bot on Telegram.
#[derive(Debug)]
pub struct TelegramAdapter {
    pub(super) platform: Platform,
    pub(super) options: TelegramOptions,
    pub(super) parts: ChatParts,
    pub(super) api: Api,
    pub(super) aliases: Aliases,
    pub(super) sender: Arc<Sender>,
    pub(super) metrics: Arc<Metrics>,
    hook: Option<Arc<TelegramHook>>,
    screen: TaskSlot<DraftTask>,
    /// The queue of the webhook, where there is one.
    pub(super) calls: Option<TaskSlot<mpsc::Receiver<Call>>>,
}

impl TelegramAdapter {
    pub fn new(platform: Platform, options: TelegramOptions, parts: ChatParts) -> Self {
        let api = Api::new(parts.http.clone(), &options.api_url, options.token.clone());
        let aliases = Aliases::default();
        let (sender, screen) = Sender::new(api.clone(), parts.clone(), aliases.clone());
        let hook = options.webhook.as_ref().map(|webhook| TelegramHook::new(webhook.secret.clone()));
        let (hook, calls) = hook.map(|(hook, calls)| (Arc::new(hook), TaskSlot::new(calls))).unzip();
        let (screen, sender, metrics) = (TaskSlot::new(screen), Arc::new(sender), Arc::default());
        Self { platform, options, parts, api, aliases, sender, metrics, hook, screen, calls }
    }

    /// Adds shared metrics.
    #[must_use]
    pub fn counting(self, metrics: Arc<Metrics>) -> Self {
        let sender = Arc::new(Sender::clone(&self.sender).counting(metrics.clone()));
        Self { sender, metrics, ..self }
    }

    /// The webhook handler; `None` in polling mode.
    pub fn hook(&self) -> Option<Arc<dyn Hook>> {
        self.hook.clone().map(|hook| -> Arc<dyn Hook> { hook })
    }
}

impl Adapter for TelegramAdapter {
    fn platform(&self) -> Platform {
        self.platform.clone()
    }

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn stale_after(&self) -> Option<Duration> {
        Some(STALE_AFTER)
    }

    fn run(
        self: Arc<Self>,
        io: AdapterIo,
        stop: CancellationToken,
    ) -> BoxFuture<'static, Result<(), AdapterError>> {
        Box::pin(async move {
            let receiving = Box::pin(run::receive(&self, &io, &stop));
            let ended = self.screen.run_beside(self.sender.target(), &stop, receiving).await;
            // The update loop has ended, so webhook calls must not wait for it.
            if let (true, Some(calls)) = (stop.is_cancelled(), &self.calls) {
                calls.close();
            }
            ended
        })
    }

    fn deliver(&self, entry: OutboxEntry, attempt: Attempt) -> BoxFuture<'_, Result<Receipt, DeliveryError>> {
        Box::pin(self.sender.deliver(entry, attempt))
    }

    fn show(&self, intent: OutboundIntent) {
        self.sender.show(intent);
    }

    fn over(&self, thread: &ThreadId, run: &CorrelationId) {
        self.sender.over(thread, run);
    }
}

/// The capabilities of the platform.
pub const fn capabilities() -> Capabilities {
    Capabilities {
        delivery: Delivery::Push,
        buttons: true,
        rich_cards: false,
        edits: true,
        streaming: true,
        voice: true,
        files: true,
        threaded_replies: true,
        reactions: true,
        max_length: Some(SOURCE_LIMIT),
        length_unit: LengthUnit::Utf16,
        replies_per_message: None,
        typing_secs: Some(4),
        unattended: false,
    }
}
