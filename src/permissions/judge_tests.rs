//! Judging does not block on files, and ends at its deadline.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode as FileMode, mknodat};
use serde_json::{Value, json};

use super::{JudgeSettings, Preview, ProjectJudge};
use crate::domain::{
    Approval, ApprovalKind, ApprovalNumber, ApprovalState, Class, Effects, Language, Risk, Scope, ScopeKind,
};
use crate::policy::shell::ShellRules;
use crate::policy::{Compound, Mode};
use crate::ports::{CallToJudge, Clock as _, Grants, Judge as _, Judgement, Revoker, Ruling, SystemClock};
use crate::store::memory::{InMemoryAudit, InMemoryGrants};

/// A temporary project directory, removed on drop.
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
        judge_with(&self.root, Arc::new(|_| None), no_grants())
    }
}

fn no_grants() -> Arc<InMemoryGrants> {
    Arc::new(InMemoryGrants::new(Arc::new(InMemoryAudit::default())))
}

fn judge_with(root: &Path, preview: Preview, grants: Arc<dyn Grants>) -> ProjectJudge {
    ProjectJudge::new(settings(root, preview, grants), Arc::new(SystemClock))
}

fn settings(root: &Path, preview: Preview, grants: Arc<dyn Grants>) -> JudgeSettings {
    let none: &[&str] = &[];
    JudgeSettings {
        object_to_reads: Arc::new(|_, _| None),
        hides_secrets: Arc::new(|| Box::pin(async { true })),
        project: root.to_owned(),
        shell: ShellRules::new(Mode::Ask, Compound::Analyze, none, none, root.to_string_lossy()).unwrap(),
        modes: BTreeMap::new(),
        effects_of: Arc::new(|_| Some(Effects::SideEffects)),
        preview,
        grants,
        language: Language::En,
    }
}

/// The question about a judged call of `write_file`.
fn approval(asked: Judgement) -> Approval {
    let now = SystemClock.now();
    Approval {
        id: "apr_00000000000000000001".parse().unwrap(),
        number: ApprovalNumber(1),
        kind: ApprovalKind::Tool,
        thread: "web:chat:t1".parse().unwrap(),
        correlation: "run_1".parse().unwrap(),
        tool_call: "call_1".parse().unwrap(),
        tool: "write_file".to_owned(),
        input: json!({}),
        summary: asked.summary,
        details: None,
        risk: asked.risk,
        scopes: asked.scopes,
        memory_scope: Default::default(),
        owners_only: false,
        asked_in: Vec::new(),
        fingerprint: asked.fingerprint,
        requested_by: "web:user:ada".parse().unwrap(),
        created_at: now,
        expires_at: now,
        state: ApprovalState::Pending,
    }
}

pub(super) fn call(tool: &str, input: Value) -> CallToJudge {
    CallToJudge {
        thread: "web:chat:t1".parse().unwrap(),
        scope: Default::default(),
        origin: crate::domain::Origin::Member,
        requester: None,
        unattended: false,
        by_program: false,
        language: None,
        tool: tool.to_owned(),
        input,
    }
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
    let judge = judge_with(&project.root, hangs, no_grants()).with_deadline(Duration::from_millis(50));
    let write = || judge.judge(call("write_file", json!({ "path": "a.txt", "content": "x" })));
    let (one, two) = (write().await, write().await);
    assert_eq!((&one.ruling, one.risk), (&Ruling::Ask, Risk::High));
    assert!(one.details.as_deref().is_some_and(|told| told.contains("could not be checked")), "{one:?}");
    assert_eq!(one.summary, "write_file a.txt");
    assert_ne!(one.fingerprint, two.fingerprint, "what was agreed to is asked about again");
    // This conversation has used its share; others are still judged.
    let other = CallToJudge {
        thread: "web:chat:t2".parse().unwrap(),
        ..call("exec_shell", json!({ "command": "ls" }))
    };
    assert_eq!(judge.judge(other).await.ruling, Ruling::Allow(Class::ReadOnly));
    drop(release);
}

#[tokio::test]
async fn a_proposal_that_takes_too_long_grants_nothing() {
    let project = Project::new();
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let mut settings = settings(&project.root, Arc::new(|_| None), no_grants());
    settings.effects_of = Arc::new(move |_| {
        released.lock().unwrap().recv().ok();
        Some(Effects::SideEffects)
    });
    let judge = ProjectJudge::new(settings, Arc::new(SystemClock)).with_deadline(Duration::from_millis(50));
    let asked = project.judge().judge(call("write_file", json!({ "path": "a.txt", "content": "x" }))).await;
    let now = SystemClock.now();
    assert_eq!(judge.propose(&approval(asked), Scope::Thread, now).await, None);
    drop(release);
}

#[tokio::test]
async fn a_link_in_a_line_that_a_rule_or_the_mode_allows_is_followed() {
    let project = Project::new();
    project.write("deploy/id_rsa", "key");
    project.write("src/a", "x");
    std::os::unix::fs::symlink("deploy/id_rsa", project.path("notes.txt")).unwrap();
    std::os::unix::fs::symlink("/etc", project.path("etc")).unwrap();
    let judge = |mode, allow: &[&str]| {
        let none: &[&str] = &[];
        let mut settings = settings(&project.root, Arc::new(|_| None), no_grants());
        let root = project.root.to_string_lossy();
        settings.shell = ShellRules::new(mode, Compound::Analyze, allow, none, root).unwrap();
        ProjectJudge::new(settings, Arc::new(SystemClock))
    };
    let writable = Ruling::Allow(Class::ProjectWritable);
    for (mode, allow, command, want) in [
        (Mode::Ask, &["npm test"][..], "npm test", &writable),
        (Mode::Ask, &["npm test"], "cd src && npm test", &writable),
        (Mode::Ask, &["npm test"], "cd etc && npm test", &Ruling::Ask),
        (Mode::Ask, &["npm test"], "npm test; cat notes.txt", &Ruling::Ask),
        (Mode::Ask, &["npm test"], "npm test; cat src/a", &Ruling::Ask),
        (Mode::Allow, &[], "cat src/a", &writable),
        (Mode::Allow, &[], "cat notes.txt", &Ruling::Ask),
    ] {
        assert_eq!(shell(&judge(mode, allow), command).await.ruling, *want, "{command}");
    }
}

#[tokio::test]
async fn what_a_pattern_matches_is_judged_also_beside_a_rule_and_under_a_mode_that_allows() {
    let project = Project::new();
    project.write("deploy/id_rsa", "key");
    project.write("src/a", "x");
    let judge = |mode, allow: &[&str]| {
        let none: &[&str] = &[];
        let mut settings = settings(&project.root, Arc::new(|_| None), no_grants());
        let root = project.root.clone();
        settings.object_to_reads =
            Arc::new(move |reads, hides| crate::tools::object_to_reads(&root, reads, hides));
        let root = project.root.to_string_lossy();
        settings.shell = ShellRules::new(mode, Compound::Analyze, allow, none, root).unwrap();
        ProjectJudge::new(settings, Arc::new(SystemClock))
    };
    let writable = Ruling::Allow(Class::ProjectWritable);
    for (mode, allow, command, want) in [
        (Mode::Ask, &["cat", "npm test"][..], "npm test && cat deploy/*", &Ruling::Ask),
        (Mode::Ask, &["cat", "npm test"], "npm test && cat src/a", &writable),
        (Mode::Allow, &[], "cat deploy/*", &Ruling::Ask),
        (Mode::Allow, &[], "cat src/*", &writable),
    ] {
        assert_eq!(shell(&judge(mode, allow), command).await.ruling, *want, "{command}");
    }
}

#[tokio::test]
async fn a_call_is_judged_by_the_grants_of_the_port_and_no_file_is_needed() {
    let project = Project::new();
    let grants = no_grants();
    let judge = judge_with(&project.root, Arc::new(|_| None), grants.clone());
    let write = || judge.judge(call("write_file", json!({ "path": "a.txt", "content": "x" })));
    let asked = write().await;
    assert_eq!(asked.ruling, Ruling::Ask);
    let now = SystemClock.now();
    let approval = approval(asked);
    let proposal = judge.propose(&approval, Scope::Thread, now).await.unwrap();
    let number = grants.add(approval, Scope::Thread, proposal, now).await.unwrap();
    let allowed = write().await;
    assert_eq!((allowed.ruling, allowed.grants), (Ruling::Allow(Class::ProjectWritable), vec![number]));
    let write_file = call("write_file", json!({ "path": "a.txt", "content": "x" }));
    let of_program = judge.judge(CallToJudge { by_program: true, ..write_file }).await;
    assert_eq!(of_program.ruling, Ruling::Ask, "a grant of a person is none for a program");
    let by = Revoker { author: "web:user:ada".parse().unwrap(), via: "text".to_owned() };
    grants.revoke(number, by, now).await.unwrap();
    assert_eq!(write().await.ruling, Ruling::Ask, "from the next call on it counts no more");
    assert!(!project.path(".ship").exists());
}

#[tokio::test]
async fn what_a_program_asks_for_runs_unasked_only_where_a_tool_of_the_agent_reads() {
    let project = Project::new();
    project.write("a.txt", "x");
    let none: &[&str] = &[];
    let grants = no_grants();
    let settings = JudgeSettings {
        object_to_reads: Arc::new(|_, _| None),
        hides_secrets: Arc::new(|| Box::pin(async { true })),
        project: project.root.clone(),
        shell: ShellRules::new(
            Mode::Allow,
            Compound::Analyze,
            &["make"],
            none,
            project.root.to_string_lossy(),
        )
        .unwrap(),
        modes: BTreeMap::from([
            ("write_file".to_owned(), Mode::Allow),
            ("read_file".to_owned(), Mode::Allow),
        ]),
        effects_of: Arc::new(|tool| match tool {
            "read_file" => Some(Effects::ReadOnly),
            "send_file" => Some(Effects::Speaks),
            _ => Some(Effects::SideEffects),
        }),
        preview: Arc::new(|_| None),
        grants,
        language: Language::En,
    };
    let judge = ProjectJudge::new(settings, Arc::new(SystemClock));
    for (tool, input, for_program) in [
        ("write_file", json!({ "path": "a.txt", "content": "x" }), Ruling::Ask),
        ("exec_shell", json!({ "command": "make" }), Ruling::Ask),
        ("exec_shell", json!({ "command": "ls" }), Ruling::Ask),
        ("send_file", json!({ "path": "a.txt" }), Ruling::Ask),
        ("read_file", json!({ "path": "a.txt" }), Ruling::Allow(Class::ReadOnly)),
    ] {
        let of_person = judge.judge(call(tool, input.clone())).await;
        assert!(matches!(of_person.ruling, Ruling::Allow(_)), "{tool}: {of_person:?}");
        let asked = CallToJudge { by_program: true, ..call(tool, input) };
        let of_program = judge.judge(asked).await;
        assert_eq!(of_program.ruling, for_program, "{tool}");
        if for_program == Ruling::Ask {
            assert_eq!(of_program.scopes, [ScopeKind::Once], "{tool}: no yes for later calls");
            assert!(of_program.details.unwrap().contains("another program asked"), "{tool}");
        }
    }
}
