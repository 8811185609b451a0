//! Parses the arguments of a call: tolerant where the meaning is clear, otherwise with an error that says how to
//! correct them.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::schema::schema_of;
use crate::domain::Timestamp;
use crate::ports::ToolFailure;

/// Parses a call's arguments by the schema of `T`: unknown ones are ignored; `snake_case` names, quoted numbers and
/// nulls for absent ones are accepted.
pub(super) fn read<T: JsonSchema + DeserializeOwned>(arguments: Value) -> Result<T, ToolFailure> {
    let schema = schema_of::<T>();
    let mut given = object(arguments)?;
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();

    let mut clean = Map::new();
    let mut wrong = Vec::new();
    for (name, property) in properties {
        let value = given.remove(name).or_else(|| given.remove(&snake_case(name))).unwrap_or_default();
        match (value, property.get("type").and_then(Value::as_str).unwrap_or_default()) {
            (Value::Null, kind) if required.contains(&name.as_str()) => {
                wrong.push(format!("`{name}` is missing: give it as {}", in_words(kind)));
            }
            (Value::Null, _) => {}
            (value, kind) => match coerce(value, kind) {
                Ok(value) => drop(clean.insert(name.clone(), value)),
                Err(value) => {
                    wrong.push(format!("`{name}` must be {}, not {}", in_words(kind), brief(&value)))
                }
            },
        }
    }
    if !wrong.is_empty() {
        return Err(ToolFailure::BadArguments(wrong.join("; ")));
    }
    serde_json::from_value(Value::Object(clean)).map_err(|error| ToolFailure::BadArguments(error.to_string()))
}

/// Refuses a path that names no file.
pub(super) fn check_path(path: &str) -> Result<(), ToolFailure> {
    let wrong = if path.trim().is_empty() {
        "`path` is empty"
    } else if path.contains('\0') {
        "a path cannot contain a NUL character"
    } else {
        return Ok(());
    };
    Err(ToolFailure::BadArguments(wrong.to_owned()))
}

/// The arguments as an object; some models send none, or an object inside a string.
fn object(arguments: Value) -> Result<Map<String, Value>, ToolFailure> {
    let parsed = match arguments {
        Value::String(text) if text.trim().is_empty() => Value::Null,
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other,
    };
    match parsed {
        Value::Object(fields) => Ok(fields),
        Value::Null => Ok(Map::new()),
        other => Err(ToolFailure::BadArguments(format!("expected a JSON object, not {}", brief(&other)))),
    }
}

fn coerce(value: Value, kind: &str) -> Result<Value, Value> {
    match (kind, &value) {
        ("string", Value::String(_)) | ("boolean", Value::Bool(_)) => Ok(value),
        ("string", Value::Number(number)) => Ok(Value::String(number.to_string())),
        ("boolean", Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(value),
        },
        ("integer", Value::Number(number)) => number
            .as_u64()
            .or_else(|| number.as_f64().and_then(|float| float.to_string().parse().ok()))
            .map_or_else(|| Err(value.clone()), |whole| Ok(whole.into())),
        ("integer", Value::String(text)) => text.trim().parse::<u64>().map(Value::from).map_err(|_| value),
        ("string" | "boolean" | "integer", _) => Err(value),
        _ => Ok(value),
    }
}

fn in_words(kind: &str) -> String {
    match kind {
        "string" => "a text".to_owned(),
        "integer" => "a whole number from 0 up".to_owned(),
        "boolean" => "true or false".to_owned(),
        other => format!("a JSON value of type {other}"),
    }
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 {
        text
    } else {
        format!("{}…", text.chars().take(60).collect::<String>())
    }
}

fn snake_case(name: &str) -> String {
    name.chars().fold(String::new(), |mut snake, letter| {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
        snake
    })
}

/// Which end of a period a day stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// The beginning of the day.
    Begin,
    /// The end of the day.
    End,
}

/// The milliseconds of an argument that is a day or a time; nothing where it is not given.
pub(super) fn moment(name: &str, text: Option<&str>, edge: Edge) -> Result<Option<i64>, ToolFailure> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    if let Some(time) = Timestamp::parse_rfc3339(text) {
        return Ok(Some(time.as_millis()));
    }
    let day = text.parse::<Date>().ok().filter(|_| !text.contains(['T', 't', ' ']));
    let day = match edge {
        Edge::Begin => day,
        Edge::End => day.and_then(|day| day.tomorrow().ok()),
    };
    let begin = day.and_then(|day| day.to_zoned(TimeZone::UTC).ok());
    begin.map(|begin| Some(begin.timestamp().as_millisecond())).ok_or_else(|| {
        let text = format!("`{name}` {text:?} is no day or time: write 2026-05-02 or 2026-05-02T08:00:00Z");
        ToolFailure::BadArguments(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Sample {
        path: String,
        start_line: Option<u64>,
        regex: Option<bool>,
    }

    fn sample(path: &str, start_line: Option<u64>, regex: Option<bool>) -> Sample {
        Sample { path: path.into(), start_line, regex }
    }

    #[test]
    fn arguments_are_understood_where_their_meaning_is_clear() {
        for (given, expected) in [
            (json!({"path": "a"}), sample("a", None, None)),
            (json!({"path": "a", "startLine": 3, "surprise": []}), sample("a", Some(3), None)),
            (json!({"path": "a", "start_line": "3"}), sample("a", Some(3), None)),
            (json!({"path": "a", "startLine": 3.0, "regex": "True"}), sample("a", Some(3), Some(true))),
            (json!({"path": 7, "startLine": null}), sample("7", None, None)),
            (json!("{\"path\": \"a\"}"), sample("a", None, None)),
        ] {
            assert_eq!(read::<Sample>(given.clone()), Ok(expected), "{given}");
        }
    }

    #[test]
    fn a_refusal_names_every_argument_and_says_what_it_should_be() {
        let failure = read::<Sample>(json!({"startLine": "soon", "regex": 1})).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "invalid arguments: `path` is missing: give it as a text; \
             `startLine` must be a whole number from 0 up, not \"soon\"; \
             `regex` must be true or false, not 1"
        );
        for given in [json!(null), json!([1]), json!("words"), json!({"path": "a", "startLine": -1})] {
            assert!(matches!(read::<Sample>(given.clone()), Err(ToolFailure::BadArguments(_))), "{given}");
        }
    }
}
