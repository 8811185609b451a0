//! Changes keys of `ship.json` for the command line, the console and the first start.
//!
//! The text keeps its comments. Nothing is written unless all files are valid with the changes. A secret goes to `.env`,
//! and the key gets a `${VAR}` that stands for it.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::Path;

use serde_json::Value;

use super::check::{SHIP_JSON, expected_type, join};
use super::dotenv::{is_name, with_variable};
use super::env::Env;
use super::key_path::KeyPath;
use super::literal_secret::{is_literal_secret, variable_for};
use super::load::{ConfigCheck, DOT_ENV, MAX_BYTES, Texts, check_texts};
use super::problem::{ConfigFault, ConfigProblem, JsonType};
use super::schema::schema;
use super::ship_text::{self, EditFault};
use super::suggest::nearest;
use super::syntax;
use crate::domain::Language;
use crate::ports::AdapterTable;

/// The mode of a new `ship.json`, before the umask of the process is known: others may read it, it holds no secrets.
const SHIP_JSON_MODE: u32 = 0o644;
const OWNER_ONLY: u32 = 0o600;

/// One change of `ship.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigEdit {
    /// The path of the key: `llm.model`, `llm.fallbacks[0].model`.
    pub key: String,
    pub value: NewValue,
}

impl ConfigEdit {
    pub fn set(key: &str, value: Value) -> Self {
        Self { key: key.to_owned(), value: NewValue::Json(value) }
    }

    pub fn remove(key: &str) -> Self {
        Self { key: key.to_owned(), value: NewValue::Removed }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum NewValue {
    /// As a person types it: a text without quotes, or JSON for a key of another type.
    Typed(String),
    Json(Value),
    Removed,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigWritten {
    /// Whether a file differs from before.
    pub changed: bool,
    /// The variables that were written to `.env`.
    pub variables: Vec<String>,
    /// Those of them that the environment of this process sets to something else, which counts.
    pub overridden: Vec<String>,
    /// Valid values that are probably mistakes.
    pub warnings: Vec<ConfigProblem>,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ConfigWriteError {
    /// The files would be invalid, or are.
    #[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid { problems: Vec<ConfigProblem>, language: Language },
    #[error("{file} cannot be written: {source}")]
    Io { file: &'static str, source: io::Error },
}

/// Makes all of these changes, or none.
pub fn write_config(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    edits: &[ConfigEdit],
) -> Result<ConfigWritten, ConfigWriteError> {
    // Two writers at once would lose the changes of one of them.
    let folder = File::open(project).map_err(|source| ConfigWriteError::Io { file: SHIP_JSON, source })?;
    if let Err(error) = folder.lock() {
        tracing::debug!(%error, "project folder not locked for a change of ship.json");
    }
    let (old, unreadable) = Texts::read(project);
    if !unreadable.is_empty() {
        return Err(ConfigWriteError::Invalid { problems: unreadable, language: env.language() });
    }
    let now = check_texts(&old, project, env, adapters);
    let mut draft = DraftedFiles {
        schema: schema(adapters),
        texts: old.clone(),
        variables: Vec::new(),
        old: &old,
        now: &now,
    };
    for edit in edits {
        draft.apply(edit).map_err(|problem| ConfigWriteError::Invalid {
            problems: vec![*problem],
            language: now.language,
        })?;
    }
    let DraftedFiles { texts, variables, .. } = draft;
    let then = check_texts(&texts, project, env, adapters);
    if !then.problems.is_empty() {
        let problems = then.problems.into_iter().map(|problem| placed(problem, &now)).collect();
        return Err(ConfigWriteError::Invalid { problems, language: now.language });
    }
    if texts.ship.as_ref().is_some_and(|text| text.len() as u64 > MAX_BYTES) {
        let fault = ConfigFault::TooLarge;
        let problem = ConfigProblem { file: SHIP_JSON, at: None, path: String::new(), fault };
        return Err(ConfigWriteError::Invalid { problems: vec![problem], language: now.language });
    }
    // The variable first: a reference to a variable that is not there stops the daemon from starting.
    let mut changed = false;
    for (file, before, after) in [(DOT_ENV, &old.dotenv, &texts.dotenv), (SHIP_JSON, &old.ship, &texts.ship)]
    {
        if let Some(text) = after.as_ref().filter(|_| before != after) {
            let owner_only = file == DOT_ENV;
            replace(&project.join(file), text, owner_only)
                .map_err(|source| ConfigWriteError::Io { file, source })?;
            changed = true;
        }
    }
    let overridden = variables.iter().filter(|(name, value)| env.get(name).is_some_and(|set| set != value));
    Ok(ConfigWritten {
        changed,
        overridden: overridden.map(|(name, _)| name.clone()).collect(),
        variables: variables.into_iter().map(|(name, _)| name).collect(),
        warnings: then.warnings,
    })
}

/// A problem of the new text, at the position of its key in the file that the operator sees.
fn placed(problem: ConfigProblem, now: &ConfigCheck) -> ConfigProblem {
    let known = now.problems.iter().find(|known| known.path == problem.path && known.fault == problem.fault);
    match known {
        Some(known) => known.clone(),
        None if problem.file == SHIP_JSON => ConfigProblem { at: now.position(&problem.path), ..problem },
        None => problem,
    }
}

/// The texts with some of the changes.
struct DraftedFiles<'a> {
    schema: Value,
    texts: Texts,
    /// The variables to write to `.env`, with their values.
    variables: Vec<(String, String)>,
    old: &'a Texts,
    now: &'a ConfigCheck,
}

impl DraftedFiles<'_> {
    fn apply(&mut self, edit: &ConfigEdit) -> Result<(), Box<ConfigProblem>> {
        let Some(path) = KeyPath::parse(&edit.key) else {
            return Err(self.problem(&edit.key, ConfigFault::BadKey));
        };
        let schema = self.schema.clone();
        let schema =
            path.schema_of(&schema).map_err(|(around, schema)| self.unknown(&path, &around, schema))?;
        let ship = self.texts.ship.clone();
        let changed = match &edit.value {
            NewValue::Removed => match ship {
                Some(ship) => ship_text::remove(&ship, &path).map(|text| text.unwrap_or(ship)),
                None => return Ok(()),
            },
            NewValue::Typed(typed) => {
                let value =
                    typed_value(schema, typed).map_err(|fault| self.problem(&path.to_string(), fault))?;
                let value = self.without_secrets(schema, value, &path.to_string());
                ship_text::set(&ship.unwrap_or_default(), &path, &value)
            }
            NewValue::Json(value) => {
                let value = self.without_secrets(schema, value.clone(), &path.to_string());
                ship_text::set(&ship.unwrap_or_default(), &path, &value)
            }
        };
        match changed {
            Ok(text) => {
                self.texts.ship = Some(text);
                Ok(())
            }
            // A file that cannot be parsed has a problem of its own, with its line.
            Err(EditFault::Invalid) => Err(match self.now.problems.first() {
                Some(problem) => Box::new(problem.clone()),
                None => self.problem("", ConfigFault::Syntax(super::problem::SyntaxFault::StraySign)),
            }),
            Err(EditFault::NotInside) => Err(self.problem(&path.to_string(), ConfigFault::NotInside)),
            Err(EditFault::NoElement(length)) => {
                Err(self.problem(&path.to_string(), ConfigFault::NoElement { length }))
            }
        }
    }

    fn problem(&self, path: &str, fault: ConfigFault) -> Box<ConfigProblem> {
        let at = self.now.position(path);
        Box::new(ConfigProblem { file: SHIP_JSON, at, path: path.to_owned(), fault })
    }

    fn unknown(&self, path: &KeyPath, around: &KeyPath, schema: &Value) -> Box<ConfigProblem> {
        let known: Vec<&str> = schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(k, _)| &**k)
            .collect();
        if known.is_empty() {
            return self.problem(&path.to_string(), ConfigFault::NotInside);
        }
        let step = KeyPath { steps: path.steps.get(..=around.steps.len()).unwrap_or_default().to_vec() };
        let meant = step.last_key().and_then(|key| nearest(key, known.iter().copied())).map(str::to_owned);
        let known = known.into_iter().filter(|name| !name.starts_with('$')).map(str::to_owned).collect();
        self.problem(&step.to_string(), ConfigFault::UnknownKey { meant, known })
    }

    /// The value with a `${VAR}` for each secret in it; the secrets are put into the text of `.env`.
    fn without_secrets(&mut self, schema: &Value, value: Value, path: &str) -> Value {
        match value {
            Value::String(text) if schema.get("writeOnly").is_some_and(|flag| *flag == true) => {
                let refers = text.contains("${");
                if refers || !is_literal_secret(&text, false) {
                    Value::String(text)
                } else {
                    self.keep_secret(path, text)
                }
            }
            Value::Array(values) => {
                let items = schema.get("items").cloned().unwrap_or_default();
                let numbered = values.into_iter().enumerate();
                numbered
                    .map(|(i, value)| self.without_secrets(&items, value, &format!("{path}[{i}]")))
                    .collect()
            }
            Value::Object(keys) => {
                let schema_of = |key: &str| {
                    let known = schema.get("properties").and_then(|known| known.get(key));
                    known.or_else(|| schema.get("additionalProperties")).cloned().unwrap_or_default()
                };
                let keys = keys.into_iter().map(|(key, value)| {
                    let value = self.without_secrets(&schema_of(&key), value, &join(path, &key));
                    (key, value)
                });
                Value::Object(keys.collect())
            }
            other => other,
        }
    }

    fn keep_secret(&mut self, path: &str, secret: String) -> Value {
        let written = self.old.ship.as_deref().and_then(|text| written_text(text, path));
        let (name, reference) = match written.as_deref().and_then(only_variable) {
            Some(name) => (name.to_owned(), written.clone().unwrap_or_default()),
            None => {
                let name = variable_for(path);
                let reference = format!("${{{name}}}");
                (name, reference)
            }
        };
        let dotenv = self.texts.dotenv.clone().unwrap_or_default();
        self.texts.dotenv = Some(with_variable(&dotenv, &name, &secret));
        self.variables.push((name, secret));
        Value::String(reference)
    }
}

/// The value that a person typed for a key of this type.
fn typed_value(schema: &Value, typed: &str) -> Result<Value, ConfigFault> {
    let expected = expected_type(schema);
    if expected == JsonType::Text {
        return Ok(Value::String(typed.to_owned()));
    }
    let wrong = || ConfigFault::WrongType { expected, found: JsonType::Text, in_quotes: false };
    let parsed = syntax::parse(typed);
    match parsed.value.filter(|_| parsed.faults.is_empty()) {
        Some(node) => super::describe::plain_json(&node).ok_or_else(wrong),
        None => Err(wrong()),
    }
}

/// The text that the file has at a path, with its variables.
fn written_text(text: &str, path: &str) -> Option<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed = syntax::parse(text);
    let value = super::describe::plain_json(parsed.value.as_ref()?)?;
    KeyPath::parse(path)?.find(&value)?.as_str().map(str::to_owned)
}

/// The name in a text that is one variable and nothing else: `${NAME}` or `${NAME:-default}`.
pub(super) fn only_variable(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("${")?.strip_suffix('}')?;
    let name = inside.split_once(":-").map_or(inside, |(name, _)| name);
    is_name(name).then_some(name)
}

/// Replaces a file atomically. Its mode and owner stay; a new file belongs to the owner of its folder. A link stays a link.
fn replace(path: &Path, text: &str, owner_only: bool) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let old = fs::metadata(&target).ok();
    let mode = match &old {
        _ if owner_only => OWNER_ONLY,
        Some(old) => old.permissions().mode() & 0o777,
        None => SHIP_JSON_MODE,
    };
    let owner = old.map_or_else(|| fs::metadata(dir), Ok)?;
    let mut file = tempfile::Builder::new()
        .prefix(".shipagent-")
        .permissions(Permissions::from_mode(OWNER_ONLY))
        .tempfile_in(dir)?;
    file.write_all(text.as_bytes())?;
    // Only root may give a file away; for others it is theirs already, or stays so.
    let given = fchown(file.as_file(), Some(owner.uid()), Some(owner.gid())).is_ok();
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|failed| failed.error)?;
    tracing::debug!(path = %target.display(), given, "configuration file replaced");
    File::open(dir)?.sync_all()
}
