//! A project for hostile commands, once for each sandbox of the machine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use shipagent::domain::{Class, Network, Permit};
use shipagent::ports::{SystemClock, ThreadsHandle, Tool, ToolContext, ToolOutcome};
use shipagent::sandbox::{
    Isolation, IsolationLevel, MemoryLimiter, MemoryLimits, ProbeResult, ResourceLimits, SandboxMode,
    SandboxStatus, probe,
};
use shipagent::store::{AttachmentFiles, FileMemory, ThreadFiles, ToolOutputFiles};
use shipagent::tools::{ExecSettings, ExecShell, Redact, Scratch};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub(super) const HELPER: &str = env!("CARGO_BIN_EXE_shipagent");

/// Contained in every place that a command must not read.
pub(super) const SECRET: &str = "hunter2-is-the-secret";

pub(super) const WRITABLE: Permit = Permit { class: Class::ProjectWritable, network: Network::Off };

/// A project with everything that must be protected, and a place outside it.
pub(super) struct Bench {
    pub(super) root: PathBuf,
    pub(super) outside: PathBuf,
    pub(super) store: Arc<ThreadFiles>,
    pub(super) isolation: Isolation,
    pub(super) cancel: CancellationToken,
    pub(super) sockets: Vec<PathBuf>,
    pub(super) memory: MemoryLimiter,
    pub(super) _dirs: [tempfile::TempDir; 2],
}

impl Bench {
    pub(super) fn new(isolation: Isolation) -> Self {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [root, outside] = [0, 1].map(|at: usize| dirs[at].path().canonicalize().unwrap());
        let store = Arc::new(ThreadFiles::open(&root.join(".ship")).unwrap());
        let cancel = CancellationToken::new();
        let (sockets, memory) = (Vec::new(), MemoryLimiter::new(MemoryLimits::on_this_machine(None)));
        let bench = Self { root, outside, store, isolation, cancel, sockets, memory, _dirs: dirs };
        for secret in [".env", ".env.local", "api/.env", ".ship/run/token-of-mine"] {
            bench.file(secret, SECRET);
        }
        bench.file("ship.json", "{}\n");
        bench.file("src/main.rs", "fn main() {}\n");
        bench.file("api/app.py", "print('hi')\n");
        bench.file("run.sh", "#!/bin/sh\necho ran\n");
        symlink(".env", bench.root.join("alias")).unwrap();
        symlink(&bench.outside, bench.root.join("out")).unwrap();
        put(&bench.outside.join("file"), SECRET);
        bench
    }

    /// One of each kind on this machine. There must be one: otherwise nothing would be tested.
    pub(super) fn each() -> Vec<Self> {
        let status = probe(Path::new(HELPER));
        assert_ne!(
            status.level,
            IsolationLevel::Unavailable,
            "this machine has no sandbox: {:?}",
            status.reasons
        );
        let best = (status.isolation == Isolation::Namespaces).then_some(Isolation::Namespaces);
        best.into_iter().chain([Isolation::Rules]).map(Self::new).collect()
    }

    pub(super) fn file(&self, path: &str, text: &str) {
        put(&self.root.join(path), text);
    }

    pub(super) fn settings(&self) -> ExecSettings {
        let environment = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("OPENAI_API_KEY", SECRET),
            ("LANG", "redact-me"),
            ("HOME", "/root"),
        ];
        ExecSettings {
            outputs: Arc::new(ToolOutputFiles::new(&self.root.join(".ship"))),
            helper: HELPER.into(),
            mode: SandboxMode::Require,
            found: ProbeResult::known(SandboxStatus {
                level: IsolationLevel::Full,
                isolation: self.isolation,
                landlock: 7,
                reasons: Vec::new(),
            }),
            environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            readable: Vec::new(),
            sockets: self.sockets.clone(),
            scratch: Scratch::of(&self.root.join(".ship")),
            timeout: Duration::from_secs(60),
            grace: Duration::from_millis(500),
            limits: ResourceLimits { processes: 400, ..ResourceLimits::default() },
            max_processes: 8,
            memory: self.memory.clone(),
            redact: Redact::new(|text| text.replace("redact-me", "[redacted]")),
        }
    }

    pub(super) fn context(&self, permit: Permit) -> ToolContext {
        ToolContext {
            project: self.root.clone(),
            thread: "web:chat:1".parse().unwrap(),
            correlation: "run_1".parse().unwrap(),
            call: "call_1".parse().unwrap(),
            permit,
            scope: Default::default(),
            origin: shipagent::domain::Origin::Member,
            requester: None,
            unattended: false,
            language: Default::default(),
            tasks: crate::fakes::scripted_threads::tasks_in(&self.root.join(".ship")),
            asked_in: Vec::new(),
            approval: None,
            search: shipagent::ports::ScopedSearch {
                search: Arc::new(shipagent::store::FileSearch::new(self.root.join(".ship"))),
                memory: Arc::new(FileMemory::new(self.root.join(".ship"))),
                thread: "web:chat:1".parse().unwrap(),
                scope: Default::default(),
                reach: Default::default(),
            },
            memory: Arc::new(FileMemory::new(self.root.join(".ship"))),
            files: Arc::new(AttachmentFiles::new(&self.root.join(".ship"))),
            history: self.store.clone(),
            threads: ThreadsHandle::new(mpsc::channel(1).0),
            progress: None,
            clock: Arc::new(SystemClock),
            cancel: self.cancel.clone(),
        }
    }

    pub(super) async fn call(&self, permit: Permit, arguments: Value) -> ToolOutcome {
        ExecShell::new(self.settings()).call(arguments, self.context(permit)).await
    }

    pub(super) async fn run(&self, permit: Permit, command: &str) -> Value {
        self.call(permit, json!({"command": command, "timeoutSecs": 30})).await.unwrap()
    }

    /// Everything that can change in a tree.
    pub(super) fn state(&self) -> BTreeMap<PathBuf, String> {
        let mut state = BTreeMap::new();
        for root in [&self.root, &self.outside] {
            look(root, &mut state);
        }
        // The daemon's own writes.
        state.retain(|path, _| {
            !path.starts_with(self.root.join(".ship/logs")) && *path != self.root.join(".ship")
        });
        state
    }
}

pub(super) fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test's file need not survive a crash")]
    fs::write(path, text).unwrap();
}

pub(super) fn look(path: &Path, state: &mut BTreeMap<PathBuf, String>) {
    let found = fs::symlink_metadata(path).unwrap();
    let content = if found.is_file() { fs::read(path).unwrap() } else { Vec::new() };
    let (mode, uid, time, change) = (found.mode(), found.uid(), found.mtime_nsec(), found.ctime_nsec());
    let content = String::from_utf8_lossy(&content);
    state.insert(path.to_owned(), format!("{mode:o} {uid} {time} {change} {content}"));
    if found.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            look(&entry.unwrap().path(), state);
        }
    }
}

/// A number of seconds that no other process sleeps.
pub(super) fn unheard_of() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("4{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
