//! QQ's part of the inbound pipeline: parsing, downloads, administrators, notices, and the answers to buttons.

use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::event::{
    Dispatch, FileDescription as AttachedFile, QqEvent, QqEventMessage, QqPress, read, runs_it,
};
use super::reply_budget::{Key, ReplyPriority};
use super::scene::Scene;
use super::send::QqSender;
use crate::adapters::chat::inbound::{
    AdminAnswer, AdminQuery, Attachment, Content, Fetched, Inbound, InboundFileKind, InboundMessage,
    InboundPlatform, InboundProfile, LookupError, Press, PressAnswer, PressedIn, QueuedEvent, Urgency,
    thread_of,
};
use crate::adapters::chat::{AddressingFacts, ChatParts, FetchError, Threading, is_kept, keep, name_before};
use crate::domain::{
    Addressed, Approval, Author, AuthorId, AuthorRole, BadId, CommandInvocation, Platform, Said, StoredFile,
    Timestamp, Voice,
};
use crate::ports::{BoxFuture, FileStore, StoreError};

/// Most bytes of a downloaded file.
const LONGEST: u64 = 30 << 20;
/// Deadline of one download.
const DOWNLOAD_WITHIN: Duration = Duration::from_secs(60);
/// Most files of one message.
const MOST_FILES: usize = 16;
/// Deadline of an administrator look-up: a person waits for a button.
const LOOKUP_WITHIN: Duration = Duration::from_secs(2);

// The platform's acknowledgement codes of a pressed button.
const DONE: u8 = 0;
const FAILED: u8 = 1;
const REPEATED: u8 = 3;
const REFUSED: u8 = 4;

pub(super) const PROFILE: InboundProfile = InboundProfile {
    inbox: "inbox",
    recalls: false,
    fetches_edits: true,
    submits_lost_files: true,
    submits_empty: false,
    stores_presses: true,
    downloads: 8,
    download_within: DOWNLOAD_WITHIN,
};

/// An event as the pipeline gets it, and as earlier versions stored it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RawEvent {
    pub(super) dispatch: Dispatch,
    /// The bot's own id, if known.
    #[serde(default)]
    pub(super) me: Option<String>,
    #[serde(default, rename = "overheard", skip_serializing)]
    context_only: bool,
    #[serde(default, skip_serializing)]
    admin: bool,
}

impl RawEvent {
    pub(super) fn value(dispatch: Dispatch, me: Option<String>) -> Value {
        serde_json::to_value(Self { dispatch, me, context_only: false, admin: false }).unwrap_or_default()
    }
}

/// What the pipeline keeps for the adapter with a message.
#[derive(Debug, Serialize, Deserialize)]
struct QqMessageDetail {
    scene: Scene,
}

/// What the pipeline keeps for the adapter with a press.
#[derive(Debug, Serialize, Deserialize)]
struct QqPressDetail {
    interaction: String,
    /// The event id to reply to.
    event_id: Option<String>,
    /// The candidate chats: a guild event does not distinguish a channel from a direct chat.
    places: Vec<(Scene, String)>,
    guild: Option<String>,
}

#[derive(Debug)]
pub(super) struct QqInbound {
    platform: Platform,
    threading: Threading,
    parts: ChatParts,
    sender: Arc<QqSender>,
}

impl QqInbound {
    pub(super) const fn new(
        platform: Platform,
        threading: Threading,
        parts: ChatParts,
        sender: Arc<QqSender>,
    ) -> Self {
        Self { platform, threading, parts, sender }
    }

    fn message(&self, parsed: QqEventMessage) -> Result<InboundMessage, BadId> {
        let kind = parsed.scene.kind();
        // A message with files is no command, and neither is a transcript.
        let typed = parsed.attachments.is_empty() && !parsed.spoken;
        let command = CommandInvocation::parse(&parsed.text).filter(|_| typed);
        let voice = parsed.spoken.then(Voice::by_platform);
        let said = Said { text: parsed.text, quoted: parsed.quoted, voice, ..Said::default() };
        let attachments = parsed.attachments.iter().take(MOST_FILES).enumerate();
        let facts = AddressingFacts { mentions_me: parsed.addressed, ..AddressingFacts::default() };
        Ok(InboundMessage {
            thread: thread_of(&self.platform, self.threading, &parsed.chat, None, kind, &parsed.user)?,
            author: self.author(&parsed.user, parsed.name)?,
            kind,
            message: parsed.id.parse()?,
            at: self.moment(parsed.at),
            facts,
            language: None,
            admin: parsed.admin,
            album: None,
            content: command.map_or(Content::Said(said), Content::Command),
            attachments: attachments.map(|(index, file)| attachment(&parsed.id, index, file)).collect(),
            detail: serde_json::to_value(QqMessageDetail { scene: parsed.scene }).unwrap_or_default(),
            chats: vec![parsed.chat],
            platform_message: parsed.id.clone(),
            key: parsed.id,
        })
    }

    fn press(&self, parsed: QqPress) -> Result<Press, BadId> {
        let reply_to = parsed.event_id.clone().unwrap_or_else(|| parsed.interaction.clone());
        let QqPress { interaction, event_id, places, guild, .. } = parsed;
        let key = format!("press {interaction}");
        let detail = QqPressDetail { interaction, event_id, places, guild };
        Ok(Press {
            author: self.author(&parsed.user, None)?,
            message: key.parse()?,
            platform_message: reply_to,
            data: parsed.data,
            at: parsed.at,
            language: None,
            admin: parsed.admin,
            detail: serde_json::to_value(detail).unwrap_or_default(),
            key,
        })
    }

    fn author(&self, user: &str, name: Option<String>) -> Result<Author, BadId> {
        Ok(Author { id: AuthorId::new(&self.platform, user)?, name, role: AuthorRole::Person })
    }

    /// The time of an event, capped at now: the platform's clock may be ahead, and a reply window never begins in the
    /// future.
    fn moment(&self, told: Option<Timestamp>) -> Timestamp {
        let now = self.parts.clock.now();
        told.unwrap_or(now).min(now)
    }

    /// Adds a message as a reply target.
    async fn may_reply(&self, message: &InboundMessage) {
        let Ok(QqMessageDetail { scene }) = serde_json::from_value(message.detail.clone()) else { return };
        let key = Key::Message(message.platform_message.clone());
        self.sender.budget.allow_replies(&message.thread, scene, key, message.at).await;
    }

    /// The client shows a spinner until the acknowledgement; nothing else depends on it.
    async fn acknowledge(&self, interaction: &str, code: u8) {
        let path = format!("/interactions/{interaction}");
        if let Err(error) = self.sender.api.call(Method::PUT, &path, Some(&json!({ "code": code }))).await {
            tracing::warn!(%error, "press acknowledgement failed");
        }
    }
}

async fn download(
    http: &reqwest::Client,
    files: &dyn FileStore,
    file: &StoredFile,
    attachment: &Attachment,
) -> Result<(), FetchError> {
    // The message may be redelivered after its URL has expired.
    if is_kept(files, file).await? {
        return Ok(());
    }
    if attachment.size.is_some_and(|size| size > LONGEST) {
        return Err(FetchError::TooBig { limit: LONGEST });
    }
    let broken = |error: reqwest::Error| FetchError::Broken(error.without_url().to_string());
    let url = attachment.locator.as_str().unwrap_or_default();
    let answer = http.get(url).timeout(DOWNLOAD_WITHIN).send().await.map_err(broken)?;
    let status = answer.status();
    if status.is_client_error() && !matches!(status.as_u16(), 408 | 429) {
        return Err(FetchError::Denied(status.to_string()));
    }
    let answer = answer.error_for_status().map_err(broken)?;
    keep(files, file, answer.bytes_stream(), LONGEST).await.map(drop)
}

fn attachment(message: &str, index: usize, file: &AttachedFile) -> Attachment {
    Attachment {
        kind: InboundFileKind::File,
        name: file.name.clone(),
        media_type: file.media_type.clone(),
        size: file.size,
        prefix: name_before(message, index),
        locator: Value::String(file.url.clone()),
    }
}

impl InboundPlatform for QqInbound {
    fn parse(&self, raw: &Value) -> Vec<Inbound> {
        let Ok(event) = RawEvent::deserialize(raw) else { return Vec::new() };
        let parsed = match read(&event.dispatch, event.me.as_deref()) {
            QqEvent::Said(message) if message.from_bot => return Vec::new(),
            QqEvent::Said(message) => {
                self.message(*message).map(|message| Inbound::Message(Box::new(message)))
            }
            QqEvent::Pressed(press) => self.press(*press).map(|press| Inbound::Press(Box::new(press))),
            QqEvent::Relation { name, chat } => {
                tracing::info!(event = name, chat, "bot relation changed");
                return Vec::new();
            }
            QqEvent::Nothing => return Vec::new(),
        };
        let invalid = |error: &BadId| tracing::warn!(%error, "event without valid ids ignored");
        parsed.inspect_err(invalid).into_iter().collect()
    }

    fn parse_stored(&self, stored: &Value) -> Option<QueuedEvent> {
        let event = RawEvent::deserialize(stored).ok()?;
        let mut inbound = self.parse(stored).pop()?;
        if let Inbound::Message(message) = &mut inbound
            && event.admin
        {
            message.author.role = AuthorRole::Admin;
        }
        let addressed = if event.context_only { Addressed::CONTEXT } else { Addressed::ANSWER };
        Some(QueuedEvent::new(inbound, addressed))
    }

    fn admitted<'a>(&'a self, message: &'a mut InboundMessage) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.may_reply(message).await;
            Ok(())
        })
    }

    fn fetch<'a>(
        &'a self,
        _message: &'a InboundMessage,
        attachment: &'a Attachment,
        file: &'a StoredFile,
    ) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        Box::pin(async move {
            download(&self.parts.http, &*self.parts.files, file, attachment).await?;
            Ok(Fetched::File { media_type: attachment.media_type.clone() })
        })
    }

    /// In guilds by a look-up; elsewhere only the events tell.
    fn is_admin<'a>(&'a self, query: AdminQuery<'a>) -> BoxFuture<'a, Result<AdminAnswer, LookupError>> {
        Box::pin(async move {
            let Some(guild) = query.detail.get("guild").and_then(Value::as_str) else {
                return Ok(AdminAnswer::Unknown);
            };
            let encoded = |id: &str| utf8_percent_encode(id, NON_ALPHANUMERIC).to_string();
            let path = format!("/guilds/{}/members/{}", encoded(guild), encoded(query.user));
            let asked = self.sender.api.call(Method::GET, &path, None);
            match tokio::time::timeout(LOOKUP_WITHIN, asked).await {
                Ok(Ok(member)) => Ok(AdminAnswer::Is(runs_it(&member) == Some(true))),
                Ok(Err(trouble)) => Err(LookupError::Refused(trouble.to_string())),
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
        let weight = match urgency {
            Urgency::Needed => ReplyPriority::Needed,
            Urgency::Passing => ReplyPriority::Passing,
        };
        Box::pin(async move {
            self.may_reply(message).await;
            self.sender.tell(&message.thread, &message.platform_message, words, weight).await;
        })
    }

    fn locate<'a>(&'a self, press: &'a Press, approval: &'a Approval) -> BoxFuture<'a, Option<PressedIn>> {
        Box::pin(async move {
            let chat = approval.thread.chat();
            let detail = QqPressDetail::deserialize(&press.detail).ok()?;
            let (scene, chat) = detail.places.into_iter().find(|(_, place)| *place == chat)?;
            Some(PressedIn { chats: vec![chat], kind: scene.kind() })
        })
    }

    fn press_admitted<'a>(&'a self, press: &'a Press, approval: &'a Approval) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Ok(QqPressDetail { event_id: Some(event), places, .. }) =
                QqPressDetail::deserialize(&press.detail)
            else {
                return;
            };
            let chat = approval.thread.chat();
            let Some((scene, _)) = places.into_iter().find(|(_, place)| *place == chat) else { return };
            let at = self.moment(press.at);
            self.sender.budget.allow_replies(&approval.thread, scene, Key::Event(event), at).await;
        })
    }

    fn answer_press<'a>(
        &'a self,
        press: &'a Press,
        approval: Option<&'a Approval>,
        answer: PressAnswer,
    ) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async move {
            let code = match answer {
                PressAnswer::Counted => DONE,
                PressAnswer::Refused(words) => {
                    if let Some(approval) = approval {
                        let reply_to = &press.platform_message;
                        self.sender.tell(&approval.thread, reply_to, &words, ReplyPriority::Needed).await;
                    }
                    REPEATED
                }
                PressAnswer::NoAccess | PressAnswer::OtherChat => REFUSED,
                // The platform shows no menus.
                PressAnswer::Menu(..)
                | PressAnswer::NotTheirs(_)
                | PressAnswer::NotOpen
                | PressAnswer::NotOurs
                | PressAnswer::Later => FAILED,
            };
            if let Ok(detail) = QqPressDetail::deserialize(&press.detail) {
                self.acknowledge(&detail.interaction, code).await;
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::AttachmentFiles;

    #[test]
    fn an_event_that_an_earlier_version_stored_is_read() {
        let body = json!({ "id": "m1", "content": "look", "author": { "user_openid": "U1" } });
        let stored = json!({ "dispatch": { "name": "C2C_MESSAGE_CREATE", "event_id": null, "body": body },
            "me": null, "overheard": true, "admin": true });
        let event = RawEvent::deserialize(&stored).unwrap();
        assert!(event.context_only && event.admin);
        let value = RawEvent::value(event.dispatch, event.me);
        assert_eq!(value, json!({ "dispatch": stored["dispatch"], "me": null }));
    }

    #[tokio::test]
    async fn a_file_that_is_here_is_not_fetched_again() {
        crate::http_client::install_tls();
        let dir = tempfile::tempdir().unwrap();
        let kept = AttachmentFiles::new(dir.path());
        // The server does not answer.
        let file = AttachedFile {
            url: "http://127.0.0.1:1/a.txt".to_owned(),
            name: "a.txt".to_owned(),
            media_type: "text/plain".to_owned(),
            size: Some(2),
        };
        let attachment = attachment("m1", 0, &file);
        let stored = StoredFile::new("qq:chat:U1".parse().unwrap(), &name_before("m1", 0), "a.txt");
        keep(&kept, &stored, futures_util::stream::iter([Ok::<_, String>("ab")]), 9).await.unwrap();
        download(&reqwest::Client::new(), &kept, &stored, &attachment).await.unwrap();
    }
}
