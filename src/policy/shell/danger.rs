//! The dangers of a command, by its name and first words: for the displayed risk, not for permission.

use super::globals::{Globals, Subcommand};
use super::launchers::{is_interpreter, is_shell};
use super::rules::base_name;
use super::word::ShellWord;
use super::wrappers::{is_launcher, runs_unseen};
use crate::domain::Risk;
use crate::policy::Reason;

/// Programs for network access.
const NETWORK: &[&str] = &[
    "aria2c",
    "aws",
    "axel",
    "az",
    "curl",
    "dig",
    "doctl",
    "fetch",
    "flyctl",
    "ftp",
    "gcloud",
    "gh",
    "glab",
    "gsutil",
    "helm",
    "heroku",
    "host",
    "http",
    "httpie",
    "https",
    "kubectl",
    "lftp",
    "links",
    "lynx",
    "mail",
    "mailx",
    "mosh",
    "mount",
    "nc",
    "ncat",
    "netcat",
    "netlify",
    "nmap",
    "nslookup",
    "openssl",
    "ping",
    "ping6",
    "rclone",
    "rsync",
    "scp",
    "sendmail",
    "sftp",
    "smbclient",
    "socat",
    "ssh",
    "ssh-copy-id",
    "telnet",
    "tftp",
    "tracepath",
    "traceroute",
    "vercel",
    "w3m",
    "wget",
    "whois",
    "wrangler",
    "xh",
];

/// Subcommands that download or upload.
const NETWORK_VERBS: &[(&[&str], &[&str])] = &[
    (&["git"], &["clone", "fetch", "ls-remote", "pull", "push", "remote", "send-email", "submodule"]),
    (
        &["npm", "pnpm", "yarn", "bun"],
        &[
            "add", "audit", "ci", "create", "i", "init", "install", "login", "outdated", "publish", "up",
            "update", "view",
        ],
    ),
    (&["npx", "bunx", "uvx", "pipx", "pip", "pip3"], &[]),
    (
        &["uv", "poetry", "pipenv", "pdm", "rye", "hatch"],
        &["add", "install", "lock", "pip", "publish", "remove", "self", "sync", "tool", "update"],
    ),
    (&["cargo"], &["add", "fetch", "install", "login", "publish", "search", "update", "yank"]),
    (&["go"], &["get", "install", "mod"]),
    (&["gem", "bundle", "composer"], &["install", "push", "update"]),
    (&["docker", "podman"], &["build", "compose", "exec", "login", "pull", "push", "run"]),
    (&["apt", "apt-get", "apk", "brew", "dnf", "pacman", "yum", "zypper", "snap", "flatpak"], &[]),
];

/// Programs that delete, overwrite or end things.
const DESTROYS: &[&str] = &[
    "blkdiscard",
    "cfdisk",
    "chattr",
    "chmod",
    "chown",
    "crontab",
    "dd",
    "fdisk",
    "halt",
    "init",
    "insmod",
    "iptables",
    "kill",
    "killall",
    "mkfs",
    "mkswap",
    "modprobe",
    "nft",
    "parted",
    "passwd",
    "pkill",
    "poweroff",
    "reboot",
    "rm",
    "rmdir",
    "setfacl",
    "sgdisk",
    "shred",
    "shutdown",
    "srm",
    "swapoff",
    "systemctl",
    "truncate",
    "umount",
    "unlink",
    "useradd",
    "userdel",
    "usermod",
    "visudo",
    "wipefs",
];

/// Subcommands that delete or overwrite.
const DESTROYS_VERBS: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "checkout",
            "clean",
            "filter-branch",
            "gc",
            "push",
            "rebase",
            "reset",
            "restore",
            "rm",
            "update-ref",
        ],
    ),
    ("docker", &["kill", "rm", "rmi", "stop", "system", "volume"]),
    ("terraform", &["apply", "destroy"]),
    ("find", &["-delete", "-exec", "-execdir"]),
];

/// The dangers of one command.
pub(super) fn dangers(words: &[ShellWord]) -> Vec<Reason> {
    let mut out = Vec::new();
    let Some(first) = words.first() else { return out };
    let Some(name) = first.literal().map(base_name) else {
        return vec![Reason::NotLiteral(first.text().to_owned())];
    };
    let mut args = words.iter().skip(1);
    let named =
        |verbs: &[&str]| args.clone().any(|arg| arg.literal().is_some_and(|arg| verbs.contains(&arg)));
    let fetches = NETWORK_VERBS
        .iter()
        .any(|(names, verbs)| names.contains(&name) && (verbs.is_empty() || named(verbs)));
    let device = words.iter().any(|word| is_network_device(word.text()));
    if NETWORK.contains(&name) || fetches || device {
        out.push(Reason::Network(name.to_owned()));
    }
    let by_verb = DESTROYS_VERBS.iter().any(|(program, verbs)| *program == name && named(verbs));
    let by_option = name == "git" && git_destroys(words.get(1..).unwrap_or_default());
    if DESTROYS.contains(&name) || name.starts_with("mkfs.") || by_verb || by_option {
        out.push(Reason::Destroys(name.to_owned()));
    }
    if sets_up_programs(name, words.get(1..).unwrap_or_default()) {
        out.push(Reason::Sensitive(name.to_owned()));
    }
    if is_launcher(words) {
        out.push(Reason::Wrapper(name.to_owned()));
    }
    let inline = |arg: &ShellWord| matches!(arg.text(), "-c" | "-e" | "-E" | "-r" | "--eval" | "-p" | "-");
    let language = is_shell(name) || is_interpreter(name);
    if runs_unseen(words) || (language && (words.len() == 1 || args.any(inline))) {
        out.push(Reason::Inline(name.to_owned()));
    }
    out
}

/// Whether git deletes branches, tags, stashes, work trees or changes that are stored nowhere else, or changes its
/// configuration, which can start programs.
fn git_destroys(args: &[ShellWord]) -> bool {
    let at = match Globals::of("git").map(|globals| globals.subcommand(args)) {
        Some(Subcommand::At(at)) => at,
        Some(Subcommand::Missing) | None => return false,
        Some(Subcommand::Unknown) => return true,
    };
    let mut args = args.iter().skip(at).map(ShellWord::text);
    let subcommand = args.next().unwrap_or_default();
    GIT_DESTROYS.iter().filter(|(names, ..)| names.split(' ').any(|name| name == subcommand)).any(
        |(_, words, letters)| {
            args.clone().any(|arg| {
                let name = arg.split('=').next().unwrap_or(arg);
                let abbreviates = |word: &str| {
                    word == name || (word.starts_with("--") && name.len() > 3 && word.starts_with(name))
                };
                let cluster = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
                words.split_ascii_whitespace().any(abbreviates) || cluster.contains(|c| letters.contains(c))
            })
        },
    )
}

/// Whether a command writes hooks or settings that start programs later.
fn sets_up_programs(name: &str, args: &[ShellWord]) -> bool {
    let has = |list: &str| args.iter().any(|arg| list.split(' ').any(|word| word == arg.text()));
    let (subcommand, rest) = match Globals::of("git").map(|globals| globals.subcommand(args)) {
        Some(Subcommand::At(at)) if name == "git" => (
            args.get(at).map(ShellWord::text).unwrap_or_default(),
            args.get(at.saturating_add(1)..).unwrap_or_default(),
        ),
        _ => ("", [].as_slice()),
    };
    // Behind a key the same words are its value.
    let only_shows = || {
        const READS: &str = "--get --get-all --get-regexp --get-urlmatch --list -l";
        let mut options = rest.iter().map(ShellWord::text).take_while(|word| word.starts_with('-'));
        rest.first().is_some_and(|word| matches!(word.text(), "get" | "list"))
            || options.any(|word| READS.split(' ').any(|read| read == word))
    };
    let hooks = matches!(name, "husky" | "lefthook" | "overcommit" | "pre-commit" | "simple-git-hooks")
        && (args.is_empty() || has("add init install set --install"));
    (subcommand == "config" && !only_shows()) || hooks || (name == "direnv" && has("allow permit"))
}

/// Subcommands of git, and the words, options and letters with which they delete or overwrite. Lists are words separated
/// by spaces.
const GIT_DESTROYS: &[(&str, &str, &str)] = &[
    ("branch", "--delete --force --move --copy", "dDfMC"),
    ("tag", "--delete --force", "df"),
    ("stash", "clear drop", ""),
    ("switch", "--discard-changes --force --force-create", "fC"),
    ("worktree", "remove prune", "fB"),
    ("reflog", "expire delete", ""),
    ("notes", "remove prune", "f"),
    ("submodule", "deinit", "f"),
    ("merge am cherry-pick revert", "--abort --quit --skip", ""),
    ("commit", "--amend", ""),
    ("fetch remote", "--prune --force prune remove rm set-url", "pf"),
    (
        "prune repack replace symbolic-ref update-index filter-repo mv lfs",
        "--force -d --delete --prune",
        "df",
    ),
];

/// The risk of a reason.
pub(super) fn risk_of(reason: &Reason) -> Risk {
    match reason {
        Reason::DeniedByRule(_)
        | Reason::DeniedByMode
        | Reason::UnknownTool(_)
        | Reason::PerhapsDenied
        | Reason::Unchecked(_)
        | Reason::Unparsed
        | Reason::TooLong
        | Reason::StrangeCharacter(_)
        | Reason::HiddenSpelling
        | Reason::Secret(_)
        | Reason::Sensitive(_)
        | Reason::Network(_)
        | Reason::Destroys(_)
        | Reason::Inline(_) => Risk::High,
        Reason::AskedByMode(_)
        | Reason::Changes(_)
        | Reason::Substitution
        | Reason::HereDocument
        | Reason::ControlFlow
        | Reason::Background
        | Reason::Assignment
        | Reason::NotLiteral(_)
        | Reason::WritesFile(_)
        | Reason::Outside(_)
        | Reason::TooLargeToCheck(_)
        | Reason::UnknownCommand(_)
        | Reason::Argument { .. }
        | Reason::Wrapper(_)
        | Reason::Elsewhere
        | Reason::AskedByProgram => Risk::Medium,
        Reason::Compound => Risk::Low,
    }
}

/// Paths that bash turns into connections.
pub(super) fn is_network_device(text: &str) -> bool {
    text.contains("/dev/tcp/") || text.contains("/dev/udp/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_and_deletion_are_seen() {
        let words = |text: &str| text.split(' ').map(ShellWord::read).collect::<Vec<_>>();
        for (text, network, destroys) in [
            ("curl x", true, false),
            ("/usr/bin/wget x", true, false),
            ("git push", true, true),
            ("git commit", false, false),
            ("npm install", true, false),
            ("npm test", false, false),
            ("cat /dev/tcp/1.2.3.4/80", true, false),
            ("rm -r x", false, true),
            ("mkfs.ext4 x", false, true),
            ("cargo build", false, false),
            ("git switch --discard-changes main", false, true),
            ("git switch --disc main", false, true),
            ("git switch main", false, false),
            ("git branch -D x", false, true),
            ("git branch -qd x", false, true),
            ("git branch x", false, false),
            ("git stash clear", false, true),
            ("git stash", false, false),
            ("git tag -d v1", false, true),
            ("git tag v1", false, false),
            ("git -C x worktree remove y", false, true),
        ] {
            let found = dangers(&words(text));
            assert_eq!(found.iter().any(|r| matches!(r, Reason::Network(_))), network, "{text}");
            assert_eq!(found.iter().any(|r| matches!(r, Reason::Destroys(_))), destroys, "{text}");
        }
    }
}
