//! Describes every key of `ship.json` for people: what it is, which value applies, and where that value comes from.

use std::collections::BTreeMap;
use std::path::Path;

use jsonc_parser::ast::Value as Node;
use serde::Serialize;
use serde_json::{Map, Number, Value};

use super::check::{self, SHIP_JSON, expected_type, join};
use super::dotenv;
use super::env::{Env, names_a_secret};
use super::key_path::KeyPath;
use super::load::{DOT_ENV, Texts};
use super::problem::{ConfigProblem, JsonType, Positions};
use super::schema::{choices, schema};
use super::syntax;
use super::write::only_variable;
use crate::ports::AdapterTable;

/// Shown instead of a secret that is written into the file.
const HIDDEN: &str = "••••••";

/// All keys, in the order of the schema.
#[derive(Debug)]
pub struct ConfigView {
    pub keys: Vec<ConfigKey>,
    /// Whether there is a `ship.json`.
    pub has_file: bool,
    /// Of `ship.json` and `.env`.
    pub problems: Vec<ConfigProblem>,
    pub warnings: Vec<ConfigProblem>,
}

/// One key. Secrets are left out of all its values.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigKey {
    /// `llm.model`.
    pub key: String,
    /// The description in the schema.
    pub about: String,
    pub kind: &'static str,
    /// The valid texts, where there are only a few.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
    /// The value without an entry in the file; `None` where it follows from others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The value in the file, with its variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<Value>,
    /// The value that applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Whether the value is a secret, which is not shown.
    pub secret: bool,
    /// Whether there is a value.
    pub set: bool,
    pub origin: ValueOrigin,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueOrigin {
    pub source: ValueSource,
    /// In `ship.json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The variables in the value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<VariableOrigin>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ValueSource {
    #[serde(rename = "default")]
    Default,
    #[serde(rename = "ship.json")]
    File,
    /// A variable that counts without a `ship.json`.
    #[serde(rename = "environment")]
    Environment,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VariableOrigin {
    pub name: String,
    pub from: VariableSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum VariableSource {
    #[serde(rename = "environment")]
    Environment,
    #[serde(rename = ".env")]
    DotEnv,
    #[serde(rename = "unset")]
    Unset,
}

/// Describes the configuration of a project. Reads its files.
pub fn describe_config(project: &Path, env: &Env, adapters: &AdapterTable) -> ConfigView {
    let (texts, mut problems) = Texts::read(project);
    let (pairs, _) = dotenv::parse(texts.dotenv.as_deref().unwrap_or_default());
    let schema = schema(adapters);
    let all = env.with_dotenv(pairs.clone());
    let checked = texts.ship.as_deref().map(|text| check::check(text, &all, adapters));
    let written = texts.ship.as_deref().and_then(|text| {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        plain_json(syntax::parse(text).value.as_ref()?)
    });
    let mut warnings = Vec::new();
    let (mut applied, mut positions) = (Value::Null, None);
    if let Some(checked) = checked {
        problems.extend(checked.problems);
        warnings = checked.warnings;
        applied = checked.value;
        positions = Some(checked.positions);
    }
    let view = ValueTree {
        env,
        dotenv: pairs.into_iter().collect(),
        written: written.unwrap_or(Value::Null),
        applied,
        positions,
        has_file: texts.ship.is_some(),
    };
    let mut keys = Vec::new();
    view.walk(&schema, "", None, &mut keys);
    ConfigView { keys, has_file: view.has_file, problems, warnings }
}

struct ValueTree<'a> {
    env: &'a Env,
    dotenv: BTreeMap<String, String>,
    /// The file with its variables.
    written: Value,
    /// The file with the values of its variables.
    applied: Value,
    positions: Option<Positions>,
    has_file: bool,
}

impl ValueTree<'_> {
    fn walk(&self, schema: &Value, path: &str, default: Option<&Value>, out: &mut Vec<ConfigKey>) {
        let known = schema.get("properties").and_then(Value::as_object);
        for (name, schema) in known.into_iter().flatten().filter(|(name, _)| !name.starts_with('$')) {
            let path = join(path, name);
            let default = schema.get("default").or_else(|| default.and_then(|default| default.get(name)));
            if schema.get("properties").is_some() {
                self.walk(schema, &path, default, out);
            } else {
                out.push(self.key(schema, path, default));
            }
        }
    }

    fn key(&self, schema: &Value, path: String, default: Option<&Value>) -> ConfigKey {
        let at = KeyPath::parse(&path);
        let written = at.as_ref().and_then(|at| at.find(&self.written));
        let applied = at.as_ref().and_then(|at| at.find(&self.applied)).filter(|value| !value.is_null());
        let (source, used, found) = match written {
            Some(written) => (ValueSource::File, variables_in(written), applied.cloned()),
            None => match self.well_known(&path) {
                Some((name, value)) => (ValueSource::Environment, vec![name.to_owned()], Some(value.into())),
                None => (ValueSource::Default, Vec::new(), default.cloned()),
            },
        };
        let secret = is_secret(schema) || used.iter().any(|name| names_a_secret(name));
        let variables = used.into_iter().map(|name| self.variable(name)).collect();
        let set = found.as_ref().is_some_and(|value| value.as_str() != Some(""));
        ConfigKey {
            about: schema.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " "),
            kind: kind(schema),
            choices: choices(schema).unwrap_or_default().into_iter().map(str::to_owned).collect(),
            minimum: schema.get("minimum").and_then(Value::as_f64),
            maximum: schema.get("maximum").and_then(Value::as_f64),
            default: default.cloned(),
            written: written.map(|value| hide_secrets(schema, value)),
            value: found.filter(|_| !secret).map(|value| hide_secrets(schema, &value)),
            secret,
            set,
            origin: ValueOrigin { source, line: self.line(&path), variables },
            key: path,
        }
    }

    /// The line of a key that the file sets.
    fn line(&self, path: &str) -> Option<usize> {
        let positions = self.positions.as_ref().filter(|positions| positions.has(path))?;
        positions.near(path).map(|at| at.line)
    }

    /// A variable that counts without a `ship.json`.
    fn well_known(&self, path: &str) -> Option<(&'static str, &str)> {
        let name = match path {
            "llm.apiKey" => "OPENAI_API_KEY",
            "llm.baseUrl" => "OPENAI_BASE_URL",
            "llm.model" => "OPENAI_MODEL",
            _ => return None,
        };
        let found = self.env.filled(name).or_else(|| self.dotenv.get(name).map(String::as_str));
        found.filter(|value| !self.has_file && !value.trim().is_empty()).map(|value| (name, value))
    }

    fn variable(&self, name: String) -> VariableOrigin {
        let from = if self.env.get(&name).is_some() {
            VariableSource::Environment
        } else if self.dotenv.contains_key(&name) {
            VariableSource::DotEnv
        } else {
            VariableSource::Unset
        };
        VariableOrigin { name, from }
    }
}

fn is_secret(schema: &Value) -> bool {
    schema.get("writeOnly").is_some_and(|flag| *flag == true)
}

fn kind(schema: &Value) -> &'static str {
    match expected_type(schema) {
        JsonType::Object => "object",
        JsonType::Array => "list",
        JsonType::Integer => "integer",
        JsonType::Number => "number",
        JsonType::Boolean => "boolean",
        JsonType::Text | JsonType::Null => "text",
    }
}

/// The variables in a value, in its order.
fn variables_in(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => {
                for part in text.split("${").skip(1) {
                    let inside = part.split('}').next().unwrap_or_default();
                    let name = inside.split(":-").next().unwrap_or_default();
                    if dotenv::is_name(name) && !found.iter().any(|known| known == name) {
                        found.push(name.to_owned());
                    }
                }
            }
            Value::Array(values) => open.extend(values.iter().rev()),
            Value::Object(keys) => open.extend(keys.values().rev()),
            _ => {}
        }
    }
    found
}

/// A value in which no secret can be read: a reference to a variable stays, without its default.
fn hide_secrets(schema: &Value, value: &Value) -> Value {
    match value {
        Value::String(text) if is_secret(schema) => match only_variable(text) {
            Some(name) => Value::String(format!("${{{name}}}")),
            None if text.is_empty() => Value::String(String::new()),
            None => Value::String(HIDDEN.to_owned()),
        },
        Value::Array(values) => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            values.iter().map(|value| hide_secrets(items, value)).collect()
        }
        Value::Object(keys) => {
            let schema_of = |key: &str| {
                let known = schema.get("properties").and_then(|known| known.get(key));
                known.or_else(|| schema.get("additionalProperties")).unwrap_or(&Value::Null)
            };
            let shown = |(key, value): (&String, &Value)| (key.clone(), hide_secrets(schema_of(key), value));
            Value::Object(keys.iter().map(shown).collect())
        }
        other => other.clone(),
    }
}

/// A parsed value as JSON, with its variables as they are written. `None` for a number that no type can hold.
pub(super) fn plain_json(node: &Node<'_>) -> Option<Value> {
    Some(match node {
        Node::StringLit(text) => Value::String(text.value.to_string()),
        Node::BooleanLit(boolean) => Value::Bool(boolean.value),
        Node::NullKeyword(_) => Value::Null,
        Node::NumberLit(number) => {
            let whole = number.value.parse::<i64>().ok().map(Number::from);
            Value::Number(whole.or_else(|| Number::from_f64(number.value.parse().ok()?))?)
        }
        Node::Array(array) => {
            Value::Array(array.elements.iter().map(plain_json).collect::<Option<Vec<_>>>()?)
        }
        Node::Object(object) => {
            let property = |property: &jsonc_parser::ast::ObjectProp<'_>| {
                Some((property.name.as_str().to_owned(), plain_json(&property.value)?))
            };
            Value::Object(object.properties.iter().map(property).collect::<Option<Map<_, _>>>()?)
        }
    })
}

impl ValueOrigin {
    /// The origin in words: `ship.json:12, MODEL from .env`.
    pub fn line_for_people(&self) -> String {
        let place = match (self.source, self.line) {
            (ValueSource::File, Some(line)) => format!("{SHIP_JSON}:{line}"),
            (ValueSource::File, None) => SHIP_JSON.to_owned(),
            (ValueSource::Environment, _) => String::new(),
            (ValueSource::Default, _) => "default".to_owned(),
        };
        let variables = self.variables.iter().map(|variable| {
            let from = match variable.from {
                VariableSource::Environment => "environment",
                VariableSource::DotEnv => DOT_ENV,
                VariableSource::Unset => "unset",
            };
            format!("{} ({from})", variable.name)
        });
        let parts: Vec<String> =
            std::iter::once(place).filter(|place| !place.is_empty()).chain(variables).collect();
        parts.join(", ")
    }
}
