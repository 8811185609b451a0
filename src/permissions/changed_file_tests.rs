//! An approval holds for the files as they were shown: if they change before the command runs, it is asked again.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use super::judge_tests::{Project, call, shell};
use crate::ports::Judge as _;

const CORPUS: &str = include_str!("../../tests/fixtures/changed_files.tsv");

const FILES: &[&str] = &[
    "README.md",
    "other.txt",
    "run.sh",
    "a file.sh",
    "tool.py",
    "a.js",
    "b.js",
    "x.rb",
    "x.pl",
    "x.php",
    "x.awk",
    "x.sql",
    "x.lua",
    "sub/y",
    "sub/deep/z.sh",
    "sub/Makefile",
    "sub/package.json",
    "sub/.git/config",
    "pkg/__main__.py",
    "pkg/__init__.py",
    "pkg/cli.py",
    "lib/x",
    "lib/common",
    "config/common",
    "scripts/t",
    "rules.mk",
    "scripts/gen.sh",
    "scripts/test.js",
    "core/Cargo.toml",
    "core/build.rs",
    "pyproject.toml",
    "tests/test_a.py",
    "go.mod",
    "justfile",
    "pom.xml",
    "build.gradle",
    "gradlew",
    "Gemfile",
    "Dockerfile",
    "compose.yml",
    ".pre-commit-config.yaml",
    ".git/hooks/pre-commit",
    ".git/config",
    "CMakeLists.txt",
];

fn scene() -> Project {
    let project = Project::new();
    for path in FILES {
        project.write(path, &format!("# {path}\n"));
    }
    project.write("Makefile", "include rules.mk config/common\nall:\n\t./scripts/gen.sh\n");
    project.write("package.json", r#"{"scripts": {"test": "node scripts/test.js", "t": "sh scripts/t"}}"#);
    project.write("Cargo.toml", "[workspace]\nmembers = [\"core\"]\n");
    project.write("data/log.txt", "");
    project.write("bin/tool", "#!/bin/sh\n");
    fs::set_permissions(project.path("bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    project.write("scripts/log.sh", "#!/bin/sh\nbin/tool >> data/log.txt\n");
    project.write(".ship/threads/y", "");
    project.write("scripts/sourcing.sh", "#!/bin/sh\n. lib/common\n");
    symlink("run.sh", project.path("link.sh")).unwrap();
    // Larger than the limit of what is read for one call; sparse, so that it takes no disk space.
    fs::File::create(project.path("big.bin")).unwrap().set_len(200 << 20).unwrap();
    project
}

/// Applies a row's change to a file; returns what undoes it.
fn change(project: &Project, what: &str) -> Box<dyn FnOnce()> {
    let signed = ['+', '-', '>', '@'].iter().find_map(|sign| Some((*sign, what.strip_prefix(*sign)?)));
    let (sign, name) = signed.unwrap_or(('~', what));
    let path = project.path(name);
    let before = fs::read(&path).ok().filter(|content| content.len() < 1 << 20);
    match sign {
        '+' => project.write(name, "new\n"),
        '-' => fs::remove_file(&path).unwrap(),
        '>' => {
            fs::remove_file(&path).unwrap();
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        }
        '@' => {
            fs::remove_file(&path).unwrap();
            symlink("run.sh", &path).unwrap();
        }
        _ => {
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(b"# changed\n").unwrap();
        }
    }
    Box::new(move || restore(&path, sign, before))
}

fn restore(path: &Path, sign: char, before: Option<Vec<u8>>) {
    if sign == '+' {
        return fs::remove_file(path).unwrap();
    }
    let Some(content) = before else { return };
    if matches!(sign, '>' | '@') {
        fs::remove_file(path).unwrap();
    }
    fs::File::create(path).unwrap().write_all(&content).unwrap();
}

#[tokio::test]
async fn a_file_that_changes_before_the_command_runs_makes_it_ask_again() {
    let project = scene();
    let judge = project.judge();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        let [want, what, command] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        count += 1;
        let command = command.replace("<LF>", "\n");
        let before = shell(&judge, &command).await.fingerprint;
        let still = shell(&judge, &command).await.fingerprint;
        let undo = change(&project, what);
        let after = shell(&judge, &command).await.fingerprint;
        undo();
        let got = if before == after { "same" } else { "again" };
        if got != want || before != still || before.starts_with("unchecked") {
            wrong.push(format!(
                "{line:?}: must {want}, got {got}, unchanged is the same: {}",
                before == still
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 100, "the corpus has shrunk to {count}");
}

#[tokio::test]
async fn the_folder_of_a_call_counts_like_a_change_of_folder() {
    let project = scene();
    let judge = project.judge();
    for cwd in ["sub", "./sub/", " sub", "sub/deep/.."] {
        let run = || judge.judge(call("exec_shell", json!({ "command": "./y", "cwd": cwd })));
        let before = run().await.fingerprint;
        let undo = change(&project, "sub/y");
        assert_ne!(run().await.fingerprint, before, "{cwd}");
        undo();
        assert_eq!(run().await.fingerprint, before, "{cwd}");
    }
}

#[tokio::test]
async fn a_whole_file_counts_and_not_only_its_beginning() {
    let project = scene();
    let judge = project.judge();
    let long = "x".repeat(20 << 20);
    project.write("long.sh", &format!("{long}1"));
    let before = shell(&judge, "sh long.sh").await.fingerprint;
    project.write("long.sh", &format!("{long}2"));
    assert_ne!(shell(&judge, "sh long.sh").await.fingerprint, before);
    project.write("long.sh", &format!("{long}1"));
    assert_eq!(shell(&judge, "sh long.sh").await.fingerprint, before);
}

#[tokio::test]
async fn a_file_that_is_written_is_bound_to_what_it_holds() {
    let project = scene();
    let judge = project.judge();
    let write = || judge.judge(call("write_file", json!({ "path": "README.md", "content": "x" })));
    let before = write().await.fingerprint;
    let undo = change(&project, "README.md");
    assert_ne!(write().await.fingerprint, before);
    undo();
    assert_eq!(write().await.fingerprint, before);
}
