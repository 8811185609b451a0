//! `${VAR}` and `${VAR:-default}` in a text. Pure: works on a parsed text, never on the raw file.

use super::dotenv::is_name;
use super::env::Env;

/// A text with expanded variables.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expanded {
    pub text: String,
    /// The variables whose own value, not the default, was used.
    pub used: Vec<String>,
}

/// Why a text cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExpandFault {
    /// The variable is not set, and there is no default.
    Unset(String),
    /// `${` without `}`.
    Unclosed,
    /// The braces contain neither `NAME` nor `NAME:-default`.
    BadName(String),
}

/// Expands every variable. `$${` stands for `${` itself; any other `$` is a dollar sign. An empty variable
/// counts as unset where a default is given, and as empty text where none is.
pub(super) fn expand(text: &str, env: &Env) -> Result<Expanded, Vec<ExpandFault>> {
    let mut out = Expanded { text: String::with_capacity(text.len()), used: Vec::new() };
    let mut faults = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            out.text.push_str(before);
            out.text.push_str("${");
            rest = after;
            continue;
        }
        out.text.push_str(before);
        let Some((inside, after)) = after.split_once('}') else {
            faults.push(ExpandFault::Unclosed);
            rest = "";
            break;
        };
        rest = after;
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if !is_name(name) || default.is_some_and(|default| default.contains("${")) {
            faults.push(ExpandFault::BadName(inside.chars().take(40).collect()));
            continue;
        }
        match (env.get(name), default) {
            (Some(""), Some(default)) | (None, Some(default)) => out.text.push_str(default),
            (Some(value), _) => {
                out.text.push_str(value);
                out.used.push(name.to_owned());
            }
            (None, None) => faults.push(ExpandFault::Unset(name.to_owned())),
        }
    }
    out.text.push_str(rest);
    if faults.is_empty() { Ok(out) } else { Err(faults) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn env() -> Env {
        Env::of([("A", "1"), ("B_2", "two"), ("EMPTY", ""), ("SLY", "${A}")])
    }

    #[test]
    fn variables_are_filled_in_anywhere() {
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("${A}", "1"),
            ("x${A}y${B_2}z", "x1ytwoz"),
            ("${A}${A}", "11"),
            ("${NO:-default}", "default"),
            ("${NO:-}", ""),
            ("${NO:-a:-b}", "a:-b"),
            ("${A:-unused}", "1"),
            ("${EMPTY}", ""),
            ("${EMPTY:-default}", "default"),
            ("http://127.0.0.1:${PORT:-7717}/", "http://127.0.0.1:7717/"),
            ("$${A}", "${A}"),
            ("$$${A}", "$${A}"),
            ("$A $ $$ 5$", "$A $ $$ 5$"),
            ("}{", "}{"),
            ("${SLY}", "${A}"),
            ("价格 ${A} 元", "价格 1 元"),
        ] {
            assert_eq!(expand(text, &env()).map(|e| e.text), Ok(expected.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn every_fault_of_a_text_is_told() {
        use ExpandFault::{BadName, Unclosed, Unset};
        for (text, expected) in [
            ("${NO}", vec![Unset("NO".into())]),
            ("${NO} ${A} ${NEITHER}", vec![Unset("NO".into()), Unset("NEITHER".into())]),
            ("${A", vec![Unclosed]),
            ("${", vec![Unclosed]),
            ("${}", vec![BadName("".into())]),
            ("${1A}", vec![BadName("1A".into())]),
            ("${A-b}", vec![BadName("A-b".into())]),
            ("${ A }", vec![BadName(" A ".into())]),
            ("${NO:-${A}}", vec![BadName("NO:-${A".into())]),
            ("${NO} ${", vec![Unset("NO".into()), Unclosed]),
        ] {
            assert_eq!(expand(text, &env()), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn only_variables_that_were_taken_are_named() {
        let used = |text| expand(text, &env()).unwrap().used;
        assert_eq!(used("${A} ${NO:-x} ${B_2}"), ["A", "B_2"]);
    }

    proptest! {
        #[test]
        fn a_text_without_a_brace_is_left_alone(text in "[^{]*") {
            prop_assert_eq!(expand(&text, &env()).unwrap().text, text);
        }

        #[test]
        fn what_is_escaped_comes_back(text in any::<String>()) {
            let escaped = text.replace("${", "$${");
            prop_assert_eq!(expand(&escaped, &env()).unwrap().text, text);
        }
    }
}
