//! Every command ends, and leaves nothing behind.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shipagent::domain::Permit;
use shipagent::ports::{Tool, ToolContext, ToolFailure};
use shipagent::sandbox::Isolation;
use shipagent::tools::{ExecSettings, ExecShell};
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, WRITABLE, unheard_of};
use crate::fakes::processes::alive;

/// Waits until the number of processes that sleep for this long is as wanted.
async fn until_alive(marker: &str, enough: impl Fn(usize) -> bool) {
    let patience = Instant::now() + Duration::from_secs(30);
    while !enough(alive(marker)) {
        assert!(Instant::now() < patience, "{} processes", alive(marker));
        tokio::time::sleep(Duration::from_millis(10)).await;
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
    // Root is limited only inside a namespace; without a limit this test would itself exhaust the machine.
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

#[tokio::test]
async fn no_more_commands_run_at_once_than_are_allowed_and_all_get_their_turn() {
    let bench = Bench::each().remove(0);
    let shell = ExecShell::new(ExecSettings { max_processes: 2, ..bench.settings() });
    let runs = (0..6).map(|number| {
        let command =
            format!("mkdir -p live; touch live/{number}; ls live | wc -l; sleep 0.05; rm live/{number}");
        shell.call(json!({ "command": command }), bench.context(WRITABLE))
    });
    for outcome in futures_util::future::join_all(runs).await {
        let together: u32 = outcome.unwrap()["stdout"].as_str().unwrap().trim().parse().unwrap();
        assert!((1..=2).contains(&together), "{together} commands ran at once");
    }
}
