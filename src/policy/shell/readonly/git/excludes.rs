//! Pathspecs that exclude files that may contain secrets, in history too. They cover every name of
//! `paths::is_secret_name`, and a few more: git's patterns have no alternatives.

use crate::policy::paths::{DATA_ENDINGS, SECRET_WORDS};

/// Prefix of each pattern: from the top of the repository, excluded, ignoring case.
const MAGIC: &str = ":(top,exclude,icase)";

/// Prefixes of file or folder names.
const BEGINNINGS: &[&str] = &[
    ".*_history",
    ".api_key",
    ".apikey",
    ".authinfo",
    ".aws",
    ".azure",
    ".boto",
    ".credential",
    ".curlrc",
    ".databrickscfg",
    ".dockercfg",
    ".dockerconfigjson",
    ".env[0-9]",
    ".envrc",
    ".envs",
    ".fetchmailrc",
    ".flaskenv",
    ".ftpconfig",
    ".ftppass",
    ".gcloud",
    ".git-credentials",
    ".gnupg",
    ".htpasswd",
    ".kube",
    ".lftprc",
    ".msmtprc",
    ".my.cnf",
    ".mylogin.cnf",
    ".netrc",
    ".npmrc",
    ".passw",
    ".pg_service.conf",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".secret",
    ".sentryclirc",
    ".ship",
    ".ssh",
    ".terraformrc",
    ".token",
    ".vault",
    ".vault-token",
    ".wgetrc",
    "_netrc",
    "accesstokens.json",
    "auth.json",
    "deploy-key",
    "deploy_key",
    "id_",
    "kubeconfig",
    "local.settings.json",
    "pip.conf",
    "private-key",
    "private_key",
    "privatekey",
    "rclone.conf",
    "secret.json",
    "secret.toml",
    "secret.yaml",
    "secret.yml",
    "sftp.json",
    "ship.json",
    "token.json",
    "vault-pass",
    "vault_pass",
    "wallet.dat",
    "wp-config.php",
];

/// Names of files or folders, with or without a further suffix.
const NAMES: &[&str] = &[".docker", ".env", "credentials", "gcloud", "secrets"];

/// Suffixes of file or folder names, with or without a further suffix.
const ENDINGS: &[&str] = &[
    ".agekey",
    ".apikey",
    ".credentials",
    ".env",
    ".gpg",
    ".jceks",
    ".jks",
    ".jwk",
    ".kdb",
    ".kdbx",
    ".key",
    ".keystore",
    ".keytab",
    ".kubeconfig",
    ".ovpn",
    ".p12",
    ".p8",
    ".passwd",
    ".password",
    ".pem",
    ".pfx",
    ".pgp",
    ".pkcs12",
    ".ppk",
    ".psafe3",
    ".secret",
    ".secrets",
    ".tfstate",
    ".tfvars",
    ".token",
    ".wallet",
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
    for end in DATA_ENDINGS {
        patterns.extend(SECRET_WORDS.iter().map(|word| format!("*{word}*{end}*")));
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
        a.pkcs12 .env1 .envs .secret .secrets .credentials .passwd .password .passwords .password-store .token .tokens .apikey \
        .api_key .vault_pass .vault-password .vault_pass.txt vault_pass vault_pass.txt vault_password local.settings.json \
        token.json accesstokens.json wp-config.php .databrickscfg .authinfo .msmtprc .fetchmailrc private_key private-key \
        privatekey deploy_key deploy-key secret.toml serviceAccountKey.json x-adminsdk-y.json my_credentials.ini \
        api_keys.txt aws-access-keys.properties passwords.xml a.keytab a.kubeconfig a.psafe3 a.wallet a.pgp a.jwk a.secret a.secrets a.credentials a.password a.passwd \
        a.token a.apikey .pg_service.conf .sentryclirc .ftpconfig .ftppass .lftprc sftp.json wallet.dat a.tfvars.json a.ppk a.jks a.jceks a.keystore a.kdb a.kdbx a.agekey a.gpg a.ovpn a.tfstate a.tfvars";

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
            [b'[', rest @ ..] => {
                assert!(rest.starts_with(b"0-9]"));
                text.first().is_some_and(u8::is_ascii_digit) && matches(&rest[4..], &text[1..])
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
