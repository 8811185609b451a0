//! Links, examples and generated pages.

use std::path::Path;
use std::process::Command;

use super::commands::{documents, name_of};
use super::scratch::repository;

fn shipagent(args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shipagent"));
    let output = command.args(args).env_clear().env("LANG", "C.UTF-8").output().unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), told)
}

#[test]
fn the_configuration_reference_is_that_of_the_schema() {
    let (code, reference) = shipagent(&["config", "reference"]);
    assert_eq!(code, Some(0));
    let page = std::fs::read_to_string(repository().join("docs/configuration.md")).unwrap();
    assert!(page == reference, "write it again: shipagent config reference > docs/configuration.md");
    for key in [
        "`llm.baseUrl`",
        "`adapters.telegram.botToken`",
        "`adapters.web.allowedOrigins`",
        "`permissions.exec_shell.deny`",
    ] {
        assert!(page.contains(key), "{key}");
    }
}

/// The targets of the links in a text of Markdown, code left out.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (number, prose) in text.split("```").enumerate() {
        if number % 2 == 1 {
            continue;
        }
        found.extend(prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()));
    }
    found
}

#[test]
fn every_link_of_the_manual_leads_to_a_file() {
    let mut faults = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            let target = link.split('#').next().unwrap();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            if !document.parent().unwrap().join(target).exists() {
                faults.push(format!("{}: {link}", name_of(&document)));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_page_of_the_manual_is_linked_from_another() {
    let mut linked = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let targets = links(&text).into_iter().map(|link| link.split('#').next().unwrap().to_owned());
        linked
            .extend(targets.filter_map(|target| document.parent().unwrap().join(target).canonicalize().ok()));
    }
    for document in documents() {
        let name = name_of(&document);
        let own = document.canonicalize().unwrap();
        assert!(!name.starts_with("docs/") || linked.contains(&own), "no page links to {name}");
    }
}

/// Pages for people who change the code, in English like the code.
const ENGLISH_ONLY: &[&str] = &["adapters.md", "architecture.md"];

fn names_in(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(repository().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "md")).collect()
}

#[test]
fn every_page_for_users_is_there_in_chinese() {
    let chinese = names_in("docs/zh");
    for name in names_in("docs") {
        let expected = !ENGLISH_ONLY.contains(&name.as_str());
        assert_eq!(chinese.contains(&name), expected, "docs/zh/{name}");
    }
}

/// The addresses, environment variables, commands and keys in the code spans of a text: words that are the same in every language.
fn fixed_words(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let spans = prose.flat_map(|prose| prose.split('`').skip(1).step_by(2));
    let words =
        spans.flat_map(|span| span.split(|char: char| char.is_whitespace() || "()[]{}\"',;?".contains(char)));
    words
        .filter(|word| {
            let is_key = word.contains('.')
                && word.chars().all(|char| char.is_ascii_alphanumeric() || "._".contains(char));
            word.is_ascii() && (is_key || word.starts_with("--") || word.starts_with("/api/"))
        })
        .collect()
}

/// A name that was changed in the English manual does not stay in the Chinese one.
#[test]
fn the_chinese_pages_name_nothing_that_the_english_ones_do_not() {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let (chinese, english): (Vec<_>, Vec<_>) =
        documents().into_iter().partition(|document| name_of(document).starts_with("docs/zh/"));
    let english: String = english.iter().map(|document| read(document)).collect();
    let mut faults = Vec::new();
    for document in &chinese {
        let text = read(document);
        let unknown = fixed_words(&text).into_iter().filter(|word| !english.contains(word));
        faults.extend(unknown.map(|word| format!("{}: {word}", name_of(document))));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(fixed_words("see `llm.model`, `--json` and `GET /api/info`").len() == 3);
}

fn folders_of(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.join("Agent.md").exists()).collect()
}

#[test]
fn every_example_is_a_project_without_mistakes() {
    let examples = folders_of(&repository().join("examples"));
    assert!(examples.len() >= 5);
    for example in examples {
        let dir = example.display().to_string();
        let (code, told) = shipagent(&["config", "check", "--json", "-C", &dir]);
        assert_eq!(code, Some(0), "{dir}: {told}");
        assert!(told.contains("\"warnings\": []"), "{dir}: {told}");
        let prompt = std::fs::read_to_string(example.join("Agent.md")).unwrap();
        assert!((300..4000).contains(&prompt.len()), "{dir}: {} bytes", prompt.len());
    }
}
