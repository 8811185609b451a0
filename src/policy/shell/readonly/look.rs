//! Whether a command of literal words is read-only, and which paths it reads.

use super::options::{Args, Operands, OptionSpec};
use super::{files, find, git, scripts, text};
use crate::policy::Reason;
use crate::policy::shell::judge::GitUse;

/// What a command reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::policy::shell) struct ReadSet {
    /// Paths it names, as written.
    pub(in crate::policy::shell) paths: Vec<String>,
    /// Whether it reads everything below them.
    pub(in crate::policy::shell) deep: bool,
    /// Whether it follows the links it finds below them.
    pub(in crate::policy::shell) follows_links: bool,
    /// Whether it runs git, which searches for a repository from the working directory upwards.
    pub(in crate::policy::shell) git: GitUse,
}

/// Programs that may only be asked for their version. Not those that by themselves select a version by files of the
/// project, and may run or download it: cargo, go, yarn, pnpm. A version manager in front of the others may do so too.
const VERSIONED: &[(&str, &[&str])] = &[
    (
        "--version",
        &[
            "bash", "clang", "cmake", "docker", "gcc", "jq", "make", "node", "npm", "perl", "pip", "pip3",
            "python", "python3", "rg", "ruby", "sqlite3",
        ],
    ),
    ("-V", &["python", "python3", "rg"]),
    ("-version", &["java", "javac"]),
    ("-v", &["node", "npm", "perl", "ruby"]),
];

/// What the command reads, if it is read-only.
///
/// # Errors
/// Names what is not known to be harmless.
pub(in crate::policy::shell) fn look(argv: &[String]) -> Result<ReadSet, Reason> {
    let Some((name, words)) = argv.split_first() else { return Err(Reason::Unparsed) };
    if let [only] = words
        && VERSIONED.iter().any(|(option, names)| option == only && names.contains(&name.as_str()))
    {
        return Ok(ReadSet::default());
    }
    match name.as_str() {
        "find" => return find::look(words),
        "git" => return git::look(words),
        "sed" => return scripts::sed(words),
        "jq" => return scripts::jq(words),
        "awk" => return scripts::awk(words),
        "tar" => return tar(words),
        "test" | "[" => return scripts::test(name, words),
        "printf" => return scripts::printf(words),
        // These only print their arguments; no option does more.
        "echo" | "true" | "false" | ":" => return Ok(ReadSet::default()),
        _ => {}
    }
    let tables = [files::TABLE, text::TABLE];
    let spec = tables.iter().flat_map(|table| table.iter()).find(|spec| spec.names.contains(&name.as_str()));
    match spec {
        Some(spec) => by_spec(spec, name, words),
        None => Err(Reason::UnknownCommand(name.clone())),
    }
}

/// `tar` that lists the names in an archive: `tar tf x`. A colon in the name of the archive means another host.
fn tar(words: &[String]) -> Result<ReadSet, Reason> {
    let lists = |options: &str| {
        let letters = options.strip_prefix('-').unwrap_or(options);
        letters.contains('t')
            && letters.ends_with('f')
            && letters.matches('f').count() == 1
            && letters.chars().all(|c| "tvfzjJ".contains(c))
    };
    match words {
        [options, archive] if lists(options) && !archive.starts_with('-') && !archive.contains(':') => {
            Ok(ReadSet { paths: vec![archive.clone()], ..ReadSet::default() })
        }
        _ => Err(Reason::Argument { command: "tar".to_owned(), argument: words.join(" ") }),
    }
}

/// Parses arguments by a list and determines which of them are paths.
pub(super) fn by_spec(spec: &OptionSpec, command: &str, words: &[String]) -> Result<ReadSet, Reason> {
    let args = Args::read(spec, command, words)?;
    let mut paths: Vec<String> = Vec::new();
    for (name, value) in &args.options {
        if spec.path_options.contains(&name.as_str()) {
            paths.extend(value.clone());
        }
    }
    let refuse =
        |argument: &String| Reason::Argument { command: command.to_owned(), argument: argument.clone() };
    let operands = args.operands.as_slice();
    match spec.operands {
        Operands::None => {
            if let Some(first) = operands.first() {
                return Err(refuse(first));
            }
        }
        Operands::Text => {}
        Operands::Paths => paths.extend_from_slice(operands),
        Operands::PathsAtMost(most) => {
            if let Some(next) = operands.get(most) {
                return Err(refuse(next));
            }
            paths.extend_from_slice(operands);
        }
        Operands::PatternThenPaths(given_by) => {
            let skip = usize::from(!args.has(given_by));
            paths.extend(operands.iter().skip(skip).cloned());
        }
    }
    paths.retain(|path| path != "-");
    let has = |flags: &[&str]| flags.contains(&"*") || args.has(flags);
    let deep = has(spec.deep);
    if deep && paths.is_empty() {
        paths.push(".".to_owned());
    }
    Ok(ReadSet { paths, deep, follows_links: has(spec.follows_links), git: GitUse::None })
}
