//! Reads a project's configuration: `Agent.md`, `ship.json` and `.env`. The only I/O of this module.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::agent_md::{AgentMdError, read_agent_md, read_bounded};
use super::check::{self, SHIP_JSON};
use super::dotenv;
use super::env::{Env, secrets_of};
use super::file::{LanguageChoice, ShipFile};
use super::formats;
use super::problem::{ConfigFault, ConfigProblem, Positions, TextPosition};
use super::reloading::KeyDigests;
use super::resolve::{self, Faults};
use super::resolve_budget;
use super::resolve_voice;
use super::settings::{AdapterSettings, LimitSettings, MemorySettings, QueueSettings, Settings};
use crate::domain::{AuthorId, Language, ScopeSettings, time_zone};
use crate::ports::{AdapterTable, EnrichStep};

pub(super) const DOT_ENV: &str = ".env";

/// The largest configuration file.
pub(super) const MAX_BYTES: u64 = 1024 * 1024;

/// All errors of a project's configuration.
#[derive(Debug)]
pub struct ConfigErrors {
    pub agent_md: Option<AgentMdError>,
    /// Of `ship.json` and `.env`, in the order of the files.
    pub problems: Vec<ConfigProblem>,
    /// The language of the messages.
    pub language: Language,
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agent_md = self.agent_md.iter().map(|error| error.words(self.language));
        let problems = self.problems.iter().map(|problem| problem.line(self.language));
        f.write_str(&agent_md.chain(problems).collect::<Vec<_>>().join("\n"))
    }
}

impl std::error::Error for ConfigErrors {}

impl Settings {
    /// Reads and checks the configuration of a project.
    pub fn load(project: &Path, env: &Env, adapters: &AdapterTable) -> Result<Self, ConfigErrors> {
        let Some(project) = project.canonicalize().ok().filter(|path| path.is_dir()) else {
            let agent_md = Some(AgentMdError::NoProject(project.to_owned()));
            return Err(ConfigErrors { agent_md, problems: Vec::new(), language: env.language() });
        };
        let agent_md = read_agent_md(&project);
        let mut config = read_config(&project, env, adapters);
        match (agent_md, config.problems.is_empty()) {
            (Ok(agent_md), true) => {
                let language = config.language;
                settings(&project, agent_md, adapters.steps(), &mut config).map_err(|problems| ConfigErrors {
                    agent_md: None,
                    problems,
                    language,
                })
            }
            (agent_md, _) => Err(ConfigErrors {
                agent_md: agent_md.err(),
                problems: config.problems,
                language: config.language,
            }),
        }
    }
}

/// The result of checking the configuration files.
#[derive(Debug)]
pub struct ConfigCheck {
    /// Whether there is a `ship.json`.
    pub has_file: bool,
    pub problems: Vec<ConfigProblem>,
    /// Valid values that are probably mistakes.
    pub warnings: Vec<ConfigProblem>,
    /// The language of the messages.
    pub language: Language,
    positions: Positions,
}

impl ConfigCheck {
    /// The position of a key in `ship.json`; of the nearest object around it where the key is missing.
    pub(super) fn position(&self, path: &str) -> Option<TextPosition> {
        self.positions.near(path)
    }
}

/// Checks `ship.json` and `.env` alone, without `Agent.md`.
pub fn check_config(project: &Path, env: &Env, adapters: &AdapterTable) -> ConfigCheck {
    checked(read_config(project, env, adapters), project, adapters)
}

fn checked(mut config: Config, project: &Path, adapters: &AdapterTable) -> ConfigCheck {
    if config.problems.is_empty()
        && let Err(problems) = settings(project, String::new(), adapters.steps(), &mut config)
    {
        config.problems = problems;
    }
    let Config { has_file, problems, warnings, language, positions, .. } = config;
    ConfigCheck { has_file, problems, warnings, language, positions }
}

/// The language of the terminal, by the `language` key and the locale. Other mistakes in the
/// file are ignored.
pub fn operator_language(project: &Path, env: &Env) -> Language {
    read_config(project, env, &AdapterTable::default()).language
}

/// The environment with the values of the project's `.env`. Invalid lines are ignored.
pub(crate) fn project_env(project: &Path, env: &Env) -> Env {
    let text = read_text(project, DOT_ENV, &mut Vec::new()).unwrap_or_default();
    env.with_dotenv(dotenv::parse(&text).0)
}

/// The parsed configuration files.
#[derive(Debug)]
struct Config {
    file: ShipFile,
    sections: Vec<AdapterSettings>,
    platforms: Vec<&'static str>,
    has_file: bool,
    positions: Positions,
    secrets: Vec<SecretString>,
    digests: KeyDigests,
    problems: Vec<ConfigProblem>,
    warnings: Vec<ConfigProblem>,
    language: Language,
}

/// The texts of the configuration files; `None` where there is no file.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts {
    pub ship: Option<String>,
    pub dotenv: Option<String>,
}

impl Texts {
    /// Reads the files of a project.
    pub(super) fn read(project: &Path) -> (Self, Vec<ConfigProblem>) {
        let mut problems = Vec::new();
        let dotenv = read_text(project, DOT_ENV, &mut problems);
        let ship = read_text(project, SHIP_JSON, &mut problems);
        (Self { ship, dotenv }, problems)
    }
}

/// Checks these texts as the files of the project.
pub(super) fn check_texts(texts: &Texts, project: &Path, env: &Env, adapters: &AdapterTable) -> ConfigCheck {
    checked(config_of(texts, Vec::new(), env, adapters), project, adapters)
}

fn read_config(project: &Path, env: &Env, adapters: &AdapterTable) -> Config {
    let (texts, problems) = Texts::read(project);
    config_of(&texts, problems, env, adapters)
}

/// The configuration in these texts; `problems` are those of reading them.
fn config_of(texts: &Texts, mut problems: Vec<ConfigProblem>, env: &Env, adapters: &AdapterTable) -> Config {
    let platforms = formats::platforms(adapters);
    let unreadable = problems.iter().any(|problem| problem.file == SHIP_JSON);
    let (pairs, bad) = dotenv::parse(texts.dotenv.as_deref().unwrap_or_default());
    problems.extend(bad.into_iter().map(|bad| ConfigProblem {
        file: DOT_ENV,
        at: Some(TextPosition { line: bad.line, column: 1 }),
        path: String::new(),
        fault: ConfigFault::DotEnv(bad.fault),
    }));
    let mut secrets: Vec<SecretString> =
        pairs.iter().flat_map(|(name, value)| secrets_of(name, value)).map(SecretString::from).collect();
    let env = env.with_dotenv(pairs);

    let Some(text) = &texts.ship else {
        let has_file = unreadable;
        let file = from_environment(&env, &mut secrets, &mut problems);
        let language = env.language();
        let (positions, warnings) = (Positions::default(), Vec::new());
        let sections = Vec::new();
        let digests = digests_of_environment(&env);
        return Config {
            digests,
            file,
            sections,
            platforms,
            has_file,
            positions,
            secrets,
            problems,
            warnings,
            language,
        };
    };
    let checked = check::check(text, &env, adapters);
    let language = match checked.value.get("language").and_then(Value::as_str) {
        Some("zh") => Language::Zh,
        Some("en") => Language::En,
        _ => env.language(),
    };
    secrets.extend(checked.secrets);
    problems.extend(checked.problems);
    let digests = KeyDigests::of(&checked.value);
    let (mut file, mut sections) = (ShipFile::default(), Vec::new());
    if problems.is_empty() {
        match typed(checked.value, adapters) {
            Ok(read) => (file, sections) = read,
            Err(error) => {
                let fault = ConfigFault::Disagreement(error.to_string());
                problems.push(ConfigProblem { file: SHIP_JSON, at: None, path: String::new(), fault });
            }
        }
    }
    let (positions, warnings) = (checked.positions, checked.warnings);
    Config {
        file,
        sections,
        platforms,
        has_file: true,
        positions,
        secrets,
        digests,
        problems,
        warnings,
        language,
    }
}

/// Deserialises a checked file: the sections of the adapter table by their adapters, the rest as [`ShipFile`].
pub(super) fn typed(
    mut value: Value,
    adapters: &AdapterTable,
) -> Result<(ShipFile, Vec<AdapterSettings>), serde_json::Error> {
    let mut sections = Vec::new();
    if let Some(Value::Object(written)) = value.get_mut("adapters") {
        for def in adapters.iter() {
            if let Some(section) = written.shift_remove(def.name) {
                sections.push(AdapterSettings { def: *def, section: (def.parse)(section)? });
            }
        }
    }
    Ok((serde_json::from_value(value)?, sections))
}

/// The settings without a file, from three common variables.
fn from_environment(
    env: &Env,
    secrets: &mut Vec<SecretString>,
    problems: &mut Vec<ConfigProblem>,
) -> ShipFile {
    let mut file = ShipFile::default();
    if let Some(key) = env.filled("OPENAI_API_KEY") {
        secrets.push(key.into());
        file.llm.api_key = Some(key.into());
    }
    if let Some(url) = env.filled("OPENAI_BASE_URL") {
        match formats::url(url) {
            Ok(url) => file.llm.base_url = url,
            Err(fault) => {
                problems.push(ConfigProblem {
                    file: "OPENAI_BASE_URL",
                    at: None,
                    path: String::new(),
                    fault,
                });
            }
        }
    }
    if let Some(model) = env.filled("OPENAI_MODEL") {
        file.llm.model = model.to_owned();
    }
    file
}

/// The digests of the same variables.
fn digests_of_environment(env: &Env) -> KeyDigests {
    let value = |name| env.filled(name).map_or(Value::Null, Value::from);
    KeyDigests::of(&json!({ "llm": {
        "apiKey": value("OPENAI_API_KEY"), "baseUrl": value("OPENAI_BASE_URL"), "model": value("OPENAI_MODEL"),
    } }))
}

/// Reads an optional file.
fn read_text(project: &Path, name: &'static str, problems: &mut Vec<ConfigProblem>) -> Option<String> {
    let fault = match read_bounded(&project.join(name), MAX_BYTES) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => return Some(text),
            Err(_) => ConfigFault::NotUtf8,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => ConfigFault::TooLarge,
        Err(error) => ConfigFault::Unreadable(error.to_string()),
    };
    problems.push(ConfigProblem { file: name, at: None, path: String::new(), fault });
    None
}

fn settings(
    project: &Path,
    agent_md: String,
    enrich: Arc<[Arc<dyn EnrichStep>]>,
    config: &mut Config,
) -> Result<Settings, Vec<ConfigProblem>> {
    let mut faults = Faults::new();
    let file = std::mem::take(&mut config.file);
    let folder = project.file_name().map(|name| name.to_string_lossy().into_owned());
    let voice = resolve_voice::voice(file.voice, &file.llm, &mut faults);
    let mut model = resolve::model(file.llm, &mut faults);
    resolve_budget::allow_at_caps(&mut model.fallbacks, file.budget.on_limit);
    let (sections, listen_chosen) =
        (std::mem::take(&mut config.sections), config.positions.has("adapters.web.listen"));
    let adapters = resolve::adapters(file.adapters.web, sections, listen_chosen, &mut faults);
    let approvals = resolve::approvals(file.approvals, &config.platforms, &mut faults);
    let owners = owners(&file.owners, &config.platforms, &mut faults);
    let zone = file.timezone.as_deref().and_then(time_zone).unwrap_or_else(TimeZone::system);
    let budget = resolve_budget::budget(file.budget, &zone, &config.platforms, &mut faults);
    let identities = resolve::identities(file.identities, &config.platforms, &mut faults);
    if !faults.is_empty() {
        return Err(faults
            .into_iter()
            .map(|(path, fault)| ConfigProblem {
                file: SHIP_JSON,
                at: config.positions.near(&path),
                path,
                fault,
            })
            .collect());
    }
    let embeddings = resolve::embeddings(file.memory.embeddings, &model);
    Ok(Settings {
        project: project.to_owned(),
        state: project.join(".ship"),
        name: file.name.or(folder).unwrap_or_else(|| "agent".to_owned()),
        agent_md,
        language: match file.language {
            LanguageChoice::Auto => None,
            LanguageChoice::Zh => Some(Language::Zh),
            LanguageChoice::En => Some(Language::En),
        },
        zone,
        operator_language: config.language,
        owners,
        model,
        web: adapters.web,
        adapters: adapters.chats,
        idle_adapters: adapters.idle,
        enrich,
        permissions: resolve::permissions(file.permissions),
        approvals,
        queue: QueueSettings {
            merge: Duration::from_millis(file.queue.merge_ms),
            while_running: file.queue.while_running,
        },
        limits: LimitSettings {
            max_concurrent_runs: file.limits.max_concurrent_runs,
            max_processes: file.limits.max_processes,
            mailbox: file.limits.mailbox,
            history_cache: file.limits.history_cache_mb.saturating_mul(1 << 20),
            stop: Duration::from_secs(file.limits.stop_secs),
            command_memory_mb: file.limits.command_memory_mb,
        },
        memory: MemorySettings {
            scopes: Arc::new(ScopeSettings { dm_scope: file.memory.dm_scope, identities }),
            history: file.memory.history,
            recall: file.memory.recall,
            refresh: Duration::from_secs(file.memory.refresh_minutes.saturating_mul(60)),
            keep_runs: file.memory.keep_runs,
            compact_idle_percent: file.memory.compact_idle_percent,
            compact_percent: file.memory.compact_percent,
            distil_every: file.memory.distil_every,
            auto: file.memory.auto,
            embeddings,
        },
        groups: resolve::groups(file.groups, project),
        voice,
        budget,
        secrets: distinct(std::mem::take(&mut config.secrets)),
        has_file: config.has_file,
        warnings: config.warnings.clone(),
        digests: std::mem::take(&mut config.digests),
    })
}

fn distinct(mut secrets: Vec<SecretString>) -> Vec<SecretString> {
    secrets.sort_by(|a, b| a.expose_secret().cmp(b.expose_secret()));
    secrets.dedup_by(|a, b| a.expose_secret() == b.expose_secret());
    secrets
}

fn owners(texts: &[String], platforms: &[&str], faults: &mut Faults) -> Vec<AuthorId> {
    let mut owners = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        match formats::author(text, platforms) {
            Ok(owner) => owners.push(owner),
            Err(fault) => faults.push((format!("owners[{i}]"), fault)),
        }
    }
    owners
}
