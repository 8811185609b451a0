//! One run from its first text to its end, as the UI message stream.
//!
//! A client is sent the difference between what it has and the current message; so a slow client gets fewer updates,
//! and a late one gets everything from the beginning.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::watch;

use super::server::Web;
use super::sse::{DONE, Source, data};
use crate::domain::{CorrelationId, MessageId, ThreadId};
use crate::ports::{BoxFuture, RunOutcome, ThreadView};
use crate::uimessage::{Chunk, Cursor, Part, Role, RunStatus, UiMessage};

/// How many messages are searched for a run that its message does not lead to.
const RUN_MESSAGES: usize = 200;

/// The stream of a run for one client.
pub(super) struct RunStream {
    web: Arc<Web>,
    thread: ThreadId,
    /// A message of the run.
    message: MessageId,
    /// The run; `None` means that only its end can be sent.
    correlation: Option<CorrelationId>,
    view: Option<watch::Receiver<ThreadView>>,
    /// A state that is not sent yet.
    heard: Option<Arc<UiMessage>>,
    outcome: BoxFuture<'static, Option<RunOutcome>>,
    told: Cursor,
    /// The message that was sent last.
    at: Option<MessageId>,
    ended: bool,
    /// Sent before anything else.
    first: Option<Chunk>,
}

impl RunStream {
    /// The run of `message`. `view` must have been subscribed before the run could start.
    pub(super) fn new(
        web: Arc<Web>,
        thread: ThreadId,
        message: MessageId,
        correlation: Option<CorrelationId>,
        mut view: watch::Receiver<ThreadView>,
    ) -> Self {
        view.mark_changed();
        let outcome = Box::pin(outcome_of(Arc::clone(&web), thread.clone(), message.clone()));
        Self {
            web,
            thread,
            message,
            correlation,
            view: Some(view),
            heard: None,
            outcome,
            told: Cursor::default(),
            at: None,
            ended: false,
            first: None,
        }
    }

    /// The same for a client that has the message up to here: it gets a continuation and what is new.
    #[must_use]
    pub(super) fn going_on_from(mut self, known: &UiMessage) -> Self {
        self.first = Some(self.told.go_on_from(known));
        self.at = Some(known.id.clone());
        self
    }

    /// Sends what is new in the live message, if it belongs to this run.
    async fn tell_live(&mut self, live: &UiMessage) -> Vec<Chunk> {
        if self.correlation.as_ref() != Some(&live.metadata.correlation_id) {
            return Vec::new();
        }
        // A run may have several messages. Missed parts of the earlier ones come first.
        let mut earlier = Vec::new();
        if self.at.as_ref() != Some(&live.id) {
            earlier =
                messages_of_run(&self.web, &self.thread, &self.message, &live.metadata.correlation_id).await;
            earlier
                .truncate(earlier.iter().position(|message| message.id == live.id).unwrap_or(earlier.len()));
        }
        self.tell_all(earlier.iter().chain([live]))
    }

    fn tell_all<'a>(&mut self, messages: impl Iterator<Item = &'a UiMessage>) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let mut passed = self.at.is_none();
        let messages: Vec<&UiMessage> = messages.filter(|message| message.role == Role::Assistant).collect();
        let known = messages.iter().any(|message| Some(&message.id) == self.at.as_ref());
        for message in messages {
            // Messages before the last sent one were sent completely.
            let again = Some(&message.id) == self.at.as_ref();
            passed |= !known || again;
            let anew = again && !self.told.fits(message);
            if anew && self.ended {
                chunks.extend(self.told.start_over());
            }
            // Sent text cannot be taken back. A turn that started over is sent when it is complete.
            if passed && (!anew || self.ended) {
                chunks.extend(self.told.advance(message));
                self.at = Some(message.id.clone());
            }
        }
        chunks
    }

    /// Sends the rest and closes.
    fn end(&mut self, outcome: Option<RunOutcome>) -> String {
        self.ended = true;
        let Some(outcome) = outcome else {
            let mut chunks = self.told.finish(None);
            let text = if self.web.stop.is_cancelled() {
                "the daemon is stopping: the answer goes on after its restart"
            } else {
                "the answer goes on, but it cannot be followed here: load the conversation again"
            };
            chunks.pop();
            chunks.push(Chunk::Error { error_text: text.to_owned() });
            return wire(&chunks) + DONE;
        };
        let messages: Vec<UiMessage> = outcome.messages.iter().map(|message| as_answer(message)).collect();
        let mut chunks = self.tell_all(messages.iter());
        chunks.extend(self.told.finish(outcome.status));
        if let (Some(Chunk::Error { error_text }), Some(error)) = (chunks.last_mut(), outcome.error) {
            *error_text = error.text;
        }
        wire(&chunks) + DONE
    }
}

impl Source for RunStream {
    async fn next(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(wire(&[first]));
        }
        while !self.ended {
            if let Some(live) = self.heard.clone() {
                let chunks = self.tell_live(&live).await;
                self.heard = None;
                if !chunks.is_empty() {
                    return Some(wire(&chunks));
                }
            }
            self.heard = tokio::select! {
                biased;
                outcome = &mut self.outcome => return Some(self.end(outcome)),
                live = next_live(&mut self.view) => live,
            };
        }
        None
    }
}

/// The outcome of a message's run. Where the threads no longer know it, it is read from the store.
pub(super) async fn outcome_of(web: Arc<Web>, thread: ThreadId, message: MessageId) -> Option<RunOutcome> {
    let outcome = web.threads.outcome(thread.clone(), message.clone()).await?;
    Some(completed(&web, &thread, &message, outcome).await)
}

/// An outcome as the threads tell it, with what only the store knows.
pub(super) async fn completed(
    web: &Web,
    thread: &ThreadId,
    message: &MessageId,
    mut outcome: RunOutcome,
) -> RunOutcome {
    if outcome.status.is_none() && outcome.messages.is_empty() {
        let run = web.parts.store.run_of(thread, message).await.unwrap_or_default();
        let answers = run.into_iter().filter(|message| message.role == Role::Assistant);
        outcome.messages = answers.map(Arc::new).collect();
        outcome.status = outcome.messages.last().and_then(|last| last.metadata.status);
    }
    if outcome.status.is_none() && outcome.messages.iter().any(|message| is_command(message)) {
        outcome.status = Some(RunStatus::Done);
    }
    outcome
}

/// A run's stored assistant messages. `message` is one of the run.
async fn messages_of_run(
    web: &Web,
    thread: &ThreadId,
    message: &MessageId,
    correlation: &CorrelationId,
) -> Vec<UiMessage> {
    let mut found = web.parts.store.run_of(thread, message).await;
    // It may be missing: a request to regenerate is no message, and a new message is not stored yet.
    if found.as_ref().is_ok_and(Vec::is_empty) {
        found = web.parts.store.page(thread, None, RUN_MESSAGES).await;
    }
    let mut messages = found.unwrap_or_else(|error| {
        tracing::warn!(%thread, %error, "run messages not readable");
        Vec::new()
    });
    messages
        .retain(|message| message.role == Role::Assistant && message.metadata.correlation_id == *correlation);
    messages
}

/// The live message after the next change. Where the thread was unloaded there are no more changes, and only the
/// outcome remains.
async fn next_live(view: &mut Option<watch::Receiver<ThreadView>>) -> Option<Arc<UiMessage>> {
    if let Some(changes) = view
        && changes.changed().await.is_ok()
    {
        return changes.borrow_and_update().live.clone();
    }
    *view = None;
    pending().await
}

/// A message as the answer to another. The record of a command is stored under the id of the typed message; a client
/// that gets that id here would take the answer for the user's message.
fn as_answer(message: &UiMessage) -> UiMessage {
    let mut answer = message.clone();
    if is_command(message) {
        answer.id = MessageId::made(message.id.as_str(), ".reply");
    }
    answer
}

/// Whether the message is the record of a command.
fn is_command(message: &UiMessage) -> bool {
    message.parts.iter().any(|part| matches!(part, Part::Command(_)))
}

fn wire(chunks: &[Chunk]) -> String {
    chunks.iter().map(data).collect()
}
