//! The Telegram adapter: capabilities and composition.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::api::BotApi;
use super::chat_target::Aliases;
use super::connect;
use super::deliver::TelegramSender;
use super::html::SOURCE_LIMIT;
use super::inbound::PROFILE;
use super::section::TelegramOptions;
use super::webhook::SecretHeader;
use crate::adapters::chat::inbound::{Intake, Webhook};
use crate::adapters::chat::{ChatParts, DraftTask, PeerBook, TaskSlot};
use crate::domain::{
    AgentAccount, Capabilities, CorrelationId, Delivery, LengthUnit, MessageId, OutboundIntent, Platform,
    ThreadId, short_digest,
};
use crate::ports::{
    Adapter, AdapterError, AdapterIo, Attempt, BoxFuture, DeliveryError, Hook, MessageFacts, OutboxEntry,
    Peers, Receipt,
};

/// Supergroups have ids from here down.
const LAST_SUPERGROUP: i64 = -1_000_000_000_000;
/// How many bytes of a digest name a message of a basic group.
const KEY_BYTES: usize = 16;
/// Without a heartbeat for this long the adapter counts as dead; a poll ends well before.
const STALE_AFTER: Duration = Duration::from_secs(90);

/// One bot on Telegram.
#[derive(Debug)]
pub struct TelegramAdapter {
    pub(super) platform: Platform,
    pub(super) options: TelegramOptions,
    pub(super) parts: ChatParts,
    pub(super) api: BotApi,
    pub(super) aliases: Aliases,
    pub(super) sender: Arc<TelegramSender>,
    pub(super) intake: Arc<Intake>,
    pub(super) peers: PeerBook,
    /// The webhook; `None` in polling mode.
    pub(super) hook: Option<Arc<Webhook<SecretHeader>>>,
    drafts: TaskSlot<DraftTask>,
}

impl TelegramAdapter {
    pub fn new(platform: Platform, options: TelegramOptions, parts: ChatParts) -> Self {
        let api = BotApi::new(parts.http.clone(), &options.api_url, options.token.clone());
        let aliases = Aliases::default();
        let (sender, drafts) = TelegramSender::new(api.clone(), parts.clone(), aliases.clone());
        let peers = PeerBook::new(platform.clone());
        let sender = Arc::new(sender.counting(options.inbound.metrics.clone()).naming(peers.clone()));
        let secret = options.webhook.as_ref().map(|webhook| SecretHeader(webhook.secret.clone()));
        let hook = secret.map(|secret| Arc::new(Webhook::new(secret)));
        let intake = Intake::new(platform.clone(), parts.clone(), PROFILE, &options.inbound);
        let drafts = TaskSlot::new(drafts);
        Self { platform, options, parts, api, aliases, sender, intake, peers, hook, drafts }
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
            let receiving = Box::pin(connect::receive(&self, &io, &stop));
            self.drafts.run_beside(self.sender.clone(), &stop, receiving).await
        })
    }

    fn deliver(&self, entry: OutboxEntry, attempt: Attempt) -> BoxFuture<'_, Result<Receipt, DeliveryError>> {
        Box::pin(self.sender.deliver(entry, attempt))
    }

    fn message_id(&self, thread: &ThreadId, platform_message: &str) -> Option<MessageId> {
        // In a basic group every account counts its own messages.
        let chat = self.aliases.current(thread.chat().parse().ok()?);
        if chat > LAST_SUPERGROUP {
            return None;
        }
        format!("{}:{chat}:{platform_message}", self.platform).parse().ok()
    }

    fn room(&self, thread: &ThreadId) -> Option<ThreadId> {
        let chat: i64 = thread.chat().parse().ok()?;
        let now = Some(self.aliases.current(chat)).filter(|now| *now != chat)?.to_string();
        let room = match thread.topic() {
            Some(topic) => ThreadId::of_topic(&self.platform, &now, &topic),
            None => ThreadId::of_chat(&self.platform, &now),
        };
        room.ok()
    }

    fn is_group(&self, thread: &ThreadId) -> bool {
        thread.chat().starts_with('-')
    }

    fn shared_key(&self, thread: &ThreadId, message: MessageFacts<'_>) -> Option<MessageId> {
        let MessageFacts { platform_message, author, at, text } = message;
        self.message_id(thread, platform_message).or_else(|| {
            let seconds = at.as_millis().div_euclid(1000);
            let whole = format!("{author}\n{seconds}\n{text}");
            let digest = short_digest(whole.as_bytes(), KEY_BYTES);
            format!("{}:{}:same:{digest}", self.platform, thread.chat()).parse().ok()
        })
    }

    fn account(&self) -> Option<AgentAccount> {
        self.peers.account()
    }

    fn know_peers(&self, peers: &Peers) {
        self.peers.know(peers);
        self.intake.know_peers(peers.may_be_there());
    }

    fn show(&self, intent: OutboundIntent) {
        self.sender.show(intent);
    }

    fn show_recording(&self, thread: &ThreadId) -> BoxFuture<'_, Infallible> {
        Box::pin(self.sender.show_recording(thread.clone()))
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
        voice: Some(crate::domain::VoiceFormat::Opus),
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
