//! The Feishu adapter: one app. Receives events over the long connection or the webhook, sends deliveries, and shows
//! drafts.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::admins::Admins;
use super::api::Api;
use super::attachments::{AT_ONCE, FETCH_WITHIN};
use super::calls::Bot;
use super::connection::{ClientConfig, Reconnect, Refusal};
use super::delivery::{OVERALL, Sender};
use super::fault::ApiError;
use super::hook::{Hooks, Waiting};
use super::intake::Intake;
use super::notes::Notes;
use super::options::{FeishuMode, FeishuOptions};
use super::seen::{Seen, put_signs};
use super::sequences::Sequences;
use super::socket::connect;
use super::webhook::Seal;
use crate::adapters::chat::{
    AccessPolicy, AddressingPolicy, Backlog, BacklogTask, ChatParts, Downloads, DraftScheduler, DraftTask,
    Pace, TaskSlot,
};
use crate::domain::{Capabilities, CorrelationId, Delivery, LengthUnit, OutboundIntent, Platform, ThreadId};
use crate::ports::{
    Adapter, AdapterError, AdapterIo, Attempt, BoxFuture, Delivering, Hook, HookAnswer, HookRequest,
    OutboxEntry, Running,
};

/// Most bytes of one message. A card holds 30 KB, quotes and escapes included.
const MOST_BYTES: usize = 9000;
/// Capacity of the webhook queue.
const HOOKS: usize = 64;
/// Deadline of a webhook request in our listener; the platform itself waits for 3 seconds.
const HOOK_WITHIN: Duration = Duration::from_secs(30);

/// One Feishu or Lark app.
#[derive(Debug)]
pub struct FeishuAdapter {
    platform: Platform,
    options: FeishuOptions,
    parts: ChatParts,
    api: Api,
    notes: Notes,
    courier: Arc<Sender>,
    attention: Arc<Mutex<AddressingPolicy>>,
    screen_task: TaskSlot<DraftTask>,
    backlog: Backlog,
    backlog_task: TaskSlot<BacklogTask>,
    hooks: mpsc::Sender<Waiting>,
    hook_inbox: TaskSlot<mpsc::Receiver<Waiting>>,
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
        let attention = AddressingPolicy::new(options.respond, options.followup);
        let (hooks, hook_inbox) = mpsc::channel(HOOKS);
        let (backlog, backlog_task) = Backlog::new(&*parts.notes);
        Self {
            platform,
            api,
            notes,
            courier: Arc::new(courier),
            attention: Arc::new(Mutex::new(attention)),
            screen_task: TaskSlot::new(screen_task),
            backlog,
            backlog_task: TaskSlot::new(backlog_task),
            hooks,
            hook_inbox: TaskSlot::new(hook_inbox),
            options,
            parts,
        }
    }

    /// The API client of this app.
    pub fn api(&self) -> &Api {
        &self.api
    }

    fn intake(&self, me: Bot, io: &AdapterIo, seen: Seen) -> Arc<Intake> {
        Arc::new(Intake {
            platform: self.platform.clone(),
            app_id: self.options.app_id.clone(),
            threading: self.options.threading,
            me,
            api: self.api.clone(),
            gate: AccessPolicy::new(
                self.platform.clone(),
                self.options.guests.clone(),
                self.parts.access.clone(),
            ),
            parts: self.parts.clone(),
            attention: self.attention.clone(),
            notes: self.notes.clone(),
            threads: io.threads.clone(),
            admins: Admins::new(self.api.clone(), self.options.admins_decide),
            backlog: self.backlog.clone(),
            downloads: Downloads::new(AT_ONCE, FETCH_WITHIN),
            seen,
            recent: Mutex::new(VecDeque::new()),
            lines: Mutex::default(),
        })
    }

    async fn receive(&self, io: AdapterIo, stop: CancellationToken) -> Result<(), AdapterError> {
        let me = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            me = self.who_am_i() => me?,
        };
        tracing::info!(name = me.name, "feishu app connected");
        let (seen, waiting) = Seen::new();
        let intake = self.intake(me, &io, seen);
        let hearing = async {
            tokio::select! {
                ended = self.hear(&intake, &io, &stop) => ended,
                // `put_signs` ends only after the intake is dropped, because the intake holds its sender.
                () = put_signs(self.api.clone(), waiting) => Ok(()),
            }
        };
        self.backlog_task.run_beside(intake.clone(), Box::pin(hearing)).await
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

    async fn hear(
        &self,
        intake: &Arc<Intake>,
        io: &AdapterIo,
        stop: &CancellationToken,
    ) -> Result<(), AdapterError> {
        match &self.options.mode {
            FeishuMode::Websocket => self.connected(intake, io, stop).await,
            FeishuMode::Webhook { encrypt_key, verification_token } => {
                let seal =
                    Seal { encrypt_key: encrypt_key.clone(), verification_token: verification_token.clone() };
                self.hooked(seal, intake, io, stop).await
            }
        }
    }

    async fn connected(
        &self,
        intake: &Arc<Intake>,
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
                    connection.serve(intake, io, stop).await
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
        seal: Seal,
        intake: &Arc<Intake>,
        io: &AdapterIo,
        stop: &CancellationToken,
    ) -> Result<(), AdapterError> {
        if !seal.protects() {
            let missing =
                "webhook mode needs adapters.feishu.encryptKey or adapters.feishu.verificationToken";
            return Err(AdapterError::Fatal(missing.to_owned()));
        }
        let mut lent = self.hook_inbox.lend();
        let Some(inbox) = lent.get_mut() else {
            return Err(AdapterError::Fatal("the webhook is served already".to_owned()));
        };
        Hooks::new(seal, inbox).serve(intake, io, stop).await;
        Ok(())
    }
}

impl Hook for FeishuAdapter {
    fn path(&self) -> &'static str {
        "/hooks/feishu"
    }

    fn call(&self, request: HookRequest) -> BoxFuture<'_, HookAnswer> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let asked = async {
                self.hooks.try_send(Waiting { request, reply }).ok()?;
                answer.await.ok()
            };
            let answered = tokio::time::timeout(HOOK_WITHIN, asked).await;
            // After a 503 the platform sends the event again; the dedupe key recognises an event that was accepted
            // meanwhile.
            answered.ok().flatten().unwrap_or(HookAnswer::of(503))
        })
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
    }
}
