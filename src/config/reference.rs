//! The reference of `ship.json` as Markdown, made of its JSON Schema: `shipagent config reference`.

use serde_json::{Map, Value};

const INTRODUCTION: &str = "# Configuration reference

Every key of `ship.json`, made of its schema by `shipagent config reference`. All are optional. Comments and trailing commas
are allowed; `${VAR}` and `${VAR:-default}` in any text stand for variables of the environment or of the project's `.env`. The
same keys with examples are in [ship.json.example](../ship.json.example); `shipagent config check` names every mistake with its
line.
";

/// The reference of a schema.
pub fn reference(schema: &Value) -> String {
    let mut out = INTRODUCTION.to_owned();
    let (sections, keys): (Vec<_>, Vec<_>) =
        fields(schema).partition(|(_, field)| field.get("properties").is_some());
    let mut seen = ListedKeys::default();
    table(&mut out, "At the top", keys.into_iter().map(|(name, field)| row(name, field)).collect());
    for (name, section) in sections {
        let mut rows = Vec::new();
        seen.rows(name, section, &mut rows);
        table(&mut out, &format!("`{name}`: {}", plain(section).trim_end_matches('.')), rows);
    }
    out
}

fn table(out: &mut String, title: &str, rows: Vec<String>) {
    out.push_str(&format!(
        "\n## {title}\n\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n"
    ));
    for row in rows {
        out.push_str(&row);
    }
}

/// The groups of keys so far, so that the same keys are listed once.
#[derive(Default)]
struct ListedKeys<'a>(Vec<(&'a Map<String, Value>, String)>);

impl<'a> ListedKeys<'a> {
    /// The rows of the keys below a path.
    fn rows(&mut self, path: &str, schema: &'a Value, rows: &mut Vec<String>) {
        for (name, field) in fields(schema) {
            let path = format!("{path}.{name}");
            match field.get("items") {
                Some(items) if items.get("properties").is_some() => {
                    self.group(&format!("{path}[]"), items, &plain(field), rows);
                }
                _ if field.get("properties").is_some() => self.group(&path, field, &plain(field), rows),
                _ => rows.push(row(&path, field)),
            }
        }
    }

    /// One row for a group of keys, and the rows of its keys where they were not listed before.
    fn group(&mut self, path: &str, schema: &'a Value, about: &str, rows: &mut Vec<String>) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        let earlier = self.0.iter().find(|(known, _)| *known == properties).map(|(_, path)| path.clone());
        let value = earlier.as_ref().map_or("section".to_owned(), |earlier| format!("as `{earlier}`"));
        rows.push(format!("| `{path}` | {value} | | {about} |\n"));
        if earlier.is_none() {
            self.0.push((properties, path.to_owned()));
            self.rows(path, schema, rows);
        }
    }
}

fn fields(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, field)| (name.as_str(), field))
}

fn row(path: &str, field: &Value) -> String {
    let default = match field.get("default") {
        None => String::new(),
        Some(Value::String(text)) if text.is_empty() => String::new(),
        Some(Value::Array(items)) if items.is_empty() => "none".to_owned(),
        Some(Value::Object(keys)) if keys.is_empty() => "none".to_owned(),
        Some(value) => format!("`{value}`"),
    };
    let choices = choices(field).map(|(name, about)| format!("<br>`{name}`: {about}"));
    let meaning = plain(field) + &choices.collect::<String>();
    format!("| `{path}` | {} | {default} | {meaning} |\n", kind(field))
}

/// What may be written, in a word or two.
fn kind(field: &Value) -> String {
    if choices(field).next().is_some() {
        return "a choice".to_owned();
    }
    let word = |name: &str| field.get(name).and_then(Value::as_str);
    let number = |name: &str| field.get(name).filter(|value| value.is_number());
    match (word("type").unwrap_or_default(), word("format")) {
        _ if field.get("writeOnly").is_some() => "a secret".to_owned(),
        ("string", Some("http-url")) => "an address".to_owned(),
        ("string", Some(format)) => format.replace('-', " "),
        ("string", None) => "text".to_owned(),
        ("boolean", _) => "`true` or `false`".to_owned(),
        ("array", _) => "a list".to_owned(),
        ("object", _) => "names with values".to_owned(),
        _ => match (number("minimum"), number("maximum")) {
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("{least} or more"),
            _ => "a number".to_owned(),
        },
    }
}

fn choices(field: &Value) -> impl Iterator<Item = (&str, String)> {
    let choices = field.get("oneOf").and_then(Value::as_array);
    let named = |choice: &'_ Value| choice.get("const").and_then(Value::as_str).is_some();
    choices.into_iter().flatten().filter(move |choice| named(choice)).map(|choice| {
        let name = choice.get("const").and_then(Value::as_str).unwrap_or_default();
        (name, plain(choice))
    })
}

/// The description on one line of a table.
fn plain(field: &Value) -> String {
    let text = field.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_listed_with_their_choices_and_defaults_and_groups_only_once() {
        let group = json!({ "type": "object", "description": "How groups are served.", "properties": {
            "respond": { "oneOf": [{ "const": "all", "description": "Every one." }], "default": "all", "description": "Which." },
        } });
        let schema = json!({ "properties": {
            "name": { "type": "string", "description": "The name | label." },
            "adapters": { "description": "Where people talk.", "properties": { "irc": {
                "description": "IRC.", "properties": { "port": { "type": "integer", "minimum": 1, "maximum": 9, "default": 6 }, "groups": group },
            }, "web": { "description": "HTTP.", "properties": { "token": { "type": "string", "writeOnly": true }, "groups": group } } } },
        } });
        let text = reference(&schema);
        for line in [
            "| `name` | text |  | The name \\| label. |",
            "## `adapters`: Where people talk",
            "| `adapters.irc` | section | | IRC. |",
            "| `adapters.irc.port` | 1 to 9 | `6` |  |",
            "| `adapters.irc.groups.respond` | a choice | `\"all\"` | Which.<br>`all`: Every one. |",
            "| `adapters.web.token` | a secret |  |  |",
            "| `adapters.web.groups` | as `adapters.irc.groups` | | How groups are served. |",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        assert!(!text.contains("adapters.web.groups.respond"), "{text}");
    }
}
