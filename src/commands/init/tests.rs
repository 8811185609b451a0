//! Whole runs of `init`, on directories with and without files of their own.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use super::{InitError, InitParts, Terminal, init};
use crate::adapters::builtin;
use crate::cli::{Exit, InitArgs};
use crate::config::{Env, Provider, Settings, check_config};
use crate::domain::{ErrorKind, Language};
use crate::onboarding::{Checks, ModelAnswered};
use crate::ports::{AdapterDef, BoxFuture, ModelCheck, ModelTrouble, Probe, ProbeLevel};

fn yes() -> InitArgs {
    InitArgs { yes: true, ..InitArgs::default() }
}

/// Lines that are typed.
#[derive(Debug)]
struct Typed(VecDeque<String>);

impl Terminal for Typed {
    fn line(&mut self) -> io::Result<Option<String>> {
        Ok(self.0.pop_front())
    }

    fn hidden_line(&mut self, _: &str, _: &mut dyn io::Write) -> io::Result<Option<String>> {
        self.line()
    }
}

/// A server with the models `one` and `two` that takes the key `right` and no key at all; one on port 1 lists none, and one
/// on port 2 is not there.
#[derive(Debug)]
struct FakeChecks;

impl Checks for FakeChecks {
    fn model(&self, tried: ModelAnswered, language: Language) -> BoxFuture<'_, ModelCheck> {
        use secrecy::ExposeSecret as _;
        let key = tried.key.as_ref().map(|key| key.expose_secret().to_owned());
        let kind = match (tried.base_url.as_str(), key.as_deref(), tried.model.as_str()) {
            (url, _, _) if url.contains(":2") => Some(ErrorKind::Network),
            (_, Some(key), _) if key != "right" => Some(ErrorKind::Auth),
            (url, _, _) if url.contains(":1/") => None,
            (_, _, "one" | "two") => None,
            _ => Some(ErrorKind::BadRequest),
        };
        let lists =
            !matches!(kind, Some(ErrorKind::Network | ErrorKind::Auth)) && !tried.base_url.contains(":1/");
        let trouble = kind.map(|kind| ModelTrouble {
            kind,
            message: crate::phrases::onboarding::model_trouble(kind, language).to_owned(),
            detail: String::new(),
        });
        let models = if lists { vec!["one".to_owned(), "two".to_owned()] } else { Vec::new() };
        Box::pin(async move { ModelCheck { model: tried.model, trouble, models } })
    }

    fn platform(&self, _: AdapterDef, section: Value, _: Language) -> BoxFuture<'_, Vec<Probe>> {
        let level = if section["botToken"] == "1:right" { ProbeLevel::Ok } else { ProbeLevel::Error };
        Box::pin(async move { vec![Probe { level, message: "@harbour_bot".to_owned(), advice: None }] })
    }
}

/// Runs it with these lines typed, or without a terminal.
fn run(dir: &Path, args: &InitArgs, typed: Option<&str>) -> (Result<Exit, InitError>, String) {
    let mut out = Vec::new();
    let mut input = typed.map(|lines| Typed(lines.lines().map(str::to_owned).collect()));
    let terminal = input.as_mut().map(|input| input as &mut dyn Terminal);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (adapters, env) = (builtin(), Env::default());
    let parts = InitParts { adapters: &adapters, env: &env, checks: &FakeChecks, runtime: &runtime };
    let result = init(dir, args, &parts, terminal, &mut out);
    (result, String::from_utf8(out).unwrap())
}

fn write(dir: &Path, name: &str, text: &str) {
    use std::io::Write;
    fs::File::create(dir.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[test]
fn a_new_project_runs_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("fresh");
    let (result, said) = run(&project, &yes(), None);
    assert_eq!(result.unwrap(), Exit::Ok);
    assert_eq!(
        said,
        "wrote Agent.md\nwrote ship.json\nwrote .env.example\n\n\
         Next: edit Agent.md, set OPENAI_API_KEY in .env, then `shipagent run`.\n"
    );
    assert_eq!(names(&project), [".env.example", "Agent.md", "ship.json"]);
    let settings = Settings::load(&project, &Env::default(), &builtin()).unwrap();
    assert_eq!(settings.name, "fresh");
    assert!(settings.agent_md.starts_with("# fresh\n"));
    assert!(matches!(settings.model.provider, Provider::Offline));
    let written = fs::read_to_string(project.join("ship.json")).unwrap();
    assert!(written.contains("until it is set, the built-in offline model answers"), "{written}");
    let settings = Settings::load(&project, &Env::of([("OPENAI_API_KEY", "sk")]), &builtin()).unwrap();
    assert_eq!(settings.model.provider.name(), "gpt-6-luna");
}

#[test]
fn without_a_terminal_somebody_must_say_yes() {
    let dir = tempfile::tempdir().unwrap();
    let (result, _) = run(dir.path(), &InitArgs::default(), None);
    let error = result.unwrap_err();
    assert!(matches!(error, InitError::NotATerminal));
    assert_eq!(error.exit(), Exit::Usage);
    assert_eq!(names(dir.path()), Vec::<String>::new());
}

#[test]
fn yes_keeps_what_is_there_and_force_does_not() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "Agent.md", "mine");
    let (result, said) = run(dir.path(), &yes(), None);
    assert_eq!(result.unwrap(), Exit::Ok);
    assert!(said.starts_with("kept, as it was there already: Agent.md\nwrote ship.json\n"), "{said}");
    assert_eq!(fs::read_to_string(dir.path().join("Agent.md")).unwrap(), "mine");

    let force = InitArgs { force: true, ..InitArgs::default() };
    let (result, said) = run(dir.path(), &force, None);
    assert_eq!(result.unwrap(), Exit::Ok);
    assert!(said.starts_with("changed Agent.md\nchanged ship.json\n"), "{said}");
    assert!(fs::read_to_string(dir.path().join("Agent.md")).unwrap().starts_with("# "));
    assert_eq!(names(dir.path()), [".env.example", "Agent.md", "ship.json"]);
}

#[test]
fn answers_become_a_configuration_that_is_valid() {
    let dir = tempfile::tempdir().unwrap();
    let typed = "1\nnonsense\nhttp://127.0.0.1:11434/v1\n\n2\nCaptain \"${X}\"\n-\nqq, telegram\n\n\n\n";
    let (result, said) = run(dir.path(), &InitArgs::default(), Some(typed));
    assert_eq!(result.unwrap(), Exit::Ok, "{said}");
    assert!(said.contains("or an address such as http://127.0.0.1:11434/v1"), "{said}");
    let unset = check_config(dir.path(), &Env::default(), &builtin());
    let paths: Vec<&str> = unset.problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["adapters.qq.appId", "adapters.qq.appSecret", "adapters.telegram.botToken"]);
    let env = Env::of([("QQ_APP_ID", "1"), ("QQ_APP_SECRET", "s"), ("TELEGRAM_BOT_TOKEN", "t")]);
    let settings = Settings::load(dir.path(), &env, &builtin()).unwrap();
    assert_eq!(settings.name, "Captain \"${X}\"");
    let running: Vec<&str> = settings.adapters.iter().map(|own| own.def.name).collect();
    assert_eq!(running, ["telegram", "qq"]);
    let Provider::OpenAi(endpoint) = settings.model.provider else { panic!("offline") };
    assert_eq!((endpoint.base_url.as_str(), endpoint.model.as_str()), ("http://127.0.0.1:11434/v1", "two"));
}

#[test]
fn a_file_is_overwritten_only_after_a_yes() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "Agent.md", "mine");
    write(dir.path(), "ship.json", "{}");
    let (result, said) = run(dir.path(), &InitArgs::default(), Some("n\nn\n"));
    assert_eq!(result.unwrap(), Exit::Ok, "{said}");
    assert_eq!(fs::read_to_string(dir.path().join("ship.json")).unwrap(), "{}");

    let (result, said) = run(dir.path(), &InitArgs::default(), Some("y\n\noffline\nnone\n\n"));
    assert_eq!(result.unwrap(), Exit::Ok, "{said}");
    assert_eq!(fs::read_to_string(dir.path().join("Agent.md")).unwrap(), "mine");
    assert!(fs::read_to_string(dir.path().join("ship.json")).unwrap().contains("\"offline\""));
}

#[test]
fn answers_that_stop_early_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("new");
    let (result, _) = run(&project, &InitArgs::default(), Some("1\nopenai\n"));
    assert!(matches!(result, Err(InitError::InputEnded)));
    assert!(!project.exists());
}

#[test]
fn what_the_command_line_says_is_not_asked() {
    let dir = tempfile::tempdir().unwrap();
    let args = InitArgs {
        name: Some("n".into()),
        base_url: Some("http://127.0.0.1:1".into()),
        model: Some("m".into()),
        key_variable: Some("MY_KEY".into()),
        adapters: vec!["feishu".to_owned()],
        ..InitArgs::default()
    };
    let (result, said) = run(dir.path(), &args, Some(""));
    assert_eq!(result.unwrap(), Exit::Ok);
    assert!(said.contains("set MY_KEY, FEISHU_APP_ID, FEISHU_APP_SECRET in .env"), "{said}");
    let written = fs::read_to_string(dir.path().join("ship.json")).unwrap();
    assert!(written.contains("it may stay empty where the server needs no key"), "{written}");
    assert!(!written.contains("offline"), "{written}");

    let wrong = InitArgs { base_url: Some("127.0.0.1".into()), ..yes() };
    assert!(matches!(
        run(dir.path(), &wrong, None).0,
        Err(InitError::BadAnswer { option: "--base-url", .. })
    ));
}

#[test]
fn state_and_secrets_are_kept_out_of_git() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".git")).unwrap();
    let project = dir.path().join("sub");
    run(&project, &yes(), None).0.unwrap();
    assert_eq!(fs::read_to_string(project.join(".gitignore")).unwrap(), ".ship/\n.env\n");
    let (_, said) = run(&project, &yes(), None);
    assert!(!said.contains(".gitignore"), "{said}");
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "file", "");
    let (result, _) = run(&dir.path().join("file"), &yes(), None);
    let error = result.unwrap_err();
    assert!(error.to_string().starts_with("cannot write "), "{error}");
    assert_eq!(error.exit(), Exit::Failed);
}

/// What `.env` of a project holds.
fn env_file(dir: &Path) -> String {
    let path = dir.join(".env");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_key_is_tested_stored_privately_and_referenced_by_its_variable() {
    for (language, words) in [("1", "The server refused the key."), ("2", "服务器拒绝了这个密钥。")]
    {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), ".env", "OTHER=1\n");
        // A wrong key, again the key, the right one; then a model of the list, name and purpose, no platform.
        let typed = format!("{language}\ndeepseek\nwrong\n1\nright\n2\nharbour\nAnswers about ships.\n\n");
        let (result, said) = run(dir.path(), &InitArgs::default(), Some(&typed));
        assert_eq!(result.unwrap(), Exit::Ok, "{said}");
        assert!(said.contains(words) && !said.contains("right\n2"), "{said}");
        assert_eq!(env_file(dir.path()), "OTHER=1\nDEEPSEEK_API_KEY=right\n");
        let written = fs::read_to_string(dir.path().join("ship.json")).unwrap();
        assert!(written.contains("${DEEPSEEK_API_KEY:-}") && !written.contains("right"), "{written}");
        let settings = Settings::load(dir.path(), &Env::default(), &builtin()).unwrap();
        assert!(settings.agent_md.contains("\n- Answers about ships.\n"), "{}", settings.agent_md);
        assert_eq!(settings.name, "harbour");
        assert_eq!(settings.language.is_some_and(|language| language == Language::Zh), language == "2");
        let Provider::OpenAi(endpoint) = settings.model.provider else { panic!("offline") };
        assert_eq!(endpoint.model, "two");
    }
}

#[test]
fn a_server_out_of_reach_is_left_for_another_or_kept() {
    for (typed, address) in [
        // Another provider after all, whose list is offered.
        ("1\nhttp://127.0.0.1:2/v1\n\n2\nollama\n\none\nx\n-\n\n", "http://127.0.0.1:11434/v1"),
        // Kept as it is, with a name of the model.
        ("1\nhttp://127.0.0.1:2/v1\n\n3\none\nx\n-\n\n", "http://127.0.0.1:2/v1"),
        // A server that lists no models.
        ("1\nother\nhttp://127.0.0.1:1/v1\n\nmine\nx\n-\n\n", "http://127.0.0.1:1/v1"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (result, said) = run(dir.path(), &InitArgs::default(), Some(typed));
        assert_eq!(result.unwrap(), Exit::Ok, "{said}");
        let settings = Settings::load(dir.path(), &Env::default(), &builtin()).unwrap();
        let Provider::OpenAi(endpoint) = settings.model.provider else { panic!("offline") };
        assert_eq!(endpoint.base_url, address, "{said}");
    }
}

#[test]
fn a_platform_is_checked_and_its_owner_invited() {
    let dir = tempfile::tempdir().unwrap();
    let typed = "1\noffline\nx\n-\ntelegram\n1:wrong\n1\n1:right\n";
    let (result, said) = run(dir.path(), &InitArgs::default(), Some(typed));
    assert_eq!(result.unwrap(), Exit::Ok, "{said}");
    assert!(said.contains("✗ @harbour_bot") && said.contains("✓ @harbour_bot"), "{said}");
    assert_eq!(env_file(dir.path()), "TELEGRAM_BOT_TOKEN=1:right\n");
    assert!(said.contains("To be its owner, send this to"), "{said}");
    assert!(!said.contains("set TELEGRAM_BOT_TOKEN"), "{said}");
    let settings = Settings::load(dir.path(), &Env::default(), &builtin()).unwrap();
    assert_eq!(settings.adapters.len(), 1);
}

#[test]
fn providers_of_the_command_line_need_no_terminal() {
    for (provider, address, model) in [
        ("openai", "https://api.openai.com/v1", "gpt-6-luna"),
        ("qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen-plus"),
        ("ollama", "http://127.0.0.1:11434/v1", "qwen3"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let args = InitArgs {
            provider: Some(provider.to_owned()),
            key_variable: Some("MY_KEY".to_owned()),
            ..yes()
        };
        assert_eq!(run(dir.path(), &args, None).0.unwrap(), Exit::Ok);
        let settings = Settings::load(dir.path(), &Env::of([("MY_KEY", "k")]), &builtin()).unwrap();
        let Provider::OpenAi(endpoint) = settings.model.provider else { panic!("offline") };
        assert_eq!((endpoint.base_url.as_str(), endpoint.model.as_str()), (address, model));
        assert!(!settings.web.unwrap().listen_chosen, "two projects find a port each");
    }
    let dir = tempfile::tempdir().unwrap();
    let unknown = InitArgs { provider: Some("nobody".to_owned()), ..yes() };
    let refused = run(dir.path(), &unknown, None).0;
    assert!(matches!(refused, Err(InitError::BadAnswer { option: "--provider", .. })));
}
