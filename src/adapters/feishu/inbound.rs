//! Feishu's part of the inbound pipeline: parsing, the replied-to message, downloads, administrators, notices, and the
//! answers to buttons.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api::FeishuApi;
use super::attachments::fetch_one;
use super::calls::{Bot, CallTarget, InTopic, PastMessage};
use super::card::ReadyMessage;
use super::content::Resource;
use super::delivery::FeishuSender;
use super::event::{FeishuEvent, FeishuMessage, FeishuPress, read_event};
use super::fault::FeishuError;
use super::notes::Notes;
use super::press::{button_data, menu_card, shown_again};
use crate::adapters::chat::inbound::{
    AdminAnswer, AdminQuery, Attachment, Content, Fetched, Followups, Inbound, InboundFileKind,
    InboundMessage, InboundPlatform, InboundProfile, LookupError, Press, PressAnswer, PressedIn, QueuedEvent,
    Recall, Urgency, thread_of,
};
use crate::adapters::chat::{
    AddressingFacts, ChatParts, FeatureProbe, FetchError, Menu, PeerBook, Reporter, Threading, name_before,
};
use crate::domain::{
    Addressed, Approval, Author, AuthorId, AuthorRole, BadId, ChatKind, CommandInvocation, Language,
    PeerWords, Platform, Quoted, Said, SpeakerKind, StoredFile,
};
use crate::phrases::adapters as words;
use crate::ports::{BoxFuture, StoreError};

/// Deadline of the look-ups before an event is accepted, and of a notice. An event has to be answered within 3 seconds.
const LOOKUP_WITHIN: Duration = Duration::from_millis(1500);
/// Deadline of the look-up of a bundle. No caller waits for it.
const BUNDLE_WITHIN: Duration = Duration::from_secs(15);
/// The platform's name of the emoji of the "received" reaction, and the deadline of one.
const RECEIVED: &str = "Get";
const REACTION_WITHIN: Duration = Duration::from_secs(5);
/// Most messages of a bundle.
const MOST_BUNDLED: usize = 50;
/// Most characters of a quoted message.
const QUOTED_CHARS: usize = 1000;

pub(super) const PROFILE: InboundProfile = InboundProfile {
    inbox: "inbox",
    recalls: true,
    fetches_edits: true,
    submits_lost_files: true,
    submits_empty: true,
    // The response to a press is part of its acknowledgement.
    stores_presses: false,
    downloads: 8,
    download_within: super::attachments::FETCH_WITHIN,
};

/// What the pipeline keeps for the adapter with a message.
#[derive(Debug, Default, Serialize, Deserialize)]
struct FeishuMessageDetail {
    /// The message that it replies to.
    parent: Option<String>,
    topic: Option<String>,
}

/// What earlier versions stored of an accepted event.
#[derive(Debug, Deserialize)]
struct StoredFeishuEvent {
    event: Value,
    #[serde(default, rename = "overheard")]
    context_only: bool,
    #[serde(default)]
    admin: bool,
    #[serde(default)]
    quoted: Option<StoredQuote>,
}

#[derive(Debug, Deserialize)]
struct StoredQuote {
    message: String,
    author: Option<String>,
    text: String,
}

#[derive(Debug)]
pub(super) struct FeishuInbound {
    pub(super) platform: Platform,
    pub(super) app_id: String,
    pub(super) threading: Threading,
    pub(super) me: Bot,
    pub(super) api: FeishuApi,
    pub(super) parts: ChatParts,
    pub(super) notes: Notes,
    pub(super) sender: Arc<FeishuSender>,
    pub(super) followups: Followups,
    pub(super) peers: PeerBook,
    /// Whether the "received" reaction is allowed, as far as known.
    pub(super) reacts: Arc<FeatureProbe>,
}

impl FeishuInbound {
    fn message(&self, key: String, parsed: FeishuMessage) -> Result<InboundMessage, BadId> {
        let content = parsed.content;
        for (id, name) in &parsed.bots {
            self.peers.see(name, id);
        }
        for (id, name) in &parsed.people {
            self.peers.meet(id, name);
        }
        let peer = (!parsed.sender_is_person).then_some(PeerWords {
            kind: SpeakerKind::Bot,
            agent: None,
            via: None,
            chain: None,
            depth: 1,
        });
        // A program gives no commands.
        let may_command = !parsed.edited && content.marked_up.is_none() && peer.is_none();
        let command = CommandInvocation::parse(&content.text).filter(|_| may_command);
        let facts = AddressingFacts {
            mentions_me: parsed.mentions_me,
            replies_to_me: false,
            commands_me: command.is_some() && !parsed.mentions_others,
            turns_to_another: !parsed.mentions_me && parsed.mentions_others,
        };
        let (message, topic) = (parsed.message, parsed.topic);
        let mut attachments: Vec<Attachment> = content
            .resources
            .iter()
            .enumerate()
            .map(|(index, resource)| attachment(&message, index, resource))
            .collect();
        if content.bundle {
            attachments.insert(0, bundle());
        }
        let mut author = self.author(&parsed.sender)?;
        if parsed.kind == ChatKind::Group {
            // The platform tells names in mentions only.
            author.name = Some(self.peers.person(&parsed.sender, parsed.sender_union.as_deref()));
        }
        if peer.is_some() {
            author.role = AuthorRole::Anonymous;
            author.name = self.peers.name_of(&parsed.sender);
        }
        let said = Said { text: content.text, marked_up: content.marked_up, peer, ..Said::default() };
        let thread = thread_of(
            &self.platform,
            self.threading,
            &parsed.chat,
            topic.as_deref(),
            parsed.kind,
            &parsed.sender,
        )?;
        // A command is understood without the message that it replies to.
        let parent = parsed.parent.filter(|_| command.is_none());
        Ok(InboundMessage {
            thread,
            author,
            kind: parsed.kind,
            message: message.parse()?,
            // A message without a time counts as written now.
            at: if parsed.at.as_millis() > 0 { parsed.at } else { self.parts.clock.now() },
            facts,
            language: None,
            admin: None,
            album: None,
            content: match command {
                Some(command) => Content::Command(command),
                None if parsed.edited => Content::Edited(said),
                None => Content::Said(said),
            },
            attachments,
            detail: serde_json::to_value(FeishuMessageDetail { parent, topic }).unwrap_or_default(),
            chats: vec![parsed.chat],
            platform_message: message,
            key,
        })
    }

    fn press(&self, parsed: FeishuPress) -> Result<Press, BadId> {
        Ok(Press {
            author: self.author(&parsed.by)?,
            message: format!("{}:event:{}", self.platform, parsed.event).parse()?,
            platform_message: parsed.message,
            data: button_data(&parsed.value).unwrap_or_default(),
            at: None,
            language: None,
            admin: None,
            detail: parsed.chat.into(),
            key: parsed.event,
        })
    }

    /// Whether a message is passed on: that of a person, and that of another bot in a group where bots are heard.
    fn hears(&self, message: &FeishuMessage) -> bool {
        if message.sender_is_person {
            return true;
        }
        let other = message.kind == ChatKind::Group && message.sender != self.me.open_id;
        if other {
            self.peers.heard_bot(self.parts.clock.now());
        }
        // What a bot corrects was heard as it was first written.
        other && !message.edited && self.peers.hears_bots()
    }

    fn author(&self, open_id: &str) -> Result<Author, BadId> {
        Ok(Author { id: AuthorId::new(&self.platform, open_id)?, name: None, role: AuthorRole::Person })
    }

    /// The message that this one replies to; `None` where there is none, or the platform does not answer in time.
    async fn parent(&self, detail: &FeishuMessageDetail) -> Option<PastMessage> {
        let asked = self.api.message(detail.parent.as_ref()?);
        tokio::time::timeout(LOOKUP_WITHIN, asked).await.ok()?.ok()?.into_iter().next()
    }

    fn add_parent(&self, message: &mut InboundMessage, parent: PastMessage, in_topic: bool) {
        let replies_to_me = parent.sender == self.app_id;
        message.facts.replies_to_me = replies_to_me;
        // In a topic every message is a reply to its first one.
        message.facts.turns_to_another |= !message.facts.mentions_me && !in_topic && !replies_to_me;
        if let Content::Said(said) | Content::Edited(said) = &mut message.content {
            said.quoted = Some(Quoted {
                platform_message: parent.id,
                author: match parent.by_app {
                    true if replies_to_me => Some(self.me.name.clone()),
                    true => self.peers.name_of(&parent.sender),
                    false => None,
                },
                text: parent.text.chars().take(QUOTED_CHARS).collect(),
            });
        }
    }

    /// The messages of a bundle, one per line.
    async fn bundled(&self, message: &str) -> Result<String, FetchError> {
        let late = |_| FetchError::Broken("the look-up took too long".to_owned());
        let messages = tokio::time::timeout(BUNDLE_WITHIN, self.api.message(message)).await.map_err(late)?;
        let messages = messages.map_err(|error| FetchError::Denied(error.to_string()))?;
        let lines: Vec<String> = messages
            .into_iter()
            .filter(|inner| inner.id != message)
            .take(MOST_BUNDLED)
            .map(|inner| format!("{}: {}", inner.sender, inner.text))
            .collect();
        if lines.is_empty() {
            return Err(FetchError::Denied("the bundle is empty".to_owned()));
        }
        Ok(format!("[merge forward]\n{}", lines.join("\n")))
    }

    async fn menu(&self, approval: &Approval, menu: Menu) -> Value {
        // The button may be pressed before the approval's message is stored.
        let shown = self.sender.outbound.question(&approval.id, &approval.thread).await;
        let shown = shown.unwrap_or_else(|| shown_again(approval, self.parts.clock.now()));
        let language = self.parts.language.unwrap_or(shown.language);
        let card = menu_card(&shown, &approval.id, menu, language);
        json!({ "card": { "type": "raw", "data": card } })
    }

    fn language(&self, approval: Option<&Approval>) -> Language {
        let asked = approval.map(|approval| Language::of(&approval.summary));
        self.parts.language.or(asked).unwrap_or_default()
    }
}

/// A file. Its name stays the same however often the message arrives, and changes when the message is edited.
fn attachment(message: &str, index: usize, resource: &Resource) -> Attachment {
    Attachment {
        kind: InboundFileKind::File,
        name: resource.name.clone().unwrap_or_else(|| resource.kind.default_name().to_owned()),
        media_type: "application/octet-stream".to_owned(),
        size: None,
        prefix: name_before(&format!("{message} {}", resource.key), index),
        locator: serde_json::to_value(resource).unwrap_or_default(),
    }
}

fn bundle() -> Attachment {
    Attachment {
        kind: InboundFileKind::Text,
        name: "bundle".to_owned(),
        media_type: "text/plain".to_owned(),
        size: None,
        prefix: String::new(),
        locator: Value::Null,
    }
}

impl InboundPlatform for FeishuInbound {
    fn parse(&self, raw: &Value) -> Vec<Inbound> {
        let event = read_event(raw.clone(), &self.me.open_id);
        let key = event.key();
        let parsed = match event {
            FeishuEvent::Message(message) if !self.hears(&message) => return Vec::new(),
            FeishuEvent::Message(message) => {
                self.message(key, *message).map(|message| Inbound::Message(Box::new(message)))
            }
            FeishuEvent::Recalled { message, chat } => {
                Ok(Inbound::Recall(Recall { key, platform_message: message, chat }))
            }
            FeishuEvent::Pressed(press) => self.press(*press).map(|press| Inbound::Press(Box::new(press))),
            FeishuEvent::Nothing(what) => {
                tracing::debug!(what, "event ignored");
                return Vec::new();
            }
        };
        let invalid = |error: &BadId| tracing::warn!(%error, "event without valid ids ignored");
        parsed.inspect_err(invalid).into_iter().collect()
    }

    fn parse_stored(&self, stored: &Value) -> Option<QueuedEvent> {
        let stored = StoredFeishuEvent::deserialize(stored).ok()?;
        let mut inbound = self.parse(&stored.event).pop()?;
        if let Inbound::Message(message) = &mut inbound {
            if stored.admin {
                message.author.role = AuthorRole::Admin;
            }
            if let Content::Said(said) | Content::Edited(said) = &mut message.content {
                said.quoted = stored.quoted.map(|quoted| Quoted {
                    platform_message: quoted.message,
                    author: quoted.author,
                    text: quoted.text,
                });
            }
        }
        let addressed = if stored.context_only { Addressed::CONTEXT } else { Addressed::ANSWER };
        Some(QueuedEvent::new(inbound, addressed))
    }

    fn admitted<'a>(&'a self, message: &'a mut InboundMessage) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let detail = FeishuMessageDetail::deserialize(&message.detail).unwrap_or_default();
            self.notes.learn_chat(message.chat(), message.kind).await?;
            if let Some(topic) = &detail.topic {
                self.notes.learn_topic(topic, &message.platform_message).await?;
            }
            if let Some(parent) = self.parent(&detail).await {
                self.add_parent(message, parent, detail.topic.is_some());
            }
            Ok(())
        })
    }

    fn fetch<'a>(
        &'a self,
        message: &'a InboundMessage,
        attachment: &'a Attachment,
        file: &'a StoredFile,
    ) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        Box::pin(async move {
            let id = &message.platform_message;
            if attachment.kind == InboundFileKind::Text {
                return self.bundled(id).await.map(Fetched::Text);
            }
            let resource = Resource::deserialize(&attachment.locator)
                .map_err(|error| FetchError::Denied(error.to_string()))?;
            let media_type = fetch_one(&self.api, &*self.parts.files, id, &resource, file).await?;
            Ok(Fetched::File { media_type })
        })
    }

    fn is_admin<'a>(&'a self, query: AdminQuery<'a>) -> BoxFuture<'a, Result<AdminAnswer, LookupError>> {
        Box::pin(async move {
            match tokio::time::timeout(LOOKUP_WITHIN, self.api.chat_admins(query.chat)).await {
                Ok(Ok(people)) => Ok(AdminAnswer::All(people.into_iter().collect())),
                Ok(Err(error @ FeishuError::Refused { .. })) => Err(LookupError::Refused(error.to_string())),
                Ok(Err(error)) => Err(LookupError::NoAnswer(error.to_string())),
                Err(_) => Err(LookupError::NoAnswer("the look-up took too long".to_owned())),
            }
        })
    }

    fn tell<'a>(
        &'a self,
        message: &'a InboundMessage,
        words: &'a str,
        urgency: Urgency,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // The agent itself says what it could not read.
            if urgency == Urgency::Passing {
                return;
            }
            let detail = FeishuMessageDetail::deserialize(&message.detail).unwrap_or_default();
            let target = match message.kind {
                ChatKind::Direct | ChatKind::Operator | ChatKind::Program => {
                    CallTarget::Chat(message.chat().to_owned())
                }
                ChatKind::Group => CallTarget::Reply {
                    message: message.platform_message.clone(),
                    topic: if detail.topic.is_some() { InTopic::Yes } else { InTopic::No },
                },
            };
            let uuid = super::delivery::uuid(&message.platform_message, "tell");
            let notice = ReadyMessage::text(words);
            if let Err(error) = self.api.send(&target, &notice, &uuid).await {
                tracing::warn!(%error, "notice not sent");
            }
        })
    }

    fn accepted(&self, message: &InboundMessage) {
        if self.reacts.is_there() {
            let (api, reacts) = (self.api.clone(), self.reacts.clone());
            let message = message.platform_message.clone();
            self.followups.run(async move {
                let reacted = tokio::time::timeout(REACTION_WITHIN, api.react(&message, RECEIVED)).await;
                // A missing permission or call fails every time.
                if let Ok(Err(error)) = reacted
                    && (error.is_missing_scope() || error.is_no_such_call())
                {
                    tracing::info!(%error, "received reactions switched off");
                    reacts.is_missing(Reporter::Server);
                }
            });
        }
    }

    /// A button works in the chat of its approval; a card cannot be forwarded with working buttons.
    fn locate<'a>(&'a self, press: &'a Press, approval: &'a Approval) -> BoxFuture<'a, Option<PressedIn>> {
        Box::pin(async move {
            let chat = approval.thread.chat();
            // Where an approval is asked in several chats, the press says which is meant.
            if !approval.asked_in.is_empty() && press.detail.as_str() != Some(chat.as_str()) {
                return None;
            }
            let kind = self.notes.chat(&chat).await;
            Some(PressedIn { chats: vec![chat], kind })
        })
    }

    fn answer_press<'a>(
        &'a self,
        _press: &'a Press,
        approval: Option<&'a Approval>,
        answer: PressAnswer,
    ) -> BoxFuture<'a, Option<Value>> {
        let toast = |kind: &str, words: &str| json!({ "toast": { "type": kind, "content": words } });
        let language = self.language(approval);
        Box::pin(async move {
            match (answer, approval) {
                (PressAnswer::Counted, _) => Some(toast("success", words::press_counted(language))),
                (PressAnswer::Refused(words) | PressAnswer::NotTheirs(words), _) => {
                    Some(toast("warning", &words))
                }
                (PressAnswer::Menu(_, menu), Some(approval)) => Some(self.menu(approval, menu).await),
                (PressAnswer::Menu(..) | PressAnswer::NotOpen, _) => {
                    Some(toast("warning", words::press_without_question(language)))
                }
                (PressAnswer::Later, _) => Some(toast("error", words::press_again(language))),
                (PressAnswer::NoAccess | PressAnswer::OtherChat | PressAnswer::NotOurs, _) => None,
            }
        })
    }
}
