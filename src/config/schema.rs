//! The JSON Schema of `ship.json`, derived from its types, the adapter table and the table of tools.
//!
//! The checker uses the same schema as editors. Two annotations have a meaning here: `writeOnly` marks a secret, and
//! `format` names a form that [`super::formats`] parses.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::file::ShipFile;
use crate::ports::{AdapterDef, AdapterTable};
use crate::tools::{PermissionKey, TOOLS, permission_keys};

/// The schema: draft 7, self-contained, without references, since that is what most editors read best and what
/// makes the checker small.
pub fn schema(adapters: &AdapterTable) -> Value {
    schema_with_tools(adapters, &permission_keys(TOOLS))
}

/// The schema with these tools in the `permissions` section.
pub(super) fn schema_with_tools(adapters: &AdapterTable, tools: &[PermissionKey]) -> Value {
    let settings = SchemaSettings::draft07().with(|s| s.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<ShipFile>().to_value();
    if let Some(Value::Object(sections)) = schema.pointer_mut("/properties/adapters/properties") {
        let own = std::mem::take(sections);
        *sections = adapters.iter().map(section).chain(own).collect();
    }
    if let Some(Value::Object(permissions)) = schema.pointer_mut("/properties/permissions") {
        let tool = permissions.get("additionalProperties").cloned().unwrap_or_default();
        if let Some(Value::Object(keys)) = permissions.get_mut("properties") {
            keys.extend(tools.iter().map(|key| (key.name.to_owned(), described(tool.clone(), key.about))));
        }
    }
    tidy(&mut schema);
    schema
}

/// The section of one adapter.
fn section(def: &AdapterDef) -> (String, Value) {
    (def.name.to_owned(), described((def.schema)(), def.about))
}

fn described(mut schema: Value, about: &str) -> Value {
    if let Value::Object(keys) = &mut schema {
        keys.insert("description".to_owned(), about.into());
    }
    schema
}

/// Removes what the Rust types say but the file does not mean: a key is left out, never `null`, and integers have no
/// width.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(tidy),
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if object.get("default").is_some_and(Value::is_null) {
                object.shift_remove("default");
            }
            let width = ["int64", "uint16", "uint32", "uint64", "uint", "double"];
            if object.get("format").and_then(Value::as_str).is_some_and(|format| width.contains(&format)) {
                object.shift_remove("format");
            }
            object.values_mut().for_each(tidy);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The choices of a key that knows only a few texts.
pub(super) fn choices(schema: &Value) -> Option<Vec<&str>> {
    let documented = schema.get("oneOf").and_then(Value::as_array)?;
    Some(documented.iter().filter_map(|choice| choice.get("const")?.as_str()).collect())
}
