//! From the answers of the steps to a [`NewProject`]. Pure.

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::providers::provider;
use crate::config::file::DEFAULT_BASE_URL;
use crate::config::{Env, is_variable_name, is_web_address};
use crate::domain::Language;
use crate::phrases::onboarding as words;
use crate::ports::{
    AdapterDef, AdapterTable, InitValue, ModelChoice, OnboardingAnswers, OnboardingError, PlatformChoice,
};

/// The templates of `Agent.md`, whose first line is the name.
pub(crate) const AGENT_TEMPLATES: [(Language, &str); 2] =
    [(Language::En, include_str!("../../Agent.md.example")), (Language::Zh, include_str!("agent.zh.md"))];

/// The longest key or token.
const MAX_SECRET: usize = 4096;
/// The longest description of what the agent is for.
const MAX_PURPOSE: usize = 2000;

/// What the files of a new project are generated from.
#[derive(Clone, Debug)]
pub(crate) struct NewProject {
    pub(crate) name: String,
    pub(crate) purpose: Option<String>,
    /// The language of the daemon's own words; `None` means that of each person.
    pub(crate) language: Option<Language>,
    pub(crate) model: ModelAnswer,
    /// Adapters besides the console.
    pub(crate) adapters: Vec<NewSection>,
    /// Values for `.env`, by variable.
    pub(crate) secrets: Vec<(String, SecretString)>,
}

/// A new adapter section.
#[derive(Clone, Debug)]
pub(crate) struct NewSection {
    /// Its line in the adapter table.
    pub(crate) def: AdapterDef,
    /// Its keys with their values, as JSON.
    pub(crate) keys: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModelAnswer {
    Offline,
    Server {
        /// The server's address; `None` means OpenAI.
        base_url: Option<String>,
        model: String,
        /// The variable with the key, where one is needed.
        key_variable: Option<String>,
    },
}

/// What the answers are read with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    /// The environment of the process, which overrides `.env`.
    pub(crate) process: &'a Env,
    /// The same with the values of `.env`.
    pub(crate) env: &'a Env,
    pub(crate) adapters: &'a AdapterTable,
    /// The language of error messages.
    pub(crate) language: Language,
}

/// A model as it is called: address, name and key.
#[derive(Clone, Debug)]
pub(crate) struct ModelAnswered {
    pub(crate) answer: ModelAnswer,
    pub(crate) base_url: String,
    pub(crate) model: String,
    pub(crate) key: Option<SecretString>,
    /// The value for `.env`.
    pub(crate) secret: Option<(String, SecretString)>,
}

/// Reads the choice of a model.
pub(crate) fn model_answer(choice: &ModelChoice, known: Known<'_>) -> Result<ModelAnswered, OnboardingError> {
    let language = known.language;
    let invalid = |field, why: &str| OnboardingError::Invalid { field, why: why.to_owned() };
    let def =
        provider(&choice.provider).ok_or_else(|| invalid("provider", words::unknown_provider(language)))?;
    let base_url = filled(choice.base_url.as_deref()).unwrap_or(def.base_url);
    let base_url = usable_address(base_url, language).map_err(|why| invalid("baseUrl", &why))?;
    let model = filled(choice.model.as_deref()).unwrap_or(def.model);
    if model.is_empty() || model.chars().any(char::is_control) || model.len() > 200 {
        return Err(invalid("model", words::bad_model(language)));
    }
    let typed = choice.key.as_ref().map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty());
    let typed = typed.map(|key| usable_secret(key, language)).transpose();
    let typed = typed.map_err(|why| invalid("key", &why))?;
    let secret = typed.map(|key| (free_variable(def.key_variable, &key, known.process), key));
    let stored = known.env.filled(def.key_variable);
    let key_variable = match &secret {
        Some((variable, _)) => Some(variable.clone()),
        None if def.needs_key || stored.is_some() => Some(def.key_variable.to_owned()),
        None => None,
    };
    let key = secret.as_ref().map(|(_, key)| key.clone()).or_else(|| stored.map(SecretString::from));
    let own = (base_url.trim_end_matches('/') != DEFAULT_BASE_URL).then(|| base_url.clone());
    let answer = ModelAnswer::Server { base_url: own, model: model.to_owned(), key_variable };
    Ok(ModelAnswered { answer, base_url, model: model.to_owned(), key, secret })
}

/// A platform's section, the values for `.env`, and the section with the values themselves.
#[derive(Clone, Debug)]
pub(crate) struct PlatformAnswered {
    pub(crate) section: NewSection,
    pub(crate) secrets: Vec<(String, SecretString)>,
    /// For the platform's probe.
    pub(crate) filled: Value,
    /// The variables without a value.
    pub(crate) missing: Vec<&'static str>,
}

/// Reads the choice of a platform.
pub(crate) fn section_of(
    choice: &PlatformChoice,
    known: Known<'_>,
) -> Result<PlatformAnswered, OnboardingError> {
    let language = known.language;
    let def = known.adapters.find(&choice.name).copied().ok_or_else(|| OnboardingError::Invalid {
        field: "platform",
        why: words::unknown_platform(language).to_owned(),
    })?;
    let given = |key: &str| {
        let value = choice.values.iter().find(|value| value.key == key);
        value.map(|value| value.value.expose_secret().trim()).filter(|value| !value.is_empty())
    };
    let (mut keys, mut secrets, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    let mut filled = serde_json::Map::new();
    for init in def.init {
        match init.value {
            InitValue::Variable(name) => {
                let typed = given(init.key).map(|value| usable_secret(value, language)).transpose();
                let typed = typed.map_err(|why| OnboardingError::Invalid { field: init.key, why })?;
                let mut variable = name.to_owned();
                if let Some(value) = typed {
                    variable = free_variable(name, &value, known.process);
                    filled.insert(init.key.to_owned(), json!(value.expose_secret()));
                    secrets.push((variable.clone(), value));
                } else if let Some(value) = known.env.filled(name) {
                    filled.insert(init.key.to_owned(), json!(value));
                } else {
                    missing.push(name);
                }
                keys.push((init.key, format!("\"${{{variable}}}\"")));
            }
            InitValue::Json(json) => {
                filled.insert(init.key.to_owned(), serde_json::from_str(json).unwrap_or_default());
                keys.push((init.key, json.to_owned()));
            }
            InitValue::Ask { default, .. } => {
                let value = given(init.key).unwrap_or(default);
                filled.insert(init.key.to_owned(), json!(value));
                keys.push((init.key, text(value)));
            }
        }
    }
    let section = NewSection { def, keys };
    Ok(PlatformAnswered { section, secrets, filled: Value::Object(filled), missing })
}

impl NewProject {
    /// Reads all answers of the console. `proposed` is the name where none is given.
    pub(crate) fn of(
        answers: &OnboardingAnswers,
        proposed: &str,
        known: Known<'_>,
    ) -> Result<Self, OnboardingError> {
        let language = known.language;
        let name = filled(answers.name.as_deref()).unwrap_or(proposed);
        let name =
            usable_name(name, language).map_err(|why| OnboardingError::Invalid { field: "name", why })?;
        let purpose = filled(answers.purpose.as_deref());
        if purpose.is_some_and(|purpose| purpose.chars().count() > MAX_PURPOSE) {
            let why = words::purpose_too_long(MAX_PURPOSE, language);
            return Err(OnboardingError::Invalid { field: "purpose", why });
        }
        let mut secrets = Vec::new();
        let model = match &answers.model {
            None => ModelAnswer::Offline,
            Some(choice) => {
                let answered = model_answer(choice, known)?;
                secrets.extend(answered.secret);
                answered.answer
            }
        };
        let mut adapters = Vec::new();
        if let Some(choice) = &answers.platform {
            let answered = section_of(choice, known)?;
            if !answered.missing.is_empty() {
                let why = words::values_missing(&answered.missing.join(", "), language);
                return Err(OnboardingError::Invalid { field: "platform", why });
            }
            secrets.extend(answered.secrets);
            adapters.push(answered.section);
        }
        let purpose = purpose.map(str::to_owned);
        Ok(Self { name, purpose, language: answers.language, model, adapters, secrets })
    }
}

/// Whether an `Agent.md` is a template that its owner has not changed, the name aside.
pub(crate) fn is_template(agent_md: &str) -> bool {
    let body = |text: &str| text.split_once('\n').map(|(_, rest)| rest.trim().to_owned());
    AGENT_TEMPLATES.iter().any(|(_, template)| body(template) == body(agent_md))
}

/// The variable that a typed secret is stored in: one that the environment of the process does not override.
fn free_variable(name: &str, value: &SecretString, process: &Env) -> String {
    let is_free = |name: &str| process.get(name).is_none_or(|overrides| overrides == value.expose_secret());
    if is_free(name) {
        return name.to_owned();
    }
    let numbered = (2..100).map(|number| format!("{name}_{number}"));
    numbered.into_iter().find(|name| is_free(name)).unwrap_or_else(|| name.to_owned())
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

fn usable_secret(value: &str, language: Language) -> Result<SecretString, String> {
    let fine = value.len() <= MAX_SECRET && !value.chars().any(|c| c.is_control() || c.is_whitespace());
    if fine { Ok(value.into()) } else { Err(words::bad_secret(language).to_owned()) }
}

pub(crate) fn usable_name(name: &str, language: Language) -> Result<String, String> {
    let fine = !name.trim().is_empty() && name.chars().count() <= 80 && !name.chars().any(char::is_control);
    if fine { Ok(name.trim().to_owned()) } else { Err(words::bad_name(language).to_owned()) }
}

pub(crate) fn usable_address(answer: &str, language: Language) -> Result<String, String> {
    let answer = answer.trim();
    if is_web_address(answer) { Ok(answer.to_owned()) } else { Err(words::bad_address(language).to_owned()) }
}

/// A variable's name; `-` means none.
pub(crate) fn usable_variable(answer: &str, language: Language) -> Result<Option<String>, String> {
    match answer {
        "-" => Ok(None),
        name if is_variable_name(name) => Ok(Some(name.to_owned())),
        _ => Err(words::bad_variable(language).to_owned()),
    }
}

/// A JSON string in which `${` is escaped.
pub(crate) fn text(raw: &str) -> String {
    Value::String(raw.replace("${", "$${")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::builtin;
    use crate::ports::PlatformValue;

    fn choice(provider: &str, key: Option<&str>) -> ModelChoice {
        ModelChoice {
            provider: provider.to_owned(),
            key: key.map(SecretString::from),
            ..ModelChoice::default()
        }
    }

    fn read(choice: &ModelChoice, process: &Env, env: &Env) -> Result<ModelAnswered, OnboardingError> {
        let adapters = builtin();
        model_answer(choice, Known { process, env, adapters: &adapters, language: Language::En })
    }

    #[test]
    fn a_key_gets_a_variable_that_nothing_overrides() {
        let none = Env::default();
        let other = Env::of([("DEEPSEEK_API_KEY", "sk-other")]);
        let same = Env::of([("DEEPSEEK_API_KEY", "sk-mine")]);
        for (process, key, variable, secret) in [
            (&none, Some(" sk-mine "), Some("DEEPSEEK_API_KEY"), true),
            (&other, Some("sk-mine"), Some("DEEPSEEK_API_KEY_2"), true),
            (&same, Some("sk-mine"), Some("DEEPSEEK_API_KEY"), true),
            (&other, None, Some("DEEPSEEK_API_KEY"), false),
            (&none, None, Some("DEEPSEEK_API_KEY"), false),
        ] {
            let answered = read(&choice("deepseek", key), process, process).unwrap();
            let ModelAnswer::Server { base_url, key_variable, .. } = answered.answer else {
                panic!("offline")
            };
            assert_eq!(base_url.as_deref(), Some("https://api.deepseek.com/v1"));
            assert_eq!((key_variable.as_deref(), answered.secret.is_some()), (variable, secret), "{key:?}");
        }
    }

    #[test]
    fn servers_that_need_no_key_get_none() {
        let env = Env::default();
        let answered = read(&choice("ollama", None), &env, &env).unwrap();
        assert!(matches!(answered.answer, ModelAnswer::Server { key_variable: None, .. }));
        let own =
            ModelChoice { base_url: Some("http://10.0.0.2/v1".to_owned()), ..choice("ollama", Some("k")) };
        let answered = read(&own, &env, &env).unwrap();
        assert_eq!(answered.base_url, "http://10.0.0.2/v1");
        assert!(matches!(answered.answer, ModelAnswer::Server { key_variable: Some(_), .. }));
    }

    #[test]
    fn answers_that_cannot_be_used_name_their_field() {
        let env = Env::default();
        let other = |url: &str, model: &str| ModelChoice {
            base_url: Some(url.to_owned()),
            model: Some(model.to_owned()),
            ..choice("other", None)
        };
        for (choice, expected) in [
            (choice("nobody", None), "provider"),
            (other("", "m"), "baseUrl"),
            (other("127.0.0.1:1", "m"), "baseUrl"),
            (other("http://127.0.0.1:1", " "), "model"),
            (choice("openai", Some("two words")), "key"),
            (choice("openai", Some("sk\nX=1")), "key"),
        ] {
            match read(&choice, &env, &env) {
                Err(OnboardingError::Invalid { field, .. }) => assert_eq!(field, expected),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_platform_without_a_token_is_not_written() {
        let (adapters, env) = (builtin(), Env::default());
        let known = Known { process: &env, env: &env, adapters: &adapters, language: Language::En };
        let value = PlatformValue { key: "botToken".to_owned(), value: "1:abc".into() };
        let platform = |values| Some(PlatformChoice { name: "telegram".to_owned(), values });
        let answers = OnboardingAnswers { platform: platform(Vec::new()), ..OnboardingAnswers::default() };
        let refused = NewProject::of(&answers, "x", known).unwrap_err();
        assert!(matches!(refused, OnboardingError::Invalid { field: "platform", .. }), "{refused}");
        let answers = OnboardingAnswers { platform: platform(vec![value]), ..OnboardingAnswers::default() };
        let made = NewProject::of(&answers, "x", known).unwrap();
        assert_eq!(made.secrets[0].0, "TELEGRAM_BOT_TOKEN");
        assert_eq!(made.adapters[0].keys[0].1, "\"${TELEGRAM_BOT_TOKEN}\"");
    }

    #[test]
    fn a_template_is_known_under_any_name() {
        for (_, template) in AGENT_TEMPLATES {
            assert!(is_template(template));
            assert!(is_template(&template.replacen("my-agent", "harbour", 1)));
            assert!(!is_template(&format!("{template}- More.\n")));
        }
        assert!(!is_template("# x"));
    }
}
