//! The intake for a text-only platform: access, pairing, addressing, commands, and submitting. The adapter only passes
//! author, chat and text.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{
    AccessPolicy, Addressed, AddressingPolicy, Admission, AllowList, ChatParts, Facts, GroupsSection,
    Submitted, Threading, submit,
};
use crate::domain::{
    Author, AuthorId, AuthorRole, BadId, ChatKind, CommandInvocation, IngressEvent, IngressKind, Platform,
    Said, ThreadId, Timestamp,
};
use crate::ports::{AdapterParts, PairingRequest, ThreadsHandle};
use crate::render::Phrase;

/// Wait before a message that could not be stored is retried.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// A message of the platform. Ids are the platform's own.
#[derive(Clone, Debug)]
pub struct TextMessage {
    /// The platform's message id, the dedupe key; `None` where the platform has no ids.
    pub id: Option<String>,
    pub chat: String,
    pub kind: ChatKind,
    pub user: String,
    /// Display name of the author.
    pub name: Option<String>,
    /// The text, without the bot's name that it may begin with.
    pub text: String,
    /// Whom the message addresses.
    pub facts: Facts,
}

/// The outcome of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextTaken {
    /// Stored, or ignored.
    Done,
    /// The same, with a notice for its chat.
    Tell(String),
    /// Not stored: the platform must send it again, or the adapter retry.
    Again(String),
}

#[derive(Debug)]
pub struct TextIntake {
    platform: Platform,
    chat: ChatParts,
    access: AccessPolicy,
    addressing: Mutex<AddressingPolicy>,
    threading: Threading,
}

impl TextIntake {
    /// With the people who may write in a direct chat, the groups that are served, and the settings for groups.
    pub fn new(
        parts: &AdapterParts,
        people: &[String],
        groups_served: &[String],
        groups: &GroupsSection,
    ) -> Self {
        let list = AllowList::new(parts, people, groups_served);
        Self {
            platform: parts.platform.clone(),
            chat: parts.chat.clone(),
            access: AccessPolicy::new(parts.platform.clone(), list, parts.chat.access.clone()),
            addressing: Mutex::new(AddressingPolicy::new(groups.respond, groups.followup())),
            threading: groups.threading,
        }
    }

    /// Handles a message and waits until it is stored or not.
    pub async fn take(&self, threads: &ThreadsHandle, message: TextMessage) -> TextTaken {
        let now = self.chat.clock.now();
        let language = self.chat.language_for(&message.text);
        let (author, thread) = match self.ids(&message) {
            Ok(ids) => ids,
            Err(error) => {
                tracing::warn!(%error, "message without valid ids ignored");
                return TextTaken::Done;
            }
        };
        match self.access.admit(&author, &message.chat, message.kind, now).await {
            Ok(Admission::Welcome) => {}
            Ok(Admission::Pair(PairingRequest::Code { code, expires, fresh: true })) => {
                let minutes = expires.millis_since(now).div_ceil(60_000);
                return TextTaken::Tell(Phrase::Pair { code, minutes }.say(language));
            }
            Ok(Admission::Pair(_) | Admission::Closed) => return TextTaken::Done,
            Err(error) => return TextTaken::Again(error.to_string()),
        }
        let addressed = self.hear(&thread, &author.id, &message, now);
        match self.event(message, thread, author, addressed, now) {
            Ok(event) => match submit(threads, event, language).await {
                Submitted::Kept => TextTaken::Done,
                Submitted::Tell(words) => TextTaken::Tell(words),
                Submitted::Later(why) => TextTaken::Again(why),
            },
            Err(error) => {
                tracing::warn!(%error, "message without a valid id ignored");
                TextTaken::Done
            }
        }
    }

    /// The same for a platform that never redelivers a message: retries until it is stored or refused. Returns the
    /// notice for its chat, if any.
    pub async fn take_surely(&self, threads: &ThreadsHandle, message: &TextMessage) -> Option<String> {
        loop {
            match self.take(threads, message.clone()).await {
                TextTaken::Done => return None,
                TextTaken::Tell(words) => return Some(words),
                TextTaken::Again(why) => {
                    tracing::warn!(why, "message not accepted, retrying");
                    tokio::time::sleep(TRY_AGAIN_AFTER).await;
                }
            }
        }
    }

    fn ids(&self, message: &TextMessage) -> Result<(Author, ThreadId), BadId> {
        let id = AuthorId::new(&self.platform, &message.user)?;
        let thread = ThreadId::of_chat(&self.platform, &message.chat)?;
        let own = message.kind == ChatKind::Group && self.threading == Threading::PerUser;
        let thread = if own { thread.for_user(&message.user)? } else { thread };
        Ok((Author { id, name: message.name.clone(), role: AuthorRole::Person }, thread))
    }

    fn hear(&self, thread: &ThreadId, author: &AuthorId, message: &TextMessage, now: Timestamp) -> Addressed {
        let mut addressing = self.addressing.lock().unwrap_or_else(PoisonError::into_inner);
        addressing.hear(thread, author, message.kind, message.facts, now)
    }

    fn event(
        &self,
        message: TextMessage,
        thread: ThreadId,
        author: Author,
        addressed: Addressed,
        now: Timestamp,
    ) -> Result<IngressEvent, BadId> {
        let context_only = addressed == Addressed::Overhear;
        let command = CommandInvocation::parse(&message.text).filter(|_| !context_only);
        let id = message.id.unwrap_or_else(|| format!("text-{}", self.chat.ids.unique()));
        Ok(IngressEvent {
            thread,
            author,
            message: id.parse()?,
            platform_message: id,
            at: now,
            chat: message.kind,
            kind: match command {
                Some(command) => IngressKind::Command(command),
                None => IngressKind::Said(Said { text: message.text, context_only, ..Said::default() }),
            },
        })
    }
}
