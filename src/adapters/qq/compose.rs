//! Builds outgoing messages in the platform's format: texts, approvals, files. Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::reply_budget::Key;
use super::scene::Scene;
use super::text;
use crate::adapters::chat::{BlockButton, FileBlock, UnsendableFile};

/// One message to send.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum QqMessage {
    Words(RichText),
    File(FileBlock, Result<Vec<u8>, UnsendableFile>),
}

impl QqMessage {
    /// A text without buttons.
    pub(super) const fn words(markdown: String) -> Self {
        Self::Words(RichText { markdown, keyboard: None })
    }
}

/// Text with its Markdown source, for any form.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RichText {
    pub(super) markdown: String,
    pub(super) keyboard: Option<Value>,
}

/// The form of a text. After a refusal the next plainer form is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TextForm {
    Rich,
    #[default]
    Plain,
    /// Plain text with links written so that the platform does not recognise them.
    Linkless,
}

/// Rows of buttons in the platform's format.
pub(super) fn keyboard(rows: Vec<Vec<BlockButton>>) -> Value {
    let mut number = 0;
    let mut button = |BlockButton { label: words, data, .. }: BlockButton| {
        number += 1;
        json!({ "id": number.to_string(),
            "render_data": { "label": words, "visited_label": words, "style": u8::from(number == 1) },
            "action": { "type": 1, "permission": { "type": 2 }, "data": data, "unsupport_tips": words } })
    };
    let rows: Vec<Value> = rows
        .into_iter()
        .filter(|row| !row.is_empty())
        .map(|row| json!({ "buttons": row.into_iter().map(&mut button).collect::<Vec<_>>() }))
        .collect();
    json!({ "content": { "rows": rows } })
}

/// The body of a text message.
pub(super) fn words_body(scene: Scene, words: &RichText, form: TextForm, key: &Key, seq: u32) -> Value {
    let mut body = reply(scene, key, seq);
    match form {
        TextForm::Rich => {
            body.insert("markdown".to_owned(), json!({ "content": text::dialect(&words.markdown) }));
            if let Some(keyboard) = &words.keyboard {
                body.insert("keyboard".to_owned(), keyboard.clone());
            }
        }
        TextForm::Plain => {
            body.insert("content".to_owned(), text::plain(&words.markdown).into());
        }
        TextForm::Linkless => {
            let plain = text::plain(&words.markdown);
            body.insert("content".to_owned(), text::without_links(&plain).into());
        }
    }
    if scene.is_v2() {
        body.insert("msg_type".to_owned(), if form == TextForm::Rich { 2 } else { 0 }.into());
    }
    Value::Object(body)
}

/// The body of a message with an uploaded file.
pub(super) fn file_body(scene: Scene, file_info: &str, caption: Option<&str>, key: &Key, seq: u32) -> Value {
    let mut body = reply(scene, key, seq);
    body.insert("msg_type".to_owned(), 7.into());
    // The platform requires text here.
    let caption = caption.map(text::plain).filter(|caption| !caption.is_empty());
    body.insert("content".to_owned(), caption.unwrap_or_else(|| " ".to_owned()).into());
    body.insert("media".to_owned(), json!({ "file_info": file_info }));
    Value::Object(body)
}

/// The body of a typing indicator.
pub(super) fn typing_body(key: &Key, seq: u32) -> Value {
    let mut body = reply(Scene::C2c, key, seq);
    body.insert("msg_type".to_owned(), 6.into());
    body.insert("input_notify".to_owned(), json!({ "input_type": 1, "input_second": 60 }));
    Value::Object(body)
}

/// The fields that make a message a reply. The sequence number makes the send idempotent; guilds have none.
pub(super) fn reply(scene: Scene, key: &Key, seq: u32) -> Map<String, Value> {
    let mut body = Map::new();
    let (name, id) = match key {
        Key::Message(id) => ("msg_id", id),
        Key::Event(id) => ("event_id", id),
    };
    body.insert(name.to_owned(), id.as_str().into());
    if scene.is_v2() {
        body.insert("msg_seq".to_owned(), seq.into());
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::chat::{Block, lower};
    use crate::adapters::qq::capabilities;
    use crate::domain::{ApprovalChoice, ApprovalKind, Intent, Language, Risk, ScopeKind, Timestamp};
    use crate::ports::{Ids as _, RandomIds};

    /// The text and the keyboard of an intent with buttons.
    fn asked(intent: &Intent) -> (String, Value) {
        let block = lower(intent, &capabilities(true), None, Timestamp::from_millis(0));
        let Some(Block::Buttons(block)) = block else { panic!() };
        (block.markdown, keyboard(block.rows))
    }

    fn words(markdown: &str) -> RichText {
        RichText { markdown: markdown.to_owned(), keyboard: None }
    }

    #[test]
    fn words_go_out_in_the_form_the_place_takes() {
        let (key, event) = (Key::Message("m".to_owned()), Key::Event("e".to_owned()));
        for (scene, form, key, expected) in [
            (
                Scene::C2c,
                TextForm::Plain,
                &key,
                json!({ "msg_id": "m", "msg_seq": 7, "content": "hi", "msg_type": 0 }),
            ),
            (
                Scene::Group,
                TextForm::Rich,
                &event,
                json!({ "event_id": "e", "msg_seq": 7, "markdown": { "content": "hi" }, "msg_type": 2 }),
            ),
            (Scene::Channel, TextForm::Plain, &key, json!({ "msg_id": "m", "content": "hi" })),
        ] {
            assert_eq!(words_body(scene, &words("hi"), form, key, 7), expected);
        }
    }

    #[test]
    fn a_question_has_a_button_for_each_answer() {
        let id = RandomIds.approval();
        let question = |kind| Intent::ApprovalRequest {
            approval_id: id.clone(),
            number: "A1".to_owned(),
            kind,
            language: Language::Zh,
            summary: "git push".to_owned(),
            risk: Risk::High,
            details: None,
            scopes: vec![ScopeKind::Once, ScopeKind::Thread],
            suggested_replies: vec!["同意 A1".to_owned()],
            expires_at: Timestamp::from_millis(60_000).rfc3339(),
        };
        for (kind, count) in [(ApprovalKind::Tool, 2), (ApprovalKind::UnknownOutcome, 3)] {
            let (words, rows) = asked(&question(kind));
            assert!(words.contains("git push") && words.contains("同意 A1"));
            let buttons: Vec<Value> = rows["content"]["rows"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|row| row["buttons"].as_array().unwrap().clone())
                .collect();
            assert_eq!(buttons.len(), count);
            for button in buttons {
                let data = button["action"]["data"].as_str().unwrap();
                assert_eq!(crate::adapters::chat::decode(data).unwrap().1, id);
            }
        }
    }

    #[test]
    fn a_question_back_has_the_answers_of_each_question_as_buttons() {
        let choice = |number: &str| ApprovalChoice {
            id: RandomIds.approval(),
            number: number.to_owned(),
            kind: ApprovalKind::Tool,
        };
        let choices = vec![choice("A1"), choice("A2")];
        let back = Intent::ApprovalAskBack {
            text: "是哪一个：A1 还是 A2？".to_owned(),
            language: Language::Zh,
            choices: choices.clone(),
        };
        let (words, keyboard) = asked(&back);
        assert_eq!(words, "是哪一个：A1 还是 A2？");
        let rows = &keyboard["content"]["rows"];
        for (row, choice) in rows.as_array().unwrap().iter().zip(&choices) {
            let buttons = row["buttons"].as_array().unwrap();
            assert_eq!(buttons[0]["render_data"]["label"], format!("✅ 同意 {}", choice.number));
            for button in buttons {
                let (_, id) =
                    crate::adapters::chat::decode(button["action"]["data"].as_str().unwrap()).unwrap();
                assert_eq!(id, choice.id);
            }
        }
        assert_eq!(rows.as_array().unwrap().len(), 2);
    }
}
