//! What a person is told beside the one line: why they are asked, and what exactly would be done. CommonMark;
//! nothing in it can hide, move the cursor or turn around. Pure.

use crate::domain::Language;
use crate::policy::{Reason, shell};

/// How much of a call's input is shown.
const INPUT_CHARS: usize = 4_000;

/// What a call would change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangePreview {
    /// A unified diff, without secrets.
    pub diff: String,
    /// How many lines of it were left out.
    pub left_out: usize,
}

/// The reasons, one a line.
pub(super) fn reasons(reasons: &[Reason], language: Language) -> String {
    let lines: Vec<String> = reasons.iter().map(|reason| format!("- {}", reason.words(language))).collect();
    lines.join("\n")
}

/// The folder of a command where it is not the project's, and the whole command where its one line does not
/// show all of it.
pub(super) fn command(command: &str, cwd: &str, summary: &str, language: Language) -> Option<String> {
    let folder = visible(cwd.trim());
    let folder = (!matches!(folder.as_str(), "" | "." | "./")).then(|| match language {
        Language::En => format!("In the folder {}", inline(&folder)),
        Language::Zh => format!("在文件夹 {} 中", inline(&folder)),
    });
    let command = visible(command.trim());
    let block = (command != summary).then(|| fenced("sh", &command));
    let told: Vec<String> = folder.into_iter().chain(block).collect();
    (!told.is_empty()).then(|| told.join("\n\n"))
}

/// The change that a call would make, or why it would fail.
pub(super) fn change(preview: &Result<ChangePreview, String>, language: Language) -> String {
    let ChangePreview { diff, left_out } = match (preview, language) {
        (Ok(preview), _) => preview,
        (Err(why), Language::En) => return format!("As things are it would fail: {}", visible(why)),
        (Err(why), Language::Zh) => return format!("按现在的情况会失败：{}", visible(why)),
    };
    if diff.is_empty() {
        return match language {
            Language::En => "No line that can be shown would change.".to_owned(),
            Language::Zh => "没有可以显示的改动。".to_owned(),
        };
    }
    let block = fenced("diff", &visible(diff));
    match (left_out, language) {
        (0, _) => block,
        (1, Language::En) => format!("{block}\n\n1 more line is left out."),
        (more, Language::En) => format!("{block}\n\n{more} more lines are left out."),
        (more, Language::Zh) => format!("{block}\n\n还有 {more} 行没有显示。"),
    }
}

/// What a call was given, for tools that have no better way to show it.
pub(super) fn input(input: &serde_json::Value) -> String {
    let text = serde_json::to_string_pretty(input).unwrap_or_default();
    let shown: String = visible(&text).chars().take(INPUT_CHARS).collect();
    let cut = if shown.len() < text.len() { "\n…" } else { "" };
    fenced("json", &format!("{shown}{cut}"))
}

/// Code in a fence that nothing inside of it can close.
fn fenced(info: &str, text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.saturating_add(1).max(3));
    format!("{fence}{info}\n{}\n{fence}", text.trim_end_matches('\n'))
}

fn inline(text: &str) -> String {
    format!("`{}`", text.replace(['`', '\n'], "'"))
}

/// The text with everything spelled out that an eye would not see, or would see elsewhere.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => out.push(letter),
            letter if letter.is_control() || shell::is_invisible(letter) => {
                out.extend(letter.escape_unicode())
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_command_in_the_project_needs_no_more_than_its_line() {
        assert_eq!(command("make test", "", "make test", Language::En), None);
        assert_eq!(command(" make test\n", ".", "make test", Language::Zh), None);
        let told = command("make test", "api", "make test", Language::En);
        assert_eq!(told.as_deref(), Some("In the folder `api`"));
    }

    #[test]
    fn a_command_that_its_line_does_not_show_is_told_whole() {
        let told = command("one\ntwo ```` x", "", "one ⏎ two ```` x", Language::En).unwrap();
        assert_eq!(told, "`````sh\none\ntwo ```` x\n`````");
        let hidden = command("ls \u{202e}x", "", "ls …", Language::En).unwrap();
        assert!(hidden.contains(r"ls \u{202e}x"), "{hidden}");
    }

    #[test]
    fn a_change_is_a_fenced_diff_with_what_it_leaves_out() {
        let preview = |diff: &str, left_out| Ok(ChangePreview { diff: diff.to_owned(), left_out });
        assert_eq!(change(&preview("-a\n+b\n", 0), Language::En), "```diff\n-a\n+b\n```");
        let cut = change(&preview("+```\n", 7), Language::En);
        assert_eq!(cut, "````diff\n+```\n````\n\n7 more lines are left out.");
        assert!(change(&Err("x exists already".into()), Language::Zh).contains("会失败：x exists already"));
        assert!(change(&preview("", 0), Language::En).starts_with("No line"));
    }
}
