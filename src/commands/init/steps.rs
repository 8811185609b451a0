//! The steps of the onboarding in the terminal.

use std::path::Path;

use secrecy::SecretString;

use super::InitError;
use super::answers::{
    MODEL, OFFLINE, bad, chosen, default_answers, has_questions, proposed_section, provider_ids,
};
use super::init_project::InitParts;
use super::prompt::TerminalPrompt;
use crate::cli::InitArgs;
use crate::config::{Env, project_env, read_agent_md};
use crate::domain::{ErrorKind, Language};
use crate::onboarding::{
    Known, ModelAnswer, ModelAnswered, NewProject, NewSection, OTHER, OnboardingStep, PROVIDERS, ProviderDef,
    is_template, model_answer, provider, provider_at, section_of, steps_of, usable_address, usable_name,
    usable_variable,
};
use crate::phrases::{onboarding as titles, start as words};
use crate::ports::{
    AdapterDef, InitValue, ModelCheck, ModelChoice, OnboardingError, PlatformChoice, PlatformValue,
    ProbeLevel,
};

/// Most models of a server that are printed.
const SHOWN_MODELS: usize = 30;

/// Where the steps go on.
enum Then {
    Next,
    Back(OnboardingStep),
}

/// The steps in the terminal, with what was answered so far.
struct Steps<'a, 'p> {
    args: &'a InitArgs,
    parts: &'a InitParts<'a>,
    prompt: &'a mut TerminalPrompt<'p>,
    /// The environment with the values of `.env`.
    env: Env,
    draft: NewProject,
    choice: ModelChoice,
    checked: Option<ModelCheck>,
}

/// Asks for what the command line leaves open.
pub(super) fn ask(
    project: &Path,
    args: &InitArgs,
    parts: &InitParts<'_>,
    prompt: &mut TerminalPrompt<'_>,
) -> Result<NewProject, InitError> {
    let draft = default_answers(project, args, parts.adapters, prompt.language)?;
    let own_agent_md = read_agent_md(project).is_ok_and(|text| !is_template(&text));
    let env = project_env(project, parts.env);
    let choice = ModelChoice {
        provider: args.provider.clone().unwrap_or_default(),
        base_url: args.base_url.clone(),
        model: args.model.clone(),
        key: None,
    };
    let order: Vec<OnboardingStep> = steps_of(own_agent_md).collect();
    let mut steps = Steps { args, parts, prompt, env, draft, choice, checked: None };
    let mut at = 0;
    while let Some(step) = order.get(at) {
        at = match steps.take(*step)? {
            Then::Next => at.saturating_add(1),
            Then::Back(to) => order.iter().position(|step| *step == to).unwrap_or(at),
        };
    }
    Ok(steps.draft)
}

impl Steps<'_, '_> {
    fn take(&mut self, step: OnboardingStep) -> Result<Then, InitError> {
        match step {
            OnboardingStep::Language => self.language().map(|()| Then::Next),
            OnboardingStep::Provider => self.provider().map(|()| Then::Next),
            OnboardingStep::Key => self.key(),
            OnboardingStep::Model => self.model(),
            OnboardingStep::Agent => self.agent().map(|()| Then::Next),
            OnboardingStep::Platform => self.platform().map(|()| Then::Next),
            // The first owner is paired, and the next steps are told, once the files are written.
            OnboardingStep::Owner | OnboardingStep::Done => Ok(Then::Next),
        }
    }

    fn language(&mut self) -> Result<(), InitError> {
        if self.draft.language.is_none() && !self.args.is_complete() {
            let language = self.prompt.language;
            let default = usize::from(language == Language::Zh);
            let languages = [Language::En, Language::Zh];
            let items = [("en", words::own_name_en(language)), ("zh", words::own_name_zh(language))];
            let other = |_: &str| Err(words::bad_number(2, language));
            let question = words::ask_language(language);
            let chosen =
                self.prompt.choose(question, &items, default, other, |index| languages.get(index))?;
            self.draft.language = chosen.copied();
        }
        self.prompt.language = self.draft.language.unwrap_or(self.prompt.language);
        Ok(())
    }

    fn provider(&mut self) -> Result<(), InitError> {
        let language = self.prompt.language;
        self.checked = None;
        if self.choice.provider.is_empty() && self.args.base_url.is_none() {
            let mut items: Vec<(&str, &str)> =
                PROVIDERS.iter().map(|def| (def.id, def.title(language))).collect();
            items.push((OFFLINE, titles::offline_title(language)));
            let names: Vec<String> = items.iter().map(|(id, _)| (*id).to_owned()).collect();
            let other = |answer: &str| {
                let url = usable_address(answer, language)
                    .map_err(|_| words::bad_provider(&provider_ids(), language))?;
                Ok((provider_at(&url).id.to_owned(), Some(url)))
            };
            let chosen = |index: usize| (names.get(index).cloned().unwrap_or_default(), None);
            let question = words::ask_provider(language);
            let (id, base_url) = self.prompt.choose(question, &items, 0, other, chosen)?;
            (self.choice.provider, self.choice.base_url) = (id, base_url);
        } else if let Some(url) = &self.args.base_url
            && self.choice.provider.is_empty()
        {
            self.choice.provider = provider_at(url).id.to_owned();
        }
        if self.choice.provider == OTHER && self.choice.base_url.is_none() {
            let url = self
                .prompt
                .ask(words::ask_address(language), "", |answer| usable_address(answer, language))?;
            self.choice.base_url = Some(url);
        }
        Ok(())
    }

    fn def(&self) -> Option<&'static ProviderDef> {
        provider(&self.choice.provider)
    }

    /// Asks for the key, and calls the model with it.
    fn key(&mut self) -> Result<Then, InitError> {
        let language = self.prompt.language;
        let Some(def) = self.def() else {
            self.draft.model = ModelAnswer::Offline;
            return Ok(Then::Next);
        };
        if self.args.key_variable.is_none() {
            let question = match (def.needs_key, self.env.filled(def.key_variable)) {
                (_, Some(_)) => words::ask_key_again(def.key_variable, language),
                (true, None) => words::ask_key(def.title(language), def.keys_at, language),
                (false, None) => words::ask_key_if_needed(language).to_owned(),
            };
            self.choice.key = self.prompt.ask_hidden(&question)?.map(SecretString::from);
        }
        let Some(answered) = self.answered(Some(MODEL))? else { return Ok(Then::Back(OnboardingStep::Key)) };
        if answered.key.is_none() && def.needs_key {
            self.prompt.say(words::not_checked(language))?;
            return Ok(Then::Next);
        }
        self.check(answered, self.choice.model.is_none() && def.model.is_empty())
    }

    /// What is answered so far; `None` where an answer cannot be used, after saying why.
    fn answered(&mut self, model: Option<&str>) -> Result<Option<ModelAnswered>, InitError> {
        let mut choice = self.choice.clone();
        if choice.model.is_none() && self.def().is_some_and(|def| def.model.is_empty()) {
            choice.model = model.map(str::to_owned);
        }
        let known = self.known();
        match model_answer(&choice, known) {
            Ok(mut answered) => {
                if let Some(variable) = &self.args.key_variable {
                    let named = usable_variable(variable, self.prompt.language).map_err(bad("--key-env"))?;
                    answered.key = named.as_deref().and_then(|name| self.env.filled(name)).map(Into::into);
                    if let ModelAnswer::Server { key_variable, .. } = &mut answered.answer {
                        *key_variable = named;
                    }
                }
                Ok(Some(answered))
            }
            Err(OnboardingError::Invalid { why, .. }) => {
                self.prompt.say(&format!("  {why}"))?;
                Ok(None)
            }
            Err(error) => Err(InitError::BadAnswer { option: "init", why: error.to_string() }),
        }
    }

    fn known(&self) -> Known<'_> {
        Known {
            process: self.parts.env,
            env: &self.env,
            adapters: self.parts.adapters,
            language: self.prompt.language,
        }
    }

    /// Calls the model. On trouble the person decides how to go on; nothing that was entered is lost. With `any_model` no
    /// model is chosen yet: that the server does not have the one that was called is no trouble.
    fn check(&mut self, answered: ModelAnswered, any_model: bool) -> Result<Then, InitError> {
        let language = self.prompt.language;
        let address = answered.base_url.clone();
        self.prompt.say(&words::asking_server(&address, language))?;
        let mut checked = self.parts.wait(self.parts.checks.model(answered, language));
        let is_refused =
            checked.trouble.as_ref().is_some_and(|trouble| trouble.kind == ErrorKind::BadRequest);
        if any_model && (is_refused || checked.trouble.is_none()) {
            (checked.trouble, checked.model) = (None, String::new());
            self.prompt.say(&words::server_answered(&address, language))?;
            self.checked = Some(checked);
            return Ok(Then::Next);
        }
        let checked = self.checked.insert(checked);
        let Some(trouble) = &checked.trouble else {
            let answers = words::model_answered(&checked.model, language);
            self.prompt.say(&answers)?;
            return Ok(Then::Next);
        };
        self.prompt.say(&words::trouble(&trouble.message, language))?;
        if !trouble.detail.is_empty() {
            self.prompt.say(&format!("    {}", trouble.detail))?;
        }
        if checked.lists_others() {
            // The key is right: another model is chosen next.
            return Ok(Then::Next);
        }
        let items = [
            ("key", words::retry_key(language)),
            ("provider", words::retry_provider(language)),
            ("keep", words::keep_anyway(language)),
        ];
        let other = |_: &str| Err(words::bad_number(3, language));
        let next = |index: usize| match index {
            0 => Then::Back(OnboardingStep::Key),
            1 => Then::Back(OnboardingStep::Provider),
            _ => Then::Next,
        };
        let then = self.prompt.choose(words::ask_what_now(language), &items, 0, other, next)?;
        if matches!(then, Then::Back(OnboardingStep::Provider)) {
            self.choice = ModelChoice::default();
        }
        Ok(then)
    }

    /// Chooses among the server's models, and calls the chosen one where it was not called yet.
    fn model(&mut self) -> Result<Then, InitError> {
        let Some(def) = self.def() else { return Ok(Then::Next) };
        let models = self.checked.as_ref().map(|checked| checked.models.clone()).unwrap_or_default();
        if self.args.model.is_none() {
            let default = self.choice.model.clone().unwrap_or_else(|| def.model.to_owned());
            self.choice.model = Some(self.ask_model(&models, &default)?);
        }
        let Some(answered) = self.answered(None)? else {
            self.choice.model = None;
            return Ok(Then::Back(OnboardingStep::Model));
        };
        self.draft.model = answered.answer.clone();
        self.draft.secrets = answered.secret.iter().cloned().collect();
        let Some(checked) = &self.checked else { return Ok(Then::Next) };
        let is_kept = checked.trouble.is_some() && checked.models.is_empty();
        if checked.model == answered.model || is_kept {
            return Ok(Then::Next);
        }
        let then = self.check(answered, false)?;
        // No question was asked about a model that the server does not have: the list is shown again.
        let refused = self.checked.as_ref().is_some_and(ModelCheck::lists_others);
        Ok(if refused && self.args.model.is_none() { Then::Back(OnboardingStep::Model) } else { then })
    }

    fn ask_model(&mut self, models: &[String], default: &str) -> Result<String, InitError> {
        let language = self.prompt.language;
        let read = |answer: &str| {
            let named = !answer.is_empty() && !answer.contains(char::is_whitespace);
            if named { Ok(answer.to_owned()) } else { Err(titles::bad_model(language).to_owned()) }
        };
        if models.is_empty() {
            return self.prompt.ask(words::ask_model(language), default, read);
        }
        let shown = models.get(..SHOWN_MODELS.min(models.len())).unwrap_or_default();
        let items: Vec<(&str, &str)> = shown.iter().map(|id| (id.as_str(), id.as_str())).collect();
        let first = shown.iter().position(|id| id == default).unwrap_or(0);
        let question = words::ask_model_of_list(models.len(), language);
        let chosen = |index: usize| shown.get(index).cloned().unwrap_or_default();
        self.prompt.choose(&question, &items, first, read, chosen)
    }

    fn agent(&mut self) -> Result<(), InitError> {
        let language = self.prompt.language;
        if self.args.name.is_none() {
            let read = |answer: &str| usable_name(answer, language);
            self.draft.name = self.prompt.ask(words::ask_name(language), &self.draft.name, read)?;
        }
        if self.args.purpose.is_none() && !self.args.is_complete() {
            let read = |answer: &str| Ok(answer.to_owned());
            let purpose = self.prompt.ask(words::ask_purpose(language), "-", read)?;
            self.draft.purpose = (purpose != "-").then_some(purpose);
        }
        Ok(())
    }

    fn platform(&mut self) -> Result<(), InitError> {
        let language = self.prompt.language;
        if self.args.adapters.is_empty() {
            let names: Vec<&str> = self.parts.adapters.names().collect();
            let question = words::ask_adapters(&names.join(words::between_names(language)), language);
            let adapters = self.parts.adapters;
            let chosen = self.prompt.ask(&question, "none", |answer| chosen(answer, adapters, language))?;
            self.draft.adapters = chosen.into_iter().map(proposed_section).collect();
        }
        let defs: Vec<AdapterDef> = self.draft.adapters.iter().map(|section| section.def).collect();
        self.draft.adapters.clear();
        for def in defs {
            let section = if self.args.adapters.is_empty() || has_questions(&def) {
                self.section(def)?
            } else {
                proposed_section(def)
            };
            self.draft.adapters.push(section);
        }
        Ok(())
    }

    /// Asks for the values of a section, and the platform whether they are right.
    fn section(&mut self, def: AdapterDef) -> Result<NewSection, InitError> {
        loop {
            let language = self.prompt.language;
            let mut choice = PlatformChoice { name: def.name.to_owned(), values: Vec::new() };
            for init in def.init {
                let value = match init.value {
                    InitValue::Variable(name) if self.args.adapters.is_empty() => {
                        let stored = self.env.filled(name).is_some();
                        self.prompt.ask_hidden(&words::ask_secret(def.title, name, stored, language))?
                    }
                    InitValue::Variable(_) | InitValue::Json(_) => None,
                    InitValue::Ask { en, zh, default } => {
                        // An adapter outside this crate has its own texts.
                        let question = if language == Language::Zh { zh } else { en };
                        Some(self.prompt.ask(question, default, |answer| Ok(answer.to_owned()))?)
                    }
                };
                let value =
                    value.map(|value| PlatformValue { key: init.key.to_owned(), value: value.into() });
                choice.values.extend(value);
            }
            let known = self.known();
            let answered = match section_of(&choice, known) {
                Ok(answered) => answered,
                Err(error) => {
                    self.prompt.say(&format!("  {error}"))?;
                    continue;
                }
            };
            let complete = answered.missing.is_empty() && def.credentials().next().is_some();
            if complete && !self.platform_works(def, answered.filled)? {
                continue;
            }
            self.draft.secrets.extend(answered.secrets);
            return Ok(answered.section);
        }
    }

    /// Asks the platform. On trouble the person decides whether the values are kept.
    fn platform_works(&mut self, def: AdapterDef, section: serde_json::Value) -> Result<bool, InitError> {
        let language = self.prompt.language;
        self.prompt.say(&words::asking_platform(def.title, language))?;
        let found = self.parts.wait(self.parts.checks.platform(def, section, language));
        for probe in &found {
            let line = match probe.level {
                ProbeLevel::Ok => words::fine(&probe.message, language),
                ProbeLevel::Warning | ProbeLevel::Error => words::trouble(&probe.message, language),
            };
            self.prompt.say(&line)?;
            if let Some(advice) = &probe.advice {
                self.prompt.say(&format!("    → {advice}"))?;
            }
        }
        if found.iter().all(|probe| probe.level != ProbeLevel::Error) {
            return Ok(true);
        }
        let items = [("again", words::retry_values(language)), ("keep", words::keep_anyway(language))];
        let other = |_: &str| Err(words::bad_number(2, language));
        self.prompt.choose(words::ask_what_now(language), &items, 0, other, |index| index == 1)
    }
}
