//! The paths that a git command reads, if it does nothing else.

use super::super::look::{ReadSet, by_spec};
use super::super::options::{Args, OptionSpec};
use super::harden::harden_parsed;
use super::table::TABLE;
use crate::policy::Reason;
use crate::policy::shell::judge::GitUse;

/// Options before the subcommand without effects. Not `--literal-pathspecs`: paths are excluded by patterns.
const BEFORE: &[&str] = &["--no-pager", "--no-optional-locks"];

/// A parsed git command on the list.
#[derive(Debug)]
pub(super) struct Parsed {
    /// The subcommand, with its own verb if it has one: `stash list`.
    pub(super) name: String,
    pub(super) spec: &'static OptionSpec,
    /// How many words precede its arguments, without `git` itself.
    pub(super) skipped: usize,
    pub(super) args: Args,
}

/// The paths that git reads. `words` are those after `git`.
///
/// # Errors
/// Names the argument that is not known to be harmless, or that cannot be made so.
pub(in crate::policy::shell::readonly) fn look(words: &[String]) -> Result<ReadSet, Reason> {
    let Some(parsed) = parse(words)? else { return Ok(ReadSet::default()) };
    harden_parsed(&parsed, &|_| false)?;
    let rest = words.get(parsed.skipped..).unwrap_or_default();
    let mut look = by_spec(parsed.spec, &format!("git {}", parsed.name), rest)?;
    // `HEAD:path` and `1,5:path` name a path too.
    look.paths = look.paths.iter().flat_map(|path| path.split(':')).map(str::to_owned).collect();
    let shows_urls = match parsed.name.as_str() {
        "remote" => parsed.args.has(&["-v", "--verbose"]),
        name => name == "remote get-url",
    };
    look.git = if shows_urls { GitUse::ShowsUrls } else { GitUse::Runs };
    Ok(look)
}

/// Parses the words of a git command; `None` for `git --version`.
///
/// # Errors
/// Names the argument that is on no list.
pub(super) fn parse(words: &[String]) -> Result<Option<Parsed>, Reason> {
    let refused = |argument: &str| Reason::Argument { command: "git".into(), argument: argument.into() };
    let before = words.iter().take_while(|word| BEFORE.contains(&word.as_str())).count();
    let Some(verb) = words.get(before).map(String::as_str) else { return Err(refused("")) };
    let inner = words.get(before + 1);
    if matches!(verb, "--version" | "version") && inner.is_none() {
        return Ok(None);
    }
    let find = |name: &str| TABLE.iter().find(|spec| spec.names.contains(&name));
    // Some subcommands have verbs of their own.
    let longer = inner.map(|inner| format!("{verb} {inner}"));
    let (name, spec, skipped) = match (longer.as_deref().and_then(find), find(verb)) {
        (Some(spec), _) => (longer.unwrap_or_default(), spec, before + 2),
        (None, Some(spec)) => (verb.to_owned(), spec, before + 1),
        (None, None) => return Err(refused(verb)),
    };
    let args = Args::read(spec, &format!("git {name}"), words.get(skipped..).unwrap_or_default())?;
    Ok(Some(Parsed { name, spec, skipped, args }))
}
