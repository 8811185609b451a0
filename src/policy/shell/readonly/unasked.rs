//! Rewrites a command line that runs without approval: git commands in it are hardened.

use super::git::{Hardened, harden};
use crate::domain::Class;
use crate::policy::paths::{self, PathLocation};
use crate::policy::shell::judge::{ReadPath, ShellCall, judge};
use crate::policy::shell::plain::{self, CommandPart};
use crate::policy::shell::rules::ShellRules;
use crate::policy::{Compound, Mode, Verdict};

/// A read-only command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unasked {
    /// The line to run.
    pub command: String,
    pub reads: Vec<ReadPath>,
    /// Whether files that may contain secrets are excluded from git's output.
    pub leaves_out: bool,
}

/// The line is read-only but could not be rewritten: it must not run unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the git command cannot be made safe; ask for it to be run as it is")]
pub struct NotHardened;

/// The form in which a read-only line is run; `None` for a line that does more, or that cannot be parsed. `root` is the
/// project's absolute path; `exists` tells whether a path relative to the project exists.
///
/// # Errors
/// Where the rewritten line would not be parsed as intended.
pub fn unasked(
    root: &str,
    call: &ShellCall<'_>,
    exists: &dyn Fn(&str) -> bool,
) -> Result<Option<Unasked>, NotHardened> {
    const NONE: &[&str] = &[];
    let Ok(rules) = ShellRules::new(Mode::Ask, Compound::Analyze, NONE, NONE, root) else { return Ok(None) };
    let judged = judge(&rules, call);
    if judged.verdict != Verdict::Allow(Class::ReadOnly) {
        return Ok(None);
    }
    let parts = plain::read_with_patterns(call.command).ok_or(NotHardened)?;
    let mut places = ReadPlaces { root, cwds: vec![call.cwd.to_owned()], exists };
    let (command, leaves_out) = rewrite(call.command, &parts, &mut places)?;
    Ok(Some(Unasked { command, reads: judged.reads, leaves_out }))
}

/// The directories in which a command of the line may run: a `cd` may fail.
struct ReadPlaces<'a> {
    root: &'a str,
    cwds: Vec<String>,
    exists: &'a dyn Fn(&str) -> bool,
}

impl ReadPlaces<'_> {
    fn change(&mut self, argv: &[String]) {
        let [_, to] = argv else { return };
        for cwd in self.cwds.clone() {
            if let PathLocation::Inside(place) = paths::locate(self.root, &cwd, to) {
                self.cwds.push(place);
            }
        }
        self.cwds.sort_unstable();
        self.cwds.dedup();
    }

    /// Whether a word is a path in every directory the command may run in.
    fn is_path(&self, word: &str) -> bool {
        self.cwds.iter().all(|cwd| match paths::locate(self.root, cwd, word) {
            PathLocation::Inside(place) => (self.exists)(&place),
            PathLocation::Secret | PathLocation::Outside => false,
        })
    }
}

/// The line with every git command hardened, and whether any of them excludes something.
fn rewrite(
    line: &str,
    parts: &[CommandPart],
    places: &mut ReadPlaces<'_>,
) -> Result<(String, bool), NotHardened> {
    let mut rewritten = String::new();
    let mut wanted: Vec<Vec<String>> = Vec::new();
    let (mut copied, mut leaves_out) = (0, false);
    for part in parts {
        let Some((_, words)) = part.argv.split_first().filter(|(name, _)| *name == "git") else {
            if part.argv.first().is_some_and(|name| name == "cd") {
                places.change(&part.argv);
            }
            wanted.push(part.argv.clone());
            continue;
        };
        let hardened = harden(words, &|word| places.is_path(word)).map_err(|_| NotHardened)?;
        let Hardened { words: changed, appended } = hardened;
        leaves_out |= !appended.is_empty();
        let last = changed.len().checked_sub(1).ok_or(NotHardened)?;
        let mut argv = vec!["git".to_owned()];
        for (at, (new, span)) in changed.into_iter().zip(part.spans.iter().skip(1)).enumerate() {
            rewritten.push_str(line.get(copied..span.start).ok_or(NotHardened)?);
            let more = if at == last { appended.as_slice() } else { &[] };
            let new: Vec<String> = new.into_iter().chain(more.iter().cloned()).collect();
            rewritten.push_str(&new.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
            argv.extend(new);
            copied = span.end;
        }
        wanted.push(argv);
    }
    rewritten.push_str(line.get(copied..).ok_or(NotHardened)?);
    // The line was assembled from text: it must parse as exactly the intended commands.
    let read = plain::read_with_patterns(&rewritten).ok_or(NotHardened)?;
    let same = read.len() == wanted.len()
        && read
            .iter()
            .zip(&wanted)
            .zip(parts)
            .all(|((read, argv), part)| read.argv == *argv && read.redirects == part.redirects);
    if same { Ok((rewritten, leaves_out)) } else { Err(NotHardened) }
}

/// A word in single quotes, where it needs them.
fn quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./=%+".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell::judge::GitUse;

    fn run(command: &str) -> Option<Unasked> {
        let exists = |path: &str| matches!(path, "a.rs" | "sub/a.rs" | "only-here");
        unasked("/home/u/p", &ShellCall { command, cwd: "" }, &exists).unwrap()
    }

    #[test]
    fn a_line_without_git_runs_as_it_is() {
        for command in ["ls -la", "grep -rn 'a b' src | head -3", "cat 'a file' # x"] {
            assert_eq!(run(command).unwrap().command, command);
        }
    }

    #[test]
    fn what_asks_is_not_run_here() {
        for command in ["rm x", "cat .env", "git push", "ls > x", "git show HEAD:.env"] {
            assert_eq!(run(command), None, "{command}");
        }
    }

    #[test]
    fn git_is_hardened_wherever_it_stands_in_the_line() {
        for (command, want) in [
            ("git status", "git status --ignore-submodules=dirty"),
            ("git branch -a 2>&1 | head -3", "git branch -a 2>&1 | head -3"),
            ("cd src && git status -s # now", "cd src && git status --ignore-submodules=dirty -s # now"),
            (
                "git blame 'a file'; git status",
                "git blame --no-textconv 'a file'; git status --ignore-submodules=dirty",
            ),
            ("git cat-file -p \"HEAD\"", "git cat-file -p 'HEAD^{commit}'"),
            (
                "git log --grep=\"it's\" --oneline",
                "git log --no-show-signature --no-ext-diff --no-textconv '--grep=it'\\''s' --oneline",
            ),
        ] {
            let run = run(command).unwrap();
            assert_eq!((run.command.as_str(), run.leaves_out), (want, false), "{command}");
        }
        let diff = run("git diff 2>/dev/null | wc -l").unwrap();
        assert!(diff.leaves_out);
        assert!(
            diff.command
                .starts_with("git diff --no-ext-diff --no-textconv --ignore-submodules=dirty ':(top,")
        );
        assert!(diff.command.ends_with("' 2>/dev/null | wc -l"), "{}", diff.command);
    }

    #[test]
    fn a_word_is_a_path_where_there_is_one_wherever_the_command_may_run() {
        for (command, want) in [
            ("git show a.rs", "a.rs ':("),
            ("git show main", "'main^{commit}' ':("),
            ("git show a.rs --", "'a.rs^{commit}' -- ':("),
            ("cd sub && git show a.rs", "a.rs ':("),
            ("cd sub && git show only-here", "'only-here^{commit}' ':("),
        ] {
            let run = run(command).unwrap();
            assert!(run.command.contains(&format!("--no-textconv {want}")), "{command}: {}", run.command);
        }
    }

    #[test]
    fn git_reads_the_repository_of_each_directory_it_may_run_in() {
        let run = run("cd src && git diff -- a").unwrap();
        let reads: Vec<_> =
            run.reads.iter().map(|read| (read.path.as_str(), read.git != GitUse::None)).collect();
        assert_eq!(reads, [("src", false), (".", true), ("src", true), ("a", false), ("src/a", false)]);
    }
}
