//! Everyday work inside the sandbox: git in a project that tracks `ship.json`, and the usual runtimes.

use std::process::Command;

use serde_json::{Value, json};
use shipagent::domain::{Class, Permit};
use shipagent::sandbox::Isolation;

use super::bench::Bench;

const APPROVED: Permit = Permit::of(Class::ProjectWritable);

/// Makes the project a repository whose first commit holds `ship.json`.
fn tracked(bench: &Bench) {
    bench.file(".gitignore", ".ship/\n.env*\nalias\nout\n");
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "Ann"],
        &["config", "user.email", "ann@example.org"],
        &["add", "."],
        &["commit", "-q", "-m", "first"],
    ] {
        let done = Command::new("git").arg("-C").arg(&bench.root).args(arguments).status().unwrap();
        assert!(done.success(), "git {arguments:?}");
    }
}

fn succeeded(outcome: &Value) -> &str {
    assert_eq!(outcome["exitCode"], 0, "{outcome}");
    outcome["stdout"].as_str().unwrap()
}

#[tokio::test]
async fn git_works_in_a_project_that_tracks_ship_json() {
    for bench in Bench::each() {
        tracked(&bench);
        let whole = bench.isolation == Isolation::Namespaces;
        for permit in [Permit::UNASKED, APPROVED] {
            assert_eq!(
                succeeded(&bench.run(permit, "git status --short").await),
                "",
                "{:?}",
                bench.isolation
            );
            assert_eq!(succeeded(&bench.run(permit, "git diff").await), "", "{:?}", bench.isolation);
        }
        assert_eq!(succeeded(&bench.run(APPROVED, "cat ship.json").await), "{}\n", "{:?}", bench.isolation);
        bench.file("src/main.rs", "fn main() { one(); }\n");
        let commit = "git commit -qam second && git show --stat --format=%s";
        let shown = bench.run(APPROVED, commit).await;
        let shown = succeeded(&shown);
        assert!(
            shown.contains("second") && shown.contains("src/main.rs") && !shown.contains("ship.json"),
            "{shown}"
        );

        bench.file("src/main.rs", "fn main() { two(); }\n");
        let stash = bench
            .run(APPROVED, "git stash -q && cat src/main.rs && git stash pop -q && cat src/main.rs")
            .await;
        assert_eq!(
            succeeded(&stash),
            "fn main() { one(); }\nfn main() { two(); }\n",
            "{:?}",
            bench.isolation
        );

        // The operator's change is visible, and can be committed, but not undone.
        bench.file("ship.json", "{ \"name\": \"ann\" }\n");
        let diff = bench.run(APPROVED, "git diff --stat -- ship.json").await;
        assert!(succeeded(&diff).contains("ship.json"), "{diff}");
        let undone = bench.run(APPROVED, "git checkout -- ship.json").await;
        assert_ne!(undone["exitCode"], 0, "{undone}");
        let commit = bench.run(APPROVED, "git commit -qam third && git status --short").await;
        assert_eq!(succeeded(&commit), "", "{:?}", bench.isolation);
        assert_eq!(std::fs::read_to_string(bench.root.join("ship.json")).unwrap(), "{ \"name\": \"ann\" }\n");
        if whole {
            let branch = "git checkout -q -b other && echo x > new && git add new && git commit -qm four && git checkout -q main && test ! -e new";
            succeeded(&bench.run(APPROVED, branch).await);
        }
    }
}

#[tokio::test]
async fn the_usual_runtimes_work() {
    let bench = Bench::each().remove(0);
    for (command, expected) in [
        (
            "/usr/bin/python3 -c 'import multiprocessing as m; l = m.Lock(); l.acquire(); l.release(); print(sum(m.Pool(2).map(abs, [-1, 2])))'",
            "3\n",
        ),
        (
            "/usr/bin/python3 -c 'from multiprocessing import shared_memory as s; m = s.SharedMemory(create=True, size=1 << 20); m.buf[0] = 7; print(m.buf[0]); m.close(); m.unlink()'",
            "7\n",
        ),
        ("/usr/bin/python3 -c 'import tempfile; print(tempfile.TemporaryFile().write(b\"abc\"))'", "3\n"),
        ("node -e 'console.log(require(\"os\").tmpdir() === process.env.TMPDIR)'", "true\n"),
        (
            "node -e 'require(\"child_process\").exec(\"echo hi\", (e, out) => process.stdout.write(out))'",
            "hi\n",
        ),
        ("mktemp -p /tmp >/dev/null && mktemp >/dev/null && echo made", "made\n"),
        ("perl -e 'print getpwuid($<) . \"\\n\"' | wc -l", "1\n"),
        ("getent hosts localhost >/dev/null && echo resolved", "resolved\n"),
        ("git init -q src/repo && git -C src/repo status --short && echo clean", "clean\n"),
        ("printf '#!/bin/sh\\necho ran\\n' > /tmp/x && chmod +x /tmp/x && /tmp/x", "ran\n"),
    ] {
        let outcome = bench.run(APPROVED, command).await;
        assert_eq!(
            (&outcome["stdout"], &outcome["exitCode"]),
            (&json!(expected), &json!(0)),
            "{command}: {outcome}"
        );
    }
}
