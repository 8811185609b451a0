//! The answers that the command line gives, and how typed ones are read.

use std::path::Path;

use super::InitError;
use crate::cli::InitArgs;
use crate::domain::Language;
use crate::onboarding::{
    ModelAnswer, NewProject, NewSection, PROVIDERS, ProviderDef, provider, provider_at, text, usable_address,
    usable_name, usable_variable,
};
use crate::phrases::start as words;
use crate::ports::{AdapterDef, AdapterTable, InitValue};

/// The default model.
pub(super) const MODEL: &str = "gpt-6-luna";
/// The default variable of the API key.
const KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// The answers without questions: from the command line, and defaults.
pub(super) fn default_answers(
    project: &Path,
    args: &InitArgs,
    adapters: &AdapterTable,
    language: Language,
) -> Result<NewProject, InitError> {
    let name = args.name.clone().unwrap_or_else(|| folder_name(project));
    let def = args.provider.as_deref().map(|id| known_provider(id, language)).transpose()?.flatten();
    let own = args.base_url.as_deref().map(|url| usable_address(url, language)).transpose();
    let own = own.map_err(bad("--base-url"))?;
    let listed = def.map(|def| def.base_url.to_owned()).filter(|url| !url.is_empty());
    let variable = args.key_variable.as_deref().map(|name| usable_variable(name, language)).transpose();
    let variable = variable.map_err(bad("--key-env"))?;
    // A self-hosted server seldom needs a key, and must not get a key of OpenAI.
    let proposed = match def {
        Some(def) => def.needs_key.then(|| def.key_variable.to_owned()),
        None => own.is_none().then(|| KEY_VARIABLE.to_owned()),
    };
    let base_url = own.or(listed).filter(|url| provider_at(url).id != "openai");
    let model =
        args.model.clone().or_else(|| def.map(|def| def.model.to_owned()).filter(|model| !model.is_empty()));
    let model = ModelAnswer::Server {
        key_variable: variable.flatten().or(proposed),
        base_url,
        model: model.unwrap_or_else(|| MODEL.to_owned()),
    };
    let model = if args.provider.as_deref() == Some(OFFLINE) { ModelAnswer::Offline } else { model };
    let adapters =
        args.adapters.iter().map(|name| known(name, adapters, language)).collect::<Result<Vec<_>, _>>();
    let adapters = adapters.map_err(bad("--adapter"))?.into_iter().map(proposed_section).collect();
    Ok(NewProject {
        name: usable_name(&name, language).map_err(bad("--name"))?,
        purpose: args.purpose.clone(),
        language: args.language,
        model,
        adapters,
        secrets: Vec::new(),
    })
}

/// The id of the built-in model in `--provider` and in the menu.
pub(super) const OFFLINE: &str = "offline";

fn known_provider(id: &str, language: Language) -> Result<Option<&'static ProviderDef>, InitError> {
    if id == OFFLINE {
        return Ok(None);
    }
    let found = provider(id).map(Some);
    found.ok_or_else(|| bad("--provider")(words::bad_provider(&provider_ids(), language)))
}

/// The ids of all providers.
pub(super) fn provider_ids() -> String {
    let ids = PROVIDERS.iter().map(|def| def.id).chain([OFFLINE]);
    ids.collect::<Vec<_>>().join(", ")
}

pub(super) fn has_questions(def: &AdapterDef) -> bool {
    def.init.iter().any(|key| matches!(key.value, InitValue::Ask { .. }))
}

pub(super) fn bad(option: &'static str) -> impl Fn(String) -> InitError {
    move |why| InitError::BadAnswer { option, why }
}

pub(super) fn chosen(
    answer: &str,
    adapters: &AdapterTable,
    language: Language,
) -> Result<Vec<AdapterDef>, String> {
    let mut chosen: Vec<AdapterDef> = Vec::new();
    for name in answer.split([',', '，', '、', ' ']).filter(|name| !name.is_empty()) {
        let name = name.to_lowercase();
        if name == "none" {
            continue;
        }
        let def = known(&name, adapters, language)?;
        if chosen.iter().all(|other| other.name != def.name) {
            chosen.push(def);
        }
    }
    Ok(chosen)
}

fn known(name: &str, adapters: &AdapterTable, language: Language) -> Result<AdapterDef, String> {
    let names: Vec<&str> = adapters.names().collect();
    adapters
        .find(name)
        .copied()
        .ok_or_else(|| words::bad_adapter(&names.join(words::between_names(language)), language))
}

/// A new section with the defaults.
pub(super) fn proposed_section(def: AdapterDef) -> NewSection {
    let value = |value: InitValue| match value {
        InitValue::Variable(name) => format!("\"${{{name}}}\""),
        InitValue::Json(json) => json.to_owned(),
        InitValue::Ask { default, .. } => text(default),
    };
    NewSection { def, keys: def.init.iter().map(|key| (key.key, value(key.value))).collect() }
}

fn folder_name(project: &Path) -> String {
    let absolute = std::path::absolute(project).unwrap_or_else(|_| project.to_owned());
    let resolved = absolute.canonicalize().unwrap_or(absolute);
    let name = resolved.file_name().map(|name| name.to_string_lossy().chars().take(80).collect::<String>());
    name.filter(|name| usable_name(name, Language::En).is_ok()).unwrap_or_else(|| UNNAMED.to_owned())
}

/// The name of an agent whose folder has none.
const UNNAMED: &str = "my-agent";
