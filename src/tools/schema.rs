//! JSON Schema for tool arguments, in the plain form that every model server accepts.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The schema of `T`: draft 7, self-contained, without `$schema`, `title`, `format` and null types, which
/// some servers refuse and no model needs.
pub fn schema_of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft07();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    plain(&mut schema);
    schema
}

fn plain(node: &mut Value) {
    match node {
        Value::Object(fields) => {
            // A property may be called `title` or `format`; only the keywords, which are texts, are removed.
            fields.retain(|key, value| !matches!(key.as_str(), "title" | "format") || !value.is_string());
            fields.retain(|key, value| key != "default" || !value.is_null());
            if let Some(types) = fields.get_mut("type") {
                without_null(types);
            }
            fields.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// Removes null types: an optional argument may be left out, and few servers support `["integer", "null"]`.
fn without_null(types: &mut Value) {
    if let Value::Array(names) = types {
        names.retain(|name| name != "null");
        if let [only] = names.as_slice() {
            *types = only.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Sample {
        /// Where.
        path: String,
        /// From which line.
        start_line: Option<u64>,
        /// A name that is a keyword elsewhere.
        format: Option<bool>,
        inner: Option<Inner>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Inner {
        title: Vec<String>,
    }

    #[test]
    fn the_schema_is_self_contained_and_plain() {
        let schema = schema_of::<Sample>();
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["required"], json!(["path"]));
        assert_eq!(
            schema["properties"]["startLine"],
            json!({"type": "integer", "minimum": 0, "description": "From which line."})
        );
        assert_eq!(schema["properties"]["format"]["type"], "boolean");
        let text = schema.to_string();
        for unwanted in ["$schema", "$ref", "definitions", "uint64", "\"null\""] {
            assert!(!text.contains(unwanted), "{unwanted} in {text}");
        }
    }
}
