//! The QQ adapter: composition, and the `Adapter` implementation.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::api::QqApi;
use super::call_failure::FailureKind;
use super::connection::GatewayConnection;
use super::inbound::{PROFILE, QqInbound};
use super::options::{QqEvents, QqOptions};
use super::phrases::bad_credentials;
use super::reply_budget_actor::ReplyBudgetHandle;
use super::send::QqSender;
use super::session::SessionStore;
use super::text;
use super::webhook::{QqScheme, WebhookKey};
use crate::adapters::chat::inbound::{Intake, Pipeline, Webhook};
use crate::adapters::chat::{ChatParts, DraftTask, TaskSlot, deliver};
use crate::domain::{
    AgentAccount, Capabilities, CorrelationId, Delivery, LengthUnit, OutboundIntent, Platform, ThreadId,
};
use crate::ports::{
    Adapter, AdapterError, AdapterIo, Attempt, Delivering, Hook, OutboxEntry, Peers, Running,
};

/// The platform sends a heartbeat every 45 seconds or faster; after three missed ones the adapter counts as dead.
const STALE: Duration = Duration::from_secs(150);
/// How long the platform shows a typing indicator.
const TYPING_SECS: u64 = 50;
/// Interval of the API check in webhook mode.
const LOOK_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct QqAdapter {
    platform: Platform,
    options: QqOptions,
    parts: ChatParts,
    api: QqApi,
    sender: Arc<QqSender>,
    intake: Arc<Intake>,
    draft_task: TaskSlot<DraftTask>,
    hook: Arc<Webhook<QqScheme>>,
    /// Runs the reply budget actor for as long as the adapter lives.
    _budget_task: JoinSet<()>,
}

impl QqAdapter {
    /// Must be called inside the runtime. Opens no connection.
    pub fn new(platform: Platform, options: QqOptions, parts: ChatParts) -> Self {
        let api = QqApi::new(parts.http.clone(), &options);
        let (budget, budget_actor) = ReplyBudgetHandle::new(Arc::clone(&parts.notes));
        let mut budget_task = JoinSet::new();
        budget_task.spawn(budget_actor);
        let (sender, draft_task) = QqSender::new(api.clone(), parts.clone(), budget, options.markdown);
        let intake = Intake::new(platform.clone(), parts.clone(), PROFILE, &options.inbound);
        let scheme = QqScheme { key: WebhookKey::new(&options.app_secret), clock: parts.clock.clone() };
        Self {
            hook: Arc::new(Webhook::new(scheme)),
            platform,
            options,
            parts,
            api,
            sender: Arc::new(sender),
            intake,
            draft_task: TaskSlot::new(draft_task),
            _budget_task: budget_task,
        }
    }

    pub fn hook(&self) -> Arc<dyn Hook> {
        self.hook.clone()
    }

    async fn receive(&self, io: AdapterIo, stop: CancellationToken) -> Result<(), AdapterError> {
        let (threading, sender) = (self.options.inbound.groups.threading, Arc::clone(&self.sender));
        let platform = QqInbound::new(self.platform.clone(), threading, self.parts.clone(), sender);
        let threads = io.threads.clone();
        let receiving = |pipeline| self.receive_events(pipeline, io, stop);
        Box::pin(self.intake.run(Arc::new(platform), threads, receiving)).await
    }

    async fn receive_events(
        &self,
        pipeline: Arc<Pipeline>,
        io: AdapterIo,
        stop: CancellationToken,
    ) -> Result<(), AdapterError> {
        match self.options.events {
            QqEvents::Gateway => {
                let connection = GatewayConnection {
                    api: self.api.clone(),
                    sessions: SessionStore {
                        app_id: self.options.app_id.clone(),
                        notes: Arc::clone(&self.parts.notes),
                    },
                    parts: self.parts.clone(),
                    pipeline,
                    io,
                    stop,
                };
                connection.run().await
            }
            QqEvents::Webhook => self.hook.serve(pipeline, &stop, LOOK_EVERY, || self.check_api(&io)).await,
        }
    }

    /// Webhook mode: events arrive by HTTP; the API is checked at an interval.
    async fn check_api(&self, io: &AdapterIo) -> Result<(), AdapterError> {
        match self.api.call(Method::GET, "/gateway", None).await {
            Ok(_) => io.health.alive(io.clock.now()),
            // A server without this call is still reachable.
            Err(failure) if failure.kind == FailureKind::Refused => io.health.alive(io.clock.now()),
            Err(failure) if failure.kind == FailureKind::Credentials => {
                let language = self.parts.language.unwrap_or_default();
                return Err(AdapterError::Fatal(bad_credentials(&failure.what, language)));
            }
            Err(error) => tracing::warn!(%error, "api check failed"),
        }
        Ok(())
    }
}

impl Adapter for QqAdapter {
    fn platform(&self) -> Platform {
        self.platform.clone()
    }

    fn capabilities(&self) -> Capabilities {
        capabilities(self.options.markdown != Some(false))
    }

    fn stale_after(&self) -> Option<Duration> {
        Some(STALE)
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

    fn account(&self) -> Option<AgentAccount> {
        Some(AgentAccount::new(self.platform.clone(), self.options.app_id.clone(), String::new()))
    }

    /// The platform does not document whether it sends bots the messages of others: they are left out.
    fn know_peers(&self, peers: &Peers) {
        self.intake.know_peers(peers.may_be_there());
    }

    fn show(&self, intent: OutboundIntent) {
        self.sender.outbound.drafts.show(intent);
    }

    fn over(&self, thread: &ThreadId, run: &CorrelationId) {
        self.sender.outbound.drafts.remove(thread, run);
    }
}

/// The capabilities of the platform; `buttons` and Markdown where the platform granted them to the bot.
pub const fn capabilities(buttons: bool) -> Capabilities {
    Capabilities {
        delivery: Delivery::Push,
        buttons,
        rich_cards: false,
        edits: false,
        streaming: false,
        voice: Some(crate::domain::VoiceFormat::Wav),
        files: true,
        threaded_replies: true,
        reactions: false,
        max_length: Some(text::LONGEST),
        length_unit: LengthUnit::Chars,
        replies_per_message: Some(5),
        typing_secs: Some(TYPING_SECS),
        unattended: false,
    }
}
