//! Binds an answer to exactly the call that was shown: tool, canonical arguments, folder, and the content of the files
//! it runs at that time.

use std::collections::BTreeSet;

use ring::digest::{Context, SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shell::{INTERPRETERS, SHELLS};
use crate::domain::{MemoryScope, hex};

/// A file that a call depends on, and its content; no digest where there is no file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDigest {
    /// The path relative to the project; a folder ends with `/`.
    pub path: String,
    /// The digest of its content, or of other identifying facts.
    pub digest: Option<String>,
}

/// The digest of a file's content, in the form of [`FileDigest`].
pub fn digest_of(content: &[u8]) -> String {
    hex(digest(&SHA256, content).as_ref())
}

/// The digest of content that is read in pieces.
#[derive(Clone)]
pub struct ContentDigest(Context);

impl std::fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContentDigest").finish_non_exhaustive()
    }
}

impl ContentDigest {
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub fn add(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The digest, in the form of [`FileDigest`].
    pub fn finish(self) -> String {
        hex(self.0.finish().as_ref())
    }
}

impl Default for ContentDigest {
    fn default() -> Self {
        Self::new()
    }
}

/// The fingerprint of a call: a yes holds for it only with the memory it was asked with. The order of `files` does not
/// matter.
pub fn fingerprint(
    tool: &str,
    input: &Value,
    cwd: &str,
    scope: &MemoryScope,
    files: &[FileDigest],
) -> String {
    let mut context = Context::new(&SHA256);
    // Each piece is prefixed with its length, so that two calls never have the same input.
    let mut add = |piece: &str| {
        context.update(&(piece.len() as u64).to_be_bytes());
        context.update(piece.as_bytes());
    };
    add("shipagent call 2");
    add(tool);
    add(&canonical(input));
    add(cwd);
    for key in scope.read() {
        add(&key.to_string());
    }
    add(&scope.write().map(ToString::to_string).unwrap_or_default());
    for file in files.iter().collect::<BTreeSet<_>>() {
        add(&file.path);
        add(file.digest.as_deref().unwrap_or("not there"));
    }
    hex(context.finish().as_ref())
}

/// The value as text, independent of the order of keys and of white space.
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            let members = keys.iter().filter_map(|key| {
                Some(format!("{}:{}", Value::String((*key).clone()), canonical(map.get(*key)?)))
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// The files that a command names as program or script: its effect depends on them.
pub fn scripts_named(argv: &[String]) -> Vec<String> {
    let Some((program, words)) = argv.split_first() else { return Vec::new() };
    let mut files = Vec::new();
    if program.contains('/') {
        files.push(program.clone());
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    if matches!(name, "source" | ".") {
        files.extend(words.first().cloned());
    } else if SHELLS.contains(&name) || INTERPRETERS.contains(&name) {
        files.extend(script_operand(name, words));
    }
    if matches!(
        name,
        "make" | "gmake" | "awk" | "gawk" | "mawk" | "sed" | "jq" | "psql" | "ansible-playbook" | "just"
    ) {
        files.extend(after_option(words));
    }
    files.dedup();
    files
}

/// The script of a shell or an interpreter: its first operand, unless the program is given inline.
fn script_operand(name: &str, words: &[String]) -> Option<String> {
    let shell = SHELLS.contains(&name);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file" if shell => {
                words.next();
            }
            "-c" | "-e" | "-E" | "-m" | "-p" | "--eval" if !shell => return None,
            option if option.starts_with("--") => {}
            option if option.starts_with('-') && shell && option.contains('c') => return None,
            option if option.starts_with(['-', '+']) => {}
            _ => return Some(word.clone()),
        }
    }
    None
}

/// The value of `-f FILE`, `-fFILE` or `--file=FILE`.
fn after_option(words: &[String]) -> Option<String> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        for option in ["--from-file", "--makefile", "--justfile", "--file", "-f"] {
            match word.strip_prefix(option) {
                Some("") => return words.next().cloned(),
                Some(rest) => return Some(rest.trim_start_matches('=').to_owned()),
                None => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{ChatKind, ScopeSettings};

    fn print(tool: &str, input: &Value, cwd: &str, files: &[FileDigest]) -> String {
        fingerprint(tool, input, cwd, &MemoryScope::default(), files)
    }

    fn file(path: &str, content: &str) -> FileDigest {
        FileDigest { path: path.into(), digest: Some(digest_of(content.as_bytes())) }
    }

    #[test]
    fn the_order_of_keys_does_not_matter_and_everything_else_does() {
        let one = json!({"command": "ls", "cwd": "a", "deep": {"x": [1, 2], "y": null}});
        let same: Value =
            serde_json::from_str(r#"{ "deep": {"y":null, "x": [1,2]}, "cwd":"a","command":"ls" }"#).unwrap();
        let files = [file("a.sh", "x"), file("b.sh", "y")];
        let turned = [file("b.sh", "y"), file("a.sh", "x")];
        let base = print("exec_shell", &one, "a", &files);
        assert_eq!(base, print("exec_shell", &same, "a", &turned));
        assert_eq!(base.len(), 64);
        let gone = [file("a.sh", "x"), FileDigest { path: "b.sh".into(), digest: None }];
        let scope = MemoryScope::default().without_person().read_only();
        assert_eq!(base, fingerprint("exec_shell", &one, "a", &scope, &files));
        let (ann, thread) = ("web:user:a".parse().unwrap(), "web:chat:1".parse().unwrap());
        let own = MemoryScope::resolve(&ann, ChatKind::Direct, &thread, &ScopeSettings::default());
        for other in [
            fingerprint("exec_shell", &one, "a", &own, &files),
            fingerprint("exec_shell", &one, "a", &own.read_only(), &files),
            print("exec_shel", &one, "a", &files),
            print("exec_shell", &json!({"command": "ls "}), "a", &files),
            print("exec_shell", &one, "b", &files),
            print("exec_shell", &one, "a", &files[..1]),
            print("exec_shell", &one, "a", &[file("a.sh", "x"), file("b.sh", "z")]),
            print("exec_shell", &one, "a", &gone),
            print(
                "exec_shell",
                &json!({"command": "ls", "cwd": "a", "deep": {"x": [2, 1], "y": null}}),
                "a",
                &files,
            ),
        ] {
            assert_ne!(other, base);
        }
    }

    #[test]
    fn pieces_cannot_flow_into_each_other() {
        let null = Value::Null;
        assert_ne!(print("ab", &null, "c", &[]), print("a", &null, "bc", &[]));
        assert_eq!(canonical(&json!({"b\"": 1, "a": "\n"})), r#"{"a":"\n","b\"":1}"#);
        assert_eq!(digest_of(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn programs_and_scripts_are_named() {
        for (command, want) in [
            ("ls a", vec![]),
            ("./run.sh x", vec!["./run.sh"]),
            ("scripts/deploy prod", vec!["scripts/deploy"]),
            ("sh deploy.sh", vec!["deploy.sh"]),
            ("bash -x -e deploy.sh prod", vec!["deploy.sh"]),
            ("bash -o pipefail deploy.sh", vec!["deploy.sh"]),
            ("bash -c deploy.sh", vec![]),
            ("bash -lc deploy.sh", vec![]),
            ("python3 -u tools/x.py a.csv", vec!["tools/x.py"]),
            ("python -m http.server", vec![]),
            ("node build.js", vec!["build.js"]),
            ("source env.sh", vec!["env.sh"]),
            (". ./env.sh", vec!["./env.sh"]),
            ("make -f x.mk all", vec!["x.mk"]),
            ("make --file=x.mk", vec!["x.mk"]),
            ("awk -fx.awk a", vec!["x.awk", "a"]),
            ("sed -n -f x.sed a", vec!["x.sed"]),
            ("/bin/sh x.sh", vec!["/bin/sh", "x.sh"]),
            ("", vec![]),
        ] {
            let argv: Vec<String> = command.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect();
            let mut named = scripts_named(&argv);
            named.sort();
            let mut want = want;
            want.sort_unstable();
            assert_eq!(named, want, "{command}");
        }
    }
}
