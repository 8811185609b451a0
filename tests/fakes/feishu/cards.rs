//! Streamed cards.

use serde_json::{Value, json};

use super::api::{Answer, done, fault, parse};
use super::world::{Entity, Environment};

/// Largest card, in bytes and tables.
const MOST_BYTES: usize = 30 * 1024;
const MOST_TABLES: usize = 3;

/// The platform's error for an invalid card.
pub(super) fn flaw(world: &Environment, card: &Value) -> Option<Answer> {
    if world.mood.refuses_cards {
        return Some(fault(230_099, "Failed to create card content, ext=ErrCode: 11246; ErrMsg: unknown"));
    }
    let text = card.to_string();
    if text.len() > MOST_BYTES {
        return Some(fault(230_025, "the message content reaches its limit"));
    }
    if card["schema"] != "2.0" || !card["body"]["elements"].is_array() {
        return Some(fault(
            230_099,
            "Failed to create card content, ext=ErrCode: 200621; ErrMsg: parse card json err",
        ));
    }
    let tables: usize = card["body"]["elements"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|element| element["content"].as_str())
        .map(tables_outside_code)
        .sum();
    let words = "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card table number over limit";
    (tables > MOST_TABLES).then(|| fault(230_099, words))
}

fn tables_outside_code(markdown: &str) -> usize {
    let mut in_code = false;
    let mut tables = 0;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let rule = line.trim().starts_with("|--") || line.trim().starts_with("| --");
        tables += usize::from(!in_code && rule);
    }
    tables
}

/// Answers a call of `/open-apis/cardkit/v1/…`.
pub(super) fn answer(world: &mut Environment, method: &str, path: &[&str], body: &Value) -> Answer {
    if !world.mood.cardkit {
        return fault(
            99_991_672,
            "Access denied. One of the following scopes is required: [cardkit:card:write]",
        );
    }
    match (method, path) {
        ("POST", ["cards"]) => {
            let card = parse(&body["data"]);
            if let Some(flaw) = flaw(world, &card) {
                return flaw;
            }
            let id = world.fresh("card_");
            let streaming = card["config"]["streaming_mode"] == true;
            world.entities.insert(id.clone(), Entity { card, sequence: 0, streaming, sent: false });
            done(json!({ "card_id": id }))
        }
        ("PUT", ["cards", id, "elements", element, "content"]) => change(world, id, body, |entity| {
            if !entity.streaming {
                return Some(fault(300_309, "streaming mode is closed"));
            }
            let elements = entity.card["body"]["elements"].as_array_mut()?;
            match elements.iter_mut().find(|known| known["element_id"] == **element) {
                Some(found) => {
                    found["content"] = body["content"].clone();
                    None
                }
                None => Some(fault(300_313, "element not found")),
            }
        }),
        ("PATCH", ["cards", id, "settings"]) => change(world, id, body, |entity| {
            let settings = parse(&body["settings"]);
            if let Some(streaming) = settings["config"]["streaming_mode"].as_bool() {
                entity.streaming = streaming;
            }
            None
        }),
        ("PUT", ["cards", id]) => {
            let card = parse(&body["card"]["data"]);
            if let Some(flaw) = flaw(world, &card) {
                return flaw;
            }
            change(world, id, body, |entity| {
                entity.card = card;
                None
            })
        }
        _ => fault(404, "no such call"),
    }
}

fn change(
    world: &mut Environment,
    id: &str,
    body: &Value,
    change: impl FnOnce(&mut Entity) -> Option<Answer>,
) -> Answer {
    let Some(entity) = world.entities.get_mut(id) else { return fault(200_740, "no such card") };
    let sequence = body["sequence"].as_i64().unwrap_or_default();
    if sequence <= entity.sequence {
        return fault(300_317, "sequence number compare failed");
    }
    entity.sequence = sequence;
    change(entity).unwrap_or_else(|| done(json!({})))
}
