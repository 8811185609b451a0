//! Whether a command may run something that its words do not show: an interpreter with its program in the arguments, an
//! option that names a program, a subcommand that starts programs named in settings, an argument that looks like code.

use super::globals::{Globals, Subcommand};
use super::launchers::{is_interpreter, lists};
use super::opaque::{EXECUTING, GIT_SELF_CONTAINED, GIT_STARTS, HIDING, OPAQUE, SELF_CONTAINED};
use super::word::ShellWord;

/// Whether an option, or the program itself, makes it run something that is not parsed here.
pub(super) fn hides(name: &str, args: &[ShellWord]) -> bool {
    let has = |options: &str| {
        let mut options = options.split_ascii_whitespace();
        options.any(|option| args.iter().any(|arg| is_option(arg.text(), option)))
    };
    let awk = lists("awk gawk mawk nawk", name);
    let code = if awk {
        args.iter().any(|arg| arg.text().contains(['(', '|', '@']))
            || has("-f -i -l -e -E --load --include --exec")
    } else {
        is_interpreter(name) && (args.is_empty() || takes_code(args))
    };
    let pager = lists("less more", name) && args.iter().any(|arg| arg.text().starts_with('+'));
    let sed = lists("sed gsed", name) && args.iter().any(|arg| sed_executes(arg.text()));
    let bundles = |options: &str| options.split_ascii_whitespace().any(|option| bundled(name, args, option));
    let options =
        HIDING.iter().any(|(names, options)| lists(names, name) && (has(options) || bundles(options)));
    code || pager || sed || options || lists(OPAQUE, name) || (name == "git" && git_hides(args))
}

/// Whether an interpreter gets its program in the arguments: `-c x`, `-ne x`, `--eval=x`.
fn takes_code(args: &[ShellWord]) -> bool {
    const LONG: &str =
        "--eval --print --require --import --run --execute --command --exec --cmd --init-command";
    args.iter().any(|arg| {
        let text = arg.text();
        let long = LONG.split_ascii_whitespace().any(|option| is_option(text, option));
        let letters = text.strip_prefix('-').unwrap_or_default();
        let cluster: String = letters.chars().take_while(char::is_ascii_alphabetic).collect();
        long || matches!(text, "-" | "eval")
            || (!text.starts_with("--") && cluster.contains(['c', 'e', 'E', 'n', 'p', 'r', 'R']))
    })
}

/// Whether a sed script may contain the command `e`, or the flag `e` of `s`.
fn sed_executes(text: &str) -> bool {
    let text = text.strip_prefix("--expression=").or_else(|| text.strip_prefix("-e")).unwrap_or(text);
    let is_substitution =
        text.strip_prefix('s').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_punctuation()));
    let flags = text.rsplit(|c: char| c.is_ascii_punctuation()).next().unwrap_or_default();
    let address = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | ' ' | '!'));
    (is_substitution && flags.contains('e')) || address == "e" || address.starts_with("e ")
}

fn git_hides(args: &[ShellWord]) -> bool {
    let has = |word: &str| args.iter().any(|arg| arg.text() == word);
    let at = match Globals::of("git").map(|globals| globals.subcommand(args)) {
        Some(Subcommand::At(at)) => at,
        Some(Subcommand::Missing) | None => return false,
        Some(Subcommand::Unknown) => return true,
    };
    match args.get(at).map(ShellWord::text).unwrap_or_default() {
        "bisect" => has("run"),
        "submodule" => has("foreach"),
        subcommand => lists(GIT_STARTS, subcommand),
    }
}

/// Whether an argument may be a program in the language of this command: one that looks like code, or one that is
/// unknown until it runs.
pub(super) fn may_carry_code(name: &str, args: &[ShellWord]) -> bool {
    let git = name == "git"
        && args
            .iter()
            .find_map(ShellWord::literal)
            .is_some_and(|subcommand| lists(GIT_SELF_CONTAINED, subcommand));
    let contained = git || lists(SELF_CONTAINED, name);
    // The shell evaluates the index in `test -v 'a[$(x)]'`.
    let evaluates = lists("[ test printf read declare typeset local export unset wait", name);
    args.iter().any(|arg| match arg {
        ShellWord::Dynamic(text) => {
            // A pattern may match any program of the system.
            let elsewhere = text.starts_with(['/', '~']) || text.starts_with("..");
            let is_pattern = text.contains(['*', '?', '[', '{']);
            (elsewhere && is_pattern)
                || (evaluates && text.contains('['))
                || (!contained && text.contains(['$', '`', '{']))
        }
        ShellWord::Literal(text) if contained => evaluates && (text.contains("$(") || text.contains('`')),
        ShellWord::Literal(text) => {
            !lists("awk gawk mawk nawk", name)
                && text.contains(['$', '`', '|', ';', '&', '(', ')', '<', '>', '\\'])
        }
    })
}

/// Whether an argument is this option, with or without a value in it, or an abbreviation of it: `--comp=x`.
fn is_option(arg: &str, option: &str) -> bool {
    let short = option.starts_with('-') && option.len() == 2;
    let name = arg.split('=').next().unwrap_or(arg);
    let abbreviates = option.starts_with("--") && name.len() > 2 && option.starts_with(name);
    abbreviates || name == option || (short && arg.starts_with(option))
}

/// Whether a one-letter option is among others: `-cI x`, and for tar also `cIf`.
fn bundled(name: &str, args: &[ShellWord], option: &str) -> bool {
    let Some(letter) = option.strip_prefix('-').filter(|letter| letter.len() == 1 && *letter != "-") else {
        return false;
    };
    // These have words behind one dash, or attached values: `-mfix`, `-DPATH=x`.
    if lists("cc clang cmake gcc go openssl rustc", name) || (name == "git" && letter != "O") {
        return false;
    }
    let old_style = lists("tar bsdtar gtar", name);
    args.iter().enumerate().any(|(at, arg)| {
        let text = arg.text();
        let letters = text.strip_prefix('-').or_else(|| (old_style && at == 0).then_some(text));
        let cluster = letters.filter(|letters| !letters.starts_with('-')).unwrap_or_default();
        cluster.chars().take_while(char::is_ascii_alphabetic).any(|c| letter.starts_with(c))
    })
}

/// Whether an option, of any program, starts something or writes where the command's other words do not say.
pub(super) fn executes_or_writes(arg: &str) -> bool {
    let name = arg.split('=').next().unwrap_or(arg);
    let writes = name.starts_with("--output") || (name.len() > 4 && "--output".starts_with(name));
    let attached = arg.strip_prefix("-o").is_some_and(|value| value.contains(['/', '.']));
    writes || attached || arg == "-o" || lists(EXECUTING, name)
}
