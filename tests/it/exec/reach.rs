//! What a command can read, write and call.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use serde_json::json;
use shipagent::domain::{Class, Network, Permit};
use shipagent::ports::{Tool, ToolFailure};
use shipagent::sandbox::{Isolation, IsolationLevel, ProbeResult, SandboxMode, probe};
use shipagent::tools::ExecShell;

use super::bench::{Bench, HELPER, SECRET, WRITABLE, unheard_of};

#[test]
fn what_the_machine_has_is_found_by_trying() {
    let status = probe(Path::new(HELPER));
    assert_ne!(status.level, IsolationLevel::Unavailable, "{status:?}");
    assert_eq!(status.level == IsolationLevel::Full, status.reasons.is_empty(), "{status:?}");
    let broken = probe(Path::new("/bin/false"));
    assert_eq!((broken.level, broken.isolation), (IsolationLevel::Unavailable, Isolation::Nothing));
    assert_eq!(broken.reasons.len(), 2, "{broken:?}");
}

#[tokio::test]
async fn without_a_sandbox_that_is_required_nothing_runs() {
    let bench = Bench::new(Isolation::Nothing);
    let mut settings = bench.settings();
    settings.found = ProbeResult::known(probe(Path::new("/bin/false")));
    let call = json!({"command": "touch ran"});
    let outcome = ExecShell::new(settings.clone()).call(call.clone(), bench.context(WRITABLE)).await;
    assert!(matches!(outcome, Err(ToolFailure::Refused(_))), "{outcome:?}");
    assert!(!bench.root.join("ran").exists());

    settings.mode = SandboxMode::Auto;
    let outcome = ExecShell::new(settings).call(call, bench.context(WRITABLE)).await.unwrap();
    assert_eq!((&outcome["exitCode"], &outcome["sandbox"]), (&json!(0), &json!("none")));
}

#[tokio::test]
async fn a_sandbox_that_cannot_be_set_up_as_asked_runs_nothing() {
    let bench = Bench::each().remove(0);
    let mut settings = bench.settings();
    // The helper is another program: it reports nothing.
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
            "cat .env.local".to_owned(),
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
        for secret in [".env", ".env.local", "api/.env", ".ship/run/token-of-mine"] {
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
        // Beside a hidden path, new entries need a mount to cover it.
        let outcome = bench.run(WRITABLE, "echo x > new && echo x > api/new && rm new api/new").await;
        assert_eq!(outcome["exitCode"] == 0, whole, "{outcome}");

        let outside = bench.outside.to_string_lossy().into_owned();
        let before = bench.state();
        for command in [
            format!("echo x > {outside}/new"),
            "echo x > out/file".to_owned(),
            format!("rm {outside}/file"),
            format!("ln {outside}/file src/stolen"),
            "echo x > .env".to_owned(),
            "rm .env".to_owned(),
            "mv .env src/env".to_owned(),
            "echo x > alias".to_owned(),
            "echo x > ship.json".to_owned(),
            "mv ship.json src/".to_owned(),
            "rm ship.json".to_owned(),
            "mv src/main.rs ship.json".to_owned(),
            "ln src/main.rs ship.json".to_owned(),
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
            let command = format!("chmod 777 {outside}/file ship.json; touch {outside}/file ship.json");
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
