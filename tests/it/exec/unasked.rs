//! A project with secrets in every place, and calls that are judged and then run only where no approval is needed, like
//! a model's calls.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use shipagent::domain::{Class, Effects, Language, Permit};
use shipagent::permissions::{JudgeSettings, ProjectJudge};
use shipagent::policy::shell::ShellRules;
use shipagent::policy::{Compound, Mode as Rule};
use shipagent::ports::{CallToJudge, Judge, Judgement, Ruling, SystemClock, Tool};
use shipagent::sandbox::{Isolation, ProbeResult, SandboxMode};
use shipagent::store::memory::{InMemoryAudit, InMemoryGrants};
use shipagent::tools::{ExecSettings, ExecShell, git_hardened, hides_secrets, object_to_reads};

use super::bench::{Bench, SECRET, put};

/// The outcome of a command.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It needs approval, for these reasons.
    Asked(String),
    /// It ran, with this output.
    Ran(Value),
}

impl Outcome {
    pub(super) fn ran(&self) -> Option<&Value> {
        match self {
            Self::Ran(output) => Some(output),
            Self::Asked(_) => None,
        }
    }
}

/// A project that is a repository, once for each sandbox and once for none.
pub(super) struct Repository {
    pub(super) bench: Bench,
    settings: ExecSettings,
    judge: ProjectJudge,
}

impl Repository {
    /// With each sandbox that the machine has.
    pub(super) fn sandboxed() -> Vec<Self> {
        Bench::each().into_iter().map(|bench| Self::of(bench, SandboxMode::Require)).collect()
    }

    /// Without any.
    pub(super) fn bare() -> Self {
        Self::of(Bench::new(Isolation::Nothing), SandboxMode::Off)
    }

    fn of(bench: Bench, mode: SandboxMode) -> Self {
        let settings = ExecSettings { mode, ..bench.settings() };
        let judge = judge(&bench.root, settings.found.clone(), mode);
        let repository = Self { bench, settings, judge };
        repository.git("init -q -b main");
        repository.git("config user.email a@example.com");
        repository.git("config user.name a");
        repository
    }

    /// Runs git directly, as a person would.
    pub(super) fn git(&self, arguments: &str) -> String {
        let output = Command::new("git")
            .args(arguments.split(' '))
            .current_dir(&self.bench.root)
            .env("HOME", &self.bench.root)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(super) fn secret(&self, path: &str) {
        self.bench.file(path, &format!("KEY={SECRET}\n"));
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        self.bench.file(path, text);
    }

    pub(super) fn link(&self, target: impl AsRef<Path>, path: &str) {
        let path = self.bench.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    pub(super) async fn judged(&self, command: &str, cwd: &str) -> Judgement {
        let call = CallToJudge {
            thread: "web:chat:1".parse().unwrap(),
            scope: Default::default(),
            origin: shipagent::domain::Origin::Member,
            requester: None,
            unattended: false,
            by_program: false,
            language: None,
            tool: "exec_shell".to_owned(),
            input: json!({"command": command, "cwd": cwd}),
        };
        self.judge.judge(call).await
    }

    /// Runs a command if it needs no approval.
    pub(super) async fn call(&self, command: &str, cwd: &str) -> Outcome {
        let judged = self.judged(command, cwd).await;
        match judged.ruling {
            Ruling::Allow(Class::ReadOnly) => {
                let arguments = json!({"command": command, "cwd": cwd, "timeoutSecs": 30});
                let context = self.bench.context(Permit::UNASKED);
                let ran = ExecShell::new(self.settings.clone()).call(arguments, context).await;
                Outcome::Ran(ran.unwrap_or_else(|failure| panic!("{command}: {failure}")))
            }
            Ruling::Ask => Outcome::Asked(judged.details.unwrap_or_default()),
            other => panic!("{command}: {other:?}"),
        }
    }

    /// Runs a command without judging it, in the class of commands without approval.
    pub(super) async fn run_unjudged(&self, command: &str) -> Result<Value, String> {
        let arguments = json!({"command": command, "timeoutSecs": 30});
        let ran =
            ExecShell::new(self.settings.clone()).call(arguments, self.bench.context(Permit::UNASKED)).await;
        ran.map_err(|failure| failure.to_string())
    }

    /// Runs a hardened line with the environment of a command without approval, and no sandbox.
    pub(super) fn run_hardened(&self, command: &str) -> String {
        let output = Command::new("/bin/sh")
            .args(["-c", command])
            .current_dir(&self.bench.root)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs(git_hardened(&self.bench.root))
            .output()
            .unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// Puts a secret into every place where a command might find it.
    pub(super) fn fill(&self) {
        let outside = self.bench.outside.clone();
        put(&outside.join("file"), &format!("KEY={SECRET}\n"));
        for path in [
            ".env",
            ".env.local",
            "ship.json",
            "api/.env",
            "keys/id_rsa",
            "keys/server.pem",
            "a/b/c/d/e/f/g/h/i/.env",
            "a/b/c/d/e/f/g/h/i/tls.key",
            "node_modules/pkg/.npmrc",
            "node_modules/pkg/test/ca.pem",
            "vendor/x/credentials.json",
            "secrets/token.txt",
            "src/secrets/token.txt",
        ] {
            self.secret(path);
        }
        self.write("src/main.rs", "fn main() {}\n// KEY\n");
        self.write("clean/notes.txt", "KEY of nothing\n");
        self.write(".gitignore", ".ship/\nnode_modules/\n");
        self.git("add -A");
        self.git("commit -qm one");
        self.write("src/main.rs", "fn main() { run() }\n// KEY\n");
        self.bench.file("secrets/token.txt", &format!("KEY={SECRET}-two\n"));
        self.git("commit -qam two");
        self.git("tag blobtag HEAD:.env");
        self.git("tag treetag HEAD:secrets");
        self.bench.file(".env", &format!("KEY={SECRET}-stashed\n"));
        self.write("src/main.rs", "fn main() { stashed() }\n");
        self.git("stash push -q -- .env src/main.rs");
        // Removed from the files, but still in the history.
        self.git("rm -q --cached .env.local");
        self.git("rm -q vendor/x/credentials.json keys/id_rsa");
        self.git("commit -qm three");
        // Renamed, and the secret removed.
        let lines: String = (0..30).map(|n| format!("line {n}\n")).collect();
        self.write("keys/id_rsa_old", &format!("{lines}KEY={SECRET}\n"));
        self.git("add keys/id_rsa_old");
        self.git("commit -qm four");
        self.git("mv keys/id_rsa_old keys/plain-name.txt");
        self.write("keys/plain-name.txt", &lines);
        self.git("commit -qam five");
        self.secret("keys/id_rsa");
        self.bench.file("keys/server.pem", &format!("KEY={SECRET}-changed\n"));
        self.bench.file("secrets/new.txt", &format!("KEY={SECRET}-new\n"));
        self.write("src/main.rs", "fn main() { changed() }\n// KEY\n");
        self.secret("untracked/.env");
        self.secret("late/2/3/4/5/6/7/8/.env");
        self.secret("untracked/prod.key");
        self.git(&format!("remote add origin https://ann:{SECRET}@example.com/x.git"));
        // Under other names.
        self.link(".env", "alias.txt");
        self.link(&outside, "out-again");
        self.link(outside.join("file"), "src/linked.txt");
        self.link("../keys", "clean/keys");
    }

    /// Adds second names of secrets.
    pub(super) fn link_secrets(&self) {
        for (secret, name) in [("api/.env", "src/hard.txt"), ("keys/server.pem", "clean/hard.txt")] {
            fs::hard_link(self.bench.root.join(secret), self.bench.root.join(name)).unwrap();
        }
        // A tracked file.
        fs::remove_file(self.bench.root.join("src/main.rs")).unwrap();
        fs::hard_link(self.bench.root.join(".env"), self.bench.root.join("src/main.rs")).unwrap();
    }
}

/// The judge of a project, with the most permissive rules.
fn judge(project: &Path, found: ProbeResult, mode: SandboxMode) -> ProjectJudge {
    const NONE: &[&str] = &[];
    let root = project.to_string_lossy();
    let project = project.to_owned();
    let settings = JudgeSettings {
        shell: ShellRules::new(Rule::Ask, Compound::Analyze, NONE, NONE, root).unwrap(),
        modes: Default::default(),
        effects_of: Arc::new(|_| Some(Effects::SideEffects)),
        preview: Arc::new(|_| None),
        grants: Arc::new(InMemoryGrants::new(Arc::new(InMemoryAudit::default()))),
        language: Language::En,
        project: project.clone(),
        object_to_reads: Arc::new(move |reads, hides| object_to_reads(&project, reads, hides)),
        hides_secrets: Arc::new(move || Box::pin(hides_secrets(found.clone(), mode))),
    };
    ProjectJudge::new(settings, Arc::new(SystemClock))
}
