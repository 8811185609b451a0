//! From an accepted message to a submitted one: downloads its files and submits it in order. What cannot be downloaded
//! is described; the message is submitted all the same.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::{Dispatch, InboundEvent, InboundMessage, read};
use super::intake::{Intake, moment, order_of};
use super::reply_budget::Weight;
use crate::adapters::chat::{Finish, Finished, Position, Submitted, submit};
use crate::domain::{AuthorRole, IngressEvent, IngressKind, Said};
use crate::ports::{BoxFuture, ThreadsHandle};

/// A message, with what was resolved before it was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct QueuedEvent {
    pub(super) dispatch: Dispatch,
    /// The bot's own id, if known.
    #[serde(default)]
    pub(super) me: Option<String>,
    /// Not addressed to the agent.
    #[serde(default)]
    #[serde(rename = "overheard")]
    pub(super) context_only: bool,
    /// The author administers the group.
    #[serde(default)]
    pub(super) admin: bool,
}

impl QueuedEvent {
    pub(super) fn into_value(self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Submits accepted messages.
#[derive(Debug)]
pub(super) struct Finisher {
    pub(super) intake: Arc<Intake>,
    pub(super) threads: ThreadsHandle,
}

impl Finish for Finisher {
    fn finish<'a>(&'a self, event: &'a Value, place: &'a mut Position) -> BoxFuture<'a, Finished> {
        Box::pin(async move {
            let Ok(queued) = serde_json::from_value::<QueuedEvent>(event.clone()) else {
                tracing::error!("stored event not readable");
                return Finished::Done;
            };
            match read(&queued.dispatch, queued.me.as_deref()) {
                InboundEvent::Said(inbound) => {
                    self.intake.deliver(&self.threads, queued, &inbound, Some(place)).await
                }
                InboundEvent::Pressed(_) | InboundEvent::Relation { .. } | InboundEvent::Nothing => {
                    Finished::Done
                }
            }
        })
    }
}

impl Intake {
    /// Resolves a message and submits it, in order where it has a position.
    pub(super) async fn deliver(
        &self,
        threads: &ThreadsHandle,
        queued: QueuedEvent,
        inbound: &InboundMessage,
        place: Option<&mut Position>,
    ) -> Finished {
        let (Ok(thread), Ok(mut author), Ok(message)) =
            (self.thread_of(inbound), self.author(&inbound.user, inbound.name.clone()), inbound.id.parse())
        else {
            tracing::warn!(id = inbound.id, "message without valid ids ignored");
            return Finished::Done;
        };
        if queued.admin {
            author.role = AuthorRole::Admin;
        }
        let language = self.parts.language_for(&inbound.text);
        let kind = match order_of(inbound).filter(|_| !queued.context_only) {
            Some(order) => IngressKind::Command(order),
            None => {
                let mut words = vec![inbound.text.clone()];
                let mut files = Vec::new();
                if queued.context_only {
                    // Files of a context-only message are named, not downloaded.
                    words.extend(inbound.attachments.iter().map(|one| format!("[{}]", one.name)));
                } else if !inbound.attachments.is_empty() {
                    let (fetched, lost) = self.fetcher.fetch(&thread, inbound, language).await;
                    if !lost.is_empty() {
                        self.sender.tell(&thread, &inbound.id, &lost.join("\n"), Weight::Passing).await;
                    }
                    files = fetched;
                    words.extend(lost);
                }
                words.retain(|words| !words.is_empty());
                if words.is_empty() && files.is_empty() {
                    return Finished::Done;
                }
                IngressKind::Said(Said {
                    text: words.join("\n"),
                    files,
                    context_only: queued.context_only,
                    quoted: inbound.quoted.clone(),
                    ..Said::default()
                })
            }
        };
        let event = IngressEvent {
            thread: thread.clone(),
            author,
            message,
            platform_message: inbound.id.clone(),
            at: moment(inbound.at, self.parts.clock.now()),
            chat: inbound.scene.kind(),
            kind,
        };
        if let Some(place) = place {
            place.reach().await;
        }
        match submit(threads, event, language).await {
            Submitted::Kept => Finished::Done,
            Submitted::Tell(words) => {
                self.sender.tell(&thread, &inbound.id, &words, Weight::Needed).await;
                Finished::Done
            }
            Submitted::Later(why) => Finished::Again(why),
        }
    }
}
