//! A command that exceeds its memory limit is ended with a reason; the daemon and other commands continue.

use serde_json::{Value, json};
use shipagent::domain::{Class, Permit};
use shipagent::sandbox::{MemoryLimiter, MemoryLimits};

use super::bench::Bench;
use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply};

const APPROVED: Permit = Permit::of(Class::ProjectWritable);
const MB: u64 = 1 << 20;

/// Uses this many megabytes until it is ended.
fn uses(megabytes: u64) -> String {
    format!(
        "/usr/bin/python3 -c \"import time; a = b'x' * ({megabytes} << 20); print('full', flush=True); time.sleep(60)\""
    )
}

fn limited(mut bench: Bench, command: u64, together: u64) -> Bench {
    bench.memory = MemoryLimiter::new(MemoryLimits { command: command * MB, together: together * MB });
    bench
}

fn is_ended(outcome: &Value, why: &str) -> bool {
    outcome["outOfMemory"] == true && outcome["note"].as_str().is_some_and(|note| note.contains(why))
}

#[tokio::test]
async fn a_command_that_uses_too_much_is_ended_and_the_next_one_runs() {
    for bench in Bench::each() {
        let bench = limited(bench, 200, 1_000);
        for command in [
            uses(600),
            "/usr/bin/python3 -c 'a = bytearray(8 << 30)'".to_owned(),
            // Many small processes: the limit is per command, not per process.
            format!("for i in 1 2 3 4 5 6; do {} & done; wait", uses(60)),
            // A file without a name that is never mapped.
            "/usr/bin/python3 -c 'import os, time
f = os.memfd_create(\"a\")
for _ in range(600): os.write(f, b\"x\" * (1 << 20))
time.sleep(60)'"
                .to_owned(),
            // Detached from everything.
            format!("setsid sh -c '{}' & sleep 60", uses(600).replace('\'', "'\\''")),
        ] {
            let outcome = bench.run(APPROVED, &command).await;
            assert!(is_ended(&outcome, "more than 200 MB"), "{:?}: {command}: {outcome}", bench.isolation);
            assert_eq!(outcome["signal"], "SIGKILL", "{outcome}");
        }
        let outcome = bench.run(APPROVED, "echo fine").await;
        assert_eq!((&outcome["stdout"], &outcome["outOfMemory"]), (&json!("fine\n"), &Value::Null));
    }
}

#[tokio::test]
async fn shared_memory_that_outlives_its_processes_is_bounded() {
    let bench = Bench::each().remove(0);
    let asks_for =
        |megabytes: u32| format!("perl -e 'exit(defined shmget(0, {megabytes} << 20, 01600) ? 0 : 1)'");
    for (megabytes, expected) in [(100, 0), (600, 1)] {
        let outcome = bench.run(APPROVED, &asks_for(megabytes)).await;
        assert_eq!(outcome["exitCode"], expected, "{megabytes}: {outcome}");
    }
}

#[tokio::test]
async fn commands_that_together_use_too_much_end_by_the_largest() {
    let bench = limited(Bench::each().remove(0), 400, 500);
    let small =
        format!("{} & until test -e src/over; do sleep 0.05; done; kill $!; echo survived", uses(120));
    let largest = async {
        let outcome = bench.run(APPROVED, &uses(300)).await;
        bench.file("src/over", "");
        outcome
    };
    let (one, two, largest) = tokio::join!(bench.run(APPROVED, &small), bench.run(APPROVED, &small), largest);
    assert!(is_ended(&largest, "all running commands together used more than 500 MB"), "{largest}");
    for small in [one, two] {
        assert!(small["stdout"].as_str().unwrap().ends_with("survived\n"), "{small}");
    }
}

#[tokio::test]
async fn memory_that_is_reserved_shared_or_read_from_files_is_not_counted() {
    let bench = limited(Bench::each().remove(0), 200, 1_000);
    for command in [
        // Far more address space than memory.
        "/usr/bin/python3 -c 'import mmap, time; m = mmap.mmap(-1, 4 << 30); m[0] = 1; time.sleep(1); print(1)'",
        // Twelve processes that share 120 MB.
        "/usr/bin/python3 -c '
import os, time
a = b\"x\" * (120 << 20)
for _ in range(12):
    if os.fork() == 0:
        time.sleep(1.5); os._exit(0)
for _ in range(12): os.wait()
print(1)'",
        // A file of 400 MB, mapped.
        "truncate -s 400M src/big; /usr/bin/python3 -c '
import mmap, time
f = open(\"src/big\", \"rb\"); m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
s = sum(m[i] for i in range(0, len(m), 4096)); time.sleep(1); print(1)'; rm src/big",
        "node -e 'setTimeout(() => console.log(1), 1000)'",
    ] {
        let outcome = bench.run(APPROVED, command).await;
        assert_eq!(
            (&outcome["stdout"], &outcome["exitCode"]),
            (&json!("1\n"), &json!(0)),
            "{command}: {outcome}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_tells_of_it_and_lives() {
    let hog = Reply::calls([("exec_shell", json!({ "command": uses(600) }))]);
    let next = Reply::calls([("exec_shell", json!({ "command": "echo fine" }))]);
    let model = FakeModel::start([hog, next, Reply::text("Done.")]).await;
    let project = Project::with_model(
        &model.url(),
        json!({
            "queue": { "mergeMs": 0 }, "limits": { "commandMemoryMb": 128 },
            "permissions": { "exec_shell": { "mode": "allow" } },
        }),
    );
    let daemon = project.start().await;
    let answer = daemon.execute(json!({ "instructions": "try", "chatId": "a" })).await;
    let calls = &answer["toolCalls"];
    assert!(is_ended(&calls[0]["output"], "more than 128 MB"), "{answer}");
    assert_eq!(calls[1]["output"]["stdout"], "fine\n", "{answer}");
}
