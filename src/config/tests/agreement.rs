//! Types, schema, checker and example are four views of one thing.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::project::load;
use crate::adapters::builtin;
use crate::config::check::{check, check_against};
use crate::config::load::typed;
use crate::config::resolve;
use crate::config::schema::schema_with_tools;
use crate::config::{Env, Mode, Provider, Settings, schema};
use crate::domain::{Effects, ToolSpec};
use crate::ports::{BoxFuture, Tool, ToolContext, ToolFailure, ToolOutcome};
use crate::tools::{TOOLS, ToolDef, permission_keys};

#[test]
fn the_example_is_valid_as_it_stands_and_names_every_key() {
    let example = include_str!("../../../ship.json.example");
    let settings = load(example, &Env::default()).unwrap();
    assert!(matches!(settings.model.provider, Provider::Offline));

    let checked = check(example, &Env::default(), &builtin());
    let mut missing = Vec::new();
    missing_keys(&schema(&builtin()), &checked.value, "", &mut missing);
    assert_eq!(missing, Vec::<String>::new());
}

fn missing_keys(schema: &Value, value: &Value, path: &str, missing: &mut Vec<String>) {
    for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
        match value.get(key) {
            Some(value) => missing_keys(schema, value, &format!("{path}.{key}"), missing),
            None => missing.push(format!("{path}.{key}")),
        }
    }
}

/// A value that a schema accepts, with every key there is.
fn fullest(schema: &Value) -> Value {
    if let Some(choices) = schema["oneOf"].as_array() {
        return choices.last().unwrap()["const"].clone();
    }
    match schema["type"].as_str().unwrap() {
        "object" => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let mut object: serde_json::Map<_, _> =
                properties.map(|(key, schema)| (key.clone(), fullest(schema))).collect();
            if schema["additionalProperties"].is_object() {
                object.insert("a_tool_of_another".to_owned(), fullest(&schema["additionalProperties"]));
            }
            Value::Object(object)
        }
        "array" => json!([fullest(&schema["items"])]),
        "integer" => schema["maximum"].as_u64().map_or(json!(-7), |max| json!(max)),
        "number" => schema["maximum"].as_f64().map_or(json!(0.25), |max| json!(max)),
        "boolean" => json!(true),
        "string" => match schema["format"].as_str() {
            Some("http-url") => json!("http://127.0.0.1:8080/v1"),
            Some("listen-address") => json!("[::1]:0"),
            Some("author-id" | "approver" | "exempt") => json!("qq:user:A%3A1"),
            Some("host-name") => json!("agent.example.org"),
            Some("web-origin") => json!("https://app.example.org"),
            Some("command-start") => json!("git status"),
            Some("time-zone") => json!("Asia/Shanghai"),
            Some("socket-path") => json!("/run/docker.sock"),
            Some(other) => panic!("no check knows the format {other}"),
            None => json!("text"),
        },
        other => panic!("no check knows the type {other}"),
    }
}

#[test]
fn what_the_schema_allows_the_checker_and_the_types_accept() {
    let full = fullest(&schema(&builtin()));
    let checked = check(&full.to_string(), &Env::default(), &builtin());
    assert_eq!(checked.problems, []);
    assert_eq!(checked.value, full);
    typed(full.clone(), &builtin()).unwrap();
    load(&full.to_string(), &Env::default()).unwrap();
}

#[test]
fn the_schema_is_fit_for_editors() {
    let schema = schema(&builtin());
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    assert_eq!(schema["additionalProperties"], false);
    let text = schema.to_string();
    assert!(!text.contains("\"null\"") && !text.contains("$ref"), "{text}");
    let mut undocumented = Vec::new();
    undescribed(&schema, "", &mut undocumented);
    assert_eq!(undocumented, Vec::<String>::new());
    assert_eq!(
        schema["properties"]["queue"]["properties"]["mergeMs"],
        json!({
            "type": "integer", "minimum": 0, "maximum": 2000, "default": 600,
            "description": "Messages this many milliseconds apart are answered together; 0 turns it off."
        })
    );
}

fn undescribed(schema: &Value, path: &str, found: &mut Vec<String>) {
    for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
        if schema["description"].as_str().is_none_or(str::is_empty) {
            found.push(format!("{path}.{key}"));
        }
        undescribed(schema, &format!("{path}.{key}"), found);
        undescribed(&schema["items"], &format!("{path}.{key}[]"), found);
    }
}

/// The positions of all values inside a value, as JSON pointers.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                pointers(value, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (i, value) in items.iter().enumerate() {
                pointers(value, &format!("{at}/{i}"), found);
            }
        }
        _ => {}
    }
    found.push(at.to_owned());
}

fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-10i64..3000).prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("${UNSET}")),
        Just(json!([])),
        Just(json!({})),
        Just(json!({ "mode": "deny" })),
        prop::collection::vec("[a-z:/.]{0,8}", 0..3).prop_map(Value::from),
    ]
}

proptest! {
    #[test]
    fn what_the_checker_lets_pass_the_types_accept(at in any::<prop::sample::Index>(), value in anything()) {
        let mut file = fullest(&schema(&builtin()));
        let mut positions = Vec::new();
        pointers(&file, "", &mut positions);
        *file.pointer_mut(at.get(&positions).as_str()).unwrap() = value;
        let checked = check(&file.to_string(), &Env::default(), &builtin());
        if checked.problems.is_empty() {
            prop_assert!(typed(checked.value, &builtin()).is_ok(), "{file}");
        }
    }
}

#[test]
fn the_hello_project_runs_without_any_key() {
    let hello = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/hello");
    let settings = Settings::load(&hello, &Env::default(), &builtin()).unwrap();
    assert_eq!(settings.name, "hello");
    assert!(matches!(settings.model.provider, Provider::Offline));
}

/// A tool that only this test has.
#[derive(Debug)]
struct RingBell;

impl Tool for RingBell {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "ring_bell",
            description: "Rings the bell.".into(),
            parameters: json!({ "type": "object" }),
            effects: Effects::SideEffects,
        }
    }

    fn check(&self, _arguments: &Value) -> Result<(), ToolFailure> {
        Ok(())
    }

    fn call(&self, _arguments: Value, _context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async { Ok(json!("rung")) })
    }
}

#[test]
fn a_tool_in_the_table_has_its_key_in_the_permissions_and_needs_nothing_else() {
    let added = ToolDef { permits: "Ringing the bell.", make: |_| std::sync::Arc::new(RingBell) };
    let tools: Vec<ToolDef> = TOOLS.iter().copied().chain([added]).collect();
    let schema = schema_with_tools(&builtin(), &permission_keys(&tools));
    let key = schema.pointer("/properties/permissions/properties/ring_bell").unwrap();
    assert_eq!(key["description"], "Ringing the bell.");
    let keys = |key: &Value| key["properties"].clone();
    assert_eq!(keys(key), keys(schema.pointer("/properties/permissions/properties/write_file").unwrap()));

    let check = |text: &str| check_against(&schema, text, &Env::default(), &builtin());
    let checked = check(r#"{ "permissions": { "ring_bell": { "mode": "deny" } } }"#);
    assert_eq!((checked.problems, checked.warnings), (vec![], vec![]));
    let (file, _) = typed(checked.value, &builtin()).unwrap();
    assert_eq!(resolve::permissions(file.permissions).tools.get("ring_bell"), Some(&Mode::Deny));
    let misspelt = check(r#"{ "permissions": { "ringBell": { "mode": "deny" } } }"#);
    let problems: Vec<String> = misspelt.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains(r#"did you mean "ring_bell"?"#), "{problems:?}");
}
