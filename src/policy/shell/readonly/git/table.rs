//! The read-only subcommands and options of git. Options that name programs, other repositories or output files are on
//! no list; neither are those that show contents of paths which `harden` cannot exclude.

use super::super::options::{Args, Operands, OptionSpec};

/// Options of everything that shows history or differences. Not `-L` and `--full-diff`: they show paths that pathspecs
/// exclude. Not `--submodule`, which runs git in other repositories.
const HISTORY: OptionSpec = OptionSpec {
    flags: "abcgipqrRstuvwWz",
    valued: "nSG",
    attached: "BCMUX",
    long: &[
        "--abbrev-commit",
        "--abbrev[=]",
        "--after=",
        "--all",
        "--ancestry-path",
        "--author-date-order",
        "--author=",
        "--before=",
        "--binary",
        "--boundary",
        "--branches[=]",
        "--cached",
        "--cc",
        "--check",
        "--cherry-pick",
        "--color[=]",
        "--color-words[=]",
        "--committer=",
        "--compact-summary",
        "--count",
        "--cumulative",
        "--date-order",
        "--date=",
        "--decorate[=]",
        "--diff-algorithm=",
        "--diff-filter=",
        "--dirstat[=]",
        "--exit-code",
        "--extended-regexp",
        "--find-copies[=]",
        "--find-renames[=]",
        "--first-parent",
        "--fixed-strings",
        "--follow",
        "--format=",
        "--full-history",
        "--full-index",
        "--function-context",
        "--graph",
        "--grep=",
        "--histogram",
        "--ignore-all-space",
        "--ignore-blank-lines",
        "--ignore-space-at-eol",
        "--ignore-space-change",
        "--invert-grep",
        "--left-right",
        "--max-count=",
        "--merge-base",
        "--merges",
        "--minimal",
        "--name-only",
        "--name-status",
        "--no-abbrev-commit",
        "--no-color",
        "--no-decorate",
        "--no-ext-diff",
        "--no-merges",
        "--no-patch",
        "--no-prefix",
        "--no-renames",
        "--no-textconv",
        "--no-walk[=]",
        "--numstat",
        "--oneline",
        "--parents",
        "--patch",
        "--patch-with-stat",
        "--patience",
        "--pickaxe-regex",
        "--pretty[=]",
        "--quiet",
        "--raw",
        "--regexp-ignore-case",
        "--relative[=]",
        "--relative-date",
        "--remotes[=]",
        "--reverse",
        "--shortstat",
        "--simplify-by-decoration",
        "--since=",
        "--skip=",
        "--staged",
        "--stat[=]",
        "--summary",
        "--tags[=]",
        "--text",
        "--topo-order",
        "--unified=",
        "--until=",
        "--word-diff[=]",
        "--word-diff-regex=",
    ],
    digits: true,
    check: no_signature,
    ..OptionSpec::PLAIN
};

/// The common options of commands that list refs.
const REFS: OptionSpec = OptionSpec {
    operands: Operands::Text,
    long: &[
        "--all",
        "--color[=]",
        "--column[=]",
        "--contains[=next]",
        "--count=",
        "--format=",
        "--ignore-case",
        "--list",
        "--merged[=next]",
        "--no-color",
        "--no-column",
        "--no-contains[=next]",
        "--no-merged[=next]",
        "--points-at=",
        "--remotes",
        "--show-current",
        "--sort=",
        "--verbose",
    ],
    ..OptionSpec::PLAIN
};

pub(super) const TABLE: &[OptionSpec] = &[
    // Not -v, which shows contents.
    OptionSpec {
        names: &["status"],
        flags: "bsz",
        attached: "u",
        long: &[
            "--ahead-behind",
            "--branch",
            "--column[=]",
            "--ignored[=]",
            "--long",
            "--no-ahead-behind",
            "--no-renames",
            "--porcelain[=]",
            "--renames",
            "--short",
            "--show-stash",
            "--untracked-files[=]",
        ],
        ..OptionSpec::PLAIN
    },
    OptionSpec { names: &["log", "show", "diff", "whatchanged", "diff-tree"], ..HISTORY },
    OptionSpec { names: &["reflog", "stash list"], operands: Operands::None, check: names_only, ..HISTORY },
    OptionSpec { names: &["reflog show", "rev-list"], check: names_only, ..HISTORY },
    // Accepts no pathspec, so nothing can be excluded from its patch.
    OptionSpec {
        names: &["stash show"],
        long: &[
            "--stat[=]",
            "--shortstat",
            "--numstat",
            "--name-only",
            "--name-status",
            "--include-untracked",
        ],
        operands: Operands::Text,
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["shortlog"],
        flags: "ensc",
        valued: "",
        attached: "",
        long: &[
            "--all",
            "--numbered",
            "--summary",
            "--email",
            "--no-merges",
            "--since=",
            "--until=",
            "--after=",
            "--before=",
            "--group=",
        ],
        ..HISTORY
    },
    OptionSpec { names: &["branch"], flags: "arv", check: lists_branches, ..REFS },
    OptionSpec { names: &["tag"], flags: "l", check: lists_tags, ..REFS },
    OptionSpec { names: &["for-each-ref"], check: no_signature, ..REFS },
    OptionSpec {
        names: &["show-ref"],
        flags: "dhs",
        long: &["--branches", "--heads", "--tags", "--head", "--hash[=]", "--verify"],
        ..REFS
    },
    OptionSpec {
        names: &["remote"],
        flags: "v",
        long: &["--verbose"],
        operands: Operands::None,
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["remote get-url"],
        long: &["--all", "--push"],
        operands: Operands::Text,
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["worktree list"],
        flags: "vz",
        long: &["--porcelain", "--verbose"],
        operands: Operands::None,
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["rev-parse"],
        flags: "q",
        long: &[
            "--abbrev-ref[=]",
            "--absolute-git-dir",
            "--all",
            "--branches",
            "--git-common-dir",
            "--git-dir",
            "--is-bare-repository",
            "--is-inside-git-dir",
            "--is-inside-work-tree",
            "--quiet",
            "--short[=]",
            "--show-cdup",
            "--show-prefix",
            "--show-toplevel",
            "--symbolic",
            "--symbolic-full-name",
            "--tags",
            "--verify",
        ],
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["ls-files"],
        flags: "cdikmostuvz",
        valued: "x",
        long: &[
            "--abbrev[=]",
            "--cached",
            "--deleted",
            "--directory",
            "--error-unmatch",
            "--exclude-standard",
            "--exclude=",
            "--full-name",
            "--ignored",
            "--killed",
            "--modified",
            "--no-empty-directory",
            "--others",
            "--stage",
            "--unmerged",
        ],
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["ls-tree"],
        flags: "drtlz",
        long: &[
            "--abbrev[=]",
            "--format=",
            "--full-name",
            "--full-tree",
            "--long",
            "--name-only",
            "--name-status",
            "--object-only",
        ],
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["blame", "annotate"],
        flags: "bcefklnpstw",
        valued: "L",
        attached: "MC",
        path_options: &["-L"],
        long: &[
            "--abbrev=",
            "--color-by-age",
            "--color-lines",
            "--date=",
            "--first-parent",
            "--line-porcelain",
            "--porcelain",
            "--root",
            "--show-email",
            "--show-name",
            "--show-number",
            "--since=",
        ],
        ..OptionSpec::PLAIN
    },
    // Not --dirty, which runs git in submodules.
    OptionSpec {
        names: &["describe", "name-rev"],
        long: &[
            "--abbrev=",
            "--all",
            "--always",
            "--contains",
            "--exact-match",
            "--exclude=",
            "--first-parent",
            "--long",
            "--match=",
            "--name-only",
            "--tags",
        ],
        operands: Operands::Text,
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["merge-base"],
        flags: "a",
        long: &["--all", "--fork-point", "--independent", "--is-ancestor", "--octopus"],
        operands: Operands::Text,
        ..OptionSpec::PLAIN
    },
    OptionSpec { names: &["cat-file"], flags: "epst", check: one_object, ..OptionSpec::PLAIN },
    OptionSpec { names: &["count-objects"], flags: "vH", operands: Operands::None, ..OptionSpec::PLAIN },
    OptionSpec {
        names: &["check-ignore"],
        flags: "nqv",
        long: &["--no-index", "--non-matching", "--quiet", "--verbose"],
        ..OptionSpec::PLAIN
    },
    // Not -O, which starts a pager, --no-index and --untracked, which read files that git does not track, nor -f.
    OptionSpec {
        names: &["grep"],
        flags: "EFGPHIWachilnopqvwz",
        valued: "ABCem",
        long: &[
            "--after-context=",
            "--all-match",
            "--and",
            "--before-context=",
            "--break",
            "--cached",
            "--color[=]",
            "--column",
            "--context=",
            "--count",
            "--extended-regexp",
            "--files-with-matches",
            "--files-without-match",
            "--fixed-strings",
            "--full-name",
            "--function-context",
            "--heading",
            "--ignore-case",
            "--invert-match",
            "--line-number",
            "--max-count=",
            "--max-depth=",
            "--name-only",
            "--not",
            "--only-matching",
            "--or",
            "--perl-regexp",
            "--quiet",
            "--show-function",
            "--text",
            "--word-regexp",
        ],
        digits: true,
        operands: Operands::PatternThenPaths(&["-e"]),
        ..OptionSpec::PLAIN
    },
];

/// Options that show file contents, or test them.
pub(super) const CONTENTS: &[&str] = &[
    "--binary",
    "--cc",
    "--check",
    "--color-words",
    "--function-context",
    "--patch",
    "--patch-with-stat",
    "--pickaxe-regex",
    "--unified",
    "--word-diff",
    "--word-diff-regex",
    "-G",
    "-S",
    "-U",
    "-W",
    "-c",
    "-p",
    "-u",
];

/// Showing or sorting by a signature starts the program that checks it. A ref may point to any object. A remote without
/// a name is shown by its address, which may contain a password.
fn no_signature(args: &Args) -> Result<(), String> {
    for (name, value) in &args.options {
        let Some(value) = value else { continue };
        let forbidden = match name.as_str() {
            "--sort" => value.contains("signature") || value.contains("raw"),
            "--format" | "--pretty" => {
                ["%G", "%(signature", "%(raw", "%(*signature", "%(*raw", ":remotename"]
                    .iter()
                    .any(|atom| value.contains(atom))
            }
            _ => false,
        };
        if forbidden {
            return Err(value.clone());
        }
    }
    Ok(())
}

/// Only names and messages: paths cannot be excluded from a patch here.
fn names_only(args: &Args) -> Result<(), String> {
    match args.options.iter().find(|(name, _)| CONTENTS.contains(&name.as_str())) {
        Some((name, _)) => Err(name.clone()),
        None => no_signature(args),
    }
}

/// One query about one object: with two operands the first is a type, and the object need not be a path.
fn one_object(args: &Args) -> Result<(), String> {
    match (args.operands.as_slice(), args.options.len()) {
        ([_], 1) => Ok(()),
        (operands, _) => Err(operands.last().cloned().unwrap_or_default()),
    }
}

/// A name without `--list` creates a branch.
fn lists_branches(args: &Args) -> Result<(), String> {
    match args.operands.first() {
        Some(name) if !args.has(&["--list"]) => Err(name.clone()),
        _ => no_signature(args),
    }
}

/// A name without `--list` creates a tag.
fn lists_tags(args: &Args) -> Result<(), String> {
    match args.operands.first() {
        Some(name) if !args.has(&["--list", "-l"]) => Err(name.clone()),
        _ => no_signature(args),
    }
}
