//! Values for `.env`. Pure.

use std::fmt::Write as _;

use secrecy::{ExposeSecret as _, SecretString};

/// The text of a `.env` with these values: a line that sets one of the variables is replaced, the others are appended.
/// Everything else stays as it is. In a file with quotes, where a value may span lines, values are only appended: the last
/// one counts.
pub(super) fn with_values(existing: &str, values: &[(String, SecretString)]) -> String {
    let mut text = String::new();
    let quotes = existing.contains(['"', '\'']);
    for line in existing.lines() {
        let set = values.iter().any(|(name, _)| variable_of(line) == Some(name.as_str()));
        if quotes || !set {
            text.push_str(line);
            text.push('\n');
        }
    }
    for (name, value) in values {
        // Writing to a string cannot fail.
        let _written = writeln!(text, "{name}={}", quoted(value.expose_secret()));
    }
    text
}

/// The variable that a line sets, if it sets one in one line.
fn variable_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").unwrap_or(line);
    Some(line.split_once('=')?.0.trim())
}

/// A value as it stands in the file: in double quotes where it would be read differently without them.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:+=@%,~".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::config::{Env, project_env};

    fn values(pairs: &[(&str, &str)]) -> Vec<(String, SecretString)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), SecretString::from(*value))).collect()
    }

    #[test]
    fn only_the_lines_of_the_same_variables_change() {
        for (existing, given, expected) in [
            ("", &[("A", "b")][..], "A=b\n"),
            ("# mine\nB=1", &[("A", "b")], "# mine\nB=1\nA=b\n"),
            ("export A = old\nB=1\n", &[("A", "new")], "B=1\nA=new\n"),
            ("A=1\nAB=2\n#A=3\n", &[("A", "x y")], "AB=2\n#A=3\nA=\"x y\"\n"),
            ("A=1\n", &[], "A=1\n"),
            ("B='x\nA=1'\n", &[("A", "2")], "B='x\nA=1'\nA=2\n"),
        ] {
            assert_eq!(with_values(existing, &values(given)), expected, "{existing:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(value in "[^\\r]{1,40}") {
            let dir = tempfile::tempdir().unwrap();
            let text = with_values("OTHER=1\n", &values(&[("KEY", &value)]));
            std::fs::File::create(dir.path().join(".env")).unwrap().write_all(text.as_bytes()).unwrap();
            let read = project_env(dir.path(), &Env::default());
            prop_assert_eq!(read.get("KEY"), Some(value.as_str()));
        }
    }
}
