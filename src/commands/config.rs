//! `shipagent config`: checks the configuration, and prints its schema.

use std::io::{self, Write};
use std::path::Path;

use serde_json::json;

use crate::cli::{Exit, Output};
use crate::config::{AgentMdError, ConfigCheck, Env, check_config, reference, schema};
use crate::phrases::config as words;
use crate::ports::AdapterTable;

/// Checks `ship.json` and `.env`, and prints every problem.
pub fn check(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    output: Output,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    if !project.is_dir() {
        // Without this, a wrong -C would look like a project with defaults.
        let missing = AgentMdError::NoProject(project.to_owned()).words(env.language());
        if output.json {
            writeln!(
                out,
                "{:#}",
                json!({ "ok": false, "file": false, "problems": [{ "message": missing }] })
            )?;
        } else {
            writeln!(out, "{missing}")?;
        }
        return Ok(Exit::Configuration);
    }
    let checked = check_config(project, env, adapters);
    if output.json {
        let problems: Vec<_> =
            checked.problems.iter().map(|problem| problem.report(checked.language)).collect();
        let warnings: Vec<_> =
            checked.warnings.iter().map(|warning| warning.report(checked.language)).collect();
        let report = json!({
            "ok": problems.is_empty(), "file": checked.has_file, "problems": problems, "warnings": warnings
        });
        writeln!(out, "{report:#}")?;
    } else {
        for problem in &checked.problems {
            writeln!(out, "{}", problem.line(checked.language))?;
        }
        for warning in &checked.warnings {
            writeln!(out, "{}", warning.warning_line(checked.language))?;
        }
        writeln!(out, "{}", summary(&checked))?;
    }
    Ok(if checked.problems.is_empty() { Exit::Ok } else { Exit::Configuration })
}

fn summary(checked: &ConfigCheck) -> String {
    match checked.problems.len() {
        0 if checked.has_file => words::valid(checked.language).to_owned(),
        0 => words::defaults_apply(checked.language).to_owned(),
        count => words::problems(count, checked.language),
    }
}

/// Writes the JSON Schema of `ship.json`.
pub fn print_schema(adapters: &AdapterTable, out: &mut dyn Write) -> io::Result<Exit> {
    writeln!(out, "{:#}", schema(adapters))?;
    Ok(Exit::Ok)
}

/// Writes the reference of `ship.json` as Markdown.
pub fn print_reference(adapters: &AdapterTable, out: &mut dyn Write) -> io::Result<Exit> {
    out.write_all(reference(&schema(adapters)).as_bytes())?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::adapters::builtin;

    fn run(ship: Option<&str>, output: Output) -> (String, Exit) {
        let dir = tempfile::tempdir().unwrap();
        if let Some(ship) = ship {
            File::create(dir.path().join("ship.json")).unwrap().write_all(ship.as_bytes()).unwrap();
        }
        let mut out = Vec::new();
        let exit = check(dir.path(), &Env::default(), &builtin(), output, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), exit)
    }

    #[test]
    fn every_mistake_is_a_line_and_the_exit_code_says_so() {
        let text = Output { json: false };
        assert_eq!(run(Some("{}"), text), ("ship.json is valid\n".to_owned(), Exit::Ok));
        assert_eq!(run(None, text), ("there is no ship.json: the defaults apply\n".to_owned(), Exit::Ok));
        let expected = "ship.json:1:3: nmae: unknown key; did you mean \"name\"?\n\
                        ship.json:1:25: limits: should be an object, but is a whole number; write { \"key\": value }\n\
                        2 problems\n";
        assert_eq!(
            run(Some(r#"{ "nmae": "", "limits": 5 }"#), text),
            (expected.to_owned(), Exit::Configuration)
        );
    }

    #[test]
    fn programs_get_the_same_as_data() {
        let (text, exit) = run(Some("{\n  \"nmae\": \"\"\n}"), Output { json: true });
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let expected = json!({ "ok": false, "file": true, "problems": [{
            "file": "ship.json", "line": 2, "column": 3, "path": "nmae",
            "message": "unknown key", "fix": "did you mean \"name\"?" }], "warnings": [] });
        assert_eq!((report, exit), (expected, Exit::Configuration));
    }

    #[test]
    fn a_tool_that_is_not_there_is_pointed_out_and_passes() {
        let ship = r#"{ "permissions": { "delete_files_now": { "mode": "deny" } } }"#;
        let (text, exit) = run(Some(ship), Output { json: false });
        let expected = "warning: ship.json:1:20: permissions.delete_files_now: shipagent has no tool of this name, \
                        so this does nothing; the tools are exec_shell, write_file, edit_file, memory_upsert, chat_send, \
                        send_file, task_upsert, task_remove, read_file, list_files, search_files, current_time, \
                        memory_search, chat_load_history, task_done, task_list\n\
                        ship.json is valid\n";
        assert_eq!((text.as_str(), exit), (expected, Exit::Ok));
        let zh = format!(r#"{{ "language": "zh", {}"#, ship.trim_start_matches('{'));
        let (text, _) = run(Some(&zh), Output { json: false });
        assert!(
            text.starts_with("提醒：ship.json:1:39: permissions.delete_files_now: shipagent 没有"),
            "{text}"
        );
        let (text, exit) = run(Some(ship), Output { json: true });
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&report["ok"], exit), (&json!(true), Exit::Ok));
        assert_eq!(report["warnings"][0]["path"], "permissions.delete_files_now");
    }

    #[test]
    fn names_of_ones_own_are_not_taken_for_tools() {
        let ship = r#"{ "llm": { "models": { "deep": { "model": "x" } } }, "identities": { "ann": ["telegram:user:1"] },
            "budget": { "prices": { "*": { "input": 1, "output": 2 } } } }"#;
        let (text, exit) = run(Some(ship), Output { json: false });
        assert_eq!((text.as_str(), exit), ("ship.json is valid\n", Exit::Ok));
    }

    #[test]
    fn a_directory_that_is_not_there_does_not_pass() {
        let mut out = Vec::new();
        let exit =
            check(Path::new("/no/such/place"), &Env::default(), &builtin(), Output::default(), &mut out)
                .unwrap();
        assert_eq!(exit, Exit::Configuration);
        assert!(String::from_utf8(out).unwrap().starts_with("/no/such/place is not a directory"));
    }

    #[test]
    fn the_schema_is_json() {
        let mut out = Vec::new();
        print_schema(&builtin(), &mut out).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&out).unwrap().is_object());
    }
}
