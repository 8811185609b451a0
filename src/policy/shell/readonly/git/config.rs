//! Parses a repository's own configuration and decides whether git may run in it without approval. Most settings that
//! start programs are turned off through the environment; filters, drivers with names chosen by the repository and
//! included files cannot be.

/// What is left to check about a configuration that starts no programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryConfig {
    /// The value of `core.worktree`, relative to the repository.
    pub worktree: Option<String>,
    /// Whether an address in it contains a password or token.
    pub url_credentials: bool,
}

/// Sections of which no variable affects a read-only command, once the environment has turned off pagers, hooks,
/// signature programs and the network.
const HARMLESS: &[&str] = &[
    "advice",
    "alias",
    "am",
    "apply",
    "author",
    "bisect",
    "blame",
    "branch",
    "browser",
    "checkout",
    "clean",
    "clone",
    "color",
    "column",
    "commit",
    "committer",
    "core",
    "credential",
    "diff",
    "difftool",
    "extensions",
    "feature",
    "fetch",
    "format",
    "fsck",
    "gc",
    "git-p4",
    "gitflow",
    "github",
    "gpg",
    "grep",
    "gui",
    "help",
    "http",
    "https",
    "hub",
    "i18n",
    "index",
    "init",
    "interactive",
    "lfs",
    "log",
    "mailmap",
    "maintenance",
    "man",
    "merge",
    "mergetool",
    "notes",
    "pack",
    "pager",
    "pretty",
    "promisor",
    "protocol",
    "pull",
    "push",
    "rebase",
    "receive",
    "remote",
    "repack",
    "rerere",
    "safe",
    "sendemail",
    "sequence",
    "stash",
    "status",
    "submodule",
    "svn-remote",
    "tag",
    "trailer",
    "transfer",
    "uploadpack",
    "url",
    "user",
    "versionsort",
    "web",
    "worktree",
];

/// The variables of `extensions` that only define how the repository is stored.
const EXTENSIONS: &[&str] =
    &["compatobjectformat", "noop", "objectformat", "preciousobjects", "refstorage", "worktreeconfig"];

/// Parses a configuration file.
///
/// # Errors
/// Names the section or variable because of which git needs approval, or the line that cannot be parsed.
pub fn read_config(text: &str) -> Result<RepositoryConfig, String> {
    let mut config =
        RepositoryConfig { url_credentials: has_url_credentials(text), ..RepositoryConfig::default() };
    let mut section = String::new();
    for line in text.split('\n') {
        let mut line = line.trim_matches([' ', '\t', '\r']);
        // A value that continues in the next line could look like a section there.
        if line.ends_with('\\') || line.contains('\0') {
            return Err(shown(line));
        }
        while let Some(after) = line.strip_prefix('[') {
            let (name, rest) = header(after).ok_or_else(|| shown(line))?;
            allowed_section(&name)?;
            section = name;
            line = rest.trim_start_matches([' ', '\t']);
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) =
            line.split_once('=').map_or((line, None), |(key, value)| (key, Some(value.trim())));
        let key = key.trim_end_matches([' ', '\t']).to_lowercase();
        if !key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(shown(line));
        }
        variable(&section, &key, value.unwrap_or_default(), &mut config)?;
    }
    Ok(config)
}

/// Whether an address contains credentials: `https://token@host`, `ssh://ann:password@host`, but not `ssh://git@host`.
fn has_url_credentials(text: &str) -> bool {
    text.match_indices("://").any(|(at, sign)| {
        let after = text.get(at + sign.len()..).unwrap_or_default();
        let host =
            after.split(|c: char| c == '/' || c == '"' || c.is_whitespace()).next().unwrap_or_default();
        let before = text.get(..at).unwrap_or_default().to_ascii_lowercase();
        let web = before.ends_with("http") || before.ends_with("https");
        host.rsplit_once('@').is_some_and(|(user, _)| web || user.contains(':'))
    })
}

/// The section's name in lower case without its subsection, ` "` after it where there is one, and the text after the
/// header.
fn header(after: &str) -> Option<(String, &str)> {
    let end = after.find([']', '"', ' ', '\t'])?;
    let (name, mut rest) = after.split_at_checked(end)?;
    let mut name = name.to_lowercase();
    rest = rest.trim_start_matches([' ', '\t']);
    if let Some(quoted) = rest.strip_prefix('"') {
        let (_, after) = quoted.split_once('"').filter(|(inside, _)| !inside.contains('\\'))?;
        name.push_str(" \"");
        rest = after;
    }
    Some((name, rest.strip_prefix(']')?))
}

fn allowed_section(name: &str) -> Result<(), String> {
    let (plain, has_subsection) = name.strip_suffix(" \"").map_or((name, false), |plain| (plain, true));
    // `[diff "x"]` names a program for a kind of files that the repository chooses.
    if !HARMLESS.contains(&plain) || (plain == "diff" && has_subsection) {
        return Err(plain.to_owned());
    }
    Ok(())
}

fn variable(section: &str, key: &str, value: &str, config: &mut RepositoryConfig) -> Result<(), String> {
    let named = || format!("{section}.{key}");
    match (section, key) {
        ("", _) => Err(key.to_owned()),
        ("core", "worktree") if value.contains(['"', '\\', '#', ';']) => Err(named()),
        ("core", "worktree") => {
            config.worktree = Some(value.to_owned());
            Ok(())
        }
        // Older versions of git do not read settings from the environment.
        ("core", "fsmonitor") if !is_boolean(value) => Err(named()),
        ("core", "alternaterefscommand") | ("diff", "external") | ("log", "showsignature") => Err(named()),
        ("extensions", key) if !EXTENSIONS.contains(&key) => Err(named()),
        ("format" | "pretty", _) if value.contains("%G") => Err(named()),
        ("grep", "fallbacktonoindex") => Err(named()),
        _ => Ok(()),
    }
}

fn is_boolean(value: &str) -> bool {
    ["", "true", "false", "yes", "no", "on", "off", "0", "1"].contains(&value.to_lowercase().as_str())
}

fn shown(line: &str) -> String {
    line.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_configurations_are_harmless() {
        for text in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
            "[core]\r\n\tautocrlf = true\r\n\tfsmonitor = true\r\n",
            "[remote \"origin\"]\n\turl = git@example.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n# a comment\n; another\n",
            "[core] hooksPath = .husky/_\n[user] name = x\n",
            "[submodule \"a\"]\n\tactive = true\n\turl = ../a\n",
            "[alias]\n\tst = status\n\tx = !rm -rf .\n[pull]\n\trebase\n",
            "[extensions]\n\tworktreeConfig = true\n",
            "[core][user]\n\tname = x",
        ] {
            assert_eq!(read_config(text), Ok(RepositoryConfig::default()), "{text}");
        }
        let config = read_config("[core]\n\tworktree = ../../../lib\n").unwrap();
        assert_eq!(config.worktree.as_deref(), Some("../../../lib"));
    }

    #[test]
    fn a_password_or_token_in_an_address_is_noticed() {
        for (url, want) in [
            ("https://example.com/a.git", false),
            ("https://example.com/a@b.git", false),
            ("git@example.com:a/b.git", false),
            ("ssh://git@example.com/a.git", false),
            ("/srv/a.git", false),
            ("https://ann:pass@example.com/a.git", true),
            ("https://ghp_abc@example.com/a.git", true),
            ("HTTPS://x-access-token:abc@example.com/a", true),
            ("ssh://ann:pass@example.com/a.git", true),
            ("ftp://ann:pass@example.com", true),
        ] {
            for text in [
                format!("[remote \"origin\"]\n\turl = {url}\n"),
                format!("[remote \"origin\"]\n\tpushurl = \"{url}\"\n"),
                format!("[url \"{url}\"]\n\tinsteadOf = x:\n"),
            ] {
                assert_eq!(read_config(&text).unwrap().url_credentials, want, "{text}");
            }
        }
    }

    #[test]
    fn settings_that_may_start_a_program_are_named() {
        for (text, want) in [
            ("[filter \"x\"]\n\tclean = ./x\n", "filter"),
            ("[FILTER \"x\"]\n\tprocess = ./x\n", "filter"),
            ("[filter]\n", "filter"),
            ("[filter.x]\n\tclean = ./x\n", "filter.x"),
            ("[diff \"x\"]\n\ttextconv = ./x\n", "diff"),
            ("[diff.x]\n\tcommand = ./x\n", "diff.x"),
            ("[diff]\n\texternal = ./x\n", "diff.external"),
            ("[include]\n\tpath = ../x\n", "include"),
            ("[includeIf \"gitdir:/\"]\n\tpath = ../x\n", "includeif"),
            ("[core]\n\tfsmonitor = ./x\n", "core.fsmonitor"),
            ("[core] fsmonitor = \"./x\"\n", "core.fsmonitor"),
            ("[user][core] FSMonitor=./x\n", "core.fsmonitor"),
            ("[log]\n\tshowSignature = true\n", "log.showsignature"),
            ("[pretty]\n\tx = %G?\n", "pretty.x"),
            ("[extensions]\n\tpartialClone = origin\n", "extensions.partialclone"),
            ("[hook \"x\"]\n\tcommand = ./x\n", "hook"),
            ("[core]\n\tx = a\\\n[user]\n\tworktree = /\n", "x = a\\"),
            ("[core \"a\\\"]\n", "[core \"a\\\"]"),
            ("[core\n", "[core"),
            ("x = 1\n", "x"),
            ("\u{feff}[core]\n", "\u{feff}[core]"),
            ("[core]\n\ta b = 1\n", "a b = 1"),
            ("[core]\n\tworktree = \"/a\"\n", "core.worktree"),
        ] {
            assert_eq!(read_config(text), Err(want.to_owned()), "{text}");
        }
    }
}
