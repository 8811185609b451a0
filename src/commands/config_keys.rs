//! `shipagent config get`, `set` and `unset`: single keys of `ship.json`.

use std::io::{self, BufRead, Read as _, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::{Exit, Output};
use crate::config::{
    AgentMdError, ConfigEdit, ConfigKey, ConfigWriteError, ConfigWritten, Env, NewValue, ValueSource,
    describe_config, needs_restart, operator_language, write_config,
};
use crate::domain::Language;
use crate::phrases::config as words;
use crate::ports::AdapterTable;

/// The longest value on the standard input.
const MAX_VALUE: u64 = 64 * 1024;

/// Reads a value from the standard input: its first line.
pub fn read_value(input: &mut dyn BufRead) -> io::Result<String> {
    let mut line = String::new();
    input.take(MAX_VALUE).read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Sets or removes a key.
pub fn change(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    edit: &ConfigEdit,
    output: Output,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<Exit> {
    if !project.is_dir() {
        writeln!(err, "{}", AgentMdError::NoProject(project.to_owned()).words(env.language()))?;
        return Ok(Exit::Configuration);
    }
    match write_config(project, env, adapters, std::slice::from_ref(edit)) {
        Ok(written) => {
            let language = operator_language(project, env);
            report(edit, &written, language, output, out, err)?;
            Ok(Exit::Ok)
        }
        Err(ConfigWriteError::Invalid { problems, language }) => {
            if output.json {
                let problems: Vec<_> = problems.iter().map(|problem| problem.report(language)).collect();
                writeln!(out, "{:#}", json!({ "ok": false, "problems": problems }))?;
            } else {
                for problem in &problems {
                    writeln!(err, "{}", problem.line(language))?;
                }
            }
            Ok(Exit::Configuration)
        }
        Err(ConfigWriteError::Io { file, source }) => {
            writeln!(err, "{}", words::cannot_write(file, &source, operator_language(project, env)))?;
            Ok(Exit::Failed)
        }
    }
}

fn report(
    edit: &ConfigEdit,
    written: &ConfigWritten,
    language: Language,
    output: Output,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<()> {
    if output.json {
        let warnings: Vec<_> = written.warnings.iter().map(|warning| warning.report(language)).collect();
        return writeln!(
            out,
            "{:#}",
            json!({
                "ok": true, "changed": written.changed, "variables": written.variables,
                "overridden": written.overridden, "warnings": warnings,
            })
        );
    }
    let line = match (&edit.value, written.changed) {
        (NewValue::Removed, true) => words::key_removed(&edit.key, language),
        (NewValue::Removed, false) => words::key_not_there(&edit.key, language),
        (_, true) => words::key_set(&edit.key, language),
        (_, false) => words::key_unchanged(&edit.key, language),
    };
    writeln!(out, "{line}")?;
    if written.changed && needs_restart(&edit.key) {
        writeln!(out, "{}", words::counts_after_restart(language))?;
    }
    for name in &written.variables {
        writeln!(out, "{}", words::variable_written(name, language))?;
    }
    for name in &written.overridden {
        writeln!(err, "{}", words::warning(&words::variable_overridden(name, language), language))?;
    }
    for warning in &written.warnings {
        writeln!(err, "{}", warning.warning_line(language))?;
    }
    Ok(())
}

/// Prints a key, the keys of a section, or all keys that have an entry in the file or the environment.
pub fn get(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    key: Option<&str>,
    output: Output,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<Exit> {
    let language = operator_language(project, env);
    if !project.is_dir() {
        writeln!(err, "{}", AgentMdError::NoProject(project.to_owned()).words(language))?;
        return Ok(Exit::Configuration);
    }
    let view = describe_config(project, env, adapters);
    for problem in &view.problems {
        writeln!(err, "{}", problem.line(language))?;
    }
    let asked = |known: &ConfigKey| match key {
        Some(key) => {
            known.key == key || known.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'))
        }
        None => known.origin.source != ValueSource::Default,
    };
    let found: Vec<&ConfigKey> = view.keys.iter().filter(|known| asked(known)).collect();
    if let (Some(key), true) = (key, found.is_empty()) {
        writeln!(err, "{key}: {}", words::unknown_key(language))?;
        return Ok(Exit::Configuration);
    }
    if output.json {
        writeln!(out, "{:#}", json!({ "keys": found }))?;
    } else {
        for known in found {
            writeln!(
                out,
                "{} = {}  # {}",
                known.key,
                shown(known, language),
                known.origin.line_for_people()
            )?;
        }
    }
    Ok(if view.problems.is_empty() { Exit::Ok } else { Exit::Configuration })
}

fn shown(known: &ConfigKey, language: Language) -> String {
    match &known.value {
        _ if known.secret && known.set => words::secret_not_shown(language).to_owned(),
        Some(Value::String(text)) if !text.is_empty() => text.clone(),
        Some(value) if !value.is_null() => value.to_string(),
        _ => words::no_value(language).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Cursor;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::adapters::builtin;

    const TEXT: Output = Output { json: false };

    struct Project(tempfile::TempDir);

    impl Project {
        fn of(ship: Option<&str>) -> Self {
            let dir = tempfile::tempdir().unwrap();
            if let Some(ship) = ship {
                fs::File::create(dir.path().join("ship.json")).unwrap().write_all(ship.as_bytes()).unwrap();
            }
            Self(dir)
        }

        /// Sets a key; the exit code and both outputs.
        fn set(&self, key: &str, value: &str) -> (Exit, String) {
            self.change(
                &ConfigEdit { key: key.into(), value: NewValue::Typed(value.into()) },
                &Env::default(),
            )
        }

        fn change(&self, edit: &ConfigEdit, env: &Env) -> (Exit, String) {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let exit = change(self.0.path(), env, &builtin(), edit, TEXT, &mut out, &mut err).unwrap();
            (exit, String::from_utf8([out, err].concat()).unwrap())
        }

        fn get(&self, key: Option<&str>) -> String {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            get(self.0.path(), &Env::default(), &builtin(), key, TEXT, &mut out, &mut err).unwrap();
            String::from_utf8([out, err].concat()).unwrap()
        }

        fn file(&self, name: &str) -> String {
            fs::read_to_string(self.0.path().join(name)).unwrap_or_default()
        }

        fn mode(&self, name: &str) -> u32 {
            fs::metadata(self.0.path().join(name)).unwrap().permissions().mode() & 0o777
        }
    }

    #[test]
    fn a_key_is_set_and_everything_else_stays() {
        let before = "{\n  // who answers\n  \"llm\": { \"model\": \"a\" }, // main\n}\n";
        let project = Project::of(Some(before));
        fs::set_permissions(project.0.path().join("ship.json"), fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(project.set("llm.model", "b c"), (Exit::Ok, "llm.model is set in ship.json\n".into()));
        assert_eq!(project.file("ship.json"), before.replace("\"a\"", "\"b c\""));
        assert_eq!(project.mode("ship.json"), 0o640);
        assert_eq!(project.set("llm.model", "b c").1, "llm.model has this value already\n");
        let (_, said) = project.set("limits.stopSecs", "5");
        assert_eq!(
            said,
            "limits.stopSecs is set in ship.json\na running daemon takes this up after a restart\n"
        );
        assert_eq!(project.change(&ConfigEdit::remove("limits"), &Env::default()).0, Exit::Ok);
        assert_eq!(project.set("language", "zh").0, Exit::Ok);
        let (exit, said) = project.change(&ConfigEdit::remove("llm.model"), &Env::default());
        assert_eq!((exit, said.as_str()), (Exit::Ok, "已从 ship.json 中删去 llm.model\n"));
        assert!(!project.file("ship.json").contains("b c"));
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_nothing_is_written() {
        let before = "{\n  \"llm\": {\n    \"maxSteps\": 3,\n  },\n}\n";
        for (key, value, expected) in [
            (
                "llm.maxSteps",
                "0",
                "ship.json:3:17: llm.maxSteps: 0 is out of range; use a number from 1 to 1000\n",
            ),
            (
                "llm.maxSteps",
                "many",
                "ship.json:3:17: llm.maxSteps: should be a whole number, but is text; write one number\n",
            ),
            ("llm.modle", "x", "ship.json:2:10: llm.modle: unknown key; did you mean \"model\"?\n"),
            ("language", "de", "ship.json:1:1: language: \"de\" is not one of"),
            ("llm.maxSteps.x", "1", "the value around this key has no keys; set the value around it\n"),
            (
                "owners[3]",
                "telegram:user:1",
                "is behind the end of the list, which has 0 entries; use [0] to add one\n",
            ),
            ("a..b", "1", "is not the path of a key; write it with dots"),
            ("llm.baseUrl", "${NOWHERE}", "the variable NOWHERE is not set"),
        ] {
            let project = Project::of(Some(before));
            let (exit, said) = project.set(key, value);
            assert_eq!(exit, Exit::Configuration, "{key}: {said}");
            assert!(said.contains(expected), "{key}: {said}");
            assert_eq!(project.file("ship.json"), before, "{key}");
            assert_eq!(project.file(".env"), "", "{key}");
        }
        let project = Project::of(Some("{\n  \"name\": \"a\"\n  \"x\": 1\n}"));
        let (exit, said) = project.set("language", "zh");
        assert_eq!(exit, Exit::Configuration);
        assert!(said.starts_with("ship.json:2:14: a comma is missing"), "{said}");
    }

    #[test]
    fn a_secret_goes_to_the_env_file_and_its_variable_into_the_file() {
        let project = Project::of(Some("{ \"llm\": { \"apiKey\": \"${MY_KEY:-}\" } }"));
        fs::File::create(project.0.path().join(".env"))
            .unwrap()
            .write_all(b"# mine\nMY_KEY=old\nB=2")
            .unwrap();
        let (exit, said) = project.set("llm.apiKey", "sk-new-4f9a8b7c6d5e");
        assert_eq!(exit, Exit::Ok, "{said}");
        assert!(said.contains("MY_KEY is written to .env") && !said.contains("sk-new"), "{said}");
        assert_eq!(project.file(".env"), "# mine\nMY_KEY=sk-new-4f9a8b7c6d5e\nB=2");
        assert_eq!(project.mode(".env"), 0o600);
        assert_eq!(project.file("ship.json"), "{ \"llm\": { \"apiKey\": \"${MY_KEY:-}\" } }");

        let project = Project::of(None);
        let section =
            json!({ "botToken": "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "allowedUsers": [7] });
        let (exit, said) = project
            .change(&ConfigEdit::set("adapters.telegram", section), &Env::of([("TELEGRAM_BOT_TOKEN", "x")]));
        assert_eq!(exit, Exit::Ok, "{said}");
        assert!(said.contains("the environment sets TELEGRAM_BOT_TOKEN to something else"), "{said}");
        assert_eq!(project.file(".env"), "TELEGRAM_BOT_TOKEN=110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw\n");
        assert!(project.file("ship.json").contains("\"botToken\": \"${TELEGRAM_BOT_TOKEN}\""));
        let shown = project.get(Some("adapters.telegram"));
        assert!(
            shown.contains("botToken = (secret, not shown)  # ship.json:4, TELEGRAM_BOT_TOKEN (.env)"),
            "{shown}"
        );
        assert!(!shown.contains("AAHdq"), "{shown}");
    }

    #[test]
    fn settings_are_printed_with_their_origin() {
        let project = Project::of(Some(
            "{\n  \"llm\": { \"model\": \"${M:-small}\" },\n  \"owners\": [\"qq:user:1\"]\n}",
        ));
        assert_eq!(
            project.get(None),
            "owners = [\"qq:user:1\"]  # ship.json:3\nllm.model = small  # ship.json:2, M (unset)\n"
        );
        assert_eq!(project.get(Some("queue.mergeMs")), "queue.mergeMs = 600  # default\n");
        assert_eq!(project.get(Some("llm.apiKey")), "llm.apiKey = (none)  # default\n");
        assert_eq!(project.get(Some("nothing")), "nothing: unknown key\n");
    }

    #[test]
    fn a_value_is_read_from_the_first_line_of_the_input() {
        assert_eq!(read_value(&mut Cursor::new("sk-1\r\nrest")).unwrap(), "sk-1");
    }
}
