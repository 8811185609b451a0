//! One run, told from its first word to its end, as the UI message stream.
//!
//! What a client is told is the difference between what it knows and what the message is now; so a slow client
//! hears less often, and one that comes late hears all from the beginning.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::watch;

use super::server::Web;
use super::sse::{DONE, Source, data};
use crate::domain::{CorrelationId, MessageId, ThreadId};
use crate::ports::{BoxFuture, RunOutcome, ThreadView};
use crate::uimessage::{Chunk, Cursor, Part, Role, RunStatus, UiMessage};

/// How many messages back a run is looked for that its message does not lead to.
const RUN_MESSAGES: usize = 200;

/// A run as it is told to one client.
pub(super) struct RunStream {
    web: Arc<Web>,
    thread: ThreadId,
    /// A message of the run.
    message: MessageId,
    /// The run; nothing means that only its end can be told.
    correlation: Option<CorrelationId>,
    view: Option<watch::Receiver<ThreadView>>,
    /// A state that is not told yet.
    heard: Option<Arc<UiMessage>>,
    outcome: BoxFuture<'static, Option<RunOutcome>>,
    told: Cursor,
    /// The message that was told last.
    at: Option<MessageId>,
    ended: bool,
}

impl RunStream {
    /// The run of `message`. `view` must have been there before the run could begin.
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
        }
    }

    /// Tells what is new in the live message, if it is of our run.
    async fn tell_live(&mut self, live: &UiMessage) -> Vec<Chunk> {
        if self.correlation.as_ref() != Some(&live.metadata.correlation_id) {
            return Vec::new();
        }
        // A run may fill several messages. Whatever was missed of the earlier ones comes first.
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
            // Messages before the one told last have been told whole.
            let again = Some(&message.id) == self.at.as_ref();
            passed |= !known || again;
            let anew = again && !self.told.fits(message);
            if anew && self.ended {
                chunks.extend(self.told.start_over());
            }
            // What was told cannot be taken back. A turn that started over is told when it is whole.
            if passed && (!anew || self.ended) {
                chunks.extend(self.told.advance(message));
                self.at = Some(message.id.clone());
            }
        }
        chunks
    }

    /// Tells the rest and closes.
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
        let mut chunks = self.tell_all(outcome.messages.iter().map(Arc::as_ref));
        chunks.extend(self.told.finish(outcome.status));
        if let (Some(Chunk::Error { error_text }), Some(error)) = (chunks.last_mut(), outcome.error) {
            *error_text = error.text;
        }
        wire(&chunks) + DONE
    }
}

impl Source for RunStream {
    async fn next(&mut self) -> Option<String> {
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

/// How the run of a message ended. Where the threads no longer know, the disk does.
pub(super) async fn outcome_of(web: Arc<Web>, thread: ThreadId, message: MessageId) -> Option<RunOutcome> {
    let mut outcome = web.door.outcome(thread.clone(), message.clone()).await?;
    if outcome.status.is_none() && outcome.messages.is_empty() {
        let run = web.parts.store.run_of(&thread, &message).await.unwrap_or_default();
        let answers = run.into_iter().filter(|message| message.role == Role::Assistant);
        outcome.messages = answers.map(Arc::new).collect();
        outcome.status = outcome.messages.last().and_then(|last| last.metadata.status);
    }
    if outcome.status.is_none() && outcome.messages.iter().any(|message| is_command(message)) {
        outcome.status = Some(RunStatus::Done);
    }
    Some(outcome)
}

/// A run's assistant messages on disk. `message` is one of the run.
async fn messages_of_run(
    web: &Web,
    thread: &ThreadId,
    message: &MessageId,
    correlation: &CorrelationId,
) -> Vec<UiMessage> {
    let mut found = web.parts.store.run_of(thread, message).await;
    // It may not be there: a wish to answer anew is no message, and a message that begins is not written yet.
    if found.as_ref().is_ok_and(Vec::is_empty) {
        found = web.parts.store.page(thread, None, RUN_MESSAGES).await;
    }
    let mut messages = found.unwrap_or_else(|error| {
        tracing::warn!(%thread, %error, "cannot read the messages of a run");
        Vec::new()
    });
    messages
        .retain(|message| message.role == Role::Assistant && message.metadata.correlation_id == *correlation);
    messages
}

/// The live message after the next change. Where the thread went to sleep there are no more changes, and only
/// the outcome is left to wait for.
async fn next_live(view: &mut Option<watch::Receiver<ThreadView>>) -> Option<Arc<UiMessage>> {
    if let Some(changes) = view
        && changes.changed().await.is_ok()
    {
        return changes.borrow_and_update().live.clone();
    }
    *view = None;
    pending().await
}

/// Whether the message is the record of a command.
fn is_command(message: &UiMessage) -> bool {
    message.parts.iter().any(|part| matches!(part, Part::Command(_)))
}

fn wire(chunks: &[Chunk]) -> String {
    chunks.iter().map(data).collect()
}
