//! `git`: each subcommand has its own list. Options that name programs, other repositories or output files are on none
//! of them.

use super::look::{Look, by_spec};
use super::options::{Args, Operands, Spec};
use crate::policy::Reason;

/// Options before the subcommand that change nothing.
const BEFORE: &[&str] = &["--no-pager", "--no-optional-locks", "--literal-pathspecs"];

/// What `git` looks at, when it does nothing else.
pub(super) fn look(words: &[String]) -> Result<Look, Reason> {
    let refused = |argument: &str| Reason::Argument { command: "git".into(), argument: argument.into() };
    let skip = words.iter().take_while(|word| BEFORE.contains(&word.as_str())).count();
    let mut rest = words.get(skip..).unwrap_or_default();
    let Some((verb, after)) = rest.split_first() else { return Err(refused("")) };
    rest = after;
    let verb = verb.as_str();
    if matches!(verb, "--version" | "version") && rest.is_empty() {
        return Ok(Look::default());
    }
    let find = |name: &str| TABLE.iter().find(|spec| spec.names.contains(&name));
    // Some have verbs of their own.
    let longer = rest.first().map(|inner| format!("{verb} {inner}"));
    let (name, spec) = match (longer.as_deref().and_then(find), find(verb)) {
        (Some(spec), _) => {
            rest = rest.get(1..).unwrap_or_default();
            (longer.unwrap_or_default(), spec)
        }
        (None, Some(spec)) => (verb.to_owned(), spec),
        (None, None) => return Err(refused(verb)),
    };
    let mut look = by_spec(spec, &format!("git {name}"), rest)?;
    // `HEAD:path` and `1,5:path` name a path too.
    look.paths = look.paths.iter().flat_map(|path| path.split(':')).map(str::to_owned).collect();
    Ok(look)
}

/// Options of everything that shows history or differences.
const HISTORY: Spec = Spec {
    flags: "abcgipqrRstuvwWz",
    valued: "nSGL",
    attached: "BCMUX",
    path_options: &["-L"],
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
        "--full-diff",
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
        "--submodule[=]",
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
    ..Spec::PLAIN
};

/// What lists refs has these in common.
const REFS: Spec = Spec {
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
    ..Spec::PLAIN
};

const TABLE: &[Spec] = &[
    Spec {
        names: &["status"],
        flags: "bsvz",
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
            "--verbose",
        ],
        ..Spec::PLAIN
    },
    Spec { names: &["log", "show", "diff", "whatchanged", "diff-tree"], ..HISTORY },
    Spec { names: &["reflog", "stash list"], operands: Operands::None, ..HISTORY },
    Spec { names: &["reflog show"], ..HISTORY },
    Spec { names: &["rev-list"], ..HISTORY },
    Spec {
        names: &["stash show"],
        flags: "pu",
        long: &["--stat[=]", "--patch", "--oneline", "--name-only"],
        operands: Operands::Text,
        ..HISTORY
    },
    Spec {
        names: &["shortlog"],
        flags: "ensc",
        valued: "",
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
    Spec { names: &["branch"], flags: "arv", check: lists_branches, ..REFS },
    Spec { names: &["tag"], flags: "l", check: lists_tags, ..REFS },
    Spec { names: &["for-each-ref"], ..REFS },
    Spec {
        names: &["show-ref"],
        flags: "dhs",
        long: &["--heads", "--tags", "--head", "--hash[=]", "--verify"],
        ..REFS
    },
    Spec { names: &["remote"], flags: "v", long: &["--verbose"], operands: Operands::None, ..Spec::PLAIN },
    Spec { names: &["remote get-url"], long: &["--all", "--push"], operands: Operands::Text, ..Spec::PLAIN },
    Spec {
        names: &["worktree list"],
        flags: "vz",
        long: &["--porcelain", "--verbose"],
        operands: Operands::None,
        ..Spec::PLAIN
    },
    Spec {
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
        ..Spec::PLAIN
    },
    Spec {
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
        ..Spec::PLAIN
    },
    Spec {
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
        ..Spec::PLAIN
    },
    Spec {
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
        ..Spec::PLAIN
    },
    Spec {
        names: &["describe", "name-rev"],
        long: &[
            "--abbrev=",
            "--all",
            "--always",
            "--contains",
            "--dirty[=]",
            "--exact-match",
            "--exclude=",
            "--first-parent",
            "--long",
            "--match=",
            "--name-only",
            "--tags",
        ],
        operands: Operands::Text,
        ..Spec::PLAIN
    },
    Spec {
        names: &["merge-base"],
        flags: "a",
        long: &["--all", "--fork-point", "--independent", "--is-ancestor", "--octopus"],
        operands: Operands::Text,
        ..Spec::PLAIN
    },
    Spec { names: &["cat-file"], flags: "epst", ..Spec::PLAIN },
    Spec { names: &["count-objects"], flags: "vH", operands: Operands::None, ..Spec::PLAIN },
    Spec {
        names: &["check-ignore"],
        flags: "nqv",
        long: &["--no-index", "--non-matching", "--quiet", "--verbose"],
        ..Spec::PLAIN
    },
    // Not -O, which starts a pager, --no-index, which reads anything, nor -f.
    Spec {
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
            "--untracked",
            "--word-regexp",
        ],
        digits: true,
        deep: &["*"],
        ..Spec::PLAIN
    },
];

/// Showing a signature starts the program that checks it.
fn no_signature(args: &Args) -> Result<(), String> {
    let formats = args.options.iter().filter_map(|(_, value)| value.as_ref());
    match formats.into_iter().find(|value| value.contains("%G")) {
        Some(format) => Err(format.clone()),
        None => Ok(()),
    }
}

/// A name without `--list` makes a branch.
fn lists_branches(args: &Args) -> Result<(), String> {
    match args.operands.first() {
        Some(name) if !args.has(&["--list"]) => Err(name.clone()),
        _ => Ok(()),
    }
}

/// A name without `--list` makes a tag.
fn lists_tags(args: &Args) -> Result<(), String> {
    match args.operands.first() {
        Some(name) if !args.has(&["--list", "-l"]) => Err(name.clone()),
        _ => Ok(()),
    }
}
