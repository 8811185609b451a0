//! Parsed events of a platform, in the form that the inbox stores.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{AddressingFacts, Threading};
use crate::domain::{
    Author, BadId, ChatKind, Command, CommandInvocation, Language, MessageId, Platform, Said, ThreadId,
    Timestamp,
};

/// One event of a platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inbound {
    Message(Box<InboundMessage>),
    /// A person pressed a button.
    Press(Box<Press>),
    /// A person recalled a message.
    Recall(Recall),
    /// Concerns the platform alone: handled by [`InboundPlatform::handle`](super::InboundPlatform::handle).
    Platform {
        key: String,
        event: Value,
    },
}

/// A message, an edit or a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboundMessage {
    /// The same for every redelivery.
    pub key: String,
    pub thread: ThreadId,
    pub author: Author,
    /// The chat by the platform's own id. A chat that changed its id has several: access may name any of them.
    pub chats: Vec<String>,
    pub kind: ChatKind,
    /// The dedupe key in the thread.
    pub message: MessageId,
    pub platform_message: String,
    pub at: Timestamp,
    #[serde(default)]
    pub facts: AddressingFacts,
    /// The author's language, where the platform reports it.
    #[serde(default)]
    pub language: Option<Language>,
    /// Whether the author administers the group, where the event reports it.
    #[serde(default)]
    pub admin: Option<bool>,
    /// Messages of one album become one message.
    #[serde(default)]
    pub album: Option<String>,
    pub content: Content,
    /// Not downloaded yet.
    #[serde(default)]
    pub attachments: Vec<Attachment>,
    /// What the platform itself needs later; opaque to the pipeline.
    #[serde(default)]
    pub detail: Value,
}

/// The kind of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    Said(Said),
    /// An edit of an earlier message.
    Edited(Said),
    Command(CommandInvocation),
    /// The first message to the bot, with the invitation code of a link.
    Started(Option<String>),
}

/// A part of a message that has to be fetched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    pub kind: InboundFileKind,
    pub name: String,
    pub media_type: String,
    #[serde(default)]
    pub size: Option<u64>,
    /// Makes the stored name unique in the thread; the same for every redelivery.
    pub prefix: String,
    /// Where the platform has it; opaque to the pipeline.
    pub locator: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InboundFileKind {
    File,
    /// The message's text, which the event does not carry: a bundle of forwarded messages.
    Text,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Press {
    /// The same for every redelivery.
    pub key: String,
    pub author: Author,
    /// The dedupe key in the thread.
    pub message: MessageId,
    pub platform_message: String,
    /// The data of the button: untrusted.
    pub data: String,
    #[serde(default)]
    pub at: Option<Timestamp>,
    #[serde(default)]
    pub language: Option<Language>,
    /// Whether the author administers the group, where the event reports it.
    #[serde(default)]
    pub admin: Option<bool>,
    /// What the platform itself needs later; opaque to the pipeline.
    #[serde(default)]
    pub detail: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recall {
    pub key: String,
    pub platform_message: String,
    pub chat: String,
}

impl Inbound {
    /// The same for every redelivery of the event.
    pub fn key(&self) -> &str {
        match self {
            Self::Message(message) => &message.key,
            Self::Press(press) => &press.key,
            Self::Recall(recall) => &recall.key,
            Self::Platform { key, .. } => key,
        }
    }
}

impl InboundMessage {
    /// The text, without descriptions of files.
    pub fn text(&self) -> &str {
        match &self.content {
            Content::Said(said) | Content::Edited(said) => &said.text,
            Content::Command(_) | Content::Started(_) => "",
        }
    }

    /// Whether another bot wrote it.
    pub fn is_by_program(&self) -> bool {
        match &self.content {
            Content::Said(said) | Content::Edited(said) => said.peer.is_some(),
            Content::Command(_) | Content::Started(_) => false,
        }
    }

    /// The current id of the chat.
    pub fn chat(&self) -> &str {
        self.chats.last().map(String::as_str).unwrap_or_default()
    }

    /// Whether it is a command that waits for no other message. `/new` separates two conversations, so it keeps its
    /// position among the messages.
    pub fn is_immediate(&self) -> bool {
        matches!(&self.content, Content::Command(invocation) if invocation.command != Command::New)
    }

    /// Adds a further part of its album.
    pub(super) fn merge(&mut self, part: Self) {
        self.facts.mentions_me |= part.facts.mentions_me;
        self.facts.replies_to_me |= part.facts.replies_to_me;
        self.facts.commands_me |= part.facts.commands_me;
        self.facts.turns_to_another |= part.facts.turns_to_another;
        self.attachments.extend(part.attachments);
        let (Content::Said(said), Content::Said(more)) = (&mut self.content, part.content) else { return };
        add_paragraph(&mut said.text, &more.text);
        said.quoted = said.quoted.take().or(more.quoted);
        said.forwarded_from = said.forwarded_from.take().or(more.forwarded_from);
    }
}

/// Appends a paragraph, if it is not empty.
pub(super) fn add_paragraph(text: &mut String, paragraph: &str) {
    if !text.is_empty() && !paragraph.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(paragraph);
}

/// The thread of a message: of its chat and topic, and of its author where each person in a group has their own.
///
/// # Errors
/// When an id is empty or too long.
pub fn thread_of(
    platform: &Platform,
    threading: Threading,
    chat: &str,
    topic: Option<&str>,
    kind: ChatKind,
    user: &str,
) -> Result<ThreadId, BadId> {
    let thread = match topic {
        Some(topic) => ThreadId::of_topic(platform, chat, topic)?,
        None => ThreadId::of_chat(platform, chat)?,
    };
    match (threading, kind) {
        (Threading::PerUser, ChatKind::Group) => thread.for_user(user),
        (Threading::Shared | Threading::PerUser, _) => Ok(thread),
    }
}
