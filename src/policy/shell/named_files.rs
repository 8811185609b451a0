//! The files that a script or build file runs or includes, by the words in its text.

use std::collections::BTreeMap;

use super::depends::{MOST_WORDS, tokens};
use super::launchers::{is_interpreter, is_shell};
use super::rules::base_name;

/// The files that a script or build file names in its text and may run, relative to its folder or to the working folder;
/// true for those that it certainly runs or includes, also without a script's name. Empty for files that are no scripts.
pub fn named_in(path: &str, text: &str) -> BTreeMap<String, bool> {
    let name = base_name(path);
    let mut out = BTreeMap::new();
    if name == "package.json" {
        let json: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let scripts = json.get("scripts").and_then(serde_json::Value::as_object);
        for script in scripts.into_iter().flatten().filter_map(|(_, script)| script.as_str()) {
            named_by_commands(script, &mut out);
        }
    } else if name == "Cargo.toml" {
        for token in tokens(text).filter(|token| !token.starts_with('-')) {
            if token.ends_with(".rs") {
                out.insert(token.to_owned(), false);
            } else if token.contains('/') || text.contains("[workspace]") {
                let folder = token.trim_end_matches('/');
                out.extend(
                    [format!("{folder}/build.rs"), format!("{folder}/Cargo.toml")].map(|file| (file, false)),
                );
            }
        }
    } else if is_script(name, text) {
        named_by_commands(text, &mut out);
    }
    out.into_iter().take(MOST_WORDS).collect()
}

/// The names in lines of commands. The words after `.`, `include`, a shell or an interpreter, up to the first that is no
/// option, are run.
fn named_by_commands(text: &str, out: &mut BTreeMap<String, bool>) {
    for line in text.lines().flat_map(|line| line.split([';', '|', '&', '(', ')'])) {
        let mut is_run = false;
        for token in tokens(line) {
            let starts = matches!(token, "." | "source" | "include" | "-include" | "sinclude")
                || is_shell(base_name(token))
                || is_interpreter(base_name(token));
            if is_run && !starts && !token.starts_with('-') {
                out.insert(token.to_owned(), true);
                // `include a b`
                is_run = line.trim_start().trim_start_matches(['-', 's']).starts_with("include");
            } else if looks_run(token) {
                out.entry(token.to_owned()).or_insert(false);
            }
            is_run |= starts;
        }
    }
}

fn is_script(name: &str, text: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let build = name.to_ascii_lowercase().contains("makefile") || name.eq_ignore_ascii_case("justfile");
    build || text.starts_with("#!") || matches!(ending, Some("sh" | "bash" | "zsh" | "mk" | "mak"))
}

/// Whether a word in a script may be a program or script of the project. A path without such a name counts only if the
/// file is executable, which the caller checks.
fn looks_run(token: &str) -> bool {
    token.contains('/') || has_script_name(token)
}

/// Whether a file name alone shows that it is executed.
pub fn has_script_name(path: &str) -> bool {
    const ENDINGS: &[&str] = &[
        ".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua", ".mk",
        ".awk", ".sed",
    ];
    let ending = ENDINGS.iter().any(|ending| path.ends_with(ending));
    ending || is_build_file(base_name(path)) || path.ends_with("build.rs")
}

/// Whether a path to this file determines the folder of a program.
pub(super) fn is_build_file(name: &str) -> bool {
    matches!(
        name,
        "Cargo.toml" | "package.json" | "pyproject.toml" | "Makefile" | "pom.xml" | "build.gradle" | "go.mod"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_build_files_are_followed_one_step() {
        let package = r#"{"main": "src/index.js", "scripts": {"test": "node scripts/t.js && ./x"}}"#;
        let named = |path: &str, text: &str, name: &str| named_in(path, text).get(name).copied();
        assert_eq!(named("package.json", package, "./x"), Some(false));
        assert_eq!(named("package.json", package, "scripts/t.js"), Some(true));
        assert_eq!(named("package.json", package, "src/index.js"), None);
        assert_eq!(named("sub/Makefile", "include rules.mk x\nall:\n\t./build.sh\n", "rules.mk"), Some(true));
        assert_eq!(named("sub/Makefile", "-include rules.mk x\n", "x"), Some(true));
        assert_eq!(named("Makefile", "all:\n\tsh -e scripts/t | tee out/log\n", "scripts/t"), Some(true));
        assert_eq!(named("Makefile", "all:\n\tsh -e scripts/t | tee out/log\n", "out/log"), Some(false));
        assert!(named_in("Cargo.toml", "[package]\nbuild = \"src/build.rs\"\n").contains_key("src/build.rs"));
        assert!(named_in("Cargo.toml", "[workspace]\nmembers = [\"core\"]\n").contains_key("core/build.rs"));
        assert_eq!(named("a.sh", "#!/bin/sh\n. lib/common\n", "lib/common"), Some(true));
        assert!(named_in("a.txt", "see ./lib.sh").is_empty());
    }
}
