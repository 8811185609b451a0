//! The environment variables. The only place that reads those of the process.

use std::collections::BTreeMap;
use std::fmt;

use crate::domain::Language;

/// Variables by name. Those of the process override those of a `.env` file.
#[derive(Clone, Default)]
pub struct Env {
    vars: BTreeMap<String, String>,
}

impl Env {
    /// The environment of this process. Variables that are not UTF-8 are left out.
    pub fn process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self { vars: std::env::vars_os().filter_map(text).collect() }
    }

    /// Given variables, for tests.
    pub fn of<const N: usize>(vars: [(&str, &str); N]) -> Self {
        Self { vars: vars.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect() }
    }

    /// Adds the lines of a `.env` file. The last of several lines with one name counts.
    #[must_use]
    pub fn with_dotenv(&self, pairs: Vec<(String, String)>) -> Self {
        let mut vars: BTreeMap<String, String> = pairs.into_iter().collect();
        vars.extend(self.vars.clone());
        Self { vars }
    }

    pub fn all(&self) -> Vec<(String, String)> {
        self.vars.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str)
    }

    /// The value of a variable, unless it is blank.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.trim().is_empty())
    }

    /// The language of the locale, for the terminal.
    pub fn language(&self) -> Language {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(|name| self.filled(name));
        if locale.is_some_and(|locale| locale.to_ascii_lowercase().starts_with("zh")) {
            Language::Zh
        } else {
            Language::En
        }
    }
}

/// Prints names only: values may be secrets.
impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.vars.keys()).finish()
    }
}

/// Whether a variable's name marks its value as a secret.
pub(super) fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "PRIVATE"];
    let endings = ["PASS", "_PWD", "_AUTH", "_PAT"];
    words.into_iter().any(|word| name.contains(word)) || endings.into_iter().any(|end| name.ends_with(end))
}

/// The secrets in a line of `.env`: its value where the name says so or where it looks machine-generated,
/// and the password of a URL.
pub(super) fn secrets_of<'a>(name: &str, value: &'a str) -> Vec<&'a str> {
    let mut secrets = Vec::new();
    if (names_a_secret(name) && !is_trivial(value)) || looks_random(value) {
        secrets.push(value);
    }
    let after_scheme = value.split_once("://").map(|(_, rest)| rest);
    let authority = after_scheme.and_then(|rest| rest.split(['/', '?', '#']).next());
    let person = authority.and_then(|authority| authority.rsplit_once('@')).map(|(person, _)| person);
    if let Some((_, password)) = person.and_then(|person| person.split_once(':')) {
        secrets.push(password);
    }
    secrets.retain(|secret| !secret.trim().is_empty());
    secrets
}

/// Numbers and booleans, which occur in every text.
fn is_trivial(value: &str) -> bool {
    let words = ["true", "false", "enabled", "disabled", "required", "optional", "default", "none", "null"];
    let number = value.len() < 10 && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    number || words.contains(&value.trim().to_ascii_lowercase().as_str())
}

/// Whether a long word mixes letters and digits like a key or token.
fn looks_random(value: &str) -> bool {
    let plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_=+/.".contains(&byte));
    let pairs = value.bytes().zip(value.bytes().skip(1));
    let turns = pairs.filter(|(one, other)| {
        (one.is_ascii_digit() && other.is_ascii_alphabetic())
            || (one.is_ascii_alphabetic() && other.is_ascii_digit())
    });
    value.len() >= 20 && plain && !value.starts_with(['/', '.']) && turns.count() >= 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_wins_over_the_file() {
        let env = Env::of([("A", "process"), ("EMPTY", "")]).with_dotenv(vec![
            ("A".into(), "file".into()),
            ("B".into(), "1".into()),
            ("B".into(), "2".into()),
        ]);
        assert_eq!((env.get("A"), env.get("B"), env.get("C")), (Some("process"), Some("2"), None));
        assert_eq!((env.get("EMPTY"), env.filled("EMPTY")), (Some(""), None));
    }

    #[test]
    fn the_locale_chooses_the_language() {
        for (vars, expected) in [
            ([("LC_ALL", ""), ("LANG", "")], Language::En),
            ([("LC_ALL", ""), ("LANG", "zh_CN.UTF-8")], Language::Zh),
            ([("LC_ALL", "en_GB.UTF-8"), ("LANG", "zh_CN.UTF-8")], Language::En),
            ([("LC_ALL", "ZH_TW"), ("LANG", "C")], Language::Zh),
        ] {
            assert_eq!(Env::of(vars).language(), expected, "{vars:?}");
        }
    }

    #[test]
    fn what_a_line_of_the_file_hides() {
        for (name, value, expected) in [
            ("API_KEY", "abc", &["abc"][..]),
            ("DB_PASS", "hunter2", &["hunter2"]),
            ("GITHUB_PAT", "x-y", &["x-y"]),
            ("TOKEN_LIMIT", "128000", &[]),
            ("REQUIRE_TOKEN", "true", &[]),
            ("API_KEY", "", &[]),
            ("DATABASE_URL", "postgres://app:s3cr3t@db.internal/x?y=a@b", &["s3cr3t"]),
            ("BASE_URL", "https://api.example.com/v1", &[]),
            ("MODEL", "gpt-4o-mini-2024-07-18", &[]),
            ("ANYTHING", "9f86d081884c7d659a2feaa0c55ad015", &["9f86d081884c7d659a2feaa0c55ad015"]),
            ("AUTHOR", "Ada Lovelace", &[]),
            ("DIR", "/srv/a1b2c3d4e5f6a7b8c9d0/data", &[]),
        ] {
            assert_eq!(secrets_of(name, value), expected, "{name}={value}");
        }
    }

    #[test]
    fn what_is_printed_of_it_has_no_values() {
        assert_eq!(format!("{:?}", Env::of([("API_KEY", "canary")])), r#"{"API_KEY"}"#);
    }
}
