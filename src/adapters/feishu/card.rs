//! The formats of an answer: a card, a post, or a text. Each is plainer than the one before; the sender tries the next
//! one when the platform refuses a format. Pure.

use serde_json::{Value, json};

use super::markdown::{CARD_TABLES, card_markdown, has_tables, is_plain, without_mentions};
use crate::adapters::chat::{PeerMention, with_mentions};

/// Most bytes of a card or a post in a request body; the platform's limit is 30 KB.
const MOST_BYTES: usize = 28 * 1024;

/// Stands for a mention in a text: a character that means nothing.
const MARK: char = '\u{e000}';

/// The card element that holds the answer's text.
pub(super) const ANSWER: &str = "answer";

/// A message ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadyMessage {
    /// The platform's `msg_type`.
    pub(super) kind: &'static str,
    /// JSON, encoded as a string.
    pub(super) content: String,
}

impl ReadyMessage {
    pub(super) fn card(card: &Value) -> Self {
        Self { kind: "interactive", content: card.to_string() }
    }

    pub(super) fn text(text: &str) -> Self {
        Self { kind: "text", content: json!({ "text": without_mentions(text) }).to_string() }
    }

    fn post(markdown: &str) -> Self {
        let piece = json!({ "tag": "md", "text": card_markdown(markdown, 0) });
        let content = json!({ "zh_cn": { "title": "", "content": [[piece]] } }).to_string();
        Self { kind: "post", content }
    }

    /// A text whose mentions are the platform's own.
    fn text_calling(text: &str, called: &[PeerMention]) -> Self {
        // A mark stands for each mention, since everything else that reads as one is made without_mentions.
        let mark = |mention: &PeerMention| Some(format!("{MARK}{}{MARK}", mention.range.start));
        let marked = with_mentions(text, called, mark);
        let mut text = without_mentions(&marked);
        for mention in called {
            let inert = |c: char| !matches!(c, '<' | '>' | '"' | '&' | MARK);
            let name: String = mention.name.chars().filter(|c| inert(*c)).collect();
            let id: String = mention.seen_as.iter().flat_map(|id| id.chars()).filter(|c| inert(*c)).collect();
            let tag = format!("<at user_id=\"{id}\">{name}</at>");
            text = text.replacen(&format!("{MARK}{}{MARK}", mention.range.start), &tag, 1);
        }
        Self { kind: "text", content: json!({ "text": text }).to_string() }
    }

    /// A post with a line of mentions below the text.
    fn post_calling(markdown: &str, called: &[PeerMention]) -> Self {
        let piece = json!({ "tag": "md", "text": card_markdown(markdown, 0) });
        let mut ids: Vec<&String> = called.iter().filter_map(|mention| mention.seen_as.as_ref()).collect();
        ids.dedup();
        let mentions: Vec<Value> = ids.into_iter().map(|id| json!({ "tag": "at", "user_id": id })).collect();
        let content = json!({ "zh_cn": { "title": "", "content": [[piece], mentions] } }).to_string();
        Self { kind: "post", content }
    }

    /// Whether it is short enough for its kind. The core splits texts below the limit.
    fn fits(&self) -> bool {
        self.kind == "text" || json!(self.content).to_string().len() <= MOST_BYTES
    }
}

/// The formats of an answer, best first. The last one is accepted for any content.
pub(super) fn message_formats(markdown: &str) -> Vec<ReadyMessage> {
    if is_plain(markdown) {
        return vec![ReadyMessage::text(markdown), ReadyMessage::post(markdown)];
    }
    let mut formats = vec![ReadyMessage::card(&answer_card(markdown, CARD_TABLES))];
    if has_tables(markdown) {
        formats.push(ReadyMessage::card(&answer_card(markdown, 0)));
    }
    formats.push(ReadyMessage::post(markdown));
    formats.retain(ReadyMessage::fits);
    formats.push(ReadyMessage::text(markdown));
    formats
}

/// The formats of an answer that mentions other bots, best first. A mention in a card may not arrive.
pub(super) fn calling(markdown: &str, called: &[PeerMention]) -> Vec<ReadyMessage> {
    let mut formats = Vec::new();
    if is_plain(markdown) {
        formats.push(ReadyMessage::text_calling(markdown, called));
    }
    formats.push(ReadyMessage::post_calling(markdown, called));
    formats.retain(ReadyMessage::fits);
    formats.extend(message_formats(markdown));
    formats
}

/// The card of an answer.
pub(super) fn answer_card(markdown: &str, tables: usize) -> Value {
    let words =
        json!({ "tag": "markdown", "element_id": ANSWER, "content": card_markdown(markdown, tables) });
    with_elements(json!({ "update_multi": true }), vec![words])
}

/// The card of a draft in streaming mode.
pub(super) fn streaming_card(markdown: &str) -> Value {
    let words = json!({ "tag": "markdown", "element_id": ANSWER, "content": shown(markdown) });
    let config = json!({ "streaming_mode": true, "update_multi": true, "summary": { "content": "…" } });
    with_elements(config, vec![words])
}

/// The text of a draft: never empty, which the platform refuses.
pub(super) fn shown(markdown: &str) -> String {
    let words = card_markdown(markdown, CARD_TABLES);
    if words.trim().is_empty() { "…".to_owned() } else { words }
}

/// Whether the card of this text is within the limit.
pub(super) fn fits_card(markdown: &str) -> bool {
    ReadyMessage::card(&answer_card(markdown, CARD_TABLES)).fits()
}

/// How a button looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ButtonStyle {
    Yes,
    No,
    Quiet,
}

/// One button of a question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CardButton {
    pub(super) label: String,
    /// The value that the platform returns with a press.
    pub(super) value: Value,
    pub(super) look: ButtonStyle,
}

/// The card of an approval with its button rows.
pub(super) fn question_card(question: &str, rows: Vec<Vec<CardButton>>) -> Value {
    let mut elements = vec![json!({ "tag": "markdown", "content": card_markdown(question, 0) })];
    elements.extend(rows.into_iter().map(|row| {
        let column = |button: CardButton| {
            json!({ "tag": "column", "width": "auto", "elements": [as_element(button)] })
        };
        let columns: Vec<Value> = row.into_iter().map(column).collect();
        json!({ "tag": "column_set", "flex_mode": "flow", "columns": columns })
    }));
    with_elements(json!({ "update_multi": true }), elements)
}

/// The card of a decided approval, with the outcome.
pub(super) fn settled_card(question: &str, outcome: &str) -> Value {
    let words = |text: &str| json!({ "tag": "markdown", "content": card_markdown(text, 0) });
    let mut elements = Vec::new();
    if !question.is_empty() {
        elements.extend([words(question), json!({ "tag": "hr" })]);
    }
    elements.push(words(outcome));
    with_elements(json!({ "update_multi": true }), elements)
}

fn as_element(button: CardButton) -> Value {
    let look = match button.look {
        ButtonStyle::Yes => "primary",
        ButtonStyle::No => "danger",
        ButtonStyle::Quiet => "default",
    };
    json!({
        "tag": "button", "type": look, "text": { "tag": "plain_text", "content": button.label },
        "behaviors": [{ "type": "callback", "value": button.value }],
    })
}

fn with_elements(config: Value, elements: Vec<Value>) -> Value {
    json!({ "schema": "2.0", "config": config, "body": { "elements": elements } })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kinds(markdown: &str) -> Vec<&'static str> {
        message_formats(markdown).iter().map(|format| format.kind).collect()
    }

    #[test]
    fn other_bots_are_mentioned_by_their_id_and_nobody_else_is() {
        let mention = |text: &str| PeerMention {
            range: 4..8,
            name: text.get(5..8).unwrap().to_owned(),
            account: None,
            seen_as: Some("ou_7\"><at user_id=\"all".to_owned()),
        };
        let plain = "ask @Ops <at user_id=\"all\"></at> now";
        let sent: Value =
            serde_json::from_str(&ReadyMessage::text_calling(plain, &[mention(plain)]).content).unwrap();
        let text = sent["text"].as_str().unwrap();
        assert!(text.starts_with("ask <at user_id=\"ou_7at user_id=all\">Ops</at> <\u{200b}at"), "{text}");
        let rich = "ask @Ops **now**";
        let formats = calling(rich, &[mention(rich), mention(rich)]);
        let sent: Value = serde_json::from_str(&formats[0].content).unwrap();
        assert_eq!(formats[0].kind, "post");
        assert_eq!(sent["zh_cn"]["content"][0][0]["text"], rich);
        assert_eq!(sent["zh_cn"]["content"][1].as_array().unwrap().len(), 1);
        assert_eq!(formats.last().unwrap().kind, "text", "a plainer one remains");
    }

    #[test]
    fn the_ladder_goes_from_rich_to_plain() {
        assert_eq!(kinds("just words"), ["text", "post"]);
        assert_eq!(kinds("**bold** words"), ["interactive", "post", "text"]);
        assert_eq!(kinds("| a |\n|---|\n| b |\n"), ["interactive", "interactive", "post", "text"]);
        assert_eq!(kinds(&format!("**b** {}", "\"".repeat(9000))), ["text"], "too long once it is in quotes");
    }

    #[test]
    fn a_card_with_twelve_tables_shows_three_of_them_as_tables() {
        let table = |number: usize| format!("Table {number}\n\n| a | b |\n|---|---|\n| {number} | x |\n\n");
        let markdown: String = (1..=12).map(table).collect();
        let message_formats = message_formats(&markdown);
        let tables = |format: &ReadyMessage| format.content.matches("|---|").count();
        assert_eq!(message_formats.iter().map(tables).collect::<Vec<_>>(), [3, 0, 0, 12]);
        for format in &message_formats {
            for number in 1..=12 {
                assert!(format.content.contains(&format!("Table {number}")), "{format:?}");
            }
        }
    }

    #[test]
    fn a_question_carries_its_buttons_and_its_outcome_has_none() {
        let button =
            |label: &str, look| CardButton { label: label.into(), value: json!({ "v": label }), look };
        let card = question_card(
            "**A1**",
            vec![vec![button("yes", ButtonStyle::Yes), button("no", ButtonStyle::No)]],
        );
        insta::assert_json_snapshot!(card, @r#"
        {
          "schema": "2.0",
          "config": {
            "update_multi": true
          },
          "body": {
            "elements": [
              {
                "tag": "markdown",
                "content": "**A1**"
              },
              {
                "tag": "column_set",
                "flex_mode": "flow",
                "columns": [
                  {
                    "tag": "column",
                    "width": "auto",
                    "elements": [
                      {
                        "tag": "button",
                        "type": "primary",
                        "text": {
                          "tag": "plain_text",
                          "content": "yes"
                        },
                        "behaviors": [
                          {
                            "type": "callback",
                            "value": {
                              "v": "yes"
                            }
                          }
                        ]
                      }
                    ]
                  },
                  {
                    "tag": "column",
                    "width": "auto",
                    "elements": [
                      {
                        "tag": "button",
                        "type": "danger",
                        "text": {
                          "tag": "plain_text",
                          "content": "no"
                        },
                        "behaviors": [
                          {
                            "type": "callback",
                            "value": {
                              "v": "no"
                            }
                          }
                        ]
                      }
                    ]
                  }
                ]
              }
            ]
          }
        }
        "#);
        let settled = settled_card("**A1**", "approved by Ada").to_string();
        assert!(settled.contains("approved by Ada") && settled.contains("A1") && !settled.contains("button"));
    }

    proptest! {
        #[test]
        fn every_format_fits_and_the_last_has_the_whole_text(text in "(\\PC|\n){0,3000}") {
            let message_formats = message_formats(&text);
            for format in &message_formats {
                prop_assert!(format.fits());
            }
            let plain = message_formats.iter().find(|format| format.kind == "text").unwrap();
            let json: Value = serde_json::from_str(&plain.content).unwrap();
            prop_assert_eq!(json["text"].as_str().unwrap().replace('\u{200b}', ""), text.replace('\u{200b}', ""));
        }
    }
}
