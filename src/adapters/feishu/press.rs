//! The buttons of an approval card, and parsing a pressed one. Pure.

use serde_json::{Value, json};

use super::adapter::capabilities;
use super::card::{ButtonStyle, CardButton, question_card};
use super::notes::Shown;
use crate::adapters::chat::{Button, Menu, decode, encode, label, question, rows};
use crate::domain::{Answer, Approval, ApprovalId, ApprovalKind, Intent, Language, Timestamp};
use crate::render::{Phrase, fit_question};

/// The key of our value in a button.
const KEY: &str = "ship";

/// The card of an approval with the buttons of a menu.
pub(super) fn menu_card(shown: &Shown, approval: &ApprovalId, menu: Menu, language: Language) -> Value {
    let button = |button: &Button| dressed_button(button, approval, shown.kind, language);
    let rows = rows(shown.kind, menu);
    question_card(&shown.question, rows.iter().map(|row| row.iter().filter_map(button).collect()).collect())
}

fn dressed_button(
    button: &Button,
    approval: &ApprovalId,
    kind: ApprovalKind,
    language: Language,
) -> Option<CardButton> {
    let look = match button {
        Button::Answer(Answer::Approve(_)) => ButtonStyle::Yes,
        Button::Answer(Answer::Deny) => ButtonStyle::No,
        Button::Answer(Answer::Done) | Button::Scopes | Button::Back => ButtonStyle::Quiet,
    };
    let value = json!({ KEY: encode(button, approval)? });
    Some(CardButton { label: label(button, kind, language), value, look })
}

/// The pressed button; `None` where it is not ours.
pub(super) fn pressed_button(value: &Value) -> Option<(Button, ApprovalId)> {
    // Some clients return the value as a string.
    let parsed = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    decode(parsed.as_ref().unwrap_or(value).get(KEY)?.as_str()?)
}

/// The approval's text, rebuilt from its record.
pub(super) fn shown_again(approval: &Approval, now: Timestamp) -> Shown {
    let language = Language::of(&approval.summary);
    let intent = Intent::ApprovalRequest {
        approval_id: approval.id.clone(),
        number: approval.number.to_string(),
        kind: approval.kind,
        language,
        summary: approval.summary.clone(),
        risk: approval.risk,
        details: approval.details.clone(),
        suggested_replies: Phrase::suggested_replies(approval.kind, approval.number, language),
        expires_at: approval.expires_at.rfc3339(),
    };
    let intent = fit_question(&intent, &capabilities()).unwrap_or(intent);
    let question = question(&intent, now).unwrap_or_default();
    Shown { message: String::new(), question, kind: approval.kind, language }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_button_comes_back_as_it_was_meant() {
        let approval: ApprovalId = "apr_0123456789abcdef0123456789abcdef01234567".parse().unwrap();
        for (kind, menu) in [
            (ApprovalKind::Tool, Menu::First),
            (ApprovalKind::Tool, Menu::Scopes),
            (ApprovalKind::UnknownOutcome, Menu::First),
        ] {
            let shown = Shown { message: String::new(), question: "q".into(), kind, language: Language::En };
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
            assert_eq!(seen, rows(kind, menu).concat());
        }
        for value in [json!(null), json!({}), json!({ KEY: 7 }), json!({ KEY: "y:short" }), json!("x")] {
            assert_eq!(pressed_button(&value), None, "{value}");
        }
    }
}
