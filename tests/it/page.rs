//! The console's scripts without a browser: their types, and what the DOM-free ones do.

use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "src/adapters/web/page";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(dir: &str, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(dir)).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_str().unwrap().ends_with(ending)).collect()
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{command:?}:\n{}", said.concat());
}

#[test]
fn the_types_of_the_scripts_are_sound() {
    let dir = root().join("tests/page");
    let tsc = dir.join("node_modules/typescript/bin/tsc");
    assert!(tsc.exists(), "TypeScript is not installed: run ./tests/run, which installs it");
    succeed(Command::new("node").arg(tsc).arg("--project").arg(dir));
}

#[test]
fn reducer_store_and_markdown_pass_their_own_tests() {
    // A copy that is declared as modules: older versions of Node do not detect that.
    let copy = tempfile::tempdir().unwrap();
    for dir in [SOURCES, "tests/page"] {
        std::fs::create_dir_all(copy.path().join(dir)).unwrap();
    }
    std::fs::copy(root().join("tests/page/package.json"), copy.path().join("package.json")).unwrap();
    for path in files(SOURCES, ".js") {
        std::fs::copy(&path, copy.path().join(SOURCES).join(path.file_name().unwrap())).unwrap();
    }
    let tests = files("tests/page", ".test.mjs");
    assert_eq!(tests.len(), 8);
    let mut node = Command::new("node");
    node.arg("--test").current_dir(copy.path());
    for path in tests {
        let test = copy.path().join("tests/page").join(path.file_name().unwrap());
        std::fs::copy(&path, &test).unwrap();
        node.arg(test);
    }
    succeed(&mut node);
}
