//! Words of a command that may name a secret, or a file that can start programs.

use super::rules::ShellRules;
use crate::policy::Reason;
use crate::policy::paths::{self, PathClass, PathLocation};

/// The reason why a word with side effects needs approval: one of the files that it may name is a secret, or can start
/// programs.
pub(super) fn protected(rules: &ShellRules, word: &str) -> Option<Reason> {
    let class = pieces(word).map(|piece| match paths::locate(rules.root(), "", piece) {
        // The names above the project do not matter.
        PathLocation::Inside(inside) => paths::class_of_word(&inside),
        PathLocation::Secret | PathLocation::Outside => paths::class_of_word(piece),
    });
    match class.max()? {
        PathClass::Reserved | PathClass::Secret => Some(Reason::Secret(word.to_owned())),
        PathClass::Sensitive if is_repository_address(word) => None,
        PathClass::Sensitive => Some(Reason::Sensitive(word.to_owned())),
        PathClass::Ordinary | PathClass::Outside => None,
    }
}

/// Whether a word is the address of a repository on a server, and nothing else: `https://host/a/b.git`,
/// `git@host:a/b.git`.
fn is_repository_address(word: &str) -> bool {
    let schemes = ["https://", "http://", "ssh://", "git://", "git+https://", "git+ssh://"];
    let is_host = |host: &str| {
        !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._@:".contains(c))
    };
    let parts = match schemes.iter().find_map(|scheme| word.strip_prefix(scheme)) {
        Some(rest) => rest.split_once('/'),
        None => word.split_once(':').filter(|(host, _)| host.starts_with("git@")),
    };
    parts.is_some_and(|(host, path)| {
        let is_path = path.chars().all(|c| c.is_ascii_alphanumeric() || "-._/~".contains(c));
        let hides = path.starts_with('.') || path.contains("/.") || path.contains("..");
        is_host(host) && is_path && !hides && path.ends_with(".git")
    })
}

/// The arguments of a command that may name files: not the message of `git commit -m` with more than one word.
pub(super) fn arguments(argv: &[String]) -> impl Iterator<Item = &String> {
    let is_commit = argv.iter().take(2).map(String::as_str).eq(["git", "commit"]);
    let is_message = move |before: &str, word: &str| {
        let follows = matches!(before, "-m" | "-am" | "--message") || word.starts_with("--message=");
        is_commit && follows && word.contains(' ')
    };
    let pairs = argv.iter().zip(argv.iter().skip(1));
    pairs.filter(move |(before, word)| !is_message(before, word)).map(|(_, word)| word)
}

/// The parts of a word that may be paths: the word, values in it, what an option has attached. A sentence is not
/// divided.
pub(super) fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let is_sentence = word.trim().contains(char::is_whitespace);
    let attached =
        word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).and_then(|rest| rest.get(1..));
    let from_root = word.strip_prefix('-').and_then(|rest| rest.find('/').and_then(|at| rest.get(at..)));
    let ends = move |c: char| c == '=' || (!is_sentence && matches!(c, ':' | ',' | '@'));
    std::iter::once(word)
        .chain(word.split(ends))
        .chain(attached)
        .chain(from_root)
        .filter(|piece| !piece.is_empty())
}
