//! Rewrites git commands that run without asking. Configuration that is set through the environment turns off most of
//! what a repository can make git run; what has no such setting is turned off by options here. Where contents are
//! shown, secret paths are left out by pathspecs and revisions can only name commits.

use super::excludes::excludes;
use super::look::{Parsed, parse};
use super::revision::{is_pathspec, may_name_an_object, of_commits};
use super::table::CONTENTS;
use crate::policy::Reason;

/// A git command as it is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::policy::shell) struct Hardened {
    /// What each word after `git` becomes; usually itself.
    pub(in crate::policy::shell) words: Vec<Vec<String>>,
    /// What is added at the end.
    pub(in crate::policy::shell) appended: Vec<String>,
}

/// Which operands are revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Revisions {
    /// None is looked at: whatever they name, only names and messages are shown.
    Any,
    /// All that stand before `--`.
    BeforeSeparator,
    /// All before `--`; without one, those that can be told from paths.
    Mixed {
        /// How many operands come before them.
        after: usize,
    },
}

/// Programs that the repository could name, turned off in everything that compares files.
const NO_PROGRAMS: &[&str] = &["--no-ext-diff", "--no-textconv"];

/// How a git command is run. `words` are those after `git`.
///
/// # Errors
/// Names the argument that is not known to be harmless, or that cannot be made so.
pub(in crate::policy::shell) fn harden(words: &[String]) -> Result<Hardened, Reason> {
    let mut hardened =
        Hardened { words: words.iter().map(|word| vec![word.clone()]).collect(), appended: Vec::new() };
    let Some(parsed) = parse(words)? else { return Ok(hardened) };
    let plan = harden_parsed(&parsed)?;
    if let Some(verb) = parsed.skipped.checked_sub(1).and_then(|at| hardened.words.get_mut(at)) {
        verb.extend(plan.options.iter().map(|option| (*option).to_owned()));
    }
    for (place, word) in plan.replaced {
        if let Some(words) = hardened.words.get_mut(parsed.skipped + place) {
            *words = vec![word];
        }
    }
    if plan.leaves_out {
        hardened.appended = excludes();
    }
    Ok(hardened)
}

/// What is changed about a command.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Options after the subcommand.
    options: Vec<&'static str>,
    /// Arguments, by their place, that become others.
    replaced: Vec<(usize, String)>,
    /// Whether secret paths are left out.
    leaves_out: bool,
}

/// What is changed about a command on the list.
///
/// # Errors
/// Names the argument that cannot be made harmless.
pub(super) fn harden_parsed(parsed: &Parsed) -> Result<Plan, Reason> {
    let args = &parsed.args;
    let shows_contents = args.has(CONTENTS);
    let (options, leaves_out, revisions): (&[&str], bool, Revisions) = match parsed.name.as_str() {
        "status" => (&["--ignore-submodules=dirty"], false, Revisions::Any),
        // Without a path every commit is to be shown, as if nothing were left out.
        "log" | "whatchanged" if shows_contents && args.operands.is_empty() => (
            &["--no-show-signature", "--no-ext-diff", "--no-textconv", "--full-history", "--sparse"],
            true,
            Revisions::Any,
        ),
        "log" | "whatchanged" => {
            (&["--no-show-signature", "--no-ext-diff", "--no-textconv"], shows_contents, Revisions::Any)
        }
        "show" => {
            (&["--no-show-signature", "--no-ext-diff", "--no-textconv"], true, Revisions::BeforeSeparator)
        }
        "diff-tree" => (NO_PROGRAMS, true, Revisions::BeforeSeparator),
        "diff" => (
            &["--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"],
            true,
            Revisions::Mixed { after: 0 },
        ),
        "blame" | "annotate" => (&["--no-textconv"], false, Revisions::Any),
        "cat-file" if args.has(&["-p"]) => (&[], false, Revisions::BeforeSeparator),
        "grep" => {
            let pattern = usize::from(!args.has(&["-e"]));
            (&["--no-textconv"], true, Revisions::Mixed { after: pattern })
        }
        _ => (&[], false, Revisions::Any),
    };
    // One of these follows a file under its former names, and takes no second pathspec.
    if leaves_out && args.has(&["--follow"]) {
        return Err(refused(parsed, "--follow"));
    }
    Ok(Plan { options: options.to_vec(), leaves_out, replaced: revisions_of(parsed, revisions)? })
}

/// Arguments that are revisions, as they may be named.
fn revisions_of(parsed: &Parsed, revisions: Revisions) -> Result<Vec<(usize, String)>, Reason> {
    let args = &parsed.args;
    let (after, told_apart) = match revisions {
        Revisions::Any => return Ok(Vec::new()),
        Revisions::BeforeSeparator => (0, true),
        Revisions::Mixed { after } => (after, args.before_separator.is_some()),
    };
    let count = args.before_separator.unwrap_or(args.operands.len());
    let mut replaced = Vec::new();
    for (operand, place) in args.operands.iter().zip(&args.places).take(count).skip(after) {
        let tree = parsed.name == "cat-file" && operand.ends_with("^{tree}");
        if is_pathspec(operand) || tree || !(told_apart || may_name_an_object(operand)) {
            continue;
        }
        let revision = of_commits(operand).ok_or_else(|| refused(parsed, operand))?;
        if revision != *operand {
            replaced.push((*place, revision));
        }
    }
    Ok(replaced)
}

fn refused(parsed: &Parsed, argument: &str) -> Reason {
    Reason::Argument { command: format!("git {}", parsed.name), argument: argument.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command as it is run; `+` stands for what leaves secrets out.
    fn hardened(text: &str) -> Option<String> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let hardened = harden(&words).ok()?;
        let mut words = hardened.words.concat();
        if !hardened.appended.is_empty() {
            assert_eq!(hardened.appended, excludes());
            words.push("+".to_owned());
        }
        Some(words.join(" "))
    }

    #[test]
    fn commands_are_rewritten_by_what_they_show() {
        for (text, want) in [
            ("status -s", Some("status --ignore-submodules=dirty -s")),
            ("diff", Some("diff --no-ext-diff --no-textconv --ignore-submodules=dirty +")),
            (
                "diff abcd HEAD~1 -- src",
                Some(
                    "diff --no-ext-diff --no-textconv --ignore-submodules=dirty abcd^{commit} HEAD~1^{commit} -- src +",
                ),
            ),
            (
                "diff main src/x.rs",
                Some("diff --no-ext-diff --no-textconv --ignore-submodules=dirty main src/x.rs +"),
            ),
            (
                "--no-pager log --oneline",
                Some("--no-pager log --no-show-signature --no-ext-diff --no-textconv --oneline"),
            ),
            (
                "log -p -3",
                Some("log --no-show-signature --no-ext-diff --no-textconv --full-history --sparse -p -3 +"),
            ),
            ("log -p main", Some("log --no-show-signature --no-ext-diff --no-textconv -p main +")),
            (
                "log -S x",
                Some("log --no-show-signature --no-ext-diff --no-textconv --full-history --sparse -S x +"),
            ),
            ("log --follow a", Some("log --no-show-signature --no-ext-diff --no-textconv --follow a")),
            ("log --follow -p a", None),
            ("show", Some("show --no-show-signature --no-ext-diff --no-textconv +")),
            (
                "show HEAD:a/b",
                Some("show --no-show-signature --no-ext-diff --no-textconv HEAD^{commit}:a/b +"),
            ),
            ("show :/x", None),
            ("blame a.rs", Some("blame --no-textconv a.rs")),
            ("cat-file -t abcd", Some("cat-file -t abcd")),
            ("cat-file -p abcd", Some("cat-file -p abcd^{commit}")),
            ("cat-file -p HEAD^{tree}", Some("cat-file -p HEAD^{tree}")),
            ("cat-file blob abcd", None),
            ("grep abcd src", Some("grep --no-textconv abcd src +")),
            ("grep -e x abcd", Some("grep --no-textconv -e x abcd^{commit} +")),
            ("grep x HEAD:src", Some("grep --no-textconv x HEAD^{commit}:src +")),
            ("grep x v1 -- src", Some("grep --no-textconv x v1^{commit} -- src +")),
            ("stash list", Some("stash list")),
            ("stash show -p", None),
            ("reflog -p", None),
            ("--version", Some("--version")),
            ("branch -a", Some("branch -a")),
        ] {
            assert_eq!(hardened(text).as_deref(), want, "{text}");
        }
    }
}
