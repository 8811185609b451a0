//! The Feishu adapter: one app. Receives events over the long connection or the webhook, sends deliveries, and shows
//! drafts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::api::Api;
use super::calls::Bot;
use super::connection::{ClientConfig, Reconnect, Refusal};
use super::delivery::{OVERALL, Sender};
use super::fault::ApiError;
use super::hook::FeishuHook;
use super::inbound::{FeishuInbound, PROFILE};
use super::notes::Notes;
use super::options::{FeishuMode, FeishuOptions};
use super::reactions::{Reactions, send_reactions};
use super::sequences::Sequences;
use super::socket::connect;
use super::webhook::Seal;
use crate::adapters::chat::inbound::{Intake, Pipeline};
use crate::adapters::chat::{ChatParts, DraftScheduler, DraftTask, Pace, TaskSlot};
use crate::domain::{Capabilities, CorrelationId, Delivery, LengthUnit, OutboundIntent, Platform, ThreadId};
use crate::ports::{
    Adapter, AdapterError, AdapterIo, Attempt, BoxFuture, Delivering, Hook, HookAnswer, HookRequest,
    OutboxEntry, Running,
};

/// Most bytes of one message. A card holds 30 KB, quotes and escapes included.
const MOST_BYTES: usize = 9000;

/// One Feishu or Lark app.
#[derive(Debug)]
pub struct FeishuAdapter {
    platform: Platform,
    options: FeishuOptions,
    parts: ChatParts,
    api: Api,
    notes: Notes,
    courier: Arc<Sender>,
    screen_task: TaskSlot<DraftTask>,
    intake: Arc<Intake>,
    hook: FeishuHook,
}

impl FeishuAdapter {
    /// An adapter with this platform name. Opens no connection.
    pub fn new(platform: Platform, options: FeishuOptions, parts: ChatParts) -> Self {
        let api = Api::new(parts.http.clone(), &options.domain, &options.app_id, &options.app_secret);
        let notes = Notes::new(parts.notes.clone());
        let (screen, screen_task) = DraftScheduler::new();
        let courier = Sender {
            api: api.clone(),
            notes: notes.clone(),
            files: parts.files.clone(),
            clock: parts.clock.clone(),
            language: parts.language,
            pace: Pace::new(OVERALL),
            screen,
            shows_growing: AtomicBool::new(true),
            sequences: Sequences::default(),
        };
        let intake = Intake::new(platform.clone(), parts.clone(), PROFILE, &options.inbound);
        let seal = match &options.mode {
            FeishuMode::Websocket => Seal::default(),
            FeishuMode::Webhook { encrypt_key, verification_token } => {
                Seal { encrypt_key: encrypt_key.clone(), verification_token: verification_token.clone() }
            }
        };
        Self {
            platform,
            api,
            notes,
            courier: Arc::new(courier),
            screen_task: TaskSlot::new(screen_task),
            intake,
            hook: FeishuHook::new(seal),
            options,
            parts,
        }
    }

    /// The API client of this app.
    pub fn api(&self) -> &Api {
        &self.api
    }

    async fn receive(&self, io: AdapterIo, stop: CancellationToken) -> Result<(), AdapterError> {
        let me = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            me = self.who_am_i() => me?,
        };
        tracing::info!(name = me.name, "feishu app connected");
        let (reactions, waiting) = Reactions::new();
        let platform = FeishuInbound {
            platform: self.platform.clone(),
            app_id: self.options.app_id.clone(),
            threading: self.options.inbound.groups.threading,
            me,
            api: self.api.clone(),
            parts: self.parts.clone(),
            notes: self.notes.clone(),
            reactions,
        };
        let receiving = async |pipeline: Arc<Pipeline>| {
            tokio::select! {
                ended = self.receive_events(pipeline, &io, &stop) => ended,
                // Ends only after the platform is dropped, because that holds its sender.
                () = send_reactions(self.api.clone(), waiting) => Ok(()),
            }
        };
        Box::pin(self.intake.run(Arc::new(platform), io.threads.clone(), receiving)).await
    }

    /// The app's own identity. A platform that refuses this call gets a default identity, and the adapter runs all the
    /// same.
    async fn who_am_i(&self) -> Result<Bot, AdapterError> {
        match self.api.bot().await {
            Ok(me) => Ok(me),
            Err(error) if error.is_bad_credentials() => {
                Err(AdapterError::Fatal(format!("the app id or secret is wrong: {error}")))
            }
            // A codeless refusal comes from a proxy and says nothing about the platform.
            Err(error @ ApiError::Refused { .. })
                if !error.wants_fresh_token() && (error.is_no_such_call() || !error.is_codeless()) =>
            {
                tracing::warn!(%error, "app identity lookup refused: any mentioned bot counts as the app");
                Ok(Bot::default())
            }
            Err(error) => Err(AdapterError::Broken(error.to_string())),
        }
    }

    async fn receive_events(
        &self,
        pipeline: Arc<Pipeline>,
        io: &AdapterIo,
        stop: &CancellationToken,
    ) -> Result<(), AdapterError> {
        match &self.options.mode {
            FeishuMode::Websocket => self.connected(&pipeline, io, stop).await,
            FeishuMode::Webhook { .. } => self.hooked(pipeline, io, stop).await,
        }
    }

    async fn connected(
        &self,
        pipeline: &Arc<Pipeline>,
        io: &AdapterIo,
        stop: &CancellationToken,
    ) -> Result<(), AdapterError> {
        let (mut reconnect, mut config) = (Reconnect::default(), ClientConfig::default());
        loop {
            let opened = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                opened = connect(&self.api, &self.options) => opened,
            };
            let began = Instant::now();
            let reason = match opened {
                Ok(connection) => {
                    config = connection.config;
                    connection.serve(pipeline, io, stop).await
                }
                Err(Refusal::Later(reason)) => reason,
                Err(Refusal::Never(reason)) => return Err(AdapterError::Fatal(reason)),
            };
            if stop.is_cancelled() {
                return Ok(());
            }
            let wait = reconnect.wait(began.elapsed(), config, self.parts.ids.chance());
            tracing::warn!(reason, ?wait, "long connection lost, reconnecting");
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    async fn hooked(
        &self,
        pipeline: Arc<Pipeline>,
        io: &AdapterIo,
        stop: &CancellationToken,
    ) -> Result<(), AdapterError> {
        if !self.hook.seal.protects() {
            let missing =
                "webhook mode needs adapters.feishu.encryptKey or adapters.feishu.verificationToken";
            return Err(AdapterError::Fatal(missing.to_owned()));
        }
        let _open = self.hook.events.open(pipeline);
        io.health.alive(io.clock.now());
        stop.cancelled().await;
        Ok(())
    }
}

impl Hook for FeishuAdapter {
    fn path(&self) -> &'static str {
        "/hooks/feishu"
    }

    fn call(&self, request: HookRequest) -> BoxFuture<'_, HookAnswer> {
        Box::pin(async move { self.hook.answer(&request, self.parts.clock.now()).await })
    }
}

impl Adapter for FeishuAdapter {
    fn platform(&self) -> Platform {
        self.platform.clone()
    }

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn stale_after(&self) -> Option<Duration> {
        match self.options.mode {
            // The longest silence of a live connection plus the longest reconnect wait.
            FeishuMode::Websocket => Some(Duration::from_secs(300)),
            FeishuMode::Webhook { .. } => None,
        }
    }

    fn run(self: Arc<Self>, io: AdapterIo, stop: CancellationToken) -> Running {
        Box::pin(async move {
            let receiving = Box::pin(self.receive(io, stop.clone()));
            self.screen_task.run_beside(self.courier.clone(), &stop, receiving).await
        })
    }

    fn deliver(&self, entry: OutboxEntry, _attempt: Attempt) -> Delivering<'_> {
        Box::pin(self.courier.deliver(entry))
    }

    fn show(&self, intent: OutboundIntent) {
        self.courier.screen.show(intent);
    }

    fn over(&self, thread: &ThreadId, run: &CorrelationId) {
        self.courier.screen.over(thread, run);
    }
}

/// The capabilities of the platform.
pub const fn capabilities() -> Capabilities {
    Capabilities {
        delivery: Delivery::Push,
        buttons: true,
        rich_cards: true,
        edits: true,
        streaming: true,
        voice: true,
        files: true,
        threaded_replies: true,
        reactions: true,
        max_length: Some(MOST_BYTES),
        length_unit: LengthUnit::Bytes,
        replies_per_message: None,
        typing_secs: None,
        unattended: false,
    }
}
