//! Rows of buttons as a Telegram keyboard.

use teloxide_core::types::{InlineKeyboardButton, InlineKeyboardMarkup};

use crate::adapters::chat::BlockButton;

pub(super) fn keyboard(rows: Vec<Vec<BlockButton>>) -> InlineKeyboardMarkup {
    let button = |button: BlockButton| InlineKeyboardButton::callback(button.label, button.data);
    InlineKeyboardMarkup::new(rows.into_iter().map(|row| row.into_iter().map(button).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::adapters::chat::{Menu, approval_buttons};
    use crate::domain::{ApprovalId, ApprovalKind, Language, ScopeKind};

    #[test]
    fn buttons_say_what_they_do_and_carry_the_approvals_own_id() {
        let id: ApprovalId = "apr_0123456789abcdef".parse().unwrap();
        let scopes = [ScopeKind::Once, ScopeKind::Thread];
        let rows = approval_buttons(&id, ApprovalKind::Tool, Menu::First, &scopes, Language::En);
        let keyboard = keyboard(rows);
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
        let keyboard = keyboard(approval_buttons(&id, ApprovalKind::Tool, Menu::First, &[], Language::Zh));
        assert!(keyboard.inline_keyboard.iter().all(Vec::is_empty));
    }
}
