//! The definition of a chat platform, [`AdapterDef`], and the table of all of them.
//!
//! Configuration, `doctor`, `init`, `--help` and the composition root iterate over the [`AdapterTable`] and name no
//! platform. A program outside this crate adds a definition of its own with [`AdapterTable::with`].

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Adapter, AdapterParts, BoxFuture, Clock, EnrichStep, Hook};
use crate::domain::Language;

/// The definition of one chat platform.
#[derive(Clone, Copy)]
pub struct AdapterDef {
    /// The key of its section in `adapters` of `ship.json`, and the platform part of its thread ids.
    pub name: &'static str,
    /// What people call the platform, in `--help`.
    pub title: &'static str,
    /// The description of its section in the JSON Schema.
    pub about: &'static str,
    /// The JSON Schema of its section: [`section_schema`] of the type that `parse` reads.
    pub schema: fn() -> Value,
    /// Parses its section, which has passed the schema: [`parse_section`] of the same type.
    pub parse: fn(Value) -> Result<Arc<dyn ConfiguredAdapter>, serde_json::Error>,
    /// What `shipagent init` writes into a new section.
    pub init: &'static [InitKey],
    /// Further names under which `shipagent init` knows it.
    pub aliases: &'static [&'static str],
    /// The key of the server's address, for advice when the server cannot be reached.
    pub address_key: &'static str,
    /// How a person redeems the code of `shipagent access invite`; `None` where the adapter cannot redeem one.
    pub invitation: Option<fn(code: &str, language: Language) -> Invited>,
}

impl AdapterDef {
    /// The keys of its credentials with their variables, as `shipagent init` proposes them.
    pub fn credentials(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        self.init.iter().filter_map(|key| match key.value {
            InitValue::Variable(name) => Some((key.key, name)),
            InitValue::Json(_) | InitValue::Ask { .. } => None,
        })
    }

    /// The path of a key for the operator: `adapters.name.key`.
    pub fn path(&self, key: &str) -> String {
        format!("adapters.{}.{key}", self.name)
    }
}

impl fmt::Debug for AdapterDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AdapterDef").field(&self.name).finish()
    }
}

/// One key of the section that `shipagent init` writes.
#[derive(Clone, Copy, Debug)]
pub struct InitKey {
    pub key: &'static str,
    pub value: InitValue,
}

/// The value that `shipagent init` writes for a key.
#[derive(Clone, Copy, Debug)]
pub enum InitValue {
    /// `"${NAME}"`: a secret or an account, which the operator sets in `.env`.
    Variable(&'static str),
    Json(&'static str),
    /// The answer to a question, as text. Without a terminal, the default.
    Ask {
        /// The question in English.
        en: &'static str,
        /// The question in Chinese.
        zh: &'static str,
        /// The answer of a person who only presses Enter.
        default: &'static str,
    },
}

/// How an invited person redeems the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invited {
    /// The name of the bot they write to: `the Telegram bot`.
    pub bot: String,
    /// The message to send.
    pub message: String,
    /// The same as a link.
    pub link: String,
}

/// One adapter as its section of `ship.json` configures it.
pub trait ConfiguredAdapter: fmt::Debug + Send + Sync {
    /// The `enabled` key.
    fn enabled(&self) -> bool;

    /// The keys that are empty and without which the adapter cannot run.
    fn missing(&self) -> Vec<&'static str>;

    /// The address of the platform's HTTP server, which chooses between a proxy and none; empty where there is none.
    fn server(&self) -> &str {
        ""
    }

    /// Whether the platform calls the daemon's listener.
    fn by_webhook(&self) -> bool {
        false
    }

    /// Builds the adapter, inside the runtime. Opens no connections.
    fn build(&self, parts: AdapterParts) -> BuiltAdapter;

    /// What lets the platform send this bot the messages of other bots; `None` where nothing does.
    fn hearing_bots(&self, _language: Language) -> Option<&'static str> {
        None
    }

    /// For `shipagent doctor`: asks the platform for the bot's identity and missing permissions. Sends nothing to
    /// people. The caller sets the deadline.
    fn probe(&self, _with: ProbeParts) -> BoxFuture<'_, Vec<Probe>> {
        Box::pin(async { Vec::new() })
    }
}

/// An adapter and its webhook.
#[derive(Clone, Debug)]
pub struct BuiltAdapter {
    pub adapter: Arc<dyn Adapter>,
    /// Served by the web listener; `None` where the platform sends no webhooks.
    pub hook: Option<Arc<dyn Hook>>,
}

/// What a probe works with.
#[derive(Clone, Debug)]
pub struct ProbeParts {
    pub http: reqwest::Client,
    pub clock: Arc<dyn Clock>,
    /// The language of the operator.
    pub language: Language,
}

/// One finding of `shipagent doctor` about a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    pub level: ProbeLevel,
    /// What was found, in the operator's language.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeLevel {
    Ok,
    /// The adapter works, but not as the settings say.
    Warning,
    /// The adapter cannot work.
    Error,
}

/// All chat platforms of a program, in display order, and the steps between their messages and the turns.
#[derive(Clone, Debug, Default)]
pub struct AdapterTable {
    defs: Vec<AdapterDef>,
    steps: Vec<Arc<dyn EnrichStep>>,
}

impl AdapterTable {
    /// Adds a platform, replacing one of the same name.
    #[must_use]
    pub fn with(mut self, def: AdapterDef) -> Self {
        self.defs.retain(|known| known.name != def.name);
        self.defs.push(def);
        self
    }

    /// Adds a step between an accepted message and its turn, after the others.
    #[must_use]
    pub fn with_step(mut self, step: Arc<dyn EnrichStep>) -> Self {
        self.steps.push(step);
        self
    }

    /// The steps between an accepted message and its turn.
    pub fn steps(&self) -> Arc<[Arc<dyn EnrichStep>]> {
        self.steps.clone().into()
    }

    pub fn iter(&self) -> impl Iterator<Item = &AdapterDef> {
        self.defs.iter()
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.defs.iter().map(|def| def.name)
    }

    /// The platform of this name, or with this alias.
    pub fn find(&self, name: &str) -> Option<&AdapterDef> {
        self.defs.iter().find(|def| def.name == name || def.aliases.contains(&name))
    }
}

/// The JSON Schema of a section's type: draft 7, without references.
pub fn section_schema<S: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().subschema_for::<S>().to_value()
}

/// Parses a section as its type.
///
/// # Errors
/// When the section does not fit the type, although it fits the schema: a mistake in the type.
pub fn parse_section<S>(section: Value) -> Result<Arc<dyn ConfiguredAdapter>, serde_json::Error>
where
    S: ConfiguredAdapter + DeserializeOwned + 'static,
{
    Ok(Arc::new(serde_json::from_value::<S>(section)?))
}
