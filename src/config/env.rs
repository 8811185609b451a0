//! The environment, as a value. The only place that looks at the process's own.

use std::collections::BTreeMap;
use std::fmt;

use crate::domain::Language;

/// Variables by name. What the process was given wins over what a `.env` file says.
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

    /// This environment, with the lines of a `.env` file behind it. Of two lines with one name the last counts.
    #[must_use]
    pub fn with_dotenv(&self, pairs: Vec<(String, String)>) -> Self {
        let mut vars: BTreeMap<String, String> = pairs.into_iter().collect();
        vars.extend(self.vars.clone());
        Self { vars }
    }

    /// Every variable.
    pub fn all(&self) -> Vec<(String, String)> {
        self.vars.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str)
    }

    /// The value of a variable, where it says anything.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.trim().is_empty())
    }

    /// The language of whoever sits at the terminal.
    pub fn language(&self) -> Language {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(|name| self.filled(name));
        if locale.is_some_and(|locale| locale.to_ascii_lowercase().starts_with("zh")) {
            Language::Zh
        } else {
            Language::En
        }
    }
}

/// Names only: values may be secrets.
impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.vars.keys()).finish()
    }
}

/// Whether a variable's name says that its value is not for everybody's eyes.
pub(super) fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD"].into_iter().any(|word| name.contains(word))
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
    fn what_is_printed_of_it_has_no_values() {
        assert_eq!(format!("{:?}", Env::of([("API_KEY", "canary")])), r#"{"API_KEY"}"#);
    }
}
