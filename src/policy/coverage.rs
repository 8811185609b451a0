//! The text that says what an approval with a longer scope would cover.

use super::fingerprint::FileDigest;
use super::grants::{CallFacts, Calls, GrantedCommand, Pattern, grantable};
use super::shape::varies;
use crate::domain::Language;

/// Most files in the text.
const MOST_FILES: usize = 3;

/// One sentence in CommonMark: what a longer approval covers, or that the call can only be approved once.
pub fn coverage(call: &CallFacts<'_>, language: Language) -> String {
    let Some((calls, scripts)) = grantable(call) else {
        return match language {
            Language::En => "This can only be allowed once.".to_owned(),
            Language::Zh => "只能允许这一次。".to_owned(),
        };
    };
    match (calls, language) {
        (Calls::Any, Language::En) => {
            format!("A longer yes would cover every call of {} whose risk is not high.", call.tool)
        }
        (Calls::Any, Language::Zh) => format!("若同意更久，将涵盖 {} 的所有非高风险调用。", call.tool),
        (Calls::Commands(commands), Language::En) => {
            format!(
                "A longer yes would cover {}{}.",
                listed(&commands, language),
                unchanged(&scripts, language)
            )
        }
        (Calls::Commands(commands), Language::Zh) => {
            format!("若同意更久，将涵盖{}{}。", listed(&commands, language), unchanged(&scripts, language))
        }
    }
}

fn listed(commands: &[GrantedCommand], language: Language) -> String {
    let between = match language {
        Language::En => "; ",
        Language::Zh => "；",
    };
    let commands: Vec<String> = commands.iter().map(|command| one(command, language)).collect();
    commands.join(between)
}

fn one(command: &GrantedCommand, language: Language) -> String {
    let name = code(&command.pattern.to_string());
    let reach = match (&command.pattern, language) {
        (Pattern::Exactly(_), Language::En) => format!("only {name} with these very words"),
        (Pattern::Exactly(_), Language::Zh) => format!("一字不差的 {name}"),
        (Pattern::Shape(words), Language::En) => format!("{name} {}", varies(words, language)),
        (Pattern::Shape(words), Language::Zh) => format!(" {name}（{}）", varies(words, language)),
        (Pattern::ProgramWithPlainArguments(_), Language::En) => format!("{name} with other plain arguments"),
        (Pattern::ProgramWithPlainArguments(_), Language::Zh) => format!(" {name}（可换成其他普通参数）"),
    };
    match (command.folders.iter().rev().find(|folder| !folder.is_empty()), language) {
        (None, Language::En) => format!("{reach}, in the project folder"),
        (None, Language::Zh) => format!("{reach}，限项目文件夹"),
        (Some(folder), Language::En) => format!("{reach}, in the folder {}", code(folder)),
        (Some(folder), Language::Zh) => format!("{reach}，限文件夹 {}", code(folder)),
    }
}

fn unchanged(scripts: &[FileDigest], language: Language) -> String {
    let names: Vec<String> =
        scripts.iter().filter(|script| script.digest.is_some()).map(|script| code(&script.path)).collect();
    let shown = |between: &str| names.iter().take(MOST_FILES).cloned().collect::<Vec<_>>().join(between);
    let more = names.len().saturating_sub(MOST_FILES);
    match (names.len(), more, language) {
        (0, _, _) => String::new(),
        (1, _, Language::En) => format!(", until {} changes", shown(", ")),
        (_, 0, Language::En) => format!(", until one of {} changes", shown(", ")),
        (_, more, Language::En) => format!(", until one of {} and {more} more files changes", shown(", ")),
        (_, 0, Language::Zh) => format!("，且 {} 未改动", shown("、")),
        (count, _, Language::Zh) => format!("，且 {} 等 {count} 个文件未改动", shown("、")),
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
