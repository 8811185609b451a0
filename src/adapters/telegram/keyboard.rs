//! The buttons of an approval as a Telegram keyboard.

use teloxide_core::types::{InlineKeyboardButton, InlineKeyboardMarkup};

use crate::adapters::chat::{Menu, encode, label, rows};
use crate::domain::{ApprovalId, ApprovalKind, Language};

/// The keyboard of an approval. A button whose data exceeds the limit is left out.
pub(super) fn keyboard(
    approval: &ApprovalId,
    kind: ApprovalKind,
    menu: Menu,
    language: Language,
) -> InlineKeyboardMarkup {
    let row = |buttons: Vec<_>| -> Vec<InlineKeyboardButton> {
        let button = |button| {
            let data = encode(&button, approval)?;
            Some(InlineKeyboardButton::callback(label(&button, kind, language), data))
        };
        buttons.into_iter().filter_map(button).collect()
    };
    InlineKeyboardMarkup::new(rows(kind, menu).into_iter().map(row))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn buttons_say_what_they_do_and_carry_the_approvals_own_id() {
        let id: ApprovalId = "apr_0123456789abcdef".parse().unwrap();
        let keyboard = keyboard(&id, ApprovalKind::Tool, Menu::First, Language::En);
        assert_eq!(
            serde_json::to_value(keyboard).unwrap(),
            json!({ "inline_keyboard": [
                [
                    { "text": "✅ Approve", "callback_data": "y:apr_0123456789abcdef" },
                    { "text": "❌ Deny", "callback_data": "n:apr_0123456789abcdef" },
                ],
                [{ "text": "Approve for longer …", "callback_data": "o:apr_0123456789abcdef" }],
            ] })
        );
    }

    #[test]
    fn a_button_that_cannot_carry_its_meaning_is_not_shown() {
        let id: ApprovalId = "a".repeat(64).parse().unwrap();
        let keyboard = keyboard(&id, ApprovalKind::Tool, Menu::First, Language::Zh);
        assert!(keyboard.inline_keyboard.iter().all(Vec::is_empty));
    }
}
