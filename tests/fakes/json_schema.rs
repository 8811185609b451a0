//! Checks values against JSON Schemas, with the keywords that the document of the HTTP API uses. Stricter than the
//! standard in one place: an object may only have the fields that its schema names, unless it says otherwise.

use serde_json::Value;

/// Keywords that describe and do not constrain.
const NOTES: [&str; 6] = ["title", "description", "default", "format", "$schema", "writeOnly"];

/// What is wrong with a value, each with its place; nothing where it fits. `document` resolves references.
pub(crate) fn mistakes(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(document, schema, value, "", &mut found);
    found
}

fn fits(document: &Value, schema: &Value, value: &Value) -> bool {
    mistakes(document, schema, value).is_empty()
}

fn check(document: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let keywords = match schema {
        Value::Bool(true) => return,
        Value::Object(keywords) => keywords,
        other => return found.push(format!("{at}: nothing fits {other}")),
    };
    for (keyword, wanted) in keywords {
        match keyword.as_str() {
            "$ref" => {
                let pointer = wanted.as_str().unwrap_or_default().trim_start_matches('#');
                let target = document.pointer(pointer).unwrap_or(&Value::Bool(false));
                check(document, target, value, at, found);
            }
            "type" if !has_type(wanted, value) => found.push(format!("{at}: {value} is not {wanted}")),
            "enum" if !wanted.as_array().is_some_and(|known| known.contains(value)) => {
                found.push(format!("{at}: {value} is none of {wanted}"));
            }
            "const" if wanted != value => found.push(format!("{at}: {value} is not {wanted}")),
            "minimum" if is_below(value, wanted) => found.push(format!("{at}: {value} < {wanted}")),
            "maximum" if is_below(wanted, value) => found.push(format!("{at}: {value} > {wanted}")),
            "required" => {
                for name in wanted.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    if value.is_object() && value.get(name).is_none() {
                        found.push(format!("{at}: {name} is missing"));
                    }
                }
            }
            "properties" => {
                for (name, field) in wanted.as_object().into_iter().flatten() {
                    if let Some(value) = value.get(name) {
                        check(document, field, value, &format!("{at}/{name}"), found);
                    }
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(document, wanted, item, &format!("{at}/{index}"), found);
                }
            }
            "anyOf" | "oneOf" => {
                let branches = wanted.as_array().into_iter().flatten();
                if !branches.clone().any(|branch| fits(document, branch, value)) {
                    let why: Vec<String> =
                        branches.flat_map(|branch| mistakes(document, branch, value)).collect();
                    found.push(format!("{at}: {value} fits no alternative: {}", why.join("; ")));
                }
            }
            "allOf" => {
                for part in wanted.as_array().into_iter().flatten() {
                    check(document, part, value, at, found);
                }
            }
            "type" | "enum" | "const" | "minimum" | "maximum" | "additionalProperties" => {}
            note if NOTES.contains(&note) => {}
            other => found.push(format!("{at}: the keyword {other} is not known here")),
        }
    }
    let composed = ["anyOf", "oneOf", "allOf"].iter().any(|keyword| keywords.contains_key(*keyword));
    let named = keywords.get("properties").and_then(Value::as_object);
    for (name, value) in value.as_object().into_iter().flatten() {
        let is_named = named.is_some_and(|named| named.contains_key(name));
        match keywords.get("additionalProperties") {
            _ if is_named => {}
            Some(others) => check(document, others, value, &format!("{at}/{name}"), found),
            None if named.is_some() && !composed => found.push(format!("{at}: {name} is not in the schema")),
            None => {}
        }
    }
}

/// Whether both are numbers and the first is the smaller one.
fn is_below(one: &Value, other: &Value) -> bool {
    one.as_f64().zip(other.as_f64()).is_some_and(|(one, other)| one < other)
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::Array(choices) => choices.iter().any(|choice| has_type(choice, value)),
        Value::String(name) => match name.as_str() {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            "number" => value.is_number(),
            "integer" => value.is_i64() || value.is_u64(),
            _ => false,
        },
        _ => false,
    }
}

/// The operation of a document that a request is for: its address in the document and what is said of it.
pub(crate) fn operation<'a>(document: &'a Value, method: &str, path: &str) -> Option<(&'a str, &'a Value)> {
    let asked: Vec<&str> = path.split('?').next().unwrap_or_default().split('/').collect();
    let matches = |known: &str| {
        let known: Vec<&str> = known.split('/').collect();
        known.len() == asked.len()
            && known.iter().zip(&asked).all(|(known, asked)| known == asked || known.starts_with('{'))
    };
    let paths = document["paths"].as_object().into_iter().flatten();
    let mut found: Vec<_> = paths
        .filter(|(known, _)| matches(known))
        .filter_map(|(known, methods)| Some((known.as_str(), methods.get(method.to_lowercase())?)))
        .collect();
    // An address without parameters wins.
    found.sort_by_key(|(known, _)| known.matches('{').count());
    found.into_iter().next()
}

/// What is wrong with a response, by what the document says of its operation.
pub(crate) fn response_mistakes(
    document: &Value,
    operation: &Value,
    status: u16,
    media_type: &str,
    body: &[u8],
) -> Vec<String> {
    let responses = &operation["responses"];
    let mut response = &responses[status.to_string()];
    if response.is_null() {
        if status < 400 {
            return vec![format!("{status} is not in the document")];
        }
        response = &responses["default"];
    }
    if let Some(pointer) = response["$ref"].as_str() {
        response = document.pointer(pointer.trim_start_matches('#')).unwrap_or(&Value::Null);
    }
    let media_type = media_type.split(';').next().unwrap_or_default();
    let Some(contents) = response["content"].as_object() else {
        return if body.is_empty() { Vec::new() } else { vec![format!("{status} has a body")] };
    };
    if contents.contains_key("application/octet-stream") {
        return Vec::new();
    }
    match contents.get(media_type) {
        None => vec![format!("{status} with {media_type} is not in the document")],
        Some(content) if media_type == "application/json" => match serde_json::from_slice(body) {
            Ok(value) => mistakes(document, &content["schema"], &value),
            Err(error) => vec![format!("no JSON: {error}")],
        },
        Some(_) => Vec::new(),
    }
}
