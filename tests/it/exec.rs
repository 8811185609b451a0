//! Commands with every judgement left out: whatever they try, the sandbox alone keeps them in, and they end.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shipagent::domain::{Class, Network, Permit};
use shipagent::ports::{Door, SystemClock, Tool, ToolContext, ToolFailure, ToolOutcome};
use shipagent::sandbox::{Finding, Isolation, Level, Limits, Mode, Status, probe};
use shipagent::store::FileStore;
use shipagent::tools::{ExecSettings, ExecShell, Redact, Scratch};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const HELPER: &str = env!("CARGO_BIN_EXE_shipagent");

/// Stands in every place that a command must not read.
const SECRET: &str = "hunter2-is-the-secret";

const WRITABLE: Permit = Permit { class: Class::ProjectWritable, network: Network::Off };

/// A project with everything in it that must be kept, and a place outside of it.
struct Bench {
    root: PathBuf,
    outside: PathBuf,
    store: Arc<FileStore>,
    isolation: Isolation,
    cancel: CancellationToken,
    _dirs: [tempfile::TempDir; 2],
}

impl Bench {
    fn new(isolation: Isolation) -> Self {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [root, outside] = [0, 1].map(|at: usize| dirs[at].path().canonicalize().unwrap());
        let store = Arc::new(FileStore::open(&root.join(".ship")).unwrap());
        let bench = Self { root, outside, store, isolation, cancel: CancellationToken::new(), _dirs: dirs };
        for secret in [".env", ".env.local", "ship.json", "api/.env", ".ship/run/token-of-mine"] {
            bench.file(secret, SECRET);
        }
        bench.file("src/main.rs", "fn main() {}\n");
        bench.file("api/app.py", "print('hi')\n");
        bench.file("run.sh", "#!/bin/sh\necho ran\n");
        symlink(".env", bench.root.join("alias")).unwrap();
        symlink(&bench.outside, bench.root.join("out")).unwrap();
        put(&bench.outside.join("file"), SECRET);
        bench
    }

    /// One of each kind that this machine has. It must have one: otherwise nothing here would be shown.
    fn each() -> Vec<Self> {
        let status = probe(Path::new(HELPER));
        assert_ne!(status.level, Level::Unavailable, "this machine has no sandbox: {:?}", status.reasons);
        let best = (status.isolation == Isolation::Namespaces).then_some(Isolation::Namespaces);
        best.into_iter().chain([Isolation::Rules]).map(Self::new).collect()
    }

    fn file(&self, path: &str, text: &str) {
        put(&self.root.join(path), text);
    }

    fn settings(&self) -> ExecSettings {
        let environment = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("OPENAI_API_KEY", SECRET),
            ("LANG", "redact-me"),
            ("HOME", "/root"),
        ];
        ExecSettings {
            helper: HELPER.into(),
            mode: Mode::Require,
            found: Finding::known(Status {
                level: Level::Full,
                isolation: self.isolation,
                landlock: 7,
                reasons: Vec::new(),
            }),
            environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            readable: Vec::new(),
            scratch: Scratch::of(&self.root.join(".ship")),
            timeout: Duration::from_secs(60),
            grace: Duration::from_millis(500),
            limits: Limits { processes: 400, ..Limits::default() },
            redact: Redact::new(|text| text.replace("redact-me", "[redacted]")),
        }
    }

    fn context(&self, permit: Permit) -> ToolContext {
        ToolContext {
            project: self.root.clone(),
            thread: "web:chat:1".parse().unwrap(),
            correlation: "run_1".parse().unwrap(),
            call: "call_1".parse().unwrap(),
            permit,
            person: None,
            memory: Arc::new(shipagent::store::FileMemory::new(self.root.join(".ship"))),
            history: self.store.clone(),
            door: Door::new(mpsc::channel(1).0),
            progress: None,
            clock: Arc::new(SystemClock),
            cancel: self.cancel.clone(),
        }
    }

    async fn call(&self, permit: Permit, arguments: Value) -> ToolOutcome {
        ExecShell::new(self.settings()).call(arguments, self.context(permit)).await
    }

    async fn run(&self, permit: Permit, command: &str) -> Value {
        self.call(permit, json!({"command": command, "timeoutSecs": 30})).await.unwrap()
    }

    /// All that can be changed about a tree.
    fn state(&self) -> BTreeMap<PathBuf, String> {
        let mut state = BTreeMap::new();
        for root in [&self.root, &self.outside] {
            look(root, &mut state);
        }
        // The daemon's own writing.
        state.retain(|path, _| {
            !path.starts_with(self.root.join(".ship/logs")) && *path != self.root.join(".ship")
        });
        state
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test's file need not survive a crash")]
    fs::write(path, text).unwrap();
}

fn look(path: &Path, state: &mut BTreeMap<PathBuf, String>) {
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
fn unheard_of() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("4{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// How many processes have this in their command line.
fn alive(marker: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let named = processes.filter(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(marker)
    });
    named.count()
}

/// Waits until so many processes, or fewer, sleep for this long.
async fn until_alive(marker: &str, enough: impl Fn(usize) -> bool) {
    let patience = Instant::now() + Duration::from_secs(30);
    while !enough(alive(marker)) {
        assert!(Instant::now() < patience, "{} processes", alive(marker));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn what_the_machine_has_is_found_by_trying() {
    let status = probe(Path::new(HELPER));
    assert_ne!(status.level, Level::Unavailable, "{status:?}");
    assert_eq!(status.level == Level::Full, status.reasons.is_empty(), "{status:?}");
    let broken = probe(Path::new("/bin/false"));
    assert_eq!((broken.level, broken.isolation), (Level::Unavailable, Isolation::Nothing));
    assert_eq!(broken.reasons.len(), 2, "{broken:?}");
}

#[tokio::test]
async fn without_a_sandbox_that_is_required_nothing_runs() {
    let bench = Bench::new(Isolation::Nothing);
    let mut settings = bench.settings();
    settings.found = Finding::known(probe(Path::new("/bin/false")));
    let call = json!({"command": "touch ran"});
    let outcome = ExecShell::new(settings.clone()).call(call.clone(), bench.context(WRITABLE)).await;
    assert!(matches!(outcome, Err(ToolFailure::Refused(_))), "{outcome:?}");
    assert!(!bench.root.join("ran").exists());

    settings.mode = Mode::Auto;
    let outcome = ExecShell::new(settings).call(call, bench.context(WRITABLE)).await.unwrap();
    assert_eq!((&outcome["exitCode"], &outcome["sandbox"]), (&json!(0), &json!("none")));
}

#[tokio::test]
async fn a_sandbox_that_cannot_be_set_up_as_asked_runs_nothing() {
    let bench = Bench::each().remove(0);
    let mut settings = bench.settings();
    // The helper is no helper: it reports nothing.
    settings.helper = "/bin/true".into();
    let outcome =
        ExecShell::new(settings).call(json!({"command": "touch ran"}), bench.context(WRITABLE)).await;
    assert!(matches!(outcome, Err(ToolFailure::Failed(_))), "{outcome:?}");
    assert!(!bench.root.join("ran").exists());
}

#[tokio::test]
async fn an_unasked_command_cannot_write_anywhere() {
    for bench in Bench::each() {
        let outside = bench.outside.to_string_lossy().into_owned();
        let home = std::env::home_dir().unwrap().join(format!(".{}", unheard_of()));
        let shared = PathBuf::from(format!("/tmp/{}", unheard_of()));
        let before = bench.state();
        for command in [
            "echo x > new".to_owned(),
            "echo x > src/main.rs".to_owned(),
            "echo x >> src/main.rs".to_owned(),
            ": > src/main.rs".to_owned(),
            "truncate -s 0 src/main.rs".to_owned(),
            "rm src/main.rs".to_owned(),
            "rm -rf src".to_owned(),
            "mv src/main.rs src/other.rs".to_owned(),
            "mkdir dir".to_owned(),
            "ln -s src link".to_owned(),
            "ln src/main.rs hard".to_owned(),
            "mkfifo pipe".to_owned(),
            "touch src/main.rs".to_owned(),
            "touch -d 2001-01-01 src/main.rs".to_owned(),
            "chmod 777 src/main.rs".to_owned(),
            "chown 1000 src/main.rs".to_owned(),
            "sed -i s/main/x/ src/main.rs".to_owned(),
            "dd if=/dev/zero of=src/main.rs count=1".to_owned(),
            "cp src/main.rs copy.rs".to_owned(),
            "echo x > $TMPDIR/new".to_owned(),
            "echo x > $HOME/new".to_owned(),
            "echo x > .env".to_owned(),
            "rm -rf .ship".to_owned(),
            "echo x > .ship/new".to_owned(),
            format!("echo x > {outside}/new"),
            format!("chmod 777 {outside}/file"),
            format!("touch {outside}/file"),
            "echo x > out/file".to_owned(),
            format!("echo x > {}", shared.display()),
            format!("echo x > {}", home.display()),
            "echo x > /dev/shm/x && rm /dev/shm/x".to_owned(),
            "echo x > /etc/new".to_owned(),
            "mount -t tmpfs none src".to_owned(),
            "umount -l .ship".to_owned(),
            "unshare -r true".to_owned(),
        ] {
            let outcome = bench.run(Permit::UNASKED, &command).await;
            assert_ne!(outcome["exitCode"], 0, "{:?}: {command}: {outcome}", bench.isolation);
            assert_eq!(outcome["sandbox"], "read-only");
            assert_eq!(bench.state(), before, "{:?}: {command}", bench.isolation);
        }
        assert!(!home.exists() && !shared.exists() && !Path::new("/etc/new").exists());
    }
}

#[tokio::test]
async fn a_command_of_any_class_cannot_read_state_or_secrets() {
    for bench in Bench::each() {
        let own = std::process::id();
        let outside = bench.outside.to_string_lossy().into_owned();
        for command in [
            "cat .env".to_owned(),
            "cat .env.local ship.json".to_owned(),
            "cat ./src/../.env alias".to_owned(),
            "cat api/.env".to_owned(),
            "cat .ship/run/token-of-mine; ls -R .ship".to_owned(),
            "grep -r hunter2 . ; find . -type f -exec cat {} +".to_owned(),
            "tar c . | cat".to_owned(),
            "cat /proc/self/root$PWD/.env; cat /proc/self/cwd/.env".to_owned(),
            format!("cat {outside}/file out/file"),
            format!("cat /proc/{own}/environ /proc/{own}/root{}/.env", bench.root.display()),
            "cat /proc/*/environ".to_owned(),
            "ls /root; cat /etc/shadow".to_owned(),
            "ln .env copy; mv .env copy; cp .env copy; cat copy".to_owned(),
            "mv api moved; cat moved/.env; mv moved api".to_owned(),
            "env; set; export".to_owned(),
        ] {
            for permit in [Permit::UNASKED, WRITABLE] {
                let outcome = bench.run(permit, &command).await.to_string();
                assert!(!outcome.contains(SECRET), "{:?} {permit:?}: {command}: {outcome}", bench.isolation);
                assert!(!outcome.contains("root:"), "{:?} {permit:?}: {command}: {outcome}", bench.isolation);
            }
        }
        for secret in [".env", ".env.local", "ship.json", "api/.env", ".ship/run/token-of-mine"] {
            assert_eq!(fs::read_to_string(bench.root.join(secret)).unwrap(), SECRET, "{secret}");
        }
    }
}

#[tokio::test]
async fn what_it_may_read_it_can_read_and_run() {
    for bench in Bench::each() {
        bench.file(".ship/files/web%3Achat%3A1/photo.txt", "a picture");
        for (command, expected) in [
            ("cat src/main.rs", "fn main() {}\n"),
            ("sh run.sh", "ran\n"),
            ("ls src", "main.rs\n"),
            ("cat .ship/files/web%3Achat%3A1/photo.txt", "a picture"),
            ("echo one | tr a-z A-Z > /dev/null; echo $((1 + 2))", "3\n"),
            ("cat; echo end of input", "end of input\n"),
            ("echo redact-me", "[redacted]\n"),
            ("test -d $TMPDIR && test $HOME = $TMPDIR && echo $TERM $LANG", "dumb\n"),
        ] {
            let outcome = bench.run(Permit::UNASKED, command).await;
            assert_eq!(outcome["stdout"], expected, "{:?}: {command}: {outcome}", bench.isolation);
            assert_eq!(outcome["exitCode"], 0, "{command}");
        }
        let here =
            bench.call(Permit::UNASKED, json!({"command": "pwd; exit 3", "cwd": "src"})).await.unwrap();
        assert_eq!(here["stdout"], format!("{}/src\n", bench.root.display()));
        assert_eq!((&here["exitCode"], &here["truncated"]), (&json!(3), &json!(false)));
        for arguments in
            [json!({"command": " "}), json!({"command": "a\0b"}), json!({"command": "ls", "cwd": ".."})]
        {
            assert!(bench.call(Permit::UNASKED, arguments).await.is_err());
        }
    }
}

#[tokio::test]
async fn an_allowed_command_writes_in_the_project_and_nowhere_else() {
    for bench in Bench::each() {
        let whole = bench.isolation == Isolation::Namespaces;
        let command = "echo more >> src/main.rs && echo x > src/new.rs && mkdir src/dir && mv src/new.rs src/dir/ \
                       && chmod 700 src/dir && rm src/dir/new.rs && echo t > $TMPDIR/t && cat $TMPDIR/t";
        let outcome = bench.run(WRITABLE, command).await;
        assert_eq!((&outcome["exitCode"], &outcome["stdout"]), (&json!(0), &json!("t\n")), "{outcome}");
        assert_eq!(fs::read_to_string(bench.root.join("src/main.rs")).unwrap(), "fn main() {}\nmore\n");
        assert!(bench.root.join("src/dir").is_dir() && !bench.root.join("src/dir/new.rs").exists());
        // Beside something hidden, new entries need a mount to cover it.
        let outcome = bench.run(WRITABLE, "echo x > new && echo x > api/new && rm new api/new").await;
        assert_eq!(outcome["exitCode"] == 0, whole, "{outcome}");

        let outside = bench.outside.to_string_lossy().into_owned();
        let before = bench.state();
        for command in [
            format!("echo x > {outside}/new"),
            "echo x > out/file".to_owned(),
            format!("rm {outside}/file"),
            format!("ln {outside}/file src/stolen"),
            format!("echo x > /tmp/{}", unheard_of()),
            "echo x > .env".to_owned(),
            "rm .env".to_owned(),
            "mv .env src/env".to_owned(),
            "echo x > alias".to_owned(),
            "echo x > ship.json".to_owned(),
            "mv ship.json src/".to_owned(),
            "echo x > .ship/new".to_owned(),
            "rm -rf .ship".to_owned(),
            "mv .ship src/ship".to_owned(),
            "echo x > api/.env".to_owned(),
        ] {
            let outcome = bench.run(WRITABLE, &command).await;
            assert_ne!(outcome["exitCode"], 0, "{:?}: {command}: {outcome}", bench.isolation);
            assert_eq!(outcome["sandbox"], "project-writable");
            assert_eq!(bench.state(), before, "{:?}: {command}", bench.isolation);
        }
        if whole {
            let command = format!("chmod 777 {outside}/file; touch {outside}/file");
            bench.run(WRITABLE, &command).await;
            assert_eq!(bench.state(), before, "{command}");
        }
    }
}

#[tokio::test]
async fn a_reserved_file_that_a_command_makes_is_taken_away() {
    let bench = Bench::each().remove(0);
    fs::remove_file(bench.root.join("ship.json")).unwrap();
    let outcome = bench.run(WRITABLE, "echo '{}' > ship.json; echo fine > fine.txt").await;
    if bench.isolation == Isolation::Namespaces {
        assert!(outcome["note"].as_str().unwrap().contains("ship.json is reserved"), "{outcome}");
        assert!(bench.root.join("fine.txt").exists());
    }
    assert!(!bench.root.join("ship.json").exists());
}

#[tokio::test]
async fn without_leave_there_is_no_network() {
    for bench in Bench::each() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let command = format!("exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected'");
        for class in [Class::ReadOnly, Class::ProjectWritable] {
            let outcome = bench.run(Permit { class, network: Network::Off }, &command).await;
            assert_ne!(outcome["exitCode"], 0, "{outcome}");
            assert!(listener.accept().is_err(), "{:?} {class:?}", bench.isolation);
            let outcome = bench.run(Permit { class, network: Network::On }, &command).await;
            assert_eq!(outcome["stdout"], "connected\n", "{outcome}");
            assert!(listener.accept().is_ok());
        }
    }
}

#[tokio::test]
async fn two_hundred_megabytes_of_output_take_little_memory_and_both_ends_are_kept() {
    fn resident_kib() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
    let bench = Bench::each().remove(0);
    let before = resident_kib();
    let command = "echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last; echo problem >&2";
    let outcome = bench.run(Permit::UNASKED, command).await;
    let grown = resident_kib().saturating_sub(before);
    assert_eq!((&outcome["exitCode"], &outcome["truncated"]), (&json!(0), &json!(true)));
    let stdout = outcome["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("first\nxxx") && stdout.ends_with("xxx\nlast\n"));
    assert!(outcome.to_string().len() < 64 * 1024);
    assert_eq!(outcome["stderr"], "problem\n");
    assert!(grown < 48 * 1024, "{grown} KiB");
    let full = bench.root.join(outcome["fullOutput"].as_str().unwrap());
    let kept = fs::metadata(full).unwrap();
    assert!(kept.len() > 60 << 20 && kept.len() < 70 << 20, "{}", kept.len());
    assert_eq!(kept.mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_command_that_will_not_end_is_ended() {
    for bench in Bench::each() {
        for (command, expected) in [
            ("sleep SECONDS", Some(json!({"signal": "SIGTERM"}))),
            ("trap '' TERM; while :; do sleep SECONDS; done", Some(json!({"signal": "SIGKILL"}))),
            (
                "trap 'echo bye; exit 3' TERM; sleep SECONDS & wait",
                Some(json!({"exitCode": 3, "stdout": "bye\n"})),
            ),
            ("sleep SECONDS & cat /dev/zero > /dev/null", Some(json!({"signal": "SIGTERM"}))),
            ("sleep SECONDS & while :; do echo more; done", Some(json!({"signal": "SIGTERM"}))),
            ("sleep SECONDS & kill -STOP $$; sleep SECONDS", None),
        ] {
            let marker = unheard_of();
            let context = ToolContext { cancel: CancellationToken::new(), ..bench.context(WRITABLE) };
            let cancel = context.cancel.clone();
            let tool = ExecShell::new(bench.settings());
            let call = tool.call(json!({"command": command.replace("SECONDS", &marker)}), context);
            let stop = async {
                until_alive(&format!("sleep\0{marker}"), |count| count > 0).await;
                cancel.cancel();
            };
            let (outcome, ()) = tokio::join!(call, stop);
            let outcome = outcome.unwrap();
            assert_eq!(outcome["stopped"], true, "{outcome}");
            for (field, value) in expected.iter().filter_map(Value::as_object).flatten() {
                assert_eq!(&outcome[field], value, "{:?}: {command}: {outcome}", bench.isolation);
            }
            assert_eq!(alive(&marker), 0, "{:?}: {command}", bench.isolation);
        }
    }
}

#[tokio::test]
async fn a_command_whose_time_is_over_is_ended_and_tells_what_it_said() {
    for bench in Bench::each() {
        let marker = unheard_of();
        let command = format!("sleep {marker} & setsid sleep {marker} & sleep {marker}");
        let outcome = bench.call(WRITABLE, json!({"command": command, "timeoutSecs": 1})).await.unwrap();
        assert_eq!(outcome["timedOut"], true, "{outcome}");
        assert_eq!(alive(&marker), 0, "{:?}", bench.isolation);
    }
}

#[tokio::test]
async fn nothing_that_a_command_started_outlives_it() {
    for bench in Bench::each() {
        for command in [
            "sleep SECONDS & echo started",
            "setsid sleep SECONDS & echo started",
            "(setsid sh -c 'trap \"\" TERM HUP; (setsid sleep SECONDS &) ; sleep SECONDS' >/dev/null 2>&1 &); echo started",
            "nohup sh -c 'while :; do sleep SECONDS; done' >/dev/null 2>&1 & echo started",
            "for i in $(seq 40); do sh -c 'setsid sleep SECONDS & sleep SECONDS' & done; echo started",
        ] {
            let marker = unheard_of();
            let outcome = bench.run(WRITABLE, &command.replace("SECONDS", &marker)).await;
            assert_eq!(
                (&outcome["stdout"], &outcome["exitCode"]),
                (&json!("started\n"), &json!(0)),
                "{outcome}"
            );
            assert_eq!(alive(&marker), 0, "{:?}: {command}", bench.isolation);
        }
    }
}

#[tokio::test]
async fn a_fork_bomb_comes_to_nothing() {
    let bench = Bench::each().remove(0);
    // Root is bound only inside a namespace, and without a bound this test would be what it tests for.
    assert_eq!(bench.isolation, Isolation::Namespaces, "not tried without a process namespace");
    let marker = unheard_of();
    let command = format!("bomb() {{ sleep {marker} & bomb & bomb; }}; bomb");
    let outcome = bench.call(WRITABLE, json!({"command": command, "timeoutSecs": 2})).await.unwrap();
    assert!(outcome["exitCode"].is_number() || outcome["signal"].is_string(), "{outcome}");
    assert_eq!(alive(&marker), 0);
}

#[tokio::test]
async fn letting_go_of_a_call_ends_its_command() {
    for bench in Bench::each() {
        let marker = unheard_of();
        let tool = ExecShell::new(bench.settings());
        let command = format!("setsid sleep {marker} & trap '' TERM; sleep {marker}; sleep {marker}");
        let call = tool.call(json!({"command": command}), bench.context(WRITABLE));
        let sleeping = format!("sleep\0{marker}");
        tokio::select! {
            outcome = call => panic!("it should still run: {outcome:?}"),
            () = until_alive(&sleeping, |count| count >= 2) => {}
        }
        until_alive(&marker, |count| count == 0).await;
    }
}

#[tokio::test]
async fn a_command_ends_when_its_supervisor_is_killed() {
    let bench = Bench::each().remove(0);
    assert_eq!(bench.isolation, Isolation::Namespaces, "only a process namespace holds by itself");
    let marker = unheard_of();
    let call = bench.call(WRITABLE, json!({"command": format!("setsid sleep {marker} & sleep {marker}")}));
    let kill = async {
        until_alive(&format!("sleep\0{marker}"), |count| count >= 2).await;
        let own = std::process::id().to_string();
        let supervisor = children_of(&own).into_iter().find(|child| has_descendant(child, &marker)).unwrap();
        let supervisor = rustix::process::Pid::from_raw(supervisor.parse().unwrap()).unwrap();
        rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
    };
    let (outcome, ()) = tokio::join!(call, kill);
    assert!(matches!(outcome, Err(ToolFailure::Failed(_))), "{outcome:?}");
    until_alive(&marker, |count| count == 0).await;
}

fn children_of(pid: &str) -> Vec<String> {
    let stat = |pid: &str| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let parent = |pid: &str| {
        let stat = stat(pid);
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1).map(str::to_owned))
    };
    let processes = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    processes.filter(|process| parent(process).as_deref() == Some(pid)).collect()
}

fn has_descendant(pid: &str, marker: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains(marker)
        || children_of(pid).iter().any(|child| has_descendant(child, marker))
}
