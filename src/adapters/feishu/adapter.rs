//! The Feishu adapter: one app. Receives events over the long connection or the webhook, sends deliveries, and shows
//! drafts.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::api::FeishuApi;
use super::calls::{Bot, PastMessage};
use super::connection::{ClientConfig, ConnectionRefused, Reconnect};
use super::delivery::FeishuSender;
use super::fault::FeishuError;
use super::inbound::{FeishuInbound, PROFILE};
use super::notes::Notes;
use super::phrases::{bad_credentials, unverified_webhook};
use super::section::{FeishuMode, FeishuOptions};
use super::socket::connect;
use super::webhook::{FeishuScheme, RequestVerifier};
use crate::adapters::chat::inbound::{Intake, Pipeline, Webhook};
use crate::adapters::chat::{ChatParts, DraftTask, FeatureProbe, PeerBook, TaskSlot, deliver};
use crate::domain::{
    AgentAccount, AuthorId, Capabilities, CorrelationId, Delivery, Language, LengthUnit, MessageId,
    OutboundIntent, Platform, ThreadId, Timestamp,
};
use crate::ports::{
    Adapter, AdapterError, AdapterIo, Attempt, BoxFuture, Delivering, HistoryError, Hook, OutboxEntry,
    PastWords, Peers, Running,
};

/// What reading the messages of a group needs.
const HISTORY_SCOPES: &str = "im:message.group_msg or im:message.history:readonly";
/// Most bytes of one message. A card holds 30 KB, quotes and escapes included.
const MOST_BYTES: usize = 9000;
/// Interval of the heartbeat in webhook mode.
const ALIVE_EVERY: Duration = Duration::from_secs(60);
/// The platform sends again what it could not within this time.
const GAP_MS: u64 = 60_000;

/// One Feishu or Lark app.
#[derive(Debug)]
pub struct FeishuAdapter {
    platform: Platform,
    options: FeishuOptions,
    parts: ChatParts,
    api: FeishuApi,
    notes: Notes,
    sender: Arc<FeishuSender>,
    draft_task: TaskSlot<DraftTask>,
    intake: Arc<Intake>,
    peers: PeerBook,
    hook: Arc<Webhook<FeishuScheme>>,
    /// When the connection was opened again after a gap, in milliseconds; 0 is never.
    back_at: AtomicI64,
}

impl FeishuAdapter {
    /// An adapter with this platform name. Opens no connection.
    pub fn new(platform: Platform, options: FeishuOptions, parts: ChatParts) -> Self {
        let api = FeishuApi::new(parts.http.clone(), &options.domain, &options.app_id, &options.app_secret);
        let notes = Notes::new(parts.notes.clone());
        let peers = PeerBook::new(platform.clone());
        let (sender, draft_task) =
            FeishuSender::new(api.clone(), parts.clone(), notes.clone(), peers.clone());
        let sender = Arc::new(sender);
        let intake = Intake::new(platform.clone(), parts.clone(), PROFILE, &options.inbound);
        let verifier = match &options.mode {
            FeishuMode::Websocket => RequestVerifier::default(),
            FeishuMode::Webhook { encrypt_key, verification_token } => RequestVerifier {
                encrypt_key: encrypt_key.clone(),
                verification_token: verification_token.clone(),
            },
        };
        Self {
            platform,
            api,
            notes,
            sender,
            draft_task: TaskSlot::new(draft_task),
            intake,
            peers,
            hook: Arc::new(Webhook::new(FeishuScheme { verifier, clock: parts.clock.clone() })),
            options,
            parts,
            back_at: AtomicI64::new(0),
        }
    }

    pub fn hook(&self) -> Arc<dyn Hook> {
        self.hook.clone()
    }

    /// The API client of this app.
    pub fn api(&self) -> &FeishuApi {
        &self.api
    }

    async fn receive(&self, io: AdapterIo, stop: CancellationToken) -> Result<(), AdapterError> {
        let me = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            me = self.who_am_i() => me?,
        };
        self.peers.connected(self.options.app_id.clone(), me.name.clone(), None);
        tracing::info!(name = me.name, "feishu app connected");
        let platform = FeishuInbound {
            platform: self.platform.clone(),
            app_id: self.options.app_id.clone(),
            threading: self.options.inbound.groups.threading,
            me,
            api: self.api.clone(),
            parts: self.parts.clone(),
            notes: self.notes.clone(),
            sender: self.sender.clone(),
            peers: self.peers.clone(),
            followups: self.intake.followups().clone(),
            reacts: Arc::new(FeatureProbe::default()),
        };
        let receiving = |pipeline| self.receive_events(pipeline, &io, &stop);
        Box::pin(self.intake.run(Arc::new(platform), io.threads.clone(), receiving)).await
    }

    fn language(&self) -> Language {
        self.parts.language.unwrap_or_default()
    }

    /// The app's own identity. A platform that refuses this call gets a default identity, and the adapter runs all the
    /// same.
    async fn who_am_i(&self) -> Result<Bot, AdapterError> {
        match self.api.bot().await {
            Ok(me) => Ok(me),
            Err(error) if error.is_bad_credentials() => {
                Err(AdapterError::Fatal(bad_credentials(&error.to_string(), self.language())))
            }
            // A codeless refusal comes from a proxy and says nothing about the platform.
            Err(error @ FeishuError::Refused { .. })
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
            FeishuMode::Webhook { encrypt_key: None, verification_token: None } => {
                Err(AdapterError::Fatal(unverified_webhook(self.language()).to_owned()))
            }
            FeishuMode::Webhook { .. } => {
                let alive = || {
                    io.health.alive(io.clock.now());
                    std::future::ready(Ok(()))
                };
                self.hook.serve(pipeline, stop, ALIVE_EVERY, alive).await
            }
        }
    }

    async fn connected(
        &self,
        pipeline: &Arc<Pipeline>,
        io: &AdapterIo,
        stop: &CancellationToken,
    ) -> Result<(), AdapterError> {
        let (mut reconnect, mut config) = (Reconnect::default(), ClientConfig::default());
        let mut lost_at = None;
        loop {
            let opened = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                opened = connect(&self.api, &self.options) => opened,
            };
            let began = Instant::now();
            let reason = match opened {
                Ok(connection) => {
                    config = connection.config;
                    self.note_gap(lost_at.take(), io.clock.now());
                    let ended = connection.serve(pipeline, io, stop).await;
                    lost_at = Some(io.clock.now());
                    ended
                }
                Err(ConnectionRefused::Later(reason)) => reason,
                Err(ConnectionRefused::Never(refusal)) => {
                    return Err(AdapterError::Fatal(refusal.say(self.language())));
                }
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
}

impl FeishuAdapter {
    /// The connection is open again.
    fn note_gap(&self, lost_at: Option<Timestamp>, now: Timestamp) {
        if lost_at.is_some_and(|lost| now.millis_since(lost) > GAP_MS) {
            self.back_at.store(now.as_millis(), Ordering::Release);
        }
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
            self.draft_task.run_beside(self.sender.clone(), &stop, receiving).await
        })
    }

    fn deliver(&self, entry: OutboxEntry, attempt: Attempt) -> Delivering<'_> {
        Box::pin(deliver(&*self.sender, entry, attempt))
    }

    fn history(
        &self,
        thread: &ThreadId,
        most: usize,
    ) -> Option<BoxFuture<'_, Result<Vec<PastWords>, HistoryError>>> {
        // The topics of a group have lists of their own.
        let chat = thread.topic().is_none().then(|| thread.chat())?;
        Some(Box::pin(async move {
            let reported =
                self.api.list_recent_messages(&chat, most).await.map_err(|error| match &error {
                    FeishuError::Refused { .. } if error.is_missing_scope() => {
                        self.peers.lacks(Some(HISTORY_SCOPES.to_owned()));
                        HistoryError::Refused(format!("the app lacks {HISTORY_SCOPES}: {error}"))
                    }
                    FeishuError::Refused { .. } => HistoryError::Refused(error.to_string()),
                    FeishuError::Busy { .. } | FeishuError::Network(_) => {
                        HistoryError::Unavailable(error.to_string())
                    }
                })?;
            self.peers.lacks(None);
            let others = reported.into_iter().filter(|message| message.sender != self.options.app_id);
            let past = |message: PastMessage| PastWords {
                platform_message: message.id,
                author: message.sender,
                by_program: message.by_app,
                at: message.at,
                text: message.text,
            };
            Ok(others.map(past).collect())
        }))
    }

    fn back_at(&self) -> Option<Timestamp> {
        let at = self.back_at.load(Ordering::Acquire);
        (at > 0).then(|| Timestamp::from_millis(at))
    }

    fn message_id(&self, _thread: &ThreadId, platform_message: &str) -> Option<MessageId> {
        platform_message.parse().ok()
    }

    fn account(&self) -> Option<AgentAccount> {
        self.peers.account()
    }

    fn see_peer(&self, agent: &str, author: &AuthorId) {
        self.peers.see_agent(agent, &user_of(author));
    }

    fn know_peers(&self, peers: &Peers) {
        self.peers.know(peers);
        self.intake.know_peers(peers.may_be_there());
    }

    fn show(&self, intent: OutboundIntent) {
        self.sender.outbound.drafts.show(intent);
    }

    fn over(&self, thread: &ThreadId, run: &CorrelationId) {
        self.sender.outbound.drafts.remove(thread, run);
    }
}

/// The platform's own id of an author.
fn user_of(author: &AuthorId) -> String {
    let encoded = author.as_str().rsplit(':').next().unwrap_or_default();
    percent_encoding::percent_decode_str(encoded).decode_utf8_lossy().into_owned()
}

/// The capabilities of the platform.
pub const fn capabilities() -> Capabilities {
    Capabilities {
        delivery: Delivery::Push,
        buttons: true,
        rich_cards: true,
        edits: true,
        streaming: true,
        voice: Some(crate::domain::VoiceFormat::Opus),
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
