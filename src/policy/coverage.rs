//! The text that says what an approval with a longer scope would cover.

use super::fingerprint::FileDigest;
use super::grants::{CallFacts, Calls, GrantedCommand, Pattern, grantable};
use super::shape::varies;
use crate::domain::Language;
use crate::phrases::approvals as words;

/// Most files in the text.
const MOST_FILES: usize = 3;

/// One sentence in CommonMark: what a longer approval covers, or that the call can only be approved once.
pub fn coverage(call: &CallFacts<'_>, language: Language) -> String {
    match grantable(call) {
        None => words::only_once(language).to_owned(),
        Some((Calls::Any, _)) => words::covers_tool(call.tool, language),
        Some((Calls::Commands(commands), scripts)) => {
            words::covers_commands(&listed(&commands, language), &unchanged(&scripts, language), language)
        }
    }
}

fn listed(commands: &[GrantedCommand], language: Language) -> String {
    let commands: Vec<String> = commands.iter().map(|command| one(command, language)).collect();
    commands.join(words::between_commands(language))
}

fn one(command: &GrantedCommand, language: Language) -> String {
    let name = code(&command.pattern.to_string());
    let reach = match &command.pattern {
        Pattern::Exactly(_) => words::covers_exactly(&name, language),
        Pattern::Shape(shape) => words::covers_shape(&name, varies(shape, language), language),
        Pattern::ProgramWithPlainArguments(_) => words::covers_plain_arguments(&name, language),
    };
    match command.folders.iter().rev().find(|folder| !folder.is_empty()) {
        None => words::covers_in_project(&reach, language),
        Some(folder) => words::covers_in_folder(&reach, &code(folder), language),
    }
}

fn unchanged(scripts: &[FileDigest], language: Language) -> String {
    let names: Vec<String> =
        scripts.iter().filter(|script| script.digest.is_some()).map(|script| code(&script.path)).collect();
    let shown = names.iter().take(MOST_FILES).cloned().collect::<Vec<_>>();
    let shown = shown.join(words::between_files(language));
    match (names.len(), names.len().saturating_sub(MOST_FILES)) {
        (0, _) => String::new(),
        (1, _) => words::until_file_changes(&shown, language),
        (_, 0) => words::until_files_change(&shown, language),
        (count, more) => words::until_many_change(&shown, more, count, language),
    }
}

/// A code span that its content cannot close, without invisible characters.
fn code(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() || c == '`' || super::shell::is_invisible(c) { '\'' } else { c })
        .collect();
    format!("`{text}`")
}

#[cfg(test)]
mod tests {
    use super::super::shell::{ShellCall, ShellRules, judge};
    use super::super::{Compound, Mode};
    use super::*;
    use crate::domain::Risk;

    fn told(command: &str, cwd: &str, scripts: &[FileDigest], language: Language) -> String {
        let rules = ShellRules::new(Mode::Ask, Compound::Analyze, &[] as &[&str], &["rm"], "/p").unwrap();
        let shell = judge(&rules, &ShellCall { command, cwd });
        let risk = shell.risk;
        let facts = CallFacts {
            tool: "exec_shell",
            risk,
            in_advance: true,
            shell: Some(&shell),
            scripts: Some(scripts),
        };
        coverage(&facts, language)
    }

    fn file(path: &str) -> FileDigest {
        FileDigest { path: path.to_owned(), digest: Some("1".to_owned()) }
    }

    #[test]
    fn the_question_says_what_a_longer_yes_covers() {
        use Language::{En, Zh};
        assert_eq!(
            told("cargo test a", "", &[file("Cargo.toml")], En),
            "A longer yes would cover `cargo test …` with other test names, in the project folder, \
             until `Cargo.toml` changes."
        );
        assert_eq!(
            told("make all", "api", &[file("Makefile")], Zh),
            "若同意更久，将涵盖一字不差的 `make all`，限文件夹 `api`，且 `Makefile` 未改动。"
        );
        let files = ["a", "b", "c", "d", "e"].map(file);
        assert!(told("make all", "", &files, En).contains("`a`, `b`, `c` and 2 more files"));
        assert!(told("make all", "", &files, Zh).contains("`a`、`b`、`c` 等 5 个文件"));
        let both = told("git add . && git commit -m x", "", &[], En);
        assert!(
            both.contains("`git add …` with other paths") && both.contains("`git commit …` with another")
        );
    }

    #[test]
    fn the_question_says_when_a_call_can_only_be_allowed_once() {
        for command in ["rm x", "npm run rm-all", "make $x", "make > x", "curl x", "make < x", "touch /etc/x"]
        {
            assert_eq!(told(command, "", &[], Language::En), "This can only be allowed once.", "{command}");
        }
        let tool = |risk, in_advance| {
            coverage(
                &CallFacts { tool: "write_file", risk, in_advance, shell: None, scripts: None },
                Language::En,
            )
        };
        assert_eq!(
            tool(Risk::Medium, true),
            "A longer yes would cover every call of write_file whose risk is not high."
        );
        assert_eq!(tool(Risk::High, true), "This can only be allowed once.");
        assert_eq!(tool(Risk::Medium, false), "This can only be allowed once.");
    }
}
