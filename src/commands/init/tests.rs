//! Whole runs of `init`, on directories with and without files of their own.

use std::fs;
use std::path::Path;

use super::{InitError, init};
use crate::adapters::builtin;
use crate::cli::{Exit, InitArgs};
use crate::config::{Env, Provider, Settings, check_config};
use crate::domain::Language;

fn yes() -> InitArgs {
    InitArgs { yes: true, ..InitArgs::default() }
}

/// Runs it with these lines typed, or without a terminal.
fn run(dir: &Path, args: &InitArgs, typed: Option<&str>) -> (Result<Exit, InitError>, String) {
    let mut out = Vec::new();
    let mut input = typed.map(str::as_bytes);
    let terminal = input.as_mut().map(|input| input as &mut dyn std::io::BufRead);
    let result = init(dir, args, &builtin(), Language::En, terminal, &mut out);
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
    let typed = "Captain \"${X}\"\nnonsense\nhttp://127.0.0.1:11434/v1\nqwen3\n\nqq, telegram\n";
    let (result, said) = run(dir.path(), &InitArgs::default(), Some(typed));
    assert_eq!(result.unwrap(), Exit::Ok, "{said}");
    assert!(said.contains("write the address as http://host or https://host/path"), "{said}");
    let unset = check_config(dir.path(), &Env::default(), &builtin());
    let paths: Vec<&str> = unset.problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["adapters.qq.appId", "adapters.qq.appSecret", "adapters.telegram.botToken"]);
    let env = Env::of([("QQ_APP_ID", "1"), ("QQ_APP_SECRET", "s"), ("TELEGRAM_BOT_TOKEN", "t")]);
    let settings = Settings::load(dir.path(), &env, &builtin()).unwrap();
    assert_eq!(settings.name, "Captain \"${X}\"");
    let running: Vec<&str> = settings.adapters.iter().map(|own| own.def.name).collect();
    assert_eq!(running, ["telegram", "qq"]);
    let Provider::OpenAi(endpoint) = settings.model.provider else { panic!("offline") };
    assert_eq!((endpoint.base_url.as_str(), endpoint.model.as_str()), ("http://127.0.0.1:11434/v1", "qwen3"));
}

#[test]
fn a_file_is_overwritten_only_after_a_yes() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "Agent.md", "mine");
    write(dir.path(), "ship.json", "{}");
    let (result, said) = run(dir.path(), &InitArgs::default(), Some("a\noffline\nnone\n\ny\n"));
    assert_eq!(result.unwrap(), Exit::Ok, "{said}");
    assert_eq!(fs::read_to_string(dir.path().join("Agent.md")).unwrap(), "mine");
    assert!(fs::read_to_string(dir.path().join("ship.json")).unwrap().contains("\"offline\""));
}

#[test]
fn answers_that_stop_early_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("new");
    let (result, _) = run(&project, &InitArgs::default(), Some("a\nopenai\n"));
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
