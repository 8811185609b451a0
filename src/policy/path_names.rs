//! Which file names contain secrets, belong to the daemon, or start programs. Names are compared folded: case,
//! full-width letters, invisible characters, white space around the name and trailing dots make no difference. Data and
//! tables.

/// Suffixes of copies; `id_rsa.bak` is as secret as `id_rsa`.
const COPY_ENDINGS: &[&str] = &[
    "~",
    ".bak",
    ".backup",
    ".old",
    ".orig",
    ".save",
    ".saved",
    ".copy",
    ".tmp",
    ".swp",
    ".swo",
    ".rej",
    ".disabled",
    ".1",
    ".2",
];

/// Files and folders with credentials.
const SECRET_NAMES: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".gcloud",
    ".kube",
    "kubeconfig",
    ".docker",
    ".dockercfg",
    ".dockerconfigjson",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".s3cfg",
    ".boto",
    ".curlrc",
    ".wgetrc",
    ".vault-token",
    ".terraformrc",
    "rclone.conf",
    ".git-credentials",
    ".htpasswd",
    ".envrc",
    ".flaskenv",
    "pip.conf",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "credentials.yml",
    "credentials.yaml",
    "secrets",
    "secrets.json",
    "secrets.toml",
    "secrets.yml",
    "secrets.yaml",
    "secret.json",
    "secret.yml",
    "secret.yaml",
];

const SECRET_ENDINGS: &[&str] = &[
    ".pem",
    ".key",
    ".p8",
    ".p12",
    ".pfx",
    ".pkcs12",
    ".ppk",
    ".jks",
    ".jceks",
    ".keystore",
    ".kdb",
    ".kdbx",
    ".agekey",
    ".gpg",
    ".ovpn",
    ".env",
    ".tfstate",
    ".tfvars",
];

const SECRET_BEGINNINGS: &[&str] = &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss", "ship.json"];

/// Prefixes that mean a key only in a JSON file: source files may have these names too.
const SECRET_JSON_BEGINNINGS: &[&str] = &["client_secret", "service-account", "service_account"];

/// Folders of which every file can start programs or instruct an agent.
const SENSITIVE_FOLDERS: &[&str] = &[
    ".git",
    ".github",
    ".gitlab",
    ".gitea",
    ".forgejo",
    ".githooks",
    ".circleci",
    ".buildkite",
    ".woodpecker",
    ".semaphore",
    ".teamcity",
    ".tekton",
    ".husky",
    ".vscode",
    ".idea",
    ".fleet",
    ".zed",
    ".devcontainer",
    ".cargo",
    ".yarn",
    ".mvn",
    ".gradle",
    ".bundle",
    ".direnv",
    ".mise",
    ".claude",
    ".cursor",
    ".codex",
    ".gemini",
    ".windsurf",
    ".agents",
    ".vim",
    ".nvim",
    ".emacs.d",
];

/// Files that tools execute implicitly, that start programs, or that instruct an agent.
const SENSITIVE_NAMES: &[&str] = &[
    "agent.md",
    "agents.md",
    "claude.md",
    "gemini.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".aider.conf.yml",
    ".mcp.json",
    "mcp.json",
    ".gitattributes",
    ".gitmodules",
    ".gitconfig",
    ".hgrc",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".inputrc",
    ".lessfilter",
    ".ackrc",
    ".ripgreprc",
    ".tmux.conf",
    ".screenrc",
    ".vimrc",
    ".nvimrc",
    ".nvim.lua",
    ".exrc",
    ".emacs",
    ".dir-locals.el",
    ".gdbinit",
    ".lldbinit",
    ".irbrc",
    ".pryrc",
    ".pdbrc",
    ".psqlrc",
    ".sqliterc",
    ".rprofile",
    ".renviron",
    "authorized_keys",
    ".rhosts",
    ".forward",
    ".travis.yml",
    ".appveyor.yml",
    "appveyor.yml",
    "bitbucket-pipelines.yml",
    "jenkinsfile",
    ".drone.yml",
    ".woodpecker.yml",
    ".cirrus.yml",
    "cloudbuild.yaml",
    "cloudbuild.yml",
    "buildspec.yml",
    "codemagic.yaml",
    "netlify.toml",
    "vercel.json",
    ".gitpod.yml",
    ".replit",
    "devcontainer.json",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".pre-commit-hooks.yaml",
    ".overcommit.yml",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".pnpmfile.cjs",
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
    ".asdfrc",
    ".bazelrc",
    ".watchmanconfig",
    "sitecustomize.py",
    "usercustomize.py",
    "pyvenv.cfg",
];

const SENSITIVE_ENDINGS: &[&str] = &[".gitlab-ci.yml", ".gitlab-ci.yaml", ".pth", ".code-workspace"];

const SENSITIVE_BEGINNINGS: &[&str] = &[
    "jenkinsfile.",
    "azure-pipelines",
    ".azure-pipelines",
    "lefthook.",
    ".lefthook",
    "lefthook-local.",
    ".huskyrc",
    ".lintstagedrc",
    "lint-staged.config.",
];

/// Prefixes and suffixes that belong together.
const SENSITIVE_PAIRS: &[(&str, &str)] = &[("mise.", ".toml"), (".mise.", ".toml")];

/// Files below a `.git` folder that may contain credentials: the URL of a remote can contain a password.
const GIT_SECRETS: &[&str] = &["config", "config.worktree", "credentials", "fetch_head"];

/// The daemon's own state and settings, and environment files: no tool may access them.
pub fn is_reserved_name(name: &str) -> bool {
    let name = folded(name);
    match name.as_str() {
        ".ship" | "ship.json" => true,
        ".env.example" => false,
        other => other
            .strip_prefix(".env")
            .is_some_and(|rest| rest.chars().next().is_none_or(|next| !next.is_alphanumeric())),
    }
}

/// A file or folder whose content is not shown without approval, reserved ones included.
pub fn is_secret_name(name: &str) -> bool {
    if is_reserved_name(name) {
        return true;
    }
    let folded = folded(name);
    if folded.ends_with(".example") || folded.ends_with(".sample") {
        return false;
    }
    let original = without_copy_endings(&folded);
    let key_without_ending = original.starts_with("id_") && !original.contains('.');
    let history = original.starts_with('.') && original.ends_with("_history");
    key_without_ending
        || history
        || SECRET_NAMES.contains(&original)
        || SECRET_BEGINNINGS.iter().any(|start| original.starts_with(start))
        || SECRET_ENDINGS.iter().any(|end| original.ends_with(end))
        || (original.ends_with(".json")
            && SECRET_JSON_BEGINNINGS.iter().any(|start| original.starts_with(start)))
}

/// Whether a name alone makes everything at and below it able to start programs or instruct an agent.
pub(super) fn is_sensitive_name(name: &str) -> bool {
    let name = folded(name);
    SENSITIVE_FOLDERS.contains(&name.as_str())
        || SENSITIVE_NAMES.contains(&name.as_str())
        || SENSITIVE_ENDINGS.iter().any(|end| name.ends_with(end))
        || SENSITIVE_BEGINNINGS.iter().any(|start| name.starts_with(start))
        || SENSITIVE_PAIRS.iter().any(|(start, end)| name.starts_with(start) && name.ends_with(end))
}

/// Whether a path leads to a file of a git repository that may contain credentials.
pub(super) fn is_git_secret<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let mut in_git = false;
    let mut last = String::new();
    for name in names {
        in_git |= last == ".git" || last.ends_with(".git");
        last = folded(name);
    }
    in_git && GIT_SECRETS.contains(&without_copy_endings(&last))
}

/// The name without suffixes of copies: `server.key.bak` is `server.key`.
fn without_copy_endings(name: &str) -> &str {
    let mut name = name;
    while let Some(shorter) =
        COPY_ENDINGS.iter().find_map(|end| name.strip_suffix(end)).filter(|shorter| !shorter.is_empty())
    {
        name = shorter;
    }
    name
}

/// The name as a file system that folds case, width or invisible characters would read it.
pub(super) fn folded(name: &str) -> String {
    let visible = name.chars().filter(|c| !c.is_control() && !super::shell::is_invisible(*c)).map(narrow);
    let lower = visible.collect::<String>().to_uppercase().to_lowercase();
    lower.trim().trim_end_matches(|c: char| c == '.' || c.is_whitespace()).to_owned()
}

/// The ASCII character of a full-width or look-alike form.
fn narrow(c: char) -> char {
    match u32::from(c) {
        wide @ 0xFF01..=0xFF5E => char::from_u32(wide - 0xFEE0).unwrap_or(c),
        // Leaders, small and ideographic full stops.
        0x2024 | 0xFE52 | 0xFF61 => '.',
        // Hyphens, dashes and the small low line.
        0x2010..=0x2015 | 0x2212 | 0xFE58 | 0xFE63 => '-',
        0xFE4D..=0xFE4F => '_',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_folded_as_the_most_tolerant_file_system_would() {
        for spelled in [
            ".env",
            ".ENV",
            ".Env.",
            " .env",
            ".env\u{a0}",
            "\u{3000}.env\n",
            ".e\u{200b}nv",
            "\u{feff}.env",
            "．ｅｎｖ",
            ".env . .",
        ] {
            assert_eq!(folded(spelled), ".env", "{spelled:?}");
            assert!(is_reserved_name(spelled), "{spelled:?}");
        }
        assert_eq!(folded(".\u{17f}hip"), ".ship");
        assert_eq!(folded("..."), "");
    }

    #[test]
    fn secrets_are_known_by_name_and_so_are_their_copies() {
        for name in [
            "id_rsa",
            "id_rsa.pub",
            "id_work",
            "ID_ED25519.bak",
            "server.key",
            "server.key.old",
            "tls.pem~",
            "putty.ppk",
            "prod.env",
            ".npmrc",
            ".bash_history",
            "terraform.tfstate",
            "terraform.tfstate.backup",
            "ship.json.bak",
            ".env-prod",
            ".env_old",
            "credentials.toml",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "id_map.rs",
            "identity.rs",
            ".env.example",
            "ship.json.example",
            ".environment",
            "keyboard.rs",
            "history.rs",
            "chat_history.rs",
            "main.rs",
            "pem.rs",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
