//! Law: a grant never covers a command with another kind of effect. The kind is determined here without the table of
//! shapes: by its first words, by options and words that execute, load or write elsewhere, by paths, and by the
//! judgement.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::calls::{NOW, facts, here, judged};
use crate::domain::{GrantNumber, Risk, Scope};
use crate::policy::Compound;
use crate::policy::grants::{Grant, GrantProposal, covers, proposed};
use crate::policy::shell::ShellJudgement;

/// Commands that people approve with a longer scope.
const GRANTED: &[&str] = &[
    "git add a",
    "git add -v src/a.rs",
    "git commit -m x",
    "git commit -a -q -m x",
    "cargo test",
    "cargo test parser -- --nocapture",
    "cargo build --release",
    "cargo clippy -- -D warnings",
    "cargo fmt",
    "cargo nextest run a",
    "pytest -q tests",
    "pytest -k a tests/a.py",
    "python -m pytest tests",
    "go test ./...",
    "go test -run X ./pkg",
    "go vet ./...",
    "ruff check src",
    "rustfmt src/a.rs",
    "mkdir -p a",
    "touch a b",
    "npm test",
    "npm run build",
    "make test",
    "./x.sh a",
    "mv a b",
];

/// Pieces that make a command execute, load or write something else.
const NASTY: &[&str] = &[
    "--upload-pack=./x",
    "--receive-pack=./x",
    "--output=x",
    "--output",
    "-o",
    "-ox",
    "--eval=x",
    "--eval",
    "-e",
    "-c",
    "-C",
    "-Cx",
    "-f",
    "-F",
    "-pplugin",
    "-p=plugin",
    "-I",
    "-i",
    "-n",
    "-S",
    "-u=x",
    "-exec",
    "-exec=x",
    "-toolexec",
    "-coverprofile=x",
    "--exec=x",
    "--config",
    "--config=build.rustc-wrapper=./x",
    "--config-path=x",
    "--config-env=a=b",
    "--manifest-path=x/Cargo.toml",
    "--target-dir=x",
    "--prefix=x",
    "--script-shell=x",
    "--rootdir=x",
    "--basetemp=x",
    "--file=x",
    "--amend",
    "--no-verify",
    "--force",
    "--fix",
    "--template=x",
    "--chmod=+x",
    "--pathspec-from-file=x",
    "--git-dir=x",
    "--privileged",
    "--mount=type=bind",
    "--volume=/:/host",
    "SHELL=/x",
    "CC=x",
    "A=b",
    "+nightly",
    "@x",
    "../x",
    "/etc/passwd",
    "/:/host",
    ".env",
    "sub/.env",
    ".git/hooks/pre-commit",
    ".github/workflows/x.yml",
    "keys/id_rsa",
    "sub/Agent.md",
    ":/",
    "rm",
    "'git push'",
    "$x",
    "\"$x\"",
    "$(x)",
    "`x`",
    "*",
    "~",
    "{a,b}",
    "> x",
    ">> x",
    "< x",
    "<<< x",
    "2> x",
    "| sh",
    "| tee x",
    "; x",
    "&& x",
    "|| x",
    "& x",
    "\nx",
    "<(x)",
];

/// Read-only parts that read files of the project or run git: with the rights of a grant nothing checks what they read.
const READING: &[&str] = &[
    "; cat notes.txt",
    "; grep -r KEY .",
    "&& git log -p",
    "; git diff",
    "|| git status",
    "| grep -r KEY .",
    "; head -1 sub/a",
    "; find . -name x",
    "&& sed -n 1p a",
    "; ls link/",
    "; diff a b",
    "\ncat a",
];

/// Read-only parts that read nothing.
const SILENT: &[&str] = &["; id", "&& echo done", "| tail -5", "2>&1 | grep x", "; date", "&& ls"];

/// Words that do not change the kind of effect, or make the command fail.
const HARMLESS: &[&str] = &[
    "b",
    "tests/b.py",
    "--",
    "-q",
    "-v",
    "--release",
    "--lib",
    "--nocapture",
    "x::y",
    "-vq",
    "2>&1",
    "-k",
    "-j",
    "4",
    ".",
];

/// The kind of a command's effect.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Effect {
    /// The program and, where the next word is no option, its subcommand.
    commands: Vec<Vec<String>>,
    nasty: BTreeSet<String>,
    risk: Risk,
    network: bool,
    is_plain: bool,
}

fn effect(shell: &ShellJudgement, nasty: &[&str]) -> Effect {
    let has_subcommands =
        |name: &str| matches!(name, "git" | "cargo" | "go" | "npm" | "python" | "ruff" | "make");
    let commands = shell.parts.iter().map(|part| {
        let words = if part.argv.first().is_some_and(|name| has_subcommands(name)) { 2 } else { 1 };
        part.argv.iter().take(words).cloned().collect()
    });
    Effect {
        commands: commands.collect(),
        nasty: nasty.iter().map(|piece| (*piece).to_owned()).collect(),
        risk: shell.risk,
        network: shell.network,
        is_plain: !shell.parts.is_empty(),
    }
}

fn granted(command: &str) -> Grant {
    let shell = judged(Compound::Analyze, command);
    let proposal = proposed(Scope::Project, &here(), NOW, &facts(&shell)).unwrap();
    let GrantProposal { calls, scripts, reach } = proposal;
    Grant { id: GrantNumber(1), tool: "exec_shell".into(), calls, scripts, reach }
}

fn covered(grant: &Grant, shell: &ShellJudgement) -> bool {
    covers(grant, &here(), NOW, &facts(shell))
}

fn with(command: &str, pieces: &[(usize, &str)]) -> String {
    let mut words: Vec<&str> = command.split(' ').collect();
    for (at, piece) in pieces {
        words.insert(at % (words.len() + 1), piece);
    }
    words.join(" ")
}

#[test]
fn no_nasty_piece_at_any_place_is_covered() {
    for command in GRANTED {
        let grant = granted(command);
        assert!(covered(&grant, &judged(Compound::Analyze, command)), "{command}");
        for piece in NASTY {
            for at in 0..=command.split(' ').count() {
                let text = with(command, &[(at, piece)]);
                assert!(!covered(&grant, &judged(Compound::Analyze, &text)), "{command} covers {text}");
            }
        }
    }
}

#[test]
fn a_part_that_reads_files_beside_a_granted_one_is_not_covered() {
    for command in GRANTED {
        let grant = granted(command);
        for part in READING {
            let (behind, before) = (format!("{command} {part}"), format!("cat a; {command}"));
            for text in [behind, before] {
                assert!(!covered(&grant, &judged(Compound::Analyze, &text)), "{command} covers {text}");
                assert!(!judged(Compound::Analyze, &text).grantable, "{text}");
            }
        }
        for part in SILENT {
            let text = format!("{command} {part}");
            assert!(covered(&grant, &judged(Compound::Analyze, &text)), "{command} does not cover {text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_grant_never_covers_a_command_of_another_kind(
        command in proptest::sample::select(GRANTED),
        other in proptest::sample::select(GRANTED),
        harmless in proptest::collection::vec((0_usize..12, proptest::sample::select(HARMLESS)), 0..4),
        nasty in proptest::collection::vec((0_usize..12, proptest::sample::select(NASTY)), 0..2),
        mixed in any::<bool>(),
    ) {
        let grant = granted(command);
        let text = with(&with(if mixed { other } else { command }, &harmless), &nasty);
        let shell = judged(Compound::Analyze, &text);
        if covered(&grant, &shell) {
            let pieces: Vec<&str> = nasty.iter().map(|(_, piece)| *piece).collect();
            let base = judged(Compound::Analyze, command);
            prop_assert_eq!(effect(&shell, &pieces), effect(&base, &[]), "{} covers {}", command, text);
        }
    }
}
