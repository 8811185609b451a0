//! The environment of a command. Pure, except for checking whether folders exist.

use std::path::{Path, PathBuf};

use super::settings::Redact;

/// Passed on unchanged. None of them contains secrets.
const PASSED_ON: &[&str] =
    &["LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "JAVA_HOME", "GOROOT", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];

/// Prevent waiting for a person, colours and pagers.
const SET: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("SHELL", "/bin/sh"),
];

/// Restrict git's configuration and features when a command runs without approval. They override a repository's own
/// settings.
const GIT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("GIT_SSH_COMMAND", "false"),
];

/// Settings that start programs, read files elsewhere or access other repositories, with their replacements.
const GIT_SETTINGS: &[(&str, &str)] = &[
    ("safe.bareRepository", "explicit"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", "false"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("core.alternateRefsCommand", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.ssh.defaultKeyCommand", "false"),
    ("gpg.ssh.allowedSignersFile", "/dev/null"),
    ("log.showSignature", "false"),
    ("log.diffMerges", "separate"),
    ("log.follow", "false"),
    ("diff.submodule", "short"),
    ("diff.ignoreSubmodules", "dirty"),
    ("diff.orderFile", "/dev/null"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
    ("stash.showPatch", "false"),
    ("stash.showIncludeUntracked", "false"),
    ("blame.ignoreRevsFile", ""),
    ("mailmap.file", "/dev/null"),
    ("interactive.diffFilter", ""),
    ("uploadpack.packObjectsHook", ""),
    ("grep.fallbackToNoIndex", "false"),
];

const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// The environment of a command: an allow-list, without any value that contains a secret. Home and temporary files are
/// in `scratch`.
pub(super) fn environment_of(
    own: &[(String, String)],
    scratch: &Path,
    redact: &Redact,
) -> Vec<(String, String)> {
    let passed = |name: &str| PASSED_ON.contains(&name) || name.starts_with("LC_");
    let mut environment: Vec<(String, String)> =
        own.iter().filter(|(name, value)| passed(name) && redact.apply(value) == *value).cloned().collect();
    environment.push(("PATH".to_owned(), path_of(own, redact)));
    if let Some(rustup) = rustup_of(own).filter(|_| value_of(own, "RUSTUP_HOME").is_none()) {
        environment.push(("RUSTUP_HOME".to_owned(), rustup.to_string_lossy().into_owned()));
    }
    for name in ["HOME", "TMPDIR"] {
        environment.push((name.to_owned(), scratch.to_string_lossy().into_owned()));
    }
    environment.extend(SET.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    environment
}

/// Keeps git from starting programs of a repository's configuration, and from finding a repository outside the project.
/// For commands that run without approval.
pub fn git_hardened(project: &Path) -> Vec<(String, String)> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut environment: Vec<(String, String)> = GIT.iter().map(own).collect();
    let above = project.parent().unwrap_or(project).to_string_lossy().into_owned();
    environment.push(("GIT_CEILING_DIRECTORIES".to_owned(), above));
    environment.push(("GIT_CONFIG_COUNT".to_owned(), GIT_SETTINGS.len().to_string()));
    for (at, (key, value)) in GIT_SETTINGS.iter().enumerate() {
        environment.push((format!("GIT_CONFIG_KEY_{at}"), (*key).to_owned()));
        environment.push((format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned()));
    }
    environment
}

/// Folders outside the system's usual ones with programs of this environment: the entries of `PATH`, and the toolchains
/// behind them.
pub fn programs_of(own: &[(String, String)]) -> Vec<PathBuf> {
    let home = value_of(own, "HOME").map(PathBuf::from);
    let named = value_of(own, "PATH").unwrap_or_default().split(':').map(PathBuf::from);
    let toolchains =
        ["JAVA_HOME", "GOROOT"].into_iter().filter_map(|name| value_of(own, name)).map(PathBuf::from);
    let mut folders: Vec<PathBuf> = named
        .chain(toolchains)
        .chain(rustup_of(own))
        .filter(|folder| folder.is_absolute())
        .filter_map(|folder| folder.canonicalize().ok())
        // A whole home directory, or the root, is never intended.
        .filter(|folder| folder.parent().is_some() && Some(folder) != home.as_ref())
        .collect();
    folders.sort();
    folders.dedup();
    folders
}

/// Relative folders are left out: they depend on the working directory.
fn path_of(own: &[(String, String)], redact: &Redact) -> String {
    let path = value_of(own, "PATH").filter(|path| redact.apply(path) == **path).unwrap_or(USUAL_PATH);
    let absolute: Vec<&str> = path.split(':').filter(|folder| folder.starts_with('/')).collect();
    if absolute.is_empty() { USUAL_PATH.to_owned() } else { absolute.join(":") }
}

/// Rust's toolchains are beside its programs, which look for them in a home directory that a command does not have.
fn rustup_of(own: &[(String, String)]) -> Option<PathBuf> {
    let named = value_of(own, "RUSTUP_HOME").map(PathBuf::from);
    let usual = || Some(Path::new(value_of(own, "HOME")?).join(".rustup"));
    named.or_else(usual).filter(|folder| folder.is_dir())
}

fn value_of<'a>(own: &'a [(String, String)], name: &str) -> Option<&'a str> {
    own.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn only_what_is_listed_is_passed_on_and_no_secret_under_any_name() {
        let own = own(&[
            ("OPENAI_API_KEY", "hunter2hunter2"),
            ("SHIPAGENT_TOKEN", "t"),
            ("LD_PRELOAD", "/evil.so"),
            ("BASH_ENV", "/evil.sh"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("HOME", "/nowhere/home"),
            ("TZ", "hunter2hunter2"),
            ("LANG", "zh_CN.UTF-8"),
            ("LC_ALL", "C"),
            ("PATH", ".:/usr/bin::bin:/bin"),
        ]);
        let redact = Redact::new(|text| text.replace("hunter2", "*"));
        let environment = environment_of(&own, Path::new("/scratch"), &redact);
        let expected =
            [("LANG", "zh_CN.UTF-8"), ("LC_ALL", "C"), ("PATH", "/usr/bin:/bin"), ("HOME", "/scratch")];
        for (name, value) in expected.into_iter().chain([("TMPDIR", "/scratch")]).chain(SET.iter().copied()) {
            assert_eq!(value_of(&environment, name), Some(value), "{name}");
        }
        assert_eq!(environment.len(), 5 + SET.len(), "{environment:?}");
    }

    #[test]
    fn git_gets_its_settings_counted_and_looks_no_higher_than_the_project() {
        let environment = git_hardened(Path::new("/home/u/p"));
        assert_eq!(value_of(&environment, "GIT_CEILING_DIRECTORIES"), Some("/home/u"));
        let count: usize = value_of(&environment, "GIT_CONFIG_COUNT").unwrap().parse().unwrap();
        for at in 0..count {
            assert!(
                value_of(&environment, &format!("GIT_CONFIG_KEY_{at}")).is_some_and(|key| key.contains('.'))
            );
            assert!(value_of(&environment, &format!("GIT_CONFIG_VALUE_{at}")).is_some());
        }
        assert_eq!(value_of(&environment, &format!("GIT_CONFIG_KEY_{count}")), None);
    }

    #[test]
    fn a_path_with_a_secret_or_without_a_folder_is_replaced() {
        let redact = Redact::new(|text| text.replace("hunter2", "*"));
        for path in ["/usr/bin:/hunter2", "", "bin:.", ":"] {
            assert_eq!(path_of(&own(&[("PATH", path)]), &redact), USUAL_PATH, "{path}");
        }
        assert_eq!(path_of(&[], &redact), USUAL_PATH);
    }

    #[test]
    fn programs_live_in_folders_but_never_in_the_whole_home() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for folder in ["bin", ".rustup"] {
            std::fs::create_dir(home.join(folder)).unwrap();
        }
        let shown = |path: PathBuf| path.to_string_lossy().into_owned();
        let path = [shown(home.join("bin")), shown(home.clone()), "/".into(), "bin".into(), "/gone".into()]
            .join(":");
        let own = own(&[("HOME", &shown(home.clone())), ("PATH", &path)]);
        assert_eq!(programs_of(&own), [home.join(".rustup"), home.join("bin")]);
    }
}
