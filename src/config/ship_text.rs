//! Changes single values in the text of a `ship.json`. Pure.
//!
//! Comments, the order of keys, indentation and trailing commas stay as they are.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::key_path::{KeyPath, KeyStep};
use super::syntax;

/// Why a text cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditFault {
    /// It is not valid JSON with comments, or not an object.
    Invalid,
    /// A step of the path is inside a value that is neither an object nor an array.
    NotInside,
    /// An index behind the end of a list of this length.
    NoElement(usize),
}

/// The text with the value at a path set. Missing objects on the way are added. An empty text becomes an object.
pub(super) fn set(text: &str, path: &KeyPath, value: &Value) -> Result<String, EditFault> {
    let blank = text.trim().is_empty();
    let (mark, body) = split_mark(if blank { "{\n}\n" } else { text });
    let (root, object) = parse(body)?;
    let (last, inside) = path.steps.split_last().ok_or(EditFault::Invalid)?;
    let mut container = JsonContainer::Object(object);
    for (step, next) in inside.iter().zip(path.steps.iter().skip(1)) {
        container = container.enter(step, next)?;
    }
    container.put(last, input(value))?;
    printed(mark, &root)
}

/// The text without the value at a path; `None` where there is no such value. A comment above the key stays.
pub(super) fn remove(text: &str, path: &KeyPath) -> Result<Option<String>, EditFault> {
    let (mark, body) = split_mark(text);
    let (root, object) = parse(body)?;
    let Some((last, inside)) = path.steps.split_last() else { return Ok(None) };
    let mut container = JsonContainer::Object(object);
    for step in inside {
        match container.get(step).and_then(JsonContainer::of) {
            Some(inner) => container = inner,
            None => return Ok(None),
        }
    }
    match (&container, last) {
        (JsonContainer::Object(object), KeyStep::Key(key)) => match object.get(key) {
            Some(property) => property.remove(),
            None => return Ok(None),
        },
        (JsonContainer::Array(array), KeyStep::Index(index)) => {
            match array.elements().into_iter().nth(*index) {
                Some(element) => element.remove(),
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    }
    printed(mark, &root).map(Some)
}

enum JsonContainer {
    Object(CstObject),
    Array(CstArray),
}

impl JsonContainer {
    fn of(node: CstNode) -> Option<Self> {
        node.as_object().map(Self::Object).or_else(|| node.as_array().map(Self::Array))
    }

    fn get(&self, step: &KeyStep) -> Option<CstNode> {
        match (self, step) {
            (Self::Object(object), KeyStep::Key(key)) => object.get(key)?.value(),
            (Self::Array(array), KeyStep::Index(index)) => array.elements().into_iter().nth(*index),
            _ => None,
        }
    }

    /// The object or array at a step, created where it is missing; `next` says which of the two.
    fn enter(self, step: &KeyStep, next: &KeyStep) -> Result<Self, EditFault> {
        if self.get(step).is_none() {
            let empty = match next {
                KeyStep::Key(_) => CstInputValue::Object(Vec::new()),
                KeyStep::Index(_) => CstInputValue::Array(Vec::new()),
            };
            self.put(step, empty)?;
        }
        self.get(step).and_then(Self::of).ok_or(EditFault::NotInside)
    }

    /// Sets the value at a step; the index behind the last element appends one.
    fn put(&self, step: &KeyStep, value: CstInputValue) -> Result<(), EditFault> {
        match (self, step) {
            (Self::Object(object), KeyStep::Key(key)) => match object.get(key) {
                Some(property) => property.set_value(value),
                None => {
                    let _added = object.append(key, value);
                }
            },
            (Self::Array(array), KeyStep::Index(index)) => {
                let elements = array.elements();
                let length = elements.len();
                match elements.into_iter().nth(*index) {
                    Some(element) => replace(element, value),
                    None if *index == length => {
                        let _added = array.append(value);
                    }
                    None => return Err(EditFault::NoElement(length)),
                }
            }
            _ => return Err(EditFault::NotInside),
        }
        Ok(())
    }
}

fn replace(element: CstNode, value: CstInputValue) {
    let _new = if let Some(object) = element.as_object() {
        object.replace_with(value)
    } else if let Some(array) = element.as_array() {
        array.replace_with(value)
    } else if let Some(text) = element.as_string_lit() {
        text.replace_with(value)
    } else if let Some(number) = element.as_number_lit() {
        number.replace_with(value)
    } else if let Some(boolean) = element.as_boolean_lit() {
        boolean.replace_with(value)
    } else if let Some(null) = element.as_null_keyword() {
        null.replace_with(value)
    } else {
        None
    };
}

fn parse(text: &str) -> Result<(CstRootNode, CstObject), EditFault> {
    if !syntax::parse(text).faults.is_empty() {
        return Err(EditFault::Invalid);
    }
    let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|_| EditFault::Invalid)?;
    let object = root.object_value().ok_or(EditFault::Invalid)?;
    Ok((root, object))
}

fn printed(mark: &str, root: &CstRootNode) -> Result<String, EditFault> {
    let text = root.to_string();
    if syntax::parse(&text).faults.is_empty() { Ok(format!("{mark}{text}")) } else { Err(EditFault::Invalid) }
}

/// Splits off a byte order mark.
fn split_mark(text: &str) -> (&str, &str) {
    const MARK: &str = "\u{feff}";
    text.strip_prefix(MARK).map_or(("", text), |body| (MARK, body))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(keys) => {
            CstInputValue::Object(keys.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn at(path: &str) -> KeyPath {
        KeyPath::parse(path).unwrap()
    }

    const FILE: &str = r#"// The agent of the office.
{
  "name": "ship", // its name
  /* the model */
  "llm": {
    "model": "small", // cheap
    "fallbacks": [{ "model": "a" }, { "model": "b" }],
  },
  "owners": ["telegram:user:1"],
}
"#;

    #[test]
    fn a_value_is_changed_in_its_place() {
        for (path, value, old, new) in [
            ("llm.model", json!("large"), r#""model": "small", // cheap"#, r#""model": "large", // cheap"#),
            ("name", json!("a \"b\" \\"), r#""name": "ship","#, r#""name": "a \"b\" \\","#),
            ("llm.fallbacks[1].model", json!("c"), r#"{ "model": "b" }"#, r#"{ "model": "c" }"#),
            (
                "owners[1]",
                json!("qq:user:2"),
                r#"["telegram:user:1"]"#,
                r#"["telegram:user:1", "qq:user:2"]"#,
            ),
            ("owners[0]", json!("qq:user:2"), r#"["telegram:user:1"]"#, r#"["qq:user:2"]"#),
            ("owners", json!([]), r#"["telegram:user:1"]"#, "[]"),
        ] {
            assert_eq!(set(FILE, &at(path), &value).unwrap(), FILE.replace(old, new), "{path}");
        }
    }

    #[test]
    fn a_missing_key_is_added_with_the_objects_around_it() {
        let text = set(FILE, &at("llm.maxSteps"), &json!(7)).unwrap();
        let line = "    \"fallbacks\": [{ \"model\": \"a\" }, { \"model\": \"b\" }],\n";
        assert_eq!(text, FILE.replace(line, &format!("{line}    \"maxSteps\": 7,\n")));
        let text = set(FILE, &at("permissions.exec_shell.mode"), &json!("deny")).unwrap();
        assert!(
            text.starts_with("// The agent of the office.\n{\n  \"name\": \"ship\", // its name\n"),
            "{text}"
        );
        let added = "  \"permissions\": {\n    \"exec_shell\": {\n      \"mode\": \"deny\"\n    }\n  },\n}\n";
        assert!(text.ends_with(added), "{text}");
        assert_eq!(set("", &at("language"), &json!("zh")).unwrap(), "{\n  \"language\": \"zh\"\n}\n");
        assert_eq!(set("\u{feff}{}", &at("a"), &json!(1)).unwrap(), "\u{feff}{\n  \"a\": 1\n}");
    }

    #[test]
    fn a_value_is_removed_and_comments_stay() {
        let text = remove(FILE, &at("llm.model")).unwrap().unwrap();
        assert!(!text.contains("small") && text.contains("// its name"), "{text}");
        let text = remove(FILE, &at("llm.fallbacks[0]")).unwrap().unwrap();
        assert!(text.contains(r#"{ "model": "b" }],"#) && !text.contains(r#""a""#), "{text}");
        for path in ["llm.other", "name.x", "owners[3]", "nothing.at.all"] {
            assert_eq!(remove(FILE, &at(path)), Ok(None), "{path}");
        }
    }

    #[test]
    fn what_cannot_be_changed_is_refused() {
        for (text, path, fault) in [
            ("{", "a", EditFault::Invalid),
            ("[]", "a", EditFault::Invalid),
            ("{a: 1}", "a", EditFault::Invalid),
            ("{\"a\": 1}", "a.b", EditFault::NotInside),
            ("{\"a\": [1]}", "a.b", EditFault::NotInside),
            ("{\"a\": [1]}", "a[2]", EditFault::NoElement(1)),
        ] {
            assert_eq!(set(text, &at(path), &json!(1)), Err(fault), "{text} {path}");
        }
    }

    /// A file with a comment above and behind each key, by its keys.
    fn commented(keys: &[(String, i32)], trailing: bool) -> String {
        let mut text = "{\n".to_owned();
        for (i, (key, value)) in keys.iter().enumerate() {
            let comma = if trailing || i + 1 < keys.len() { "," } else { "" };
            text.push_str(&format!(
                "  // above {i}\n  \"{key}\": {{ \"n\": {value} }}{comma} // behind {i}\n"
            ));
        }
        text + "  // end\n}\n"
    }

    proptest! {
        #[test]
        fn a_change_keeps_every_comment_and_every_other_value(
            keys in prop::collection::btree_map("[a-f]{1,2}", any::<i32>(), 0..5),
            key in "[a-g]{1,2}",
            value in prop_oneof![any::<i32>().prop_map(|n| json!(n)), "[^\\p{C}]{0,8}".prop_map(|s| json!(s))],
            trailing in any::<bool>(),
        ) {
            let keys: Vec<(String, i32)> = keys.into_iter().collect();
            let before = commented(&keys, trailing);
            let after = set(&before, &at(&format!("{key}.n")), &value).unwrap();
            let comments = |text: &str| -> Vec<String> {
                text.lines().filter_map(|line| line.split_once("// ").map(|(_, c)| c.to_owned())).collect()
            };
            // A text value may hold the two slashes itself.
            if !value.to_string().contains("//") {
                prop_assert_eq!(comments(&before), comments(&after));
            }
            let parsed = syntax::parse(&after);
            let object = parsed.value.as_ref().unwrap().as_object().unwrap();
            for (known, number) in keys.iter().filter(|(known, _)| *known != key) {
                let found = object.get_object(known).unwrap().get_number("n").unwrap().value;
                prop_assert_eq!(found, number.to_string());
            }
            prop_assert_eq!(object.properties.len(), keys.len() + usize::from(!keys.iter().any(|(k, _)| *k == key)));
        }

        #[test]
        fn no_text_is_too_strange_to_change(text in any::<String>()) {
            let _set = set(&text, &at("a.b"), &json!(1));
            let _removed = remove(&text, &at("a.b"));
        }
    }
}
