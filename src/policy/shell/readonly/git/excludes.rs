//! Pathspecs that exclude files that may contain secrets, in history too. They cover every name of
//! `paths::is_secret_name`, and a few more: git's patterns have no alternatives.

/// Prefix of each pattern: from the top of the repository, excluded, ignoring case.
const MAGIC: &str = ":(top,exclude,icase)";

/// Prefixes of file or folder names.
const BEGINNINGS: &[&str] = &[
    ".*_history",
    ".aws",
    ".azure",
    ".boto",
    ".curlrc",
    ".dockercfg",
    ".dockerconfigjson",
    ".envrc",
    ".flaskenv",
    ".gcloud",
    ".git-credentials",
    ".gnupg",
    ".htpasswd",
    ".kube",
    ".my.cnf",
    ".mylogin.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".ship",
    ".ssh",
    ".terraformrc",
    ".vault-token",
    ".wgetrc",
    "_netrc",
    "auth.json",
    "client_secret",
    "id_",
    "kubeconfig",
    "pip.conf",
    "rclone.conf",
    "secret.json",
    "secret.yaml",
    "secret.yml",
    "service-account",
    "service_account",
    "ship.json",
];

/// Names of files or folders, with or without a further suffix.
const NAMES: &[&str] = &[".docker", ".env", "credentials", "gcloud", "secrets"];

/// Suffixes of file or folder names, with or without a further suffix.
const ENDINGS: &[&str] = &[
    ".agekey",
    ".env",
    ".gpg",
    ".jceks",
    ".jks",
    ".kdb",
    ".kdbx",
    ".key",
    ".keystore",
    ".ovpn",
    ".p12",
    ".p8",
    ".pem",
    ".pfx",
    ".pkcs12",
    ".ppk",
    ".tfstate",
    ".tfvars",
];

/// The pathspecs. `*` matches slashes as well, so that the content of a folder is excluded with it.
pub(super) fn excludes() -> Vec<String> {
    patterns().into_iter().map(|pattern| format!("{MAGIC}{pattern}")).collect()
}

fn patterns() -> Vec<String> {
    let mut patterns = Vec::new();
    for start in BEGINNINGS {
        patterns.extend([format!("{start}*"), format!("*/{start}*")]);
    }
    for name in NAMES {
        for before in ["", "*/"] {
            patterns.extend([format!("{before}{name}"), format!("{before}{name}[!a-z0-9]*")]);
        }
    }
    for end in ENDINGS {
        patterns.extend([format!("*{end}"), format!("*{end}[!a-z0-9]*")]);
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::paths::is_secret_name;

    /// Names that are or may become secret, each also as a copy and in upper case.
    const CANDIDATES: &str = ".ship .env .env.local .env-prod .env_old .env~ .envrc .ssh .gnupg .aws .azure .gcloud \
        gcloud .kube kubeconfig .docker .dockercfg .dockerconfigjson .netrc _netrc .npmrc .pypirc .pgpass .my.cnf \
        .mylogin.cnf .s3cfg .boto .curlrc .wgetrc .vault-token .terraformrc rclone.conf .git-credentials .htpasswd \
        .flaskenv auth.json pip.conf credentials credentials.json credentials.toml credentials.yml credentials.yaml \
        secrets secrets.json secrets.toml secrets.yml secrets.yaml secret.json secret.yml secret.yaml ship.json \
        id_rsa id_rsa.pub id_dsa id_ecdsa id_ed25519 id_xmss id_work client_secret.json client_secret_1.json \
        service-account.json service_account.json .bash_history .psql_history prod.env a.pem a.key a.p8 a.p12 a.pfx \
        a.pkcs12 a.ppk a.jks a.jceks a.keystore a.kdb a.kdbx a.agekey a.gpg a.ovpn a.tfstate a.tfvars";

    /// git's wildmatch without WM_PATHNAME and with WM_CASEFOLD, as far as it is used here.
    fn matches(pattern: &[u8], text: &[u8]) -> bool {
        match pattern {
            [] => text.is_empty(),
            [b'*', rest @ ..] => (0..=text.len()).any(|at| matches(rest, &text[at..])),
            [b'[', b'!', rest @ ..] => {
                let end = rest.iter().position(|b| *b == b']').unwrap();
                assert_eq!(&rest[..end], b"a-z0-9");
                text.first().is_some_and(|b| !b.is_ascii_alphanumeric())
                    && matches(&rest[end + 1..], &text[1..])
            }
            [b, rest @ ..] => {
                text.first().is_some_and(|t| t.eq_ignore_ascii_case(b)) && matches(rest, &text[1..])
            }
        }
    }

    fn left_out(path: &str) -> bool {
        patterns().iter().any(|pattern| matches(pattern.as_bytes(), path.as_bytes()))
    }

    #[test]
    fn secret_names_are_left_out_at_any_depth() {
        let mut secret = 0;
        for name in CANDIDATES.split_whitespace() {
            for name in ["", "~", ".bak", ".old", ".1", ".bak.old"].map(|end| format!("{name}{end}")) {
                for name in [name.to_uppercase(), name] {
                    if !is_secret_name(&name) {
                        continue;
                    }
                    secret += 1;
                    for path in
                        [name.clone(), format!("a/b/{name}"), format!("{name}/x"), format!("a/{name}/x/y")]
                    {
                        assert!(left_out(&path), "{path}");
                    }
                }
            }
        }
        assert!(secret > 100, "{secret}");
    }

    #[test]
    fn ordinary_files_are_shown() {
        for path in [
            "src/main.rs",
            "Cargo.toml",
            ".gitignore",
            ".github/workflows/ci.yml",
            "src/environment.rs",
            ".environment/x",
            "keyboard.rs",
            "src/secretsauce.rs",
            "docs/credential.md",
            "src/pem.rs",
            "package.json",
            ".dockerignore",
            "identity.rs",
        ] {
            assert!(!left_out(path), "{path}");
        }
    }
}
