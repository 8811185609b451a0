//! Memory limits by control groups of version 2, on a Linux kernel of their own: a virtual machine without hardware
//! support, in which a user has a delegated group. `tests/vm/init` is what runs in it.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::bench::{HELPER, put};

/// An emulated machine needs about 15 seconds on an idle host.
const DEADLINE: Duration = Duration::from_secs(150);

fn tests_vm() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vm")
}

/// The output of a program that must succeed.
fn output_of(command: &mut Command) -> Vec<u8> {
    let output = command.stderr(Stdio::inherit()).output().unwrap_or_else(|error| {
        panic!("{command:?}: {error}; tests/setup installs what is missing");
    });
    assert!(output.status.success(), "{command:?}: {}", output.status);
    output.stdout
}

/// The files that the machine starts with, as an archive.
fn archive(dir: &Path) -> PathBuf {
    let root = dir.join("root");
    for (name, text) in [
        ("etc/passwd", "root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/project:/bin/sh\n"),
        ("etc/group", "root:x:0:\nuser:x:1000:\n"),
        ("project/Agent.md", "You run commands.\n"),
    ] {
        put(&root.join(name), text);
    }
    let settings = json!({
        "queue": { "mergeMs": 0 }, "limits": { "commandMemoryMb": 128 },
        "permissions": { "exec_shell": { "mode": "allow" } },
        "adapters": { "web": { "listen": "127.0.0.1:7717", "token": "test-token-0123456789" } },
    });
    put(&root.join("project/ship.json"), &settings.to_string());
    fs::create_dir(root.join("bin")).unwrap();
    fs::copy(tests_vm().join("init"), root.join("init")).unwrap();
    fs::copy("/bin/busybox", root.join("bin/busybox")).expect("tests/setup installs busybox-static");
    output_of(Command::new("strip").arg("-o").arg(root.join("bin/shipagent")).arg(HELPER));
    fs::set_permissions(root.join("bin/shipagent"), Permissions::from_mode(0o755)).unwrap();
    let libraries = String::from_utf8(output_of(Command::new("ldd").arg(HELPER))).unwrap();
    for library in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
        let target = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(library, target).unwrap();
    }
    let archive = dir.join("archive");
    let pack = "find . | busybox cpio -o -H newc > ../archive 2> /dev/null";
    output_of(Command::new("sh").args(["-c", pack]).current_dir(&root));
    archive
}

/// Starts the machine, waits until it has turned itself off, and returns its reports by name.
async fn told_by_the_machine(dir: &Path) -> BTreeMap<String, String> {
    let archive = archive(dir);
    let [console, told] = ["console", "told"].map(|name| dir.join(name));
    let mut machine = tokio::process::Command::new("qemu-system-x86_64");
    machine.args("-accel tcg -cpu max -m 768 -display none -no-reboot -net none".split(' '));
    machine.args(["-append", "console=ttyS0 quiet panic=-1 rdinit=/init mitigations=off"]);
    machine.arg("-kernel").arg(tests_vm().join("vmlinuz")).arg("-initrd").arg(archive);
    for port in [&console, &told] {
        machine.arg("-serial").arg(format!("file:{}", port.display()));
    }
    let ran = tokio::time::timeout(DEADLINE, machine.stdin(Stdio::null()).kill_on_drop(true).status()).await;
    let (console, told) =
        (fs::read(console).unwrap_or_default(), fs::read_to_string(told).unwrap_or_default());
    let lines = told.lines().filter_map(|line| line.split_once(' '));
    let told: BTreeMap<_, _> = lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let ended = told.get("end").is_some_and(|end| end == "ok");
    assert!(ended, "{ran:?}\n{}\n{told:#?}", String::from_utf8_lossy(&console));
    told
}

/// The result of the only tool call of an answer.
fn outcome(answer: &str) -> Value {
    let answer: Value = serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
    answer["toolCalls"][0]["output"].clone()
}

#[tokio::test]
async fn a_real_kernel_ends_commands_that_use_too_much_and_spares_their_neighbours() {
    let dir = tempfile::tempdir().unwrap();
    let told = told_by_the_machine(dir.path()).await;
    assert_eq!(outcome(&told["first"])["stdout"], "hello\n");
    assert_eq!(told["groups_while_two_run"], "2");
    for (name, why) in [
        ("above_its_limit", "it used more than 128 MB of memory"),
        ("above_the_sum", "all running commands together used more than 180 MB"),
    ] {
        let outcome = outcome(&told[name]);
        assert_eq!(
            (&outcome["outOfMemory"], &outcome["signal"]),
            (&json!(true), &json!("SIGKILL")),
            "{outcome}"
        );
        assert!(outcome["note"].as_str().unwrap_or_default().contains(why), "{name}: {outcome}");
    }
    for name in ["neighbour_one", "neighbour_two"] {
        let outcome = outcome(&told[name]);
        assert_eq!(
            (&outcome["exitCode"], &outcome["stdout"]),
            (&json!(0), &json!("30000000\n")),
            "{outcome}"
        );
    }
    assert_eq!(told["groups_at_rest"], "0");
    assert!(
        told["doctor"].contains("128 MB, all together 180 MB; kept by control groups"),
        "{}",
        told["doctor"]
    );
    assert_eq!(told["groups_before_the_kill"], "1");
    assert_eq!(outcome(&told["after_the_kill"])["stdout"], "again\n");
    assert_eq!(told["groups_after_the_kill"], "0");
    assert!(told["log"].contains(r#""by":"cgroup""#), "{}", told["log"]);
}
