//! The path of a key in `ship.json`, as problems name it: `llm.fallbacks[0].model`, `identities["Ann Lee"]`. Pure.

use std::fmt;

use serde_json::Value;

use super::check::join;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyStep {
    Key(String),
    Index(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyPath {
    pub steps: Vec<KeyStep>,
}

impl KeyPath {
    /// Parses a path; `None` where it is not one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (mut steps, mut rest) = (Vec::new(), text.trim());
        loop {
            if let Some(inside) = rest.strip_prefix('[') {
                let (step, after) = bracket(inside)?;
                steps.push(step);
                rest = after;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let (key, after) = rest.split_at_checked(end)?;
                if key.is_empty() || key.contains(['"', ']', ' ']) {
                    return None;
                }
                steps.push(KeyStep::Key(key.to_owned()));
                rest = after;
            }
            if rest.is_empty() {
                return matches!(steps.first(), Some(KeyStep::Key(_))).then_some(Self { steps });
            }
            // A dot separates; a bracket needs none.
            rest = match rest.strip_prefix('.') {
                Some(after) if !after.starts_with('[') => after,
                None if rest.starts_with('[') => rest,
                _ => return None,
            };
        }
    }

    /// The schema of the value at this path, or the first step that the schema does not have: the path of its object and
    /// the object's schema.
    pub(super) fn schema_of<'a>(&self, schema: &'a Value) -> Result<&'a Value, (Self, &'a Value)> {
        let mut current = schema;
        for (i, step) in self.steps.iter().enumerate() {
            let inner = match step {
                KeyStep::Key(key) => current
                    .get("properties")
                    .and_then(|known| known.get(key))
                    .or_else(|| current.get("additionalProperties").filter(|others| others.is_object())),
                KeyStep::Index(_) => current.get("items"),
            };
            match inner {
                Some(inner) => current = inner,
                None => {
                    let steps = self.steps.get(..i).unwrap_or_default().to_vec();
                    return Err((Self { steps }, current));
                }
            }
        }
        Ok(current)
    }

    /// The last step, where it is a key.
    pub(super) fn last_key(&self) -> Option<&str> {
        match self.steps.last()? {
            KeyStep::Key(key) => Some(key),
            KeyStep::Index(_) => None,
        }
    }

    /// The value at this path.
    pub(super) fn find<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.steps.iter().try_fold(value, |value, step| match step {
            KeyStep::Key(key) => value.get(key),
            KeyStep::Index(index) => value.get(index),
        })
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.steps.iter().fold(String::new(), |path, step| match step {
            KeyStep::Key(key) => join(&path, key),
            KeyStep::Index(index) => format!("{path}[{index}]"),
        });
        f.write_str(&text)
    }
}

/// Parses what follows `[`: an index or a key in double quotes, and `]`.
fn bracket(inside: &str) -> Option<(KeyStep, &str)> {
    if inside.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(inside).into_iter::<String>();
        let key = values.next()?.ok()?;
        let after = inside.get(values.byte_offset()..)?.strip_prefix(']')?;
        return Some((KeyStep::Key(key), after));
    }
    let (index, after) = inside.split_once(']')?;
    Some((KeyStep::Index(index.parse().ok()?), after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(text: &str) -> KeyStep {
        KeyStep::Key(text.to_owned())
    }

    #[test]
    fn a_path_is_read_as_problems_print_it() {
        for (text, expected) in [
            ("language", Some(vec![key("language")])),
            (
                "llm.fallbacks[0].model",
                Some(vec![key("llm"), key("fallbacks"), KeyStep::Index(0), key("model")]),
            ),
            ("identities[\"Ann Lee\"][1]", Some(vec![key("identities"), key("Ann Lee"), KeyStep::Index(1)])),
            ("a[\"x.\\\"]\"].b", Some(vec![key("a"), key("x.\"]"), key("b")])),
            ("", None),
            (".", None),
            ("llm.", None),
            ("llm..model", None),
            ("llm.[0]", None),
            ("[0]", None),
            ("a[x]", None),
            ("a[0", None),
            ("a[0]b", None),
            ("a b", None),
        ] {
            assert_eq!(KeyPath::parse(text).map(|path| path.steps), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_path_is_read_back(
            first in "[a-z]{1,5}",
            steps in prop::collection::vec(prop_oneof![
                "[a-z0-9 .\\[\\]\"\\\\中é]{1,6}".prop_map(KeyStep::Key), (0_usize..9).prop_map(KeyStep::Index)
            ], 0..5)
        ) {
            let steps = std::iter::once(KeyStep::Key(first)).chain(steps).collect();
            let path = KeyPath { steps };
            prop_assert_eq!(KeyPath::parse(&path.to_string()), Some(path));
        }

        #[test]
        fn no_text_is_too_strange_to_read(text in any::<String>()) {
            let _path = KeyPath::parse(&text);
        }
    }
}
