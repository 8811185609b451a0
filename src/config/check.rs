//! Checks a `ship.json` against its schema, value by value, and fills in its variables on the way.
//!
//! All problems are collected. Without problems, the result is plain JSON that the
//! types of `file` accept.

use std::collections::BTreeMap;

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged;
use secrecy::SecretString;
use serde_json::{Map, Number, Value};

use super::env::{Env, names_a_secret};
use super::expand::{ExpandFault, Expanded, expand};
use super::formats;
use super::literal_secret::{is_literal_secret, variable_for};
use super::problem::{ConfigFault, ConfigProblem, JsonType, Positions, Range, TextPosition};
use super::schema::{choices, schema};
use super::suggest::nearest;
use super::syntax;
use crate::ports::AdapterTable;

pub(super) const SHIP_JSON: &str = "ship.json";

/// The result of a check.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// The file as JSON, with expanded variables.
    pub value: Value,
    /// In the order of the file.
    pub problems: Vec<ConfigProblem>,
    /// Valid values that are probably mistakes.
    pub warnings: Vec<ConfigProblem>,
    /// The position of each value, for problems that are found later.
    pub positions: Positions,
    /// Secret values, for redaction.
    pub secrets: Vec<SecretString>,
}

/// Checks the text of a `ship.json`.
pub(super) fn check(text: &str, env: &Env, adapters: &AdapterTable) -> Checked {
    check_against(&schema(adapters), text, env, adapters)
}

/// Checks the text of a `ship.json` against this schema.
pub(super) fn check_against(schema: &Value, text: &str, env: &Env, adapters: &AdapterTable) -> Checked {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let platforms = formats::platforms(adapters);
    let parsed = syntax::parse(text);
    let out = Checked { positions: Positions::of(text), ..Checked::default() };
    let mut walk = Checker { text, env, schema, platforms: &platforms, out };
    for (offset, fault) in parsed.faults {
        walk.problem(offset, "", ConfigFault::Syntax(fault));
    }
    if let Some(node) = &parsed.value {
        walk.out.value = walk.value(schema, node, "", Variables::Filled);
    }
    walk.out.problems.sort_by_key(|problem| problem.at);
    walk.out
}

/// Whether variables are expanded: not in a disabled section.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variables {
    Filled,
    Left,
}

struct Checker<'a> {
    text: &'a str,
    env: &'a Env,
    schema: &'a Value,
    platforms: &'a [&'a str],
    out: Checked,
}

impl Checker<'_> {
    fn problem(&mut self, offset: usize, path: &str, fault: ConfigFault) {
        let problem = self.found(offset, path, fault);
        self.out.problems.push(problem);
    }

    fn warning(&mut self, offset: usize, path: &str, fault: ConfigFault) {
        let warning = self.found(offset, path, fault);
        self.out.warnings.push(warning);
    }

    fn found(&self, offset: usize, path: &str, fault: ConfigFault) -> ConfigProblem {
        let at = Some(TextPosition::of(self.text, offset));
        ConfigProblem { file: SHIP_JSON, at, path: path.to_owned(), fault }
    }

    fn value(&mut self, schema: &Value, node: &Node<'_>, path: &str, variables: Variables) -> Value {
        self.out.positions.note(path, node.range().start);
        let expected = expected_type(schema);
        match (expected, node) {
            (JsonType::Object, Node::Object(object)) => self.object(schema, object, path, variables),
            (JsonType::Array, Node::Array(array)) => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                let numbered = array.elements.iter().enumerate();
                numbered
                    .map(|(i, item)| self.value(items, item, &format!("{path}[{i}]"), variables))
                    .collect()
            }
            (JsonType::Text, Node::StringLit(text)) => {
                self.text(schema, &text.value, text.range.start, path, variables)
            }
            (JsonType::Boolean, Node::BooleanLit(boolean)) => Value::Bool(boolean.value),
            (JsonType::Integer | JsonType::Number, Node::NumberLit(number)) => {
                self.number(schema, number.value, expected, number.range.start, path)
            }
            _ => {
                self.problem(node.range().start, path, wrong_type(expected, node));
                Value::Null
            }
        }
    }

    fn object(&mut self, schema: &Value, object: &Object<'_>, path: &str, variables: Variables) -> Value {
        let known = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties").filter(|others| others.is_object());
        let off = known.is_some_and(|known| known.contains_key("enabled"))
            && object.get_boolean("enabled").is_some_and(|enabled| !enabled.value);
        let variables = if off { Variables::Left } else { variables };
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut out = Map::new();
        for property in &object.properties {
            let (key, start) = (property.name.as_str(), property.range.start);
            let path = join(path, key);
            if let Some(first) = seen.get(key) {
                let first_line = TextPosition::of(self.text, *first).line;
                self.problem(start, &path, ConfigFault::DuplicateKey { first_line });
                continue;
            }
            seen.insert(key, start);
            match (known.and_then(|known| known.get(key)), others) {
                (Some(schema), _) => {
                    let value = self.value(schema, &property.value, &path, variables);
                    out.insert(key.to_owned(), value);
                }
                // The keys are names of the reader's own, as in `llm.models`.
                (None, Some(schema)) if known.is_none_or(Map::is_empty) => {
                    let value = self.value(schema, &property.value, &path, variables);
                    out.insert(key.to_owned(), value);
                }
                (None, Some(schema)) => {
                    let tools = || known.into_iter().flatten().map(|(name, _)| name.as_str());
                    if let Some(meant) = nearest(key, tools()) {
                        self.problem(start, &path, ConfigFault::TypoInTool { meant: meant.to_owned() });
                    } else {
                        let known = tools().map(str::to_owned).collect();
                        self.warning(start, &path, ConfigFault::UnknownTool { known });
                        let value = self.value(schema, &property.value, &path, variables);
                        out.insert(key.to_owned(), value);
                    }
                }
                (None, None) => {
                    let fault = self.unknown_key(known, key);
                    self.problem(start, &path, fault);
                }
            }
        }
        Value::Object(out)
    }

    fn unknown_key(&self, known: Option<&Map<String, Value>>, key: &str) -> ConfigFault {
        let known: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let meant = match nearest(key, known.iter().copied()) {
            Some(near) => Some(near.to_owned()),
            None => elsewhere(self.schema, key),
        };
        let known = known.into_iter().filter(|name| !name.starts_with('$')).map(str::to_owned).collect();
        ConfigFault::UnknownKey { meant, known }
    }

    fn text(&mut self, schema: &Value, raw: &str, start: usize, path: &str, variables: Variables) -> Value {
        if variables == Variables::Left && raw.contains("${") {
            return Value::String(raw.to_owned());
        }
        let expanded = match variables {
            Variables::Left => Ok(Expanded { text: raw.to_owned(), used: Vec::new() }),
            Variables::Filled => expand(raw, self.env),
        };
        let expanded = match expanded {
            Ok(expanded) => expanded,
            Err(faults) => {
                for fault in faults {
                    self.problem(start, path, variable_fault(fault));
                }
                return Value::Null;
            }
        };
        let write_only = schema.get("writeOnly").is_some_and(|flag| *flag == true);
        if write_only && is_literal_secret(&expanded.text, !expanded.used.is_empty()) {
            self.warning(start, path, ConfigFault::LiteralSecret { variable: variable_for(path) });
        }
        let secret_variables: Vec<&String> =
            expanded.used.iter().filter(|name| names_a_secret(name)).collect();
        // A report never quotes a secret value: the text is quoted as written in the file, with its variables.
        let shown = if write_only || !secret_variables.is_empty() { raw } else { &expanded.text };
        if let Err(fault) = text_fault(schema, &expanded.text, shown, self.platforms) {
            self.problem(start, path, fault);
        }
        let from_variables = secret_variables.into_iter().filter_map(|name| self.env.get(name));
        let own = write_only.then_some(expanded.text.as_str());
        let secrets: Vec<SecretString> =
            from_variables.chain(own).filter(|secret| !secret.is_empty()).map(SecretString::from).collect();
        self.out.secrets.extend(secrets);
        Value::String(expanded.text)
    }

    fn number(&mut self, schema: &Value, raw: &str, expected: JsonType, start: usize, path: &str) -> Value {
        let fraction = raw.contains(['.', 'e', 'E']);
        if expected == JsonType::Integer && fraction {
            let fault = ConfigFault::WrongType { expected, found: JsonType::Number, in_quotes: false };
            self.problem(start, path, fault);
            return Value::Null;
        }
        let number = match expected {
            JsonType::Integer => raw.parse::<i64>().ok().map(Number::from),
            _ => raw.parse::<f64>().ok().and_then(Number::from_f64),
        };
        let Some(number) = number else {
            self.problem(
                start,
                path,
                ConfigFault::OutOfRange { found: raw.to_owned(), range: Range::Representable },
            );
            return Value::Null;
        };
        if let Some(range) = outside(schema, number.as_f64().unwrap_or(f64::NAN)) {
            self.problem(start, path, ConfigFault::OutOfRange { found: raw.to_owned(), range });
        }
        Value::Number(number)
    }
}

fn variable_fault(fault: ExpandFault) -> ConfigFault {
    match fault {
        ExpandFault::Unset(name) => ConfigFault::UnsetVariable(name),
        ExpandFault::Unclosed => ConfigFault::OpenVariable,
        ExpandFault::BadName(inside) => ConfigFault::BadVariable(inside),
    }
}

/// The fault of a text; `shown` is the part that may be quoted.
fn text_fault(schema: &Value, text: &str, shown: &str, platforms: &[&str]) -> Result<(), ConfigFault> {
    if let Some(choices) = choices(schema) {
        if choices.contains(&text) {
            return Ok(());
        }
        let meant = nearest(text, choices.iter().copied()).map(str::to_owned);
        let choices = choices.into_iter().map(str::to_owned).collect();
        return Err(ConfigFault::BadChoice { found: shown.chars().take(40).collect(), choices, meant });
    }
    let bound = |name| schema.get(name).and_then(Value::as_u64);
    if bound("minLength").is_some() && text.trim().is_empty() {
        return Err(ConfigFault::EmptyText);
    }
    if let Some(max) = bound("maxLength").filter(|max| text.chars().count() as u64 > *max) {
        return Err(ConfigFault::LongText { max });
    }
    let Some(format) = schema.get("format").and_then(Value::as_str) else { return Ok(()) };
    formats::check(format, text, platforms).map_err(|fault| fault.quoting(shown))
}

/// The range that a number violates.
fn outside(schema: &Value, number: f64) -> Option<Range> {
    let bound = |name| schema.get(name).and_then(Value::as_f64);
    let text = |bound: f64| bound.to_string();
    if let Some(min) = bound("exclusiveMinimum") {
        return (number <= min).then(|| Range::MoreThan(text(min)));
    }
    let (min, max) = (bound("minimum")?, bound("maximum")?);
    (number < min || number > max).then(|| Range::Between(text(min), text(max)))
}

fn wrong_type(expected: JsonType, node: &Node<'_>) -> ConfigFault {
    let in_quotes = node.as_string_lit().is_some_and(|text| match expected {
        JsonType::Integer => text.value.parse::<i64>().is_ok(),
        JsonType::Number => text.value.parse::<f64>().is_ok(),
        JsonType::Boolean => text.value.parse::<bool>().is_ok(),
        JsonType::Object | JsonType::Array | JsonType::Text | JsonType::Null => false,
    });
    ConfigFault::WrongType { expected, found: type_of(node), in_quotes }
}

pub(super) fn expected_type(schema: &Value) -> JsonType {
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => JsonType::Object,
        Some("array") => JsonType::Array,
        Some("integer") => JsonType::Integer,
        Some("number") => JsonType::Number,
        Some("boolean") => JsonType::Boolean,
        _ => JsonType::Text,
    }
}

fn type_of(node: &Node<'_>) -> JsonType {
    match node {
        Node::Object(_) => JsonType::Object,
        Node::Array(_) => JsonType::Array,
        Node::StringLit(_) => JsonType::Text,
        Node::NumberLit(number) if number.value.contains(['.', 'e', 'E']) => JsonType::Number,
        Node::NumberLit(_) => JsonType::Integer,
        Node::BooleanLit(_) => JsonType::Boolean,
        Node::NullKeyword(_) => JsonType::Null,
    }
}

/// The path of a key inside the object at `path`.
pub(super) fn join(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'));
    match (path.is_empty(), plain) {
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{key:?}]"),
    }
}

/// The path of a key that the schema has exactly once, in another section.
fn elsewhere(schema: &Value, key: &str) -> Option<String> {
    fn find(schema: &Value, key: &str, path: &str, found: &mut Vec<String>) {
        for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = join(path, name);
            if name == key {
                found.push(path.clone());
            }
            find(schema, key, &path, found);
        }
    }
    let mut found = Vec::new();
    find(schema, key, "", &mut found);
    match found.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}
