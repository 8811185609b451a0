//! The questions of `init` and their answers.

use std::io::{BufRead, Write};
use std::path::Path;

use super::InitError;
use super::files::text;
use crate::cli::InitArgs;
use crate::config::{is_variable_name, is_web_address};
use crate::domain::Language;
use crate::phrases::start as words;
use crate::ports::{AdapterDef, AdapterTable, InitValue};

/// The default model.
const MODEL: &str = "gpt-6-luna";
/// The default variable of the API key.
const KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// The answers that the files are generated from.
#[derive(Clone, Debug)]
pub struct Answers {
    pub name: String,
    pub model: ModelAnswer,
    /// Adapters besides the console.
    pub adapters: Vec<NewSection>,
}

/// A new adapter section.
#[derive(Clone, Debug)]
pub struct NewSection {
    /// Its line in the adapter table.
    pub def: AdapterDef,
    /// Its keys with their values, as JSON.
    pub keys: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelAnswer {
    Offline,
    Server {
        /// The server's address; `None` means OpenAI.
        base_url: Option<String>,
        model: String,
        /// The variable with the key, where one is needed.
        key_variable: Option<String>,
    },
}

/// Asks questions at a terminal.
pub(super) struct TerminalPrompt<'a> {
    pub input: &'a mut dyn BufRead,
    pub out: &'a mut dyn Write,
    pub language: Language,
}

impl TerminalPrompt<'_> {
    /// Asks until the answer can be used. An empty one means the default.
    fn ask<T>(
        &mut self,
        question: &str,
        default: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, InitError> {
        loop {
            write!(self.out, "{question} [{default}]: ").map_err(InitError::Output)?;
            self.out.flush().map_err(InitError::Output)?;
            let mut line = String::new();
            if self.input.read_line(&mut line).map_err(InitError::Input)? == 0 {
                return Err(InitError::InputEnded);
            }
            let answer = line.trim();
            match read(if answer.is_empty() { default } else { answer }) {
                Ok(value) => return Ok(value),
                Err(why) => writeln!(self.out, "  {why}").map_err(InitError::Output)?,
            }
        }
    }

    /// Asks for a yes; anything else is a no.
    pub(super) fn confirm(&mut self, question: &str) -> Result<bool, InitError> {
        self.ask(question, "y/N", |answer| Ok(matches!(answer, "y" | "Y" | "yes" | "是" | "好")))
    }
}

/// The answers without questions: from the command line, and defaults.
pub(super) fn default_answers(
    project: &Path,
    args: &InitArgs,
    adapters: &AdapterTable,
    language: Language,
) -> Result<Answers, InitError> {
    let name = args.name.clone().unwrap_or_else(|| folder_name(project));
    let base_url = args.base_url.as_deref().map(|url| usable_address(url, language)).transpose();
    let base_url = base_url.map_err(bad("--base-url"))?;
    let variable = args.key_variable.as_deref().map(|name| usable_variable(name, language)).transpose();
    let variable = variable.map_err(bad("--key-variable"))?;
    // A self-hosted server seldom needs a key, and must not get a key of OpenAI.
    let proposed = base_url.is_none().then(|| KEY_VARIABLE.to_owned());
    let model = ModelAnswer::Server {
        key_variable: variable.flatten().or(proposed),
        base_url,
        model: args.model.clone().unwrap_or_else(|| MODEL.to_owned()),
    };
    let adapters =
        args.adapters.iter().map(|name| known(name, adapters, language)).collect::<Result<Vec<_>, _>>();
    let adapters = adapters.map_err(bad("--adapter"))?.into_iter().map(proposed_section).collect();
    Ok(Answers { name: usable_name(&name, language).map_err(bad("--name"))?, model, adapters })
}

/// Asks for what the command line leaves open.
pub(super) fn ask(
    project: &Path,
    args: &InitArgs,
    adapters: &AdapterTable,
    questions: &mut TerminalPrompt<'_>,
) -> Result<Answers, InitError> {
    let language = questions.language;
    let mut answers = default_answers(project, args, adapters, language)?;
    if args.name.is_none() {
        let read = |answer: &str| usable_name(answer, language);
        answers.name = questions.ask(words::ask_name(language), &answers.name, read)?;
    }
    answers.model = ask_model(args, questions)?;
    if args.adapters.is_empty() {
        let names: Vec<&str> = adapters.names().collect();
        let question = words::ask_adapters(&names.join(words::between_names(language)), language);
        let chosen = questions.ask(&question, "none", |answer| chosen(answer, adapters, language))?;
        answers.adapters = chosen.into_iter().map(proposed_section).collect();
    }
    for section in &mut answers.adapters {
        ask_section(section, questions)?;
    }
    Ok(answers)
}

fn ask_model(args: &InitArgs, questions: &mut TerminalPrompt<'_>) -> Result<ModelAnswer, InitError> {
    let language = questions.language;
    let server = match &args.base_url {
        Some(url) => Server::Own(usable_address(url, language).map_err(bad("--base-url"))?),
        None => questions.ask(words::ask_server(language), "openai", |answer| server(answer, language))?,
    };
    let base_url = match server {
        Server::Offline => return Ok(ModelAnswer::Offline),
        Server::OpenAi => None,
        Server::Own(url) => Some(url),
    };
    let model = match &args.model {
        Some(model) => model.clone(),
        None => questions.ask(words::ask_model(language), MODEL, |answer| Ok(answer.to_owned()))?,
    };
    let key_variable = match &args.key_variable {
        Some(variable) => usable_variable(variable, language).map_err(bad("--key-variable"))?,
        None => {
            let default = if base_url.is_some() { "-" } else { KEY_VARIABLE };
            questions
                .ask(words::ask_key_variable(language), default, |name| usable_variable(name, language))?
        }
    };
    Ok(ModelAnswer::Server { base_url, model, key_variable })
}

fn bad(option: &'static str) -> impl Fn(String) -> InitError {
    move |why| InitError::BadAnswer { option, why }
}

#[derive(Debug)]
enum Server {
    OpenAi,
    Offline,
    Own(String),
}

fn server(answer: &str, language: Language) -> Result<Server, String> {
    match answer.to_lowercase().as_str() {
        "openai" => Ok(Server::OpenAi),
        "offline" => Ok(Server::Offline),
        _ => usable_address(answer, language).map(Server::Own),
    }
}

fn chosen(answer: &str, adapters: &AdapterTable, language: Language) -> Result<Vec<AdapterDef>, String> {
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
fn proposed_section(def: AdapterDef) -> NewSection {
    let value = |value: InitValue| match value {
        InitValue::Variable(name) => format!("\"${{{name}}}\""),
        InitValue::Json(json) => json.to_owned(),
        InitValue::Ask { default, .. } => text(default),
    };
    NewSection { def, keys: def.init.iter().map(|key| (key.key, value(key.value))).collect() }
}

/// Asks for the values of a section.
fn ask_section(section: &mut NewSection, questions: &mut TerminalPrompt<'_>) -> Result<(), InitError> {
    for ((_, value), key) in section.keys.iter_mut().zip(section.def.init) {
        if let InitValue::Ask { en, zh, default } = key.value {
            // An adapter outside this crate has its own texts.
            let question = if questions.language == Language::Zh { zh } else { en };
            *value = questions.ask(question, default, |answer| Ok(text(answer)))?;
        }
    }
    Ok(())
}

fn usable_name(name: &str, language: Language) -> Result<String, String> {
    let fine = !name.trim().is_empty() && name.chars().count() <= 80 && !name.chars().any(char::is_control);
    if fine { Ok(name.trim().to_owned()) } else { Err(words::bad_name(language).to_owned()) }
}

fn usable_address(answer: &str, language: Language) -> Result<String, String> {
    let fine = is_web_address(answer);
    let why = words::bad_address(language);
    if fine { Ok(answer.to_owned()) } else { Err(why.to_owned()) }
}

fn usable_variable(answer: &str, language: Language) -> Result<Option<String>, String> {
    match answer {
        "-" => Ok(None),
        name if is_variable_name(name) => Ok(Some(name.to_owned())),
        _ => Err(words::bad_variable(language).to_owned()),
    }
}

fn folder_name(project: &Path) -> String {
    let absolute = std::path::absolute(project).unwrap_or_else(|_| project.to_owned());
    let resolved = absolute.canonicalize().unwrap_or(absolute);
    let name = resolved.file_name().map(|name| name.to_string_lossy().chars().take(80).collect::<String>());
    name.filter(|name| usable_name(name, Language::En).is_ok()).unwrap_or_else(|| "my-agent".to_owned())
}
