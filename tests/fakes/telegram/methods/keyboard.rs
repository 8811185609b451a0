//! Buttons: validation of keyboards, and the answer to a press.

use serde_json::{Value, json};

use super::super::answer::{Answer, Done, Refusal};
use super::super::formatted::units;
use super::super::log::Deed;
use super::super::request::Params;
use super::super::world::{Environment, Press};

/// The error for a press that is too old or unknown.
const TOO_OLD: &str = "query is too old and response timeout expired or query ID is invalid";

/// The validated `reply_markup` of a call.
pub(crate) fn markup(params: &Params) -> Result<Option<Value>, Refusal> {
    let Some(markup) = params.json("reply_markup")? else { return Ok(None) };
    if !markup.is_object() {
        return Err(Refusal::bad("object expected as reply markup"));
    }
    let Some(keyboard) = markup.get("inline_keyboard") else { return Ok(Some(markup)) };
    let broken = |what: &str| Refusal::bad(format!("can't parse inline keyboard: {what}"));
    let rows = keyboard.as_array().ok_or_else(|| broken("array expected"))?;
    let mut count = 0;
    for row in rows {
        for button in row.as_array().ok_or_else(|| broken("array of arrays expected"))? {
            check_button(button)?;
            count += 1;
        }
    }
    if count > 100 {
        return Err(Refusal::bad("REPLY_MARKUP_TOO_LONG"));
    }
    // A keyboard without buttons counts as none.
    Ok((count > 0).then_some(markup))
}

fn check_button(button: &Value) -> Result<(), Refusal> {
    let words = button["text"].as_str().unwrap_or_default();
    if words.trim().is_empty() {
        return Err(Refusal::bad("inline keyboard button text must be non-empty"));
    }
    let Some(data) = button.get("callback_data") else {
        let other =
            ["url", "web_app", "switch_inline_query", "copy_text", "login_url", "pay", "callback_game"];
        let known = other.iter().any(|kind| button.get(kind).is_some());
        let unknown = "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard";
        return if known { Ok(()) } else { Err(Refusal::bad(unknown)) };
    };
    match data.as_str() {
        Some(data) if (1..=64).contains(&data.len()) => Ok(()),
        _ => Err(Refusal::bad("BUTTON_DATA_INVALID")),
    }
}

/// `answerCallbackQuery`: each press is answered once.
pub(crate) fn answer_callback_query(world: &mut Environment, params: &Params) -> Answer {
    let query = params.text("callback_query_id").unwrap_or_default();
    let text = params.text("text").filter(|text| !text.is_empty());
    if text.as_deref().is_some_and(|text| units(text) > 200) {
        return Err(Refusal::bad("MESSAGE_TOO_LONG"));
    }
    match world.presses.get_mut(&query) {
        Some(press @ Press::Waiting) => *press = Press::Answered(text.clone()),
        _ => return Err(Refusal::bad(TOO_OLD)),
    }
    let deed = Deed::AnsweredPress { query, text, alert: params.flag("show_alert") };
    Ok(Done { result: json!(true), deed })
}
