//! Commands that stand within a sentence or a table: each is run on a scratch machine, in the order of the documents.

use super::commands::{documents, faults_of, name_of};
use super::scratch::Scratch;

/// Beginnings of commands for the reader; what the agent itself might run (`git push`) is none.
const PROGRAMS: &[&str] =
    &["shipagent", "cargo", "curl", "docker", "ollama", "ssh", "sudo", "systemctl", "systemd-analyze", "tar"];

/// Commands of `shipagent` that the documents call without its name.
const SUBCOMMANDS: &[&str] =
    &["access", "approvals", "audit", "chat", "config", "grants", "memory", "service", "tasks", "threads"];

/// Commands of sentences that are not run here, and why.
const ELSEWHERE: &[(&str, &str)] = &[
    ("cargo run --example irc -- -C my-project run", "the tests of platforms::irc run the example"),
    ("tar tf x.tar", "the agent runs it, and the corpus of commands has it"),
];

/// What stands for something of the reader's, and what it is on the scratch machine.
const PLACEHOLDERS: &[(&str, &str)] = &[
    ("[FILE]", "notes/core.md"),
    ("DIR", "exported"),
    ("PERSON", "telegram:user:1"),
    ("QUERY", "moved"),
    ("THREAD", "cli:chat:NAME"),
    ("bash|zsh|fish", "bash"),
    ("--listen 7718", "--listen 127.0.0.1:0"),
    // Into an empty directory, as the sentence says.
    ("tar -xf backup.tar", "tar -xf backup.tar -C srv/one"),
];

/// The requests A1 to A3 and the grant G1 that the documents speak of.
const BEFORE: &str = "shipagent chat --thread NAME \"run: touch one\"
shipagent chat --thread two \"run: touch two\"
shipagent approvals approve A2 --scope thread
shipagent chat --thread three \"run: touch three\"
";

/// The commands of a text, blocks left out.
fn commands_of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for prose in text.split("```").step_by(2) {
        for span in prose.split('`').skip(1).step_by(2) {
            let span = span.split_whitespace().collect::<Vec<_>>().join(" ");
            let Some((first, _)) = span.split_once(' ') else { continue };
            if SUBCOMMANDS.contains(&first) {
                found.push(format!("shipagent {span}"));
            } else if PROGRAMS.iter().any(|program| span.starts_with(&format!("{program} ")))
                || span.contains("| shipagent ")
            {
                found.push(span);
            }
        }
    }
    found
}

/// The line that runs a command. What only names a command, such as `shipagent threads show`, may lack its arguments: then
/// it has to have a help.
fn line_of(command: &str) -> String {
    let line = PLACEHOLDERS.iter().fold(command.to_owned(), |line, (name, value)| line.replace(name, value));
    let names_only = line.chars().all(|char| char.is_ascii_lowercase() || " -".contains(char))
        && line.starts_with("shipagent ")
        && !line.contains(" run");
    if names_only { format!("{line} || {{ [ $? = 2 ] && {line} --help; }}") } else { line }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_within_a_sentence_runs() {
    let mut commands: Vec<String> = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for command in commands_of(&text) {
            if !commands.contains(&command) && ELSEWHERE.iter().all(|(other, _)| *other != command) {
                commands.push(command);
            }
        }
    }
    assert!(commands.len() > 40, "too few were found: {commands:?}");
    let (serving, asking): (Vec<_>, Vec<_>) =
        commands.iter().map(|command| line_of(command)).partition(|line| line.starts_with("shipagent run"));
    let scratch = Scratch::new();
    let mut faults = Vec::new();
    for block in [format!("{BEFORE}{}", asking.join("\n")), serving.join("\n")] {
        faults.extend(faults_of(&scratch.run(&block).await));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn commands_are_found_in_sentences_and_tables() {
    let found = commands_of(
        "Run `shipagent doctor` or `config\nget`, not `git push`.\n```sh\nshipagent run\n```\n| `make | shipagent chat \"x\"` |",
    );
    assert_eq!(found, ["shipagent doctor", "shipagent config get", "make | shipagent chat \"x\""]);
    let all: String = documents()
        .iter()
        .map(|document| format!("{}\n", std::fs::read_to_string(document).unwrap()))
        .collect();
    for (command, _) in ELSEWHERE {
        assert!(commands_of(&all).iter().any(|found| found == command), "no document says {command}");
    }
    for (name, _) in PLACEHOLDERS {
        assert!(all.contains(name), "no document says {name}");
    }
    assert!(documents().iter().any(|document| name_of(document) == "docs/zh/usage.md"));
}
