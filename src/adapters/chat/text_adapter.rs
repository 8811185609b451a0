//! A whole adapter for a text-only platform: durable intake, order, access, pairing, commands, approvals in words, rate
//! limits and confirmed deliveries. The platform implements [`TextTransport`]: one connection and the form of a text.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::inbound::{
    AdminAnswer, AdminQuery, Attachment, Content, Fetched, InFlight, Inbound, InboundMessage, InboundOptions,
    InboundPlatform, InboundProfile, Intake, LookupError, Pipeline, Press, PressAnswer, PressedIn, Urgency,
    thread_of,
};
use super::{AddressingFacts, ChatParts, FetchError, GroupsSection, Pace, Rate, Threading, lower_entry};
use crate::domain::{
    Approval, Author, AuthorId, AuthorRole, BadId, Capabilities, ChatKind, CommandInvocation, Platform, Said,
    StoredFile,
};
use crate::ports::{
    Adapter, AdapterError, AdapterIo, AdapterParts, Attempt, BoxFuture, Delivering, DeliveryError,
    OutboxEntry, Receipt, Running,
};

/// Capacity of the queues of received messages and of lines to send.
const QUEUED: usize = 256;
/// Within this time the server must have confirmed a reply.
const CONFIRM_WITHIN: Duration = Duration::from_secs(60);

/// A message of the platform. Ids are the platform's own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TextMessage {
    /// The dedupe key; `None` where the platform has no message ids.
    pub id: Option<String>,
    pub chat: String,
    pub kind: ChatKind,
    pub user: String,
    /// Display name of the author.
    pub name: Option<String>,
    /// The text, without the bot's name that it may begin with.
    pub text: String,
    pub facts: AddressingFacts,
}

/// The part of a text-only platform that differs.
pub trait TextTransport: Send + Sync + std::fmt::Debug + 'static {
    fn limits(&self) -> TextLimits;

    /// A text as the lines to send to a chat.
    fn lines(&self, chat: &str, text: &str) -> Vec<String>;

    /// One connection, until it breaks or `stop` is cancelled. When it breaks, it is opened again after a wait.
    fn connect<'a>(
        &'a self,
        link: TextLink,
        io: &'a AdapterIo,
        stop: &'a CancellationToken,
    ) -> TextConnection<'a>;
}

pub type TextConnection<'a> = BoxFuture<'a, Result<(), AdapterError>>;

/// The limits of a platform.
#[derive(Clone, Debug)]
pub struct TextLimits {
    pub capabilities: Capabilities,
    /// The most lines that the server takes.
    pub rate: Rate,
    /// After how long without a sign of life the connection counts as dead.
    pub stale_after: Option<Duration>,
}

/// What is to be sent over the connection.
#[derive(Debug)]
pub enum TextOutgoing {
    Line(String),
    /// To be told once the server has taken every line before it.
    Confirm(oneshot::Sender<()>),
}

type Outgoing = watch::Sender<Option<mpsc::Sender<TextOutgoing>>>;

/// The adapter's side of a connection.
#[derive(Debug)]
pub struct TextLink {
    received: mpsc::Sender<TextMessage>,
    outgoing: mpsc::Receiver<TextOutgoing>,
    sender: mpsc::Sender<TextOutgoing>,
    open: Arc<Outgoing>,
}

impl TextLink {
    /// The server takes lines from now on.
    pub fn open(&self) {
        self.open.send_replace(Some(self.sender.clone()));
    }

    /// Reports a sign of life, once the server takes lines.
    pub fn alive(&self, io: &AdapterIo) {
        if self.open.borrow().is_some() {
            io.health.alive(io.clock.now());
        }
    }

    /// The next thing to send. Cancel-safe.
    pub async fn next(&mut self) -> TextOutgoing {
        match self.outgoing.recv().await {
            Some(outgoing) => outgoing,
            // The link itself holds a sender.
            None => std::future::pending().await,
        }
    }

    /// Passes on a message in the order of the calls. Waits only while very many are not accepted.
    pub async fn receive(&self, message: TextMessage) {
        // The receiver ends after the connection.
        drop(self.received.send(message).await);
    }
}

/// An adapter for one text-only platform.
#[derive(Debug)]
pub struct TextAdapter<T> {
    platform: Platform,
    parts: ChatParts,
    threading: Threading,
    intake: Arc<Intake>,
    pace: Pace,
    transport: Arc<T>,
    /// The way to the server, while the connection is open.
    link: Arc<Outgoing>,
}

impl<T: TextTransport> TextAdapter<T> {
    /// With the people who may write in a direct chat, the groups that are served, and the settings for groups.
    pub fn new(
        parts: AdapterParts,
        people: &[String],
        groups_served: &[String],
        groups: &GroupsSection,
        transport: T,
    ) -> Self {
        let options = InboundOptions::new(&parts, people, groups_served, groups);
        let AdapterParts { platform, chat, .. } = parts;
        Self {
            intake: Intake::new(platform.clone(), chat.clone(), InboundProfile::default(), &options),
            platform,
            parts: chat,
            threading: groups.threading,
            pace: Pace::new(transport.limits().rate),
            transport: Arc::new(transport),
            link: Arc::new(watch::Sender::new(None)),
        }
    }

    async fn receive(&self, io: AdapterIo, stop: CancellationToken) -> Result<(), AdapterError> {
        let platform = TextPlatform {
            platform: self.platform.clone(),
            parts: self.parts.clone(),
            threading: self.threading,
            transport: self.transport.clone(),
            link: self.link.clone(),
        };
        let receiving = async |pipeline: Arc<Pipeline>| {
            let ((received, inbox), (sender, outgoing)) = (mpsc::channel(QUEUED), mpsc::channel(QUEUED));
            let link = TextLink { received, outgoing, sender, open: self.link.clone() };
            let connection = async {
                let ended = self.transport.connect(link, &io, &stop).await;
                self.link.send_replace(None);
                ended
            };
            // What was received before the connection broke is still accepted.
            tokio::join!(connection, accept(&pipeline, inbox, &self.parts)).0
        };
        Box::pin(self.intake.run(Arc::new(platform), io.threads.clone(), receiving)).await
    }

    async fn send(&self, entry: OutboxEntry) -> Result<Receipt, DeliveryError> {
        let later = |reason: &str| DeliveryError::Retry { after: None, reason: reason.to_owned() };
        let (limits, now) = (self.transport.limits(), self.parts.clock.now());
        let text = lower_entry(&entry, &limits.capabilities, self.parts.language, now)?.into_text();
        let link = self.link.borrow().clone().ok_or_else(|| later("not connected"))?;
        let chat = entry.intent.thread_id.chat();
        for line in self.transport.lines(&chat, &text) {
            self.pace.wait(&chat, limits.rate).await;
            link.send(TextOutgoing::Line(line)).await.map_err(|_| later("disconnected"))?;
        }
        let (confirm, confirmed) = oneshot::channel();
        link.send(TextOutgoing::Confirm(confirm)).await.map_err(|_| later("disconnected"))?;
        match timeout(CONFIRM_WITHIN, confirmed).await {
            Ok(Ok(())) => Ok(Receipt::default()),
            Ok(Err(_)) | Err(_) => Err(later("the server did not confirm the reply")),
        }
    }
}

/// Accepts messages in the order of their arrival until the connection has ended and all are accepted.
async fn accept(pipeline: &Arc<Pipeline>, mut inbox: mpsc::Receiver<TextMessage>, parts: &ChatParts) {
    let mut accepting = InFlight::default();
    loop {
        tokio::select! {
            () = accepting.next() => {}
            message = inbox.recv(), if accepting.len() < QUEUED => match message {
                Some(mut message) => {
                    message.id.get_or_insert_with(|| format!("text-{}", parts.ids.unique()));
                    let raw = serde_json::to_value(message).unwrap_or_default();
                    accepting.receive(pipeline, &raw, ());
                }
                None => break,
            },
        }
    }
    while !accepting.is_empty() {
        accepting.next().await;
    }
}

impl<T: TextTransport> Adapter for TextAdapter<T> {
    fn platform(&self) -> Platform {
        self.platform.clone()
    }

    fn capabilities(&self) -> Capabilities {
        self.transport.limits().capabilities
    }

    fn stale_after(&self) -> Option<Duration> {
        self.transport.limits().stale_after
    }

    fn run(self: Arc<Self>, io: AdapterIo, stop: CancellationToken) -> Running {
        Box::pin(async move { self.receive(io, stop).await })
    }

    fn deliver(&self, entry: OutboxEntry, _attempt: Attempt) -> Delivering<'_> {
        Box::pin(self.send(entry))
    }
}

/// The platform's part of the pipeline.
#[derive(Debug)]
struct TextPlatform<T> {
    platform: Platform,
    parts: ChatParts,
    threading: Threading,
    transport: Arc<T>,
    link: Arc<Outgoing>,
}

impl<T> TextPlatform<T> {
    fn message(&self, message: TextMessage) -> Result<InboundMessage, BadId> {
        let TextMessage { id, chat, kind, user, name, text, facts } = message;
        let id = id.unwrap_or_default();
        let author = AuthorId::new(&self.platform, &user)?;
        let command = CommandInvocation::parse(&text);
        Ok(InboundMessage {
            thread: thread_of(&self.platform, self.threading, &chat, None, kind, &user)?,
            author: Author { id: author, name, role: AuthorRole::Person },
            chats: vec![chat],
            kind,
            message: id.parse()?,
            at: self.parts.clock.now(),
            facts,
            language: None,
            admin: None,
            album: None,
            content: match command {
                Some(command) => Content::Command(command),
                None => Content::Said(Said { text, ..Said::default() }),
            },
            attachments: Vec::new(),
            detail: Value::Null,
            platform_message: id.clone(),
            key: id,
        })
    }
}

impl<T: TextTransport> InboundPlatform for TextPlatform<T> {
    fn parse(&self, raw: &Value) -> Vec<Inbound> {
        let Ok(message) = TextMessage::deserialize(raw) else { return Vec::new() };
        let invalid = |error: &BadId| tracing::warn!(%error, "message without valid ids ignored");
        let message = self.message(message).inspect_err(invalid);
        message.into_iter().map(|message| Inbound::Message(Box::new(message))).collect()
    }

    fn fetch<'a>(
        &'a self,
        _: &'a InboundMessage,
        _: &'a Attachment,
        _: &'a StoredFile,
    ) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        Box::pin(async { Err(FetchError::Denied("the platform has no files".to_owned())) })
    }

    fn is_admin<'a>(&'a self, _: AdminQuery<'a>) -> BoxFuture<'a, Result<AdminAnswer, LookupError>> {
        Box::pin(async { Ok(AdminAnswer::Unknown) })
    }

    fn tell<'a>(&'a self, message: &'a InboundMessage, words: &'a str, _: Urgency) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(link) = self.link.borrow().clone() else { return };
            for line in self.transport.lines(message.chat(), words) {
                // A notice may be lost.
                drop(link.try_send(TextOutgoing::Line(line)));
            }
        })
    }

    fn locate<'a>(&'a self, _: &'a Press, _: &'a Approval) -> BoxFuture<'a, Option<PressedIn>> {
        Box::pin(async { None })
    }

    fn answer_press<'a>(
        &'a self,
        _: &'a Press,
        _: Option<&'a Approval>,
        _: PressAnswer,
    ) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async { None })
    }
}

/// Reads lines of bounded length; dropping a read loses nothing.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    longest: usize,
    partial: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin + Send> LineReader<R> {
    pub const fn new(reader: R, longest: usize) -> Self {
        Self { reader, longest, partial: Vec::new() }
    }

    /// The next line, without its end. Invalid UTF-8 is replaced.
    ///
    /// # Errors
    /// When the connection breaks or ends, or a line is too long.
    pub async fn next_line(&mut self) -> io::Result<String> {
        loop {
            let chunk = self.reader.fill_buf().await?;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |end| end + 1);
            self.partial.extend(chunk.iter().take(taken));
            self.reader.consume(taken);
            if taken == 0 || self.partial.len() > self.longest {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if end.is_some() {
                return Ok(String::from_utf8_lossy(&std::mem::take(&mut self.partial)).trim_end().to_owned());
            }
        }
    }
}
