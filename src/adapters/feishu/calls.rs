//! The calls of the platform's API that the adapter makes, as typed functions.

use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::api::{ApiCall, FeishuApi, FileUpload};
use super::card::ReadyMessage;
use super::content::{Mention, Resource, read_content};
use super::event::millis;
use super::fault::FeishuError;
use crate::audio::opus_millis;
use crate::domain::Timestamp;

/// The platform's page size of a message list.
const PAGE: usize = 50;

/// The app as the platform describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bot {
    /// Its own open id, as mentions of the app carry it.
    pub open_id: String,
    pub name: String,
    /// Whether the app is enabled for the people of the company.
    pub active: bool,
}

/// Where a message is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallTarget {
    Chat(String),
    /// A reply to a message, in its topic or outside it.
    Reply {
        message: String,
        topic: InTopic,
    },
}

/// Whether a reply stays in the topic of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InTopic {
    Yes,
    No,
}

/// An earlier message of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastMessage {
    pub id: String,
    /// The author's open id, or an app id.
    pub sender: String,
    /// Whether an app wrote it.
    pub by_app: bool,
    pub at: Timestamp,
    /// Its text; files are described.
    pub text: String,
}

impl FeishuApi {
    /// The app's own identity.
    ///
    /// # Errors
    /// When the call fails.
    pub async fn bot(&self) -> Result<Bot, FeishuError> {
        let answer = self.call(ApiCall::get("/open-apis/bot/v3/info")).await?;
        // The platform puts `bot` beside the envelope's `data`; the other places are read in case that changes.
        let bot = answer.get("bot").or_else(|| answer.pointer("/data/bot")).or_else(|| answer.get("data"));
        let bot = bot.cloned().unwrap_or_default();
        Ok(Bot {
            open_id: text(&bot, "/open_id"),
            name: text(&bot, "/app_name"),
            active: bot.get("activate_status").and_then(Value::as_i64) == Some(2),
        })
    }

    /// The newest messages of a chat, oldest first.
    ///
    /// # Errors
    /// When the call fails, for example because a permission is missing.
    pub async fn list_recent_messages(
        &self,
        chat: &str,
        limit: usize,
    ) -> Result<Vec<PastMessage>, FeishuError> {
        let (mut messages, mut page) = (Vec::new(), None::<String>);
        while messages.len() < limit {
            let call = ApiCall::get("/open-apis/im/v1/messages")
                .with("container_id_type", "chat")
                .with("container_id", chat)
                .with("sort_type", "ByCreateTimeDesc")
                .with("page_size", (limit - messages.len()).min(PAGE).to_string());
            let call = match page.take() {
                Some(token) => call.with("page_token", token),
                None => call,
            };
            let answer = self.call(call).await?;
            let items = list(&answer, "/data/items");
            let none = items.is_empty();
            messages.extend(items.iter().filter_map(past_message));
            page = Some(text(&answer, "/data/page_token")).filter(|token| !token.is_empty());
            let more = answer.pointer("/data/has_more").and_then(Value::as_bool).unwrap_or_default();
            if none || !more || page.is_none() {
                break;
            }
        }
        messages.truncate(limit);
        messages.reverse();
        Ok(messages)
    }

    /// The open ids of a group's owner and administrators.
    pub(super) async fn chat_admins(&self, chat: &str) -> Result<Vec<String>, FeishuError> {
        let call = ApiCall::get(format!("/open-apis/im/v1/chats/{chat}")).with("user_id_type", "open_id");
        let answer = self.call(call).await?;
        let managers = list(&answer, "/data/user_manager_id_list");
        let managers = managers.iter().filter_map(Value::as_str).map(str::to_owned);
        let people = std::iter::once(text(&answer, "/data/owner_id")).chain(managers);
        Ok(people.filter(|id| !id.is_empty()).collect())
    }

    /// One message and, if it is a bundle, the messages in it.
    pub(super) async fn message(&self, id: &str) -> Result<Vec<PastMessage>, FeishuError> {
        let answer = self.call(ApiCall::get(format!("/open-apis/im/v1/messages/{id}"))).await?;
        let items = list(&answer, "/data/items");
        Ok(items.iter().filter_map(past_message).collect())
    }

    /// Sends a message, once for each `uuid`. Returns its id.
    pub(super) async fn send(
        &self,
        target: &CallTarget,
        message: &ReadyMessage,
        uuid: &str,
    ) -> Result<String, FeishuError> {
        let ReadyMessage { kind, content } = message;
        let call = match target {
            CallTarget::Chat(chat) => {
                let body = json!({ "receive_id": chat, "msg_type": kind, "content": content, "uuid": uuid });
                ApiCall::new(Method::POST, "/open-apis/im/v1/messages", body)
                    .with("receive_id_type", "chat_id")
            }
            CallTarget::Reply { message, topic } => {
                let in_thread = *topic == InTopic::Yes;
                let body = json!({ "reply_in_thread": in_thread, "msg_type": kind, "content": content, "uuid": uuid });
                ApiCall::new(Method::POST, format!("/open-apis/im/v1/messages/{message}/reply"), body)
            }
        };
        let answer = self.call(call).await?;
        Ok(text(&answer, "/data/message_id"))
    }

    /// Adds a reaction to a message.
    pub(super) async fn react(&self, message: &str, sign: &str) -> Result<(), FeishuError> {
        let body = json!({ "reaction_type": { "emoji_type": sign } });
        let path = format!("/open-apis/im/v1/messages/{message}/reactions");
        self.call(ApiCall::new(Method::POST, path, body)).await?;
        Ok(())
    }

    /// Recalls a message of the app.
    pub(super) async fn delete(&self, message: &str) -> Result<(), FeishuError> {
        let path = format!("/open-apis/im/v1/messages/{message}");
        self.call(ApiCall::new(Method::DELETE, path, json!({}))).await?;
        Ok(())
    }

    /// Replaces the card of a sent message.
    pub(super) async fn replace_card(&self, message: &str, card: &Value) -> Result<(), FeishuError> {
        let body = json!({ "content": card.to_string() });
        self.call(ApiCall::new(Method::PATCH, format!("/open-apis/im/v1/messages/{message}"), body)).await?;
        Ok(())
    }

    /// Opens a file of a message for reading.
    pub(super) async fn resource(&self, message: &str, resource: &Resource) -> Result<Response, FeishuError> {
        let path = format!("/open-apis/im/v1/messages/{message}/resources/{}", resource.key);
        self.open(ApiCall::get(path).with("type", resource.kind.wire())).await
    }

    /// Uploads an image. Returns its key.
    pub(super) async fn upload_image(&self, name: &str, bytes: Vec<u8>) -> Result<String, FeishuError> {
        let fields = vec![("image_type", "message".to_owned())];
        let upload = FileUpload { fields, field: "image", name: name.to_owned(), bytes };
        let answer = self.call(ApiCall::upload("/open-apis/im/v1/images", upload)).await?;
        Ok(text(&answer, "/data/image_key"))
    }

    /// Uploads a file of one of the platform's types. Returns its key.
    pub(super) async fn upload_file(
        &self,
        name: &str,
        kind: &str,
        bytes: Vec<u8>,
    ) -> Result<String, FeishuError> {
        let mut fields = vec![("file_type", kind.to_owned()), ("file_name", name.to_owned())];
        // Without it, a voice message is shown with no length.
        let millis = opus_millis(&bytes).filter(|_| kind == "opus");
        fields.extend(millis.map(|millis| ("duration", millis.to_string())));
        let upload = FileUpload { fields, field: "file", name: name.to_owned(), bytes };
        let answer = self.call(ApiCall::upload("/open-apis/im/v1/files", upload)).await?;
        Ok(text(&answer, "/data/file_key"))
    }

    /// Creates a card for streaming. Returns its id.
    pub(super) async fn make_card(&self, card: &Value) -> Result<String, FeishuError> {
        let body = json!({ "type": "card_json", "data": card.to_string() });
        let answer = self.call(ApiCall::new(Method::POST, "/open-apis/cardkit/v1/cards", body)).await?;
        // A server that accepts every call without creating a card counts as one without this call.
        let none = || FeishuError::Refused { code: 404, words: "a card without an id".to_owned() };
        Some(text(&answer, "/data/card_id")).filter(|id| !id.is_empty()).ok_or_else(none)
    }

    /// Writes the text so far into an element of a streaming card.
    pub(super) async fn write_card(
        &self,
        card: &str,
        element: &str,
        words: &str,
        sequence: i32,
    ) -> Result<(), FeishuError> {
        let path = format!("/open-apis/cardkit/v1/cards/{card}/elements/{element}/content");
        self.call(ApiCall::new(Method::PUT, path, json!({ "content": words, "sequence": sequence }))).await?;
        Ok(())
    }

    /// Ends the streaming mode of a card.
    pub(super) async fn end_card(&self, card: &str, sequence: i32) -> Result<(), FeishuError> {
        let settings = json!({ "config": { "streaming_mode": false } }).to_string();
        let path = format!("/open-apis/cardkit/v1/cards/{card}/settings");
        let body = json!({ "settings": settings, "sequence": sequence });
        self.call(ApiCall::new(Method::PATCH, path, body)).await?;
        Ok(())
    }

    /// Replaces a streaming card by its final version.
    pub(super) async fn finish_card(&self, id: &str, card: &Value, sequence: i32) -> Result<(), FeishuError> {
        let card = json!({ "type": "card_json", "data": card.to_string() });
        let body = json!({ "card": card, "sequence": sequence });
        self.call(ApiCall::new(Method::PUT, format!("/open-apis/cardkit/v1/cards/{id}"), body)).await?;
        Ok(())
    }
}

/// The string at a JSON pointer; empty where there is none.
fn text(value: &Value, place: &str) -> String {
    value.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn list(value: &Value, place: &str) -> Vec<Value> {
    value.pointer(place).and_then(Value::as_array).cloned().unwrap_or_default()
}

/// A message of the chat history, where ids are flat strings. `None` for a deleted message.
fn past_message(item: &Value) -> Option<PastMessage> {
    if item.get("deleted").and_then(Value::as_bool).unwrap_or_default() {
        return None;
    }
    let mention = |mention: &Value| Mention {
        key: text(mention, "/key"),
        id: Some(text(mention, "/id")),
        name: text(mention, "/name"),
        mine: false,
    };
    let mentions: Vec<Mention> = list(item, "/mentions").iter().map(mention).collect();
    let kind = text(item, "/msg_type");
    let content = read_content(&kind, &text(item, "/body/content"), &mentions, "");
    let files = content.resources.iter().map(|file| match &file.name {
        Some(name) => format!("[{kind}: {name}]"),
        None => format!("[{kind}]"),
    });
    let mut words = vec![content.text.clone()];
    words.extend(files);
    words.retain(|words| !words.is_empty());
    Some(PastMessage {
        id: text(item, "/message_id"),
        sender: text(item, "/sender/id"),
        by_app: text(item, "/sender/sender_type") == "app",
        at: Timestamp::from_millis(item.get("create_time").map(millis).unwrap_or_default()),
        text: words.join(" "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_past_message_is_read_with_its_people_and_files() {
        let item = json!({
            "message_id": "om_1", "msg_type": "text", "create_time": "1700000000000", "deleted": false,
            "sender": { "id": "cli_a", "id_type": "app_id", "sender_type": "app" },
            "body": { "content": "{\"text\":\"hi @_user_1\"}" },
            "mentions": [{ "key": "@_user_1", "id": "ou_bo", "id_type": "open_id", "name": "Bo" }],
        });
        let expected = PastMessage {
            id: "om_1".into(),
            sender: "cli_a".into(),
            by_app: true,
            at: Timestamp::from_millis(1_700_000_000_000),
            text: "hi @Bo".into(),
        };
        assert_eq!(past_message(&item), Some(expected));
        let image = json!({ "message_id": "om_2", "msg_type": "file", "body": { "content": "{\"file_key\":\"k\",\"file_name\":\"a.pdf\"}" } });
        assert_eq!(past_message(&image).unwrap().text, "[file: a.pdf]");
        assert_eq!(past_message(&json!({ "deleted": true })), None);
    }
}
