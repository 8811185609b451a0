//! The way of an event from a platform to the threads: parse, access, addressing, order per chat, durable inbox,
//! acknowledgement, files, enrichment, submission. A platform provides the parts that differ
//! ([`InboundPlatform`]) and calls [`Pipeline::receive`] for every event.
//!
//! A quick event is submitted at once: the thread's journal is its durable place. An event that takes long (a file, a
//! step, an earlier slow event of its chat, a thread that cannot be written) is stored in the inbox, acknowledged, and
//! submitted later by [`finish`](super::finish). Commands and buttons wait for neither.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::task::JoinSet;

use super::super::{AddressingPolicy, TaskSlot, TtlCache};
use super::access::{AccessPolicy, AdminCache, Admission};
use super::followups::{FollowupTask, Followups};
use super::inbox::{Inbox, InboxTask, alone};
use super::pending::PendingMessages;
use super::recalls::Recalls;
use super::{
    ChatQueues, Content, Downloads, Finished, Inbound, InboundMessage, InboundOptions, InboundPlatform,
    InboundProfile, Position, PressAnswer, QueuedEvent, Speed, Unaccepted, Urgency,
};
use crate::adapters::Backoff;
use crate::domain::{Addressed, Author, ChatKind, Language, Platform};
use crate::metrics::Metrics;
use crate::ports::{AdapterError, ChatParts, PairingRequest, StoreError, ThreadsHandle};
use crate::render::Phrase;

/// An event that is not submitted within this time is stored in the inbox: the platform waits for an acknowledgement.
const QUICK_WITHIN: Duration = Duration::from_secs(1);
/// The back-off between retries of an event that could not even be stored.
const AGAIN: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(20),
    stable_after: Duration::ZERO,
};
/// Interval between two notices to a chat that its messages are refused.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// The consequence for the platform.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The event is durable, refused or without effect: acknowledge it.
    Taken,
    /// The same, with this response to the pressed button.
    Answered(Value),
    /// Not stored: the platform must send it again.
    Again(String),
}

/// The state of the inbound side of an adapter. It outlives a restart of the adapter.
#[derive(Debug)]
pub struct Intake {
    pub(super) platform: Platform,
    pub(super) parts: ChatParts,
    pub(super) profile: InboundProfile,
    pub(super) access: AccessPolicy,
    addressing: Mutex<AddressingPolicy>,
    pub(super) admins: AdminCache,
    pub(super) downloads: Downloads,
    pub(super) recalls: Recalls,
    pub(super) pending: PendingMessages,
    queues: ChatQueues,
    inbox: Inbox,
    inbox_task: TaskSlot<InboxTask>,
    followups: Followups,
    followup_task: TaskSlot<FollowupTask>,
    offers_pairing: bool,
    metrics: Arc<Metrics>,
    /// The chats that were told that their messages are refused.
    refusals_told: TtlCache<String, ()>,
}

impl Intake {
    pub fn new(
        platform: Platform,
        parts: ChatParts,
        profile: InboundProfile,
        options: &InboundOptions,
    ) -> Arc<Self> {
        let (inbox, inbox_task) = Inbox::new(&*parts.notes, profile.inbox);
        let (followups, followup_task) = Followups::new();
        let addressing = AddressingPolicy::new(options.groups.respond, options.groups.followup());
        Arc::new(Self {
            access: AccessPolicy::new(platform.clone(), options.allow.clone(), parts.access.clone()),
            platform,
            profile,
            addressing: Mutex::new(addressing),
            admins: AdminCache::new(options.admins_decide),
            downloads: Downloads::new(profile.downloads, profile.download_within),
            recalls: Recalls::new(profile.recalls),
            pending: PendingMessages::default(),
            queues: inbox.queues(),
            inbox,
            inbox_task: TaskSlot::new(inbox_task),
            followups,
            followup_task: TaskSlot::new(followup_task),
            offers_pairing: options.offers_pairing,
            metrics: options.metrics.clone(),
            refusals_told: TtlCache::default(),
            parts,
        })
    }

    /// A handle for best-effort work after an event.
    pub const fn followups(&self) -> &Followups {
        &self.followups
    }

    /// Runs the pipeline of a platform until `receiving` ends. What an earlier process accepted is submitted first.
    ///
    /// # Errors
    /// Those of `receiving`; when the adapter runs already; when the inbox cannot be read.
    pub async fn run<R>(
        self: &Arc<Self>,
        platform: Arc<dyn InboundPlatform>,
        threads: ThreadsHandle,
        receiving: impl FnOnce(Arc<Pipeline>) -> R,
    ) -> Result<(), AdapterError>
    where
        R: Future<Output = Result<(), AdapterError>>,
    {
        let pipeline = Arc::new(Pipeline { intake: self.clone(), platform, threads });
        let mut followups = self.followup_task.lend();
        let beside = async {
            match followups.get_mut() {
                Some(task) => task.run().await,
                None => std::future::pending().await,
            }
        };
        let convert = |stored: &Value| pipeline.platform.parse_stored(stored);
        let receive = async |earlier: Vec<(String, Value)>| {
            pipeline.take_up_earlier(earlier).await;
            receiving(pipeline.clone()).await
        };
        tokio::select! {
            ended = self.inbox_task.run_beside(convert, pipeline.clone(), receive) => ended,
            () = beside => Ok(()),
        }
    }
}

/// The running pipeline of one platform.
#[derive(Debug)]
pub struct Pipeline {
    pub(super) intake: Arc<Intake>,
    pub(super) platform: Arc<dyn InboundPlatform>,
    pub(super) threads: ThreadsHandle,
}

/// A parsed event with its position, while it is not accepted.
#[derive(Debug)]
struct Received {
    inbound: Inbound,
    /// Whether the author has access and what the event lacked is looked up; a retry goes on from there.
    admitted: bool,
    /// Whether it is for the agent, once that is decided.
    addressed: Option<Addressed>,
    place: Option<Position>,
}

impl Pipeline {
    /// Handles an event. Its position in the order of its chat is taken by this call, before the future runs.
    pub fn receive(self: &Arc<Self>, raw: &Value) -> impl Future<Output = Outcome> + Send + use<> {
        let mut received = self.enter(raw);
        let this = self.clone();
        async move { this.accept_all(&mut received).await }
    }

    /// The same for a platform that never sends an event again: retries until it is stored or refused.
    pub fn receive_surely(self: &Arc<Self>, raw: &Value) -> impl Future<Output = Outcome> + Send + use<> {
        let mut received = self.enter(raw);
        let this = self.clone();
        async move {
            let mut tries: u32 = 0;
            loop {
                match this.accept_all(&mut received).await {
                    Outcome::Again(why) => {
                        tries = tries.saturating_add(1);
                        tracing::warn!(why, tries, "event not accepted, retrying");
                        tokio::time::sleep(AGAIN.delay(tries, this.intake.parts.ids.chance())).await;
                    }
                    outcome => return outcome,
                }
            }
        }
    }

    /// Handles the entries of an earlier version that are raw events.
    async fn take_up_earlier(self: &Arc<Self>, entries: Vec<(String, Value)>) {
        for (name, raw) in entries {
            let outcome = self.receive(&raw).await;
            let removed = match outcome {
                Outcome::Taken | Outcome::Answered(_) => self.intake.inbox.forget_name(&name).await,
                Outcome::Again(why) => {
                    tracing::error!(why, name, "stored event not accepted, left for the next start");
                    Ok(())
                }
            };
            if let Err(error) = removed {
                // It will be submitted once more, and deduplicated.
                tracing::warn!(%error, "stored event not removed");
            }
        }
    }

    fn enter(&self, raw: &Value) -> Vec<Received> {
        let enter = |inbound: Inbound| {
            let (queue, speed) = self.queue_of(&inbound);
            let mut place = self.intake.queues.enter(&queue, speed);
            if let Inbound::Message(message) = &inbound {
                self.intake.mark_pending(message, &mut place);
            }
            Received { inbound, admitted: false, addressed: None, place: Some(place) }
        };
        self.platform.parse(raw).into_iter().map(enter).collect()
    }

    /// The queue of an event, and whether it has to wait for something.
    fn queue_of(&self, inbound: &Inbound) -> (String, Speed) {
        match inbound {
            Inbound::Message(message) => {
                let thread = message.thread.as_str();
                self.intake.recalls.learn_thread(message);
                if message.is_immediate() {
                    return (format!("commands {thread}"), Speed::Quick);
                }
                (thread.to_owned(), self.speed_of(message))
            }
            Inbound::Recall(recall) => (self.intake.recalls.thread_of(recall), Speed::Quick),
            Inbound::Press(_) | Inbound::Platform { .. } => (alone(inbound.key()), Speed::Quick),
        }
    }

    fn speed_of(&self, message: &InboundMessage) -> Speed {
        let said = match &message.content {
            Content::Said(said) | Content::Edited(said) => said,
            Content::Command(_) | Content::Started(_) => return Speed::Quick,
        };
        if !message.attachments.is_empty() {
            return Speed::Slow;
        }
        let steps = &self.intake.parts.enrich;
        if steps.iter().any(|step| step.applies(said)) { Speed::Slow } else { Speed::Quick }
    }

    async fn accept_all(&self, received: &mut Vec<Received>) -> Outcome {
        let mut last = Outcome::Taken;
        while let Some(first) = received.first_mut() {
            match self.accept(first).await {
                Ok(outcome) => last = outcome,
                Err(why) => return Outcome::Again(why),
            }
            received.remove(0);
        }
        last
    }

    async fn accept(&self, received: &mut Received) -> Result<Outcome, String> {
        let told = |error: StoreError| error.to_string();
        match &received.inbound {
            Inbound::Message(_) => self.accept_message(received).await,
            Inbound::Recall(_) => self.submit_or_store(received).await,
            Inbound::Press(press) => {
                if let Some(response) = self.press(press).await.map_err(told)? {
                    return Ok(response.map_or(Outcome::Taken, Outcome::Answered));
                }
                self.store(received).await
            }
            Inbound::Platform { event, .. } => match self.platform.handle(event).await {
                Ok(()) => Ok(Outcome::Taken),
                Err(error) => {
                    tracing::warn!(%error, "event not accepted, stored");
                    self.store(received).await
                }
            },
        }
    }

    async fn accept_message(&self, received: &mut Received) -> Result<Outcome, String> {
        let told = |error: StoreError| error.to_string();
        if !received.admitted {
            let Inbound::Message(message) = &mut received.inbound else { return Ok(Outcome::Taken) };
            if !self.admit(message).await.map_err(told)? {
                return Ok(Outcome::Taken);
            }
            self.intake.admins.learn(message.chat(), &message.author, message.admin);
            let looked_up = message.clone();
            let (admitted, author) =
                tokio::join!(self.platform.admitted(message), self.with_role(&looked_up));
            admitted.map_err(told)?;
            message.author = author;
            received.admitted = true;
        }
        self.submit_or_store(received).await
    }

    /// Whether the author may write here. An unknown person in a direct chat gets a pairing code.
    async fn admit(&self, message: &InboundMessage) -> Result<bool, StoreError> {
        let Intake { access, parts, .. } = &*self.intake;
        let now = parts.clock.now();
        // A link to the bot carries the invitation code.
        if let (Content::Started(Some(code)), ChatKind::Direct) = (&message.content, message.kind) {
            access.redeem(&message.author, code, now).await?;
        }
        match self.admission(&message.author, &message.chats, message.kind).await? {
            Admission::Welcome => Ok(true),
            Admission::Pair(PairingRequest::Code { code, expires, fresh: true }) => {
                if self.intake.offers_pairing {
                    let minutes = expires.millis_since(now).div_ceil(60_000).max(1);
                    let words = Phrase::Pair { code, minutes }.say(self.language(message));
                    self.tell(message.clone(), words, Urgency::Needed);
                }
                Ok(false)
            }
            Admission::Pair(_) => Ok(false),
            Admission::Closed => {
                tracing::debug!(chat = message.chat(), "message of an unserved chat ignored");
                Ok(false)
            }
        }
    }

    /// Whether a person may write in a chat that is known by several ids.
    pub(super) async fn admission(
        &self,
        author: &Author,
        chats: &[String],
        kind: ChatKind,
    ) -> Result<Admission, StoreError> {
        let now = self.intake.parts.clock.now();
        for chat in chats {
            let admission = self.intake.access.admit(author, chat, kind, now).await?;
            if admission != Admission::Closed {
                return Ok(admission);
            }
        }
        Ok(Admission::Closed)
    }

    async fn with_role(&self, message: &InboundMessage) -> Author {
        let (author, place) = (message.author.clone(), (message.chat(), message.kind));
        match message.check() {
            Some(check) => {
                let known = (message.admin, &message.detail);
                self.intake.admins.resolve_role(&*self.platform, author, place, check, known).await
            }
            None => author,
        }
    }

    /// Submits a quick event, and stores one that takes long.
    async fn submit_or_store(&self, received: &mut Received) -> Result<Outcome, String> {
        let quick = received.place.as_ref().is_some_and(|place| place.speed() == Speed::Quick);
        if quick {
            let submitted = tokio::time::timeout(QUICK_WITHIN, self.submit_quick(received)).await;
            match submitted {
                Ok(Finished::Done) => return Ok(Outcome::Taken),
                Ok(Finished::Again(why)) => tracing::warn!(why, "event not submitted, stored"),
                Err(_) => tracing::debug!("event not submitted in time, stored"),
            }
        }
        self.address(received);
        self.store(received).await
    }

    /// Whether the message is for the agent depends on the messages before it, so its position is awaited first.
    async fn submit_quick(&self, received: &mut Received) -> Finished {
        if let Some(place) = &mut received.place {
            place.reach().await;
        }
        self.address(received);
        let addressed = received.addressed.unwrap_or(Addressed::ANSWER);
        self.submit_event(&received.inbound, addressed, received.place.as_mut(), None).await
    }

    fn address(&self, received: &mut Received) {
        let Inbound::Message(message) = &received.inbound else { return };
        if received.addressed.is_some() {
            return;
        }
        let addressed = self.intake.classify(message);
        received.addressed = Some(addressed);
        if let (true, Some(place)) = (addressed.context_only, &mut received.place) {
            place.pending = None;
        }
        // A command that is not for the agent is an ordinary message.
        if addressed.context_only && message.is_immediate() {
            received.place = Some(self.intake.queues.enter(message.thread.as_str(), Speed::Quick));
        }
    }

    /// Stores an event in the inbox; one beyond the share of its chat is refused with a notice.
    async fn store(&self, received: &mut Received) -> Result<Outcome, String> {
        let Some(mut place) = received.place.take() else { return Ok(Outcome::Taken) };
        place.slow_down();
        place.may_be_stored().await;
        let addressed = received.addressed.unwrap_or(Addressed::ANSWER);
        let queued = QueuedEvent::new(received.inbound.clone(), addressed);
        match self.intake.inbox.accept(queued, place).await {
            Ok(()) => Ok(Outcome::Taken),
            // What no person sends again is not refused.
            Err((Unaccepted::Full, place)) if !matches!(received.inbound, Inbound::Platform { .. }) => {
                self.refuse(&received.inbound, place.chat()).await;
                Ok(Outcome::Taken)
            }
            Err((error, place)) => {
                received.place = Some(place);
                Err(error.to_string())
            }
        }
    }

    async fn refuse(&self, inbound: &Inbound, queue: &str) {
        self.intake.metrics.messages_refused.count();
        match inbound {
            Inbound::Message(message) if self.intake.is_to_be_told(queue) => {
                tracing::error!(queue, "messages refused, the inbox share of a failing chat is used up");
                let words = Phrase::Busy.say(self.language(message));
                self.tell((**message).clone(), words, Urgency::Needed);
            }
            Inbound::Press(press) => {
                self.platform.answer_press(press, None, PressAnswer::Later).await;
            }
            Inbound::Message(_) | Inbound::Recall(_) | Inbound::Platform { .. } => {}
        }
    }

    /// Sends a notice to the author. No event waits for it.
    pub(super) fn tell(&self, message: InboundMessage, words: String, urgency: Urgency) {
        let platform = self.platform.clone();
        self.intake.followups.run(async move { platform.tell(&message, &words, urgency).await });
    }

    /// The language for the author of a message.
    pub(super) fn language(&self, message: &InboundMessage) -> Language {
        self.intake.language(message.text(), message.language)
    }
}

impl Intake {
    /// The language for the author of this text, where `reported` is what the platform reports.
    pub fn language(&self, text: &str, reported: Option<Language>) -> Language {
        let of_text = Language::of(text);
        let written = if of_text == Language::Zh { of_text } else { reported.unwrap_or_default() };
        self.parts.language.unwrap_or(written)
    }

    /// Tells whether other agents are here.
    pub fn know_peers(&self, has_peers: bool) {
        self.addressing.lock().unwrap_or_else(PoisonError::into_inner).know_peers(has_peers);
    }

    /// From now on `/stop` finds this message, if it is one that may be answered.
    pub(super) fn mark_pending(&self, message: &InboundMessage, place: &mut Position) {
        if matches!(message.content, Content::Said(_)) && place.pending.is_none() {
            place.pending = Some(self.pending.enter(message, place.number()));
        }
    }

    fn classify(&self, message: &InboundMessage) -> Addressed {
        let InboundMessage { thread, author, kind, facts, .. } = message;
        let mut addressing = self.addressing.lock().unwrap_or_else(PoisonError::into_inner);
        if message.is_by_program() {
            return addressing.hear_program(thread, *facts);
        }
        addressing.classify(thread, &author.id, *kind, *facts, self.parts.clock.now())
    }

    fn is_to_be_told(&self, queue: &str) -> bool {
        let queue = queue.to_owned();
        self.refusals_told.get(&queue).is_none() && self.refusals_told.put(queue, (), TOLD_EVERY)
    }
}

/// Events that a transport passed to the pipeline and that are not accepted yet, each with a label of the transport.
#[derive(Debug)]
pub struct InFlight<L> {
    jobs: JoinSet<L>,
}

impl<L: 'static> Default for InFlight<L> {
    fn default() -> Self {
        Self { jobs: JoinSet::new() }
    }
}

impl<L: Send + 'static> InFlight<L> {
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Passes an event on, and retries until it is accepted. Its position in the order of its chat is taken by this call.
    pub fn receive(&mut self, pipeline: &Arc<Pipeline>, raw: &Value, label: L) {
        let accepted = AssertUnwindSafe(pipeline.receive_surely(raw)).catch_unwind();
        self.jobs.spawn(async move {
            if accepted.await.is_err() {
                // A panic on this event would repeat forever.
                tracing::error!("event ignored after a panic");
            }
            label
        });
    }

    /// The label of the next accepted event. Pending while there is none; cancel-safe.
    pub async fn next(&mut self) -> L {
        loop {
            match self.jobs.join_next().await {
                Some(Ok(label)) => return label,
                Some(Err(error)) => tracing::error!(%error, "event task failed"),
                None => std::future::pending().await,
            }
        }
    }
}
