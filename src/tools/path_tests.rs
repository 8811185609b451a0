//! Every spelling of a path gets the verdict of the file it resolves to, from the judge and from the tools alike.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::testing::Project;
use super::{ReadFile, WriteFile};
use crate::domain::{Class, Effects, Language, Risk};
use crate::files;
use crate::permissions::{JudgeSettings, ProjectJudge};
use crate::policy::paths::{PathClass, ResolvedPath};
use crate::policy::shell::ShellRules;
use crate::policy::{Compound, Mode};
use crate::ports::{CallToJudge, Judge as _, Ruling, SystemClock, Tool as _};
use crate::store::memory::{InMemoryAudit, InMemoryGrants};

const CORPUS: &str = include_str!("../../tests/fixtures/path_corpus.tsv");

/// Contained in every file that must not be read without approval.
const CANARY: &str = "canary-7f3a";

/// Files with a canary, then files without.
const SECRET_FILES: &[&str] = &[
    ".env",
    "sub/.env.local",
    "ship.json",
    ".ship/run/token",
    ".ship/files/web%3Achat%3Aother/x",
    ".git/config",
    ".git/modules/dep/config",
    ".ssh/known",
    "keys/id_rsa",
    "keys/server.pem",
    "keys/server.key",
    "keys/putty.ppk",
    "kept/prod.txt",
];
const FILES: &[&str] = &[
    "README.md",
    "src/main.rs",
    "src/lib/mod.rs",
    "docs/a b.md",
    "文档/说明.md",
    ".env.example",
    ".git/HEAD",
    ".git/hooks/pre-commit",
    ".git/info/attributes",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".cargo/config.toml",
    "build.rs",
    "Agent.md",
    "package.json",
    "Makefile",
    "plain.txt",
    "deep/x",
    ".ship/files/web%3Achat%3At1/photo.png",
];
const LINKS: &[(&str, &str)] = &[
    ("link-env", ".env"),
    ("link-chain", "link-chain-2"),
    ("link-chain-2", "./src/../.env"),
    ("link-ship", ".ship"),
    ("link-git", ".git"),
    ("link-hooks", ".git/hooks"),
    ("link-src", "src"),
    ("link-abs", "<ROOT>/src"),
    ("link-out", "<OUT>"),
    ("link-etc", "/etc"),
    ("link-root", "/"),
    ("link-proc", "/proc/self/root"),
    ("link-loop-a", "link-loop-b"),
    ("link-loop-b", "link-loop-a"),
    ("link-dangling-in", "src/new.rs"),
    ("link-dangling-out", "/nonexistent/x"),
    ("link-key", "keys/id_rsa"),
    ("link-readme", "README.md"),
    ("link-agent", "Agent.md"),
    ("deep/up", ".."),
    (".env.prod", "kept/prod.txt"),
];
const HARD_LINKS: &[(&str, &str)] = &[
    ("hard-env.txt", ".env"),
    ("hard-sub.txt", "sub/.env.local"),
    ("hard-token.txt", ".ship/run/token"),
    ("hard-key.txt", "keys/id_rsa"),
    ("hard-hook.txt", ".git/hooks/pre-commit"),
    ("hard-agent.txt", "Agent.md"),
    ("hard-plain.txt", "plain.txt"),
];

/// The project of the corpus and a directory beside it.
struct Scene {
    project: Project,
    outside: Project,
    judge: ProjectJudge,
    allowing: ProjectJudge,
}

impl Scene {
    fn new() -> Self {
        let (project, outside) = (Project::new(), Project::new());
        outside.file("secret", CANARY);
        for path in SECRET_FILES {
            project.file(path, CANARY);
        }
        for path in FILES {
            project.file(path, "plain");
        }
        let scene = Self {
            judge: judge(&project, &[]),
            allowing: judge(&project, &["write_file"]),
            project,
            outside,
        };
        for (path, target) in LINKS {
            symlink(scene.spelled(target), scene.project.path(path)).unwrap();
        }
        for (path, target) in HARD_LINKS {
            std::fs::hard_link(scene.project.path(target), scene.project.path(path)).unwrap();
        }
        scene
    }

    /// `<ROOT>`, `<U+00A0>` and their like, replaced.
    fn spelled(&self, text: &str) -> String {
        let own = files::own_files_of(&self.project.thread());
        let mut out = text
            .replace("<ROOT>", &self.project.root().to_string_lossy())
            .replace("<OUT>", &self.outside.root().to_string_lossy())
            .replace("<OWN>", &own)
            .replace("<LF>", "\n")
            .replace("<TAB>", "\t")
            .replace("<NUL>", "\0");
        while let Some((before, rest)) = out.split_once("<U+") {
            let (code, after) = rest.split_once('>').unwrap();
            let letter = char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap();
            out = format!("{before}{letter}{after}");
        }
        out
    }

    fn resolve(&self, path: &str) -> ResolvedPath {
        files::resolve(self.project.root(), &files::own_files_of(&self.project.thread()), path)
    }

    async fn judged(&self, judge: &ProjectJudge, tool: &str, path: &str) -> &'static str {
        let input = json!({ "path": path, "content": "x" });
        let call = CallToJudge {
            thread: self.project.thread(),
            scope: Default::default(),
            origin: crate::domain::Origin::Member,
            requester: None,
            unattended: false,
            by_program: false,
            language: None,
            tool: tool.to_owned(),
            input,
        };
        let judgement = judge.judge(call).await;
        match (judgement.ruling, judgement.risk) {
            (Ruling::Allow(Class::ReadOnly), _) => "look",
            (Ruling::Allow(Class::ProjectWritable), _) => "write",
            (Ruling::Ask, Risk::High) => "high",
            (Ruling::Ask, _) => "ask",
            (Ruling::Deny(_), _) => "deny",
        }
    }
}

fn judge(project: &Project, allowed: &[&str]) -> ProjectJudge {
    let root = project.root().to_string_lossy().into_owned();
    let modes: BTreeMap<String, Mode> =
        allowed.iter().map(|tool| ((*tool).to_owned(), Mode::Allow)).collect();
    let none: &[&str] = &[];
    let settings = JudgeSettings {
        object_to_reads: Arc::new(|_, _| None),
        hides_secrets: Arc::new(|| Box::pin(async { true })),
        project: project.root().to_owned(),
        shell: ShellRules::new(Mode::Ask, Compound::Ask, none, none, root).unwrap(),
        modes,
        effects_of: Arc::new(|name| match name {
            "read_file" => Some(Effects::ReadOnly),
            _ => Some(Effects::SideEffects),
        }),
        preview: Arc::new(|_| None),
        grants: Arc::new(InMemoryGrants::new(Arc::new(InMemoryAudit::default()))),
        language: Language::En,
    };
    ProjectJudge::new(settings, Arc::new(SystemClock))
}

fn class_named(name: &str) -> PathClass {
    match name {
        "ordinary" => PathClass::Ordinary,
        "sensitive" => PathClass::Sensitive,
        "secret" => PathClass::Secret,
        "reserved" => PathClass::Reserved,
        "outside" => PathClass::Outside,
        other => panic!("no class {other}"),
    }
}

fn corpus() -> impl Iterator<Item = [&'static str; 4]> {
    CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        fields.try_into().unwrap_or_else(|_| panic!("{line}"))
    })
}

#[tokio::test]
async fn every_spelling_of_the_corpus_gets_its_verdict_from_the_judge_and_the_tools() {
    let scene = Scene::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for [spelling, class, read, write] in corpus() {
        count += 1;
        let path = scene.spelled(spelling);
        let resolved = scene.resolve(&path);
        if resolved.class != class_named(class) {
            wrong.push(format!("{spelling}: must be {class}, is {resolved:?}"));
        }
        let allowed_write = if write == "ask" { "write" } else { write };
        for (judge, tool, want) in [
            (&scene.judge, "read_file", read),
            (&scene.judge, "write_file", write),
            (&scene.allowing, "write_file", allowed_write),
        ] {
            let got = scene.judged(judge, tool, &path).await;
            if got != want {
                wrong.push(format!("{spelling}: {tool} must {want}, got {got}"));
            }
        }
        // The tools, without approval: files that the judge withholds are not read, and the tools resolve to the same
        // file.
        let outcome = ReadFile.call(json!({ "path": path }), scene.project.context()).await;
        let shown = outcome.as_ref().map(Value::to_string).unwrap_or_default();
        if (read != "look" && outcome.is_ok()) || shown.contains(CANARY) {
            wrong.push(format!("{spelling}: read_file gave {outcome:?}"));
        }
        let confined = scene.project.confinement().resolve(&path);
        if confined
            .is_ok_and(|inside| inside.relative() != resolved.relative || inside.class() != resolved.class)
        {
            wrong.push(format!("{spelling}: the tools resolve it differently"));
        }
        if write == "deny" {
            let context = scene.project.context();
            let written = WriteFile.call(json!({ "path": path, "content": "x" }), context).await;
            if written.is_ok() {
                wrong.push(format!("{spelling}: write_file gave {written:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 200, "the corpus has shrunk to {count}");
}

#[test]
fn no_spelling_is_in_the_corpus_twice() {
    let mut seen = std::collections::BTreeSet::new();
    for [spelling, ..] in corpus() {
        assert!(seen.insert(spelling), "{spelling} is there already");
    }
}

#[tokio::test]
async fn a_number_is_judged_as_the_file_that_the_tool_would_read() {
    let scene = Scene::new();
    symlink("keys/id_rsa", scene.project.path("7")).unwrap();
    let input = json!({ "path": 7 });
    let call = CallToJudge {
        thread: scene.project.thread(),
        scope: Default::default(),
        origin: crate::domain::Origin::Member,
        requester: None,
        unattended: false,
        by_program: false,
        language: None,
        tool: "read_file".into(),
        input: input.clone(),
    };
    assert_eq!(scene.judge.judge(call).await.ruling, Ruling::Ask);
    assert!(ReadFile.call(input, scene.project.context()).await.is_err());
}

#[tokio::test]
async fn the_question_names_the_file_that_a_link_leads_to() {
    let scene = Scene::new();
    let input = json!({ "path": "link-hooks/pre-commit", "content": "x" });
    let call = CallToJudge {
        thread: scene.project.thread(),
        scope: Default::default(),
        origin: crate::domain::Origin::Member,
        requester: None,
        unattended: false,
        by_program: false,
        language: None,
        tool: "write_file".into(),
        input,
    };
    let judgement = scene.judge.judge(call).await;
    assert_eq!(judgement.summary, "write_file link-hooks/pre-commit → .git/hooks/pre-commit");
}

/// Changes the spelling of a path so that a tool resolves it to the same file, or to a stricter one.
fn spelled_with_noise(root: Option<&str>, path: &str, steps: &[(usize, usize)]) -> String {
    let mut path = path.to_owned();
    for (step, at) in steps {
        path = match step {
            0 => format!("./{path}"),
            1 => path.replace('/', "//"),
            2 => format!("src/../{path}"),
            3 => path.to_uppercase(),
            4 => format!("deep/up/{path}"),
            5 => format!("link-src/../{path}"),
            6 => path.replace('/', "/./"),
            7 => {
                let letters: Vec<char> = path.chars().collect();
                let (before, after) = letters.split_at(at % (letters.len() + 1));
                before.iter().chain(&['\u{200b}']).chain(after).collect()
            }
            _ => path,
        };
    }
    path = root.map_or_else(|| path.clone(), |root| format!("{root}/{path}"));
    // White space around a path is ignored; inside, it is part of it.
    for (step, _) in steps {
        path = match step {
            8 => format!("\u{a0}{path}"),
            9 => format!("{path}\u{3000}"),
            10 => format!("\t{path}\n"),
            _ => path,
        };
    }
    path
}

#[test]
fn any_spelling_of_a_path_is_at_least_as_strict_as_its_file() {
    let scene = Scene::new();
    let known: Vec<&str> = SECRET_FILES
        .iter()
        .chain(FILES)
        .copied()
        .chain(LINKS.iter().map(|(path, _)| *path))
        .chain(HARD_LINKS.iter().map(|(path, _)| *path))
        .collect();
    let noise = prop::collection::vec((0..11_usize, 0..40_usize), 0..5);
    let cases = (any::<prop::sample::Index>(), noise, any::<bool>());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(500));
    let ran = runner.run(&cases, |(which, steps, absolute)| {
        let plain = *which.get(&known);
        let root = scene.project.root().to_string_lossy();
        let spelled = spelled_with_noise(absolute.then_some(&*root), plain, &steps);
        let (resolved, own) = (scene.resolve(&spelled), scene.resolve(plain));
        let changes_letters = steps.iter().any(|(step, _)| matches!(step, 3 | 7));
        let own_folder = plain.starts_with(".ship/files/web%3Achat%3At1");
        if !changes_letters && !own_folder {
            prop_assert_eq!(resolved.class, own.class, "{:?}", spelled);
        }
        // The verdict of the file that a tool would open, or a stricter one.
        let end = scene.resolve(&format!("./{}", resolved.relative.to_string_lossy()));
        prop_assert!(resolved.class >= end.class, "{:?}: {:?}", spelled, resolved);
        // Names with unusual Unicode forms are as strict as the plain name.
        let by_name = crate::policy::paths::classify(plain, &files::own_files_of(&scene.project.thread()));
        prop_assert!(own_folder || resolved.class >= by_name, "{:?}: {:?}", spelled, resolved);
        Ok(())
    });
    ran.unwrap();
}
