//! Judging looks at files without waiting for them, and gives up in time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode as FileMode, mknodat};
use serde_json::{Value, json};

use super::{JudgeSettings, Preview, ProjectJudge};
use crate::domain::{Class, Effects, Language, Risk};
use crate::policy::shell::ShellRules;
use crate::policy::{Compound, Mode};
use crate::ports::{CallToJudge, Judge as _, Judgement, Ruling, SystemClock};
use crate::store::memory::{MemoryAudit, MemoryGrants};

/// A project directory that goes away with its value.
pub(super) struct Project {
    root: PathBuf,
    _dir: tempfile::TempDir,
}

impl Project {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { root: dir.path().canonicalize().unwrap(), _dir: dir }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    #[expect(clippy::disallowed_methods, reason = "a test's file need not survive a crash")]
    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn pipe(&self, name: &str) {
        mknodat(CWD, self.path(name), FileType::Fifo, FileMode::RUSR | FileMode::WUSR, 0).unwrap();
    }

    pub(super) fn judge(&self) -> ProjectJudge {
        judge_with(&self.root, Arc::new(|_| None))
    }
}

fn judge_with(root: &Path, preview: Preview) -> ProjectJudge {
    let none: &[&str] = &[];
    let settings = JudgeSettings {
        object_to_reads: Arc::new(|_, _| None),
        hides_secrets: Arc::new(|| Box::pin(async { true })),
        project: root.to_owned(),
        shell: ShellRules::new(Mode::Ask, Compound::Analyze, none, none, root.to_string_lossy()).unwrap(),
        modes: BTreeMap::new(),
        effects_of: Arc::new(|_| Some(Effects::SideEffects)),
        preview,
        grants: Arc::new(MemoryGrants::new(Arc::new(MemoryAudit::default()))),
        language: Language::En,
    };
    ProjectJudge::new(settings, Arc::new(SystemClock))
}

pub(super) fn call(tool: &str, input: Value) -> CallToJudge {
    CallToJudge { thread: "web:chat:t1".parse().unwrap(), person: None, tool: tool.to_owned(), input }
}

pub(super) async fn shell(judge: &ProjectJudge, command: &str) -> Judgement {
    judge.judge(call("exec_shell", json!({ "command": command }))).await
}

#[tokio::test]
async fn a_pipe_that_is_named_anywhere_does_not_hold_the_judge_up() {
    let project = Project::new();
    project.pipe("pipe");
    project.pipe("Makefile");
    project.write("sub/x", "");
    std::os::unix::fs::symlink("pipe", project.path("link")).unwrap();
    let judge = project.judge();
    let begun = Instant::now();
    for command in [
        "sh ./pipe",
        "sh pipe",
        "sh < pipe",
        ". ./pipe",
        "source pipe",
        "./pipe",
        "bash -x ./pipe a",
        "python3 pipe",
        "node ./link",
        "cat pipe | sh",
        "make",
        "make -f pipe",
        "awk -f pipe x",
        "cd sub && sh ../pipe",
        "sh $(cat pipe)",
        "cp pipe x",
    ] {
        let judgement = shell(&judge, command).await;
        assert_ne!(judgement.risk, Risk::Low, "{command}");
        assert!(!judgement.fingerprint.starts_with("unchecked"), "{command}: it was judged in time");
    }
    let write = judge.judge(call("write_file", json!({ "path": "pipe", "content": "x" }))).await;
    assert_eq!(write.ruling, Ruling::Ask);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn nothing_outside_the_project_is_looked_at() {
    let project = Project::new();
    let outside = Project::new();
    outside.write("x.sh", "one");
    std::os::unix::fs::symlink(outside.path("x.sh"), project.path("x.sh")).unwrap();
    let judge = project.judge();
    let absolute = format!("sh {}", outside.path("x.sh").to_string_lossy());
    for command in ["sh x.sh", &absolute, "sh ../x.sh", "cat x.sh"] {
        let before = shell(&judge, command).await;
        assert_eq!(before.ruling, Ruling::Ask, "{command}");
        outside.write("x.sh", "another");
        let after = shell(&judge, command).await;
        outside.write("x.sh", "one");
        assert_eq!(before.fingerprint, after.fingerprint, "{command}: what is outside was read");
    }
}

#[tokio::test]
async fn a_judgement_that_takes_too_long_asks_and_its_answer_is_bound_to_nothing() {
    let project = Project::new();
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let hangs: Preview = Arc::new(move |_| {
        released.lock().unwrap().recv().ok();
        None
    });
    let judge = judge_with(&project.root, hangs).with_deadline(Duration::from_millis(50));
    let write = || judge.judge(call("write_file", json!({ "path": "a.txt", "content": "x" })));
    let (one, two) = (write().await, write().await);
    assert_eq!((&one.ruling, one.risk), (&Ruling::Ask, Risk::High));
    assert!(one.details.as_deref().is_some_and(|told| told.contains("could not be checked")), "{one:?}");
    assert_eq!(one.summary, "write_file a.txt");
    assert_ne!(one.fingerprint, two.fingerprint, "what was agreed to is asked about again");
    // This conversation has used its share up; the others are judged.
    let other = CallToJudge {
        thread: "web:chat:t2".parse().unwrap(),
        ..call("exec_shell", json!({ "command": "ls" }))
    };
    assert_eq!(judge.judge(other).await.ruling, Ruling::Allow(Class::ReadOnly));
    drop(release);
}
