//! The buttons of an approval card, and parsing a pressed one. Pure.

use serde_json::{Value, json};

use super::adapter::capabilities;
use super::card::{ButtonStyle, CardButton, question_card};
use crate::adapters::chat::{BlockButton, Button, Menu, SentQuestion, approval_buttons, question};
use crate::domain::{Answer, Approval, ApprovalId, Language, Timestamp};
use crate::render::{approval_question, fit_question};

/// The key of our value in a button.
const KEY: &str = "ship";

/// The card of an approval with the buttons of a menu.
pub(super) fn menu_card(
    shown: &SentQuestion,
    approval: &ApprovalId,
    menu: Menu,
    language: Language,
) -> Value {
    let rows = approval_buttons(approval, shown.kind, menu, &shown.scopes, language);
    question_card(&shown.question, card_rows(rows))
}

/// Rows of buttons in the platform's format.
pub(super) fn card_rows(rows: Vec<Vec<BlockButton>>) -> Vec<Vec<CardButton>> {
    let styled = |BlockButton { button, label, data }: BlockButton| {
        let look = match button {
            Button::Answer(Answer::Approve(_)) => ButtonStyle::Yes,
            Button::Answer(Answer::Deny) => ButtonStyle::No,
            Button::Answer(Answer::Done) | Button::Scopes | Button::Back => ButtonStyle::Quiet,
        };
        CardButton { label, value: json!({ KEY: data }), look }
    };
    rows.into_iter().map(|row| row.into_iter().map(styled).collect()).collect()
}

/// The data of a pressed button; `None` where it is not ours.
pub(super) fn button_data(value: &Value) -> Option<String> {
    // Some clients return the value as a string.
    let parsed = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    parsed.as_ref().unwrap_or(value).get(KEY)?.as_str().map(str::to_owned)
}

/// The approval's text, rebuilt from its record.
pub(super) fn shown_again(approval: &Approval, now: Timestamp) -> SentQuestion {
    let language = Language::of(&approval.summary);
    let intent = approval_question(approval, language);
    let intent = fit_question(&intent, &capabilities()).unwrap_or(intent);
    let question = question(&intent, now).unwrap_or_default();
    let scopes = approval.scopes.clone();
    SentQuestion { message: None, question, kind: approval.kind, scopes, language }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::chat::{ask_back_buttons, decode, rows};
    use crate::domain::{ApprovalChoice, ApprovalKind, ScopeKind};

    fn pressed_button(value: &Value) -> Option<(Button, ApprovalId)> {
        decode(&button_data(value)?)
    }

    #[test]
    fn a_question_back_is_a_card_with_the_answers_of_each_question() {
        let choice = |digit: &str, number: &str| ApprovalChoice {
            id: format!("apr_{}", digit.repeat(40)).parse().unwrap(),
            number: number.to_owned(),
            kind: ApprovalKind::Tool,
        };
        let choices = [choice("1", "A1"), choice("2", "A2")];
        let rows = card_rows(ask_back_buttons(&choices, Language::En));
        let card = question_card("Which one: A1 or A2?", rows);
        let elements = card["body"]["elements"].as_array().unwrap();
        assert_eq!(elements[0]["content"], "Which one: A1 or A2?");
        for (row, choice) in elements[1..].iter().zip(&choices) {
            let buttons: Vec<&Value> =
                row["columns"].as_array().unwrap().iter().map(|column| &column["elements"][0]).collect();
            let labels: Vec<&str> =
                buttons.iter().map(|button| button["text"]["content"].as_str().unwrap()).collect();
            assert_eq!(
                labels,
                [format!("✅ Approve {}", choice.number), format!("❌ Deny {}", choice.number)]
            );
            for button in buttons {
                assert_eq!(pressed_button(&button["behaviors"][0]["value"]).unwrap().1, choice.id);
            }
        }
        assert_eq!(elements.len(), 3);
    }

    #[test]
    fn every_button_comes_back_as_it_was_meant() {
        let approval: ApprovalId = "apr_0123456789abcdef0123456789abcdef01234567".parse().unwrap();
        for (kind, menu) in [
            (ApprovalKind::Tool, Menu::First),
            (ApprovalKind::Tool, Menu::Scopes),
            (ApprovalKind::UnknownOutcome, Menu::First),
        ] {
            let scopes = vec![ScopeKind::Once, ScopeKind::Thread, ScopeKind::Minutes];
            let (message, question) = (None, "q".into());
            let shown =
                SentQuestion { message, question, kind, scopes: scopes.clone(), language: Language::En };
            let card = menu_card(&shown, &approval, menu, Language::En);
            let mut seen = Vec::new();
            let columns = card["body"]["elements"].as_array().unwrap().iter().skip(1);
            for column in columns.flat_map(|row| row["columns"].as_array().unwrap()) {
                let value = &column["elements"][0]["behaviors"][0]["value"];
                let (button, id) = pressed_button(value).unwrap();
                assert_eq!(id, approval);
                assert_eq!(pressed_button(&json!(value.to_string())).unwrap().0, button);
                seen.push(button);
            }
            assert_eq!(seen, rows(kind, menu, &scopes).concat());
        }
        for value in [json!(null), json!({}), json!({ KEY: 7 }), json!({ KEY: "y:short" }), json!("x")] {
            assert_eq!(pressed_button(&value), None, "{value}");
        }
    }
}
