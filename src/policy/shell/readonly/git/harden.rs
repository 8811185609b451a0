//! Rewrites git commands that run without approval. Configuration through the environment turns off most programs that
//! a repository can make git run; those without such a setting are turned off by options here. Where contents are
//! shown, secret paths are excluded by pathspecs and revisions can only name commits.

use super::excludes::excludes;
use super::look::{Parsed, parse};
use super::revision::{is_pathspec, of_commits};
use super::table::CONTENTS;
use crate::policy::Reason;

/// A git command as it is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::policy::shell) struct Hardened {
    /// The replacement of each word after `git`; usually the word itself.
    pub(in crate::policy::shell) words: Vec<Vec<String>>,
    /// Words added at the end.
    pub(in crate::policy::shell) appended: Vec<String>,
}

/// The hardened form of a git command. `words` are those after `git`; `is_path` tells whether one of them is a file or
/// directory in git's working folder.
///
/// # Errors
/// Names the argument that is not known to be harmless, or that cannot be made so.
pub(in crate::policy::shell) fn harden(
    words: &[String],
    is_path: &dyn Fn(&str) -> bool,
) -> Result<Hardened, Reason> {
    let mut hardened =
        Hardened { words: words.iter().map(|word| vec![word.clone()]).collect(), appended: Vec::new() };
    let Some(parsed) = parse(words)? else { return Ok(hardened) };
    let plan = harden_parsed(&parsed, is_path)?;
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

/// The changes of a command.
#[derive(Debug, Default)]
pub(super) struct HardenPlan {
    /// Options after the subcommand.
    options: Vec<&'static str>,
    /// Replaced arguments, by position.
    replaced: Vec<(usize, String)>,
    /// Whether secret paths are excluded.
    leaves_out: bool,
}

/// The changes of a command on the list.
///
/// # Errors
/// Names the argument that cannot be made harmless.
pub(super) fn harden_parsed(parsed: &Parsed, is_path: &dyn Fn(&str) -> bool) -> Result<HardenPlan, Reason> {
    let args = &parsed.args;
    let shows_contents = args.has(CONTENTS);
    // Options, whether secret paths are excluded, and from which operand on there are revisions that must name commits.
    let (options, leaves_out, revisions): (&[&str], bool, Option<usize>) = match parsed.name.as_str() {
        "status" => (&["--ignore-submodules=dirty"], false, None),
        // Without a path every commit is to be shown, as if nothing were excluded.
        "log" | "whatchanged" if shows_contents && args.operands.is_empty() => (
            &["--no-show-signature", "--no-ext-diff", "--no-textconv", "--full-history", "--sparse"],
            true,
            None,
        ),
        // An object that is no commit is not shown here.
        "log" | "whatchanged" => {
            (&["--no-show-signature", "--no-ext-diff", "--no-textconv"], shows_contents, None)
        }
        "show" => (&["--no-show-signature", "--no-ext-diff", "--no-textconv"], true, Some(0)),
        "diff-tree" => (&["--no-ext-diff", "--no-textconv"], true, Some(0)),
        "diff" => (&["--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"], true, Some(0)),
        "blame" | "annotate" => (&["--no-textconv"], false, None),
        "cat-file" if args.has(&["-p"]) => (&[], false, Some(0)),
        "grep" => (&["--no-textconv"], true, Some(usize::from(!args.has(&["-e"])))),
        _ => (&[], false, None),
    };
    // --follow follows a file under its former names, and accepts no second pathspec.
    if leaves_out && args.has(&["--follow"]) {
        return Err(refused(parsed, "--follow"));
    }
    let replaced = match revisions {
        Some(first) => revisions_of(parsed, first, is_path)?,
        None => Vec::new(),
    };
    Ok(HardenPlan { options: options.to_vec(), leaves_out, replaced })
}

/// The arguments that are revisions, with their replacements. Without `--` git reads a word as a path only where there
/// is a file of that name, and refuses one that could be both.
fn revisions_of(
    parsed: &Parsed,
    first: usize,
    is_path: &dyn Fn(&str) -> bool,
) -> Result<Vec<(usize, String)>, Reason> {
    let args = &parsed.args;
    let count = args.before_separator.unwrap_or(args.operands.len());
    let mut replaced = Vec::new();
    for (operand, place) in args.operands.iter().zip(&args.places).take(count).skip(first) {
        let path = args.before_separator.is_none() && parsed.name != "cat-file" && is_path(operand);
        let tree = parsed.name == "cat-file" && operand.ends_with("^{tree}");
        if path || tree || is_pathspec(operand) {
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

    /// The command as it is run; `+` stands for the excluding pathspecs.
    fn hardened(text: &str) -> Option<String> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let hardened = harden(&words, &|word| word.starts_with("src")).ok()?;
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
                Some("diff --no-ext-diff --no-textconv --ignore-submodules=dirty main^{commit} src/x.rs +"),
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
            ("grep x v1 src", Some("grep --no-textconv x v1^{commit} src +")),
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
