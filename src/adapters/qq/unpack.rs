//! From an accepted message to what the threads are told: its files are fetched, and at its place in the line it is
//! handed in. What cannot be had is described; the message comes in all the same.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::{Dispatch, Happening, Heard, read};
use super::intake::{Intake, moment, order_of};
use super::ledger::Weight;
use crate::adapters::chat::{Finish, Finished, Handed, Place, hand_in};
use crate::domain::{IngressEvent, IngressKind, Said, Standing};
use crate::ports::{BoxFuture, Door};

/// A message, with what was found out about it before it was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Letter {
    pub(super) dispatch: Dispatch,
    /// The bot's own id, where it was known.
    #[serde(default)]
    pub(super) me: Option<String>,
    /// It is not for the agent.
    #[serde(default)]
    pub(super) overheard: bool,
    /// Whoever wrote it runs the group.
    #[serde(default)]
    pub(super) admin: bool,
}

impl Letter {
    pub(super) fn into_value(self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Hands in what was accepted.
#[derive(Debug)]
pub(super) struct Finisher {
    pub(super) intake: Arc<Intake>,
    pub(super) door: Door,
}

impl Finish for Finisher {
    fn finish<'a>(&'a self, event: &'a Value, place: &'a mut Place) -> BoxFuture<'a, Finished> {
        Box::pin(async move {
            let Ok(letter) = serde_json::from_value::<Letter>(event.clone()) else {
                tracing::error!("what was accepted cannot be read");
                return Finished::Done;
            };
            match read(&letter.dispatch, letter.me.as_deref()) {
                Happening::Said(heard) => self.intake.deliver(&self.door, letter, &heard, Some(place)).await,
                Happening::Pressed(_) | Happening::Relation { .. } | Happening::Nothing => Finished::Done,
            }
        })
    }
}

impl Intake {
    /// Makes a message ready and hands it in, at its place where it has one.
    pub(super) async fn deliver(
        &self,
        door: &Door,
        letter: Letter,
        heard: &Heard,
        place: Option<&mut Place>,
    ) -> Finished {
        let (Ok(thread), Ok(mut author), Ok(message)) =
            (self.thread_of(heard), self.author(&heard.user, heard.name.clone()), heard.id.parse())
        else {
            tracing::warn!(id = heard.id, "a message without usable ids was passed over");
            return Finished::Done;
        };
        if letter.admin {
            author.standing = Standing::Admin;
        }
        let language = self.parts.language_for(&heard.text);
        let kind = match order_of(heard).filter(|_| !letter.overheard) {
            Some(order) => IngressKind::Command(order),
            None => {
                let mut words = vec![heard.text.clone()];
                let mut files = Vec::new();
                if letter.overheard {
                    // Nobody asked for them, so they are only named.
                    words.extend(heard.attachments.iter().map(|one| format!("[{}]", one.name)));
                } else if !heard.attachments.is_empty() {
                    let (fetched, lost) = self.fetcher.fetch(&thread, heard, language).await;
                    if !lost.is_empty() {
                        self.sender.tell(&thread, &heard.id, &lost.join("\n"), Weight::Passing).await;
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
                    overheard: letter.overheard,
                    quoted: heard.quoted.clone(),
                    ..Said::default()
                })
            }
        };
        let event = IngressEvent {
            thread: thread.clone(),
            author,
            message,
            platform_message: heard.id.clone(),
            at: moment(heard.at, self.parts.clock.now()),
            chat: heard.scene.kind(),
            kind,
        };
        if let Some(place) = place {
            place.reach().await;
        }
        match hand_in(door, event, language).await {
            Handed::Kept => Finished::Done,
            Handed::Tell(words) => {
                self.sender.tell(&thread, &heard.id, &words, Weight::Needed).await;
                Finished::Done
            }
            Handed::Later(why) => Finished::Again(why),
        }
    }
}
