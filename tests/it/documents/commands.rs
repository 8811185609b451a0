//! Every command of README and the manual is run on a scratch machine, or stands in a table here with the reason why not.

use std::path::{Path, PathBuf};

use super::scratch::{Ended, STAND_INS, Scratch, repository};

/// Commands that do not end with 0 on the scratch machine: their beginning, the codes they may end with, and why.
const OTHER_RESULTS: &[(&str, &[i32], &str)] = &[
    ("shipagent init", &[0, 1, 2], "the folder may have its files already"),
    (
        "shipagent chat",
        &[0, 1],
        "a command before it may have decided the request, and one that is asked ends with 1",
    ),
    ("shipagent approvals approve A", &[0, 1], "a command before it may have decided the request"),
    ("shipagent memory undo", &[0, 1], "nothing may have been changed on the scratch machine"),
    ("shipagent memory forget", &[0, 1], "there is no such memory on the scratch machine"),
    ("shipagent access approve CODE", &[1], "nobody asks on the scratch machine"),
    ("shipagent access role", &[1], "nobody was let in"),
    ("shipagent access revoke", &[1], "nobody was let in"),
    ("sudo shipagent service", &[0, 1], "refuses to run as root, which owns the project in some places"),
    ("shipagent service", &[0, 1], "there is no systemd, and no unit was installed"),
    ("sudo shipagent open", &[0, 1], "the daemon may have been started by the script"),
    ("shipagent open", &[0, 1], "the daemon may have been started by the script"),
];

/// Blocks that are not run at all: document, first words, reason.
const NOT_RUN: &[(&str, &str, &str)] = &[];

/// Languages of blocks that hold no commands.
const NO_COMMANDS: &[&str] =
    &["", "text", "json", "jsonc", "ts", "js", "html", "rust", "markdown", "yaml", "ini", "nginx"];

/// The documents with commands for people.
pub(super) fn documents() -> Vec<PathBuf> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                out.push(path);
            }
        }
    }
    let root = repository();
    let mut out = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    walk(&root.join("docs"), &mut out);
    walk(&root.join("examples"), &mut out);
    out
}

pub(super) fn name_of(document: &Path) -> String {
    document.strip_prefix(repository()).unwrap().display().to_string()
}

/// The fenced blocks of a document: language and text.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        match line.trim_start().strip_prefix("```") {
            Some(_) if open => open = false,
            Some(language) => {
                open = true;
                found.push((language.trim().to_owned(), String::new()));
            }
            None if open => {
                let (_, block) = found.last_mut().unwrap();
                block.push_str(line);
                block.push('\n');
            }
            None => {}
        }
    }
    assert!(!open, "a block has no end");
    found
}

fn is_as_expected(ended: &Ended) -> bool {
    let other = OTHER_RESULTS.iter().find(|(beginning, ..)| ended.line.trim_start().starts_with(beginning));
    other.map_or(ended.code == 0, |(_, codes, _)| codes.contains(&ended.code))
}

/// What went wrong in a script.
pub(super) fn faults_of((ended, told): &(Vec<Ended>, String)) -> Vec<String> {
    let mut faults: Vec<String> = ended
        .iter()
        .filter(|ended| !is_as_expected(ended))
        .map(|ended| format!("{} ended with {}", ended.line, ended.code))
        .collect();
    if told.contains("\"error\":{\"code\"") {
        faults.push("an address answered with an error".to_owned());
    }
    if let Some(last) = faults.last_mut() {
        last.push_str(&format!("\n{told}"));
    }
    faults
}

async fn run_documents(chosen: impl Fn(&str) -> bool) {
    let mut faults = Vec::new();
    let mut count = 0;
    for document in documents() {
        let name = name_of(&document);
        if !chosen(&name) {
            continue;
        }
        let text = std::fs::read_to_string(&document).unwrap();
        let scratch = Scratch::new();
        for (language, block) in blocks(&text) {
            if NO_COMMANDS.contains(&language.as_str()) {
                continue;
            }
            if language != "sh" {
                faults.push(format!("{name}: write commands as `sh`, not `{language}`"));
                continue;
            }
            if NOT_RUN.iter().any(|(of, words, _)| *of == name && block.starts_with(words)) {
                continue;
            }
            count += 1;
            let (ended, told) = scratch.run(&block).await;
            let bad = faults_of(&(ended, told));
            faults.extend(bad.into_iter().map(|bad| format!("{name}: {bad}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(count > 2, "too few blocks were found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_of_the_readme_and_the_examples_runs() {
    run_documents(|name| !name.starts_with("docs/")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_of_the_manual_runs() {
    run_documents(|name| name.starts_with("docs/") && !name.starts_with("docs/zh/")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_of_the_chinese_manual_runs() {
    run_documents(|name| name.starts_with("docs/zh/")).await;
}

#[test]
fn no_exception_is_left_over() {
    let all: String = documents().iter().map(|document| std::fs::read_to_string(document).unwrap()).collect();
    for (beginning, ..) in OTHER_RESULTS {
        assert!(all.contains(beginning), "no document says {beginning}");
    }
    for (document, words, _) in NOT_RUN {
        let text = std::fs::read_to_string(repository().join(document)).unwrap();
        assert!(text.contains(words), "{document} does not say {words}");
    }
    assert!(STAND_INS.iter().all(|(_, reason)| !reason.is_empty()));
}
