//! From an accepted event to a submitted message: downloads its files, expands its bundle, and submits it in order.
//! What cannot be fetched is described; the message is submitted all the same.

use std::sync::PoisonError;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::attachments::fetch_files;
use super::event::{InboundEvent, InboundMessage, read_event};
use super::intake::{Intake, Trouble, order_of};
use crate::adapters::chat::{Finish, Finished, Position, Submitted, submit};
use crate::domain::{AuthorRole, BadId, IngressEvent, IngressKind, MessageId, Quoted, Said, ThreadId};
use crate::phrases::adapters as words;
use crate::ports::BoxFuture;

/// Deadline of the look-up of a bundle. No caller waits for it.
const OPEN_WITHIN: Duration = Duration::from_secs(15);
/// Most messages of a bundle.
const BUNDLE: usize = 50;
/// How many messages are cached in case they are recalled.
const RECENT: usize = 512;

/// An event, with what was resolved before it was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct QueuedEvent {
    pub(super) event: Value,
    /// Not addressed to the agent.
    #[serde(default)]
    #[serde(rename = "overheard")]
    pub(super) context_only: bool,
    /// The author administers the group.
    #[serde(default)]
    pub(super) admin: bool,
    #[serde(default)]
    pub(super) quoted: Option<Pointed>,
}

/// The replied-to message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pointed {
    pub(super) message: String,
    pub(super) author: Option<String>,
    pub(super) text: String,
}

impl QueuedEvent {
    /// An event without resolved facts.
    pub(super) const fn of(event: Value) -> Self {
        Self { event, context_only: false, admin: false, quoted: None }
    }

    pub(super) fn into_value(self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Finish for Intake {
    fn finish<'a>(&'a self, event: &'a Value, place: &'a mut Position) -> BoxFuture<'a, Finished> {
        Box::pin(async move {
            let Ok(queued) = serde_json::from_value::<QueuedEvent>(event.clone()) else {
                tracing::error!("stored event not readable");
                return Finished::Done;
            };
            let happened = read_event(queued.event.clone(), &self.me.open_id);
            if let InboundEvent::InboundMessage(inbound) = &happened {
                // The event may have been accepted by an earlier process.
                self.note_line(inbound);
            }
            let delivered = self.deliver(queued, happened, Some(place)).await;
            delivered.unwrap_or_else(|trouble| match trouble {
                Trouble::Store(_) | Trouble::Unaccepted(_) => Finished::Again(trouble.to_string()),
                Trouble::Id(_) => Finished::Done,
            })
        })
    }
}

impl Intake {
    /// Resolves an event and submits it, in order where it has a position.
    pub(super) async fn deliver(
        &self,
        queued: QueuedEvent,
        happened: InboundEvent,
        place: Option<&mut Position>,
    ) -> Result<Finished, Trouble> {
        match happened {
            InboundEvent::InboundMessage(inbound) => self.hand_over(queued, &inbound, place).await,
            InboundEvent::Recalled { message, .. } => Ok(self.take_back(&message, place).await),
            InboundEvent::Pressed(_) | InboundEvent::Nothing(_) => Ok(Finished::Done),
        }
    }

    async fn hand_over(
        &self,
        queued: QueuedEvent,
        inbound: &InboundMessage,
        place: Option<&mut Position>,
    ) -> Result<Finished, Trouble> {
        let thread = self.thread(inbound)?;
        let mut author = self.author(&inbound.sender)?;
        if queued.admin {
            author.role = AuthorRole::Admin;
        }
        let kind = match order_of(inbound) {
            Some(order) if !queued.context_only => IngressKind::Command(order),
            _ => {
                let said = self.said(queued, inbound, &thread).await;
                if inbound.edited { IngressKind::Edited(said) } else { IngressKind::Said(said) }
            }
        };
        let event = IngressEvent {
            message: message_id(&inbound.message)?,
            platform_message: inbound.message.clone(),
            // A message without a time counts as written now.
            at: if inbound.at.as_millis() > 0 { inbound.at } else { self.parts.clock.now() },
            chat: inbound.kind,
            kind,
            thread,
            author,
        };
        if let Some(place) = place {
            place.reach().await;
        }
        self.remember(&event);
        let asks = matches!(&event.kind, IngressKind::Said(said) if !said.context_only);
        let language = self.parts.language_for(&inbound.content.text);
        Ok(match submit(&self.threads, event, language).await {
            Submitted::Kept => {
                if asks {
                    self.seen.tell(&inbound.message);
                }
                Finished::Done
            }
            Submitted::Tell(words) => {
                self.tell(inbound, &words).await;
                Finished::Done
            }
            Submitted::Later(why) => Finished::Again(why),
        })
    }

    async fn said(&self, queued: QueuedEvent, inbound: &InboundMessage, thread: &ThreadId) -> Said {
        let mut words = vec![inbound.content.text.clone()];
        if inbound.content.bundle {
            words = vec![self.bundle(&inbound.message).await.unwrap_or_else(|| inbound.content.text.clone())];
        }
        let mut files = Vec::new();
        if queued.context_only {
            words.extend(
                inbound.content.resources.iter().map(|file| format!("[{}]", file.kind.default_name())),
            );
        } else if !inbound.content.resources.is_empty() {
            let language = self.parts.language_for(&inbound.content.text);
            let root = &*self.parts.files;
            let fetched = fetch_files(&self.api, &self.downloads, root, thread, inbound, language).await;
            files = fetched.files;
            words.extend(fetched.troubles);
        }
        words.retain(|words| !words.is_empty());
        let quoted = queued.quoted.map(|pointed| Quoted {
            platform_message: pointed.message,
            author: pointed.author,
            text: pointed.text,
        });
        // Text with an addition is never read as a decision.
        let marked_up = inbound.content.marked_up.clone().filter(|_| words.len() == 1);
        let text = words.join("\n");
        Said { text, files, context_only: queued.context_only, quoted, marked_up, ..Said::default() }
    }

    /// The messages of a bundle, one per line.
    async fn bundle(&self, message: &str) -> Option<String> {
        let messages = tokio::time::timeout(OPEN_WITHIN, self.api.message(message)).await.ok()?.ok()?;
        let lines: Vec<String> = messages
            .into_iter()
            .filter(|inner| inner.id != message)
            .take(BUNDLE)
            .map(|inner| format!("{}: {}", inner.sender, inner.text))
            .collect();
        (!lines.is_empty()).then(|| format!("[merge forward]\n{}", lines.join("\n")))
    }

    async fn take_back(&self, message: &str, place: Option<&mut Position>) -> Finished {
        if let Some(place) = place {
            place.reach().await;
        }
        let known = {
            let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            recent.iter().find(|event| event.platform_message == message).cloned()
        };
        let Some(mut event) = known else { return Finished::Done };
        let IngressKind::Said(said) = &event.kind else { return Finished::Done };
        let language = self.parts.language_for(&said.text);
        let text = words::message_recalled(language).to_owned();
        event.kind = IngressKind::Edited(Said { text, context_only: said.context_only, ..Said::default() });
        match submit(&self.threads, event, language).await {
            Submitted::Kept | Submitted::Tell(_) => Finished::Done,
            Submitted::Later(why) => Finished::Again(why),
        }
    }

    fn remember(&self, event: &IngressEvent) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= RECENT {
            recent.pop_front();
        }
        recent.push_back(event.clone());
    }
}

/// The dedupe key of a message: the platform's ids are unique over all chats.
fn message_id(message: &str) -> Result<MessageId, BadId> {
    message.parse()
}
