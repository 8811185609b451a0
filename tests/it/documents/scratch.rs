//! A machine for the commands of the manual: a home, a project, and a `PATH` with nothing but the program, a few tools
//! of the system, and stand-ins for what would change this machine, needs a network or takes long.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::fakes::daemon::{Daemon, Project};

/// Tools of the system that the manual may call as they are. They work on files of the scratch machine only.
const TOOLS: &[&str] = &[
    "base64",
    "bash",
    "cat",
    "cp",
    "curl",
    "date",
    "env",
    "git",
    "grep",
    "gzip",
    "head",
    "install",
    "ls",
    "make",
    "mkdir",
    "mv",
    "printf",
    "pwd",
    "rm",
    "sed",
    "seq",
    "sh",
    "sha256sum",
    "sleep",
    "tail",
    "tar",
    "timeout",
    "touch",
    "tr",
    "uname",
    "wc",
];

/// Programs that are replaced by a note of their call, and why.
pub(super) const STAND_INS: &[(&str, &str)] = &[
    ("apt-get", "installs packages of the system"),
    ("chown", "wants root"),
    ("docker", "wants a container engine"),
    ("journalctl", "wants systemd"),
    ("loginctl", "wants systemd"),
    ("npm", "wants a network"),
    ("npx", "wants a network"),
    ("ollama", "wants a model server"),
    ("rustup", "wants a network"),
    ("ssh", "wants another machine"),
    ("systemctl", "wants systemd"),
    ("systemd-analyze", "wants systemd"),
    ("useradd", "changes the system"),
    ("xdg-open", "wants a desktop"),
];

/// `run` serves until it is stopped: here until it listens. `init` asks on a terminal: here it takes the defaults.
const SHIPAGENT: &str = r#"#!/bin/sh
serves=no dir=. previous=
for word in "$@"; do
  case $word in run) [ -z "$previous" ] && serves=yes ;; esac
  case $previous in -C) dir=$word ;; esac
  previous=$word
done
case "$*" in *--yes*) ;; init*) set -- "$@" --yes ;; esac
[ "$serves" = yes ] && [ "$1" = run ] || exec "$REAL_SHIPAGENT" "$@"
case "$*" in *--listen*) ;; *) set -- "$@" --listen 127.0.0.1:0 ;; esac
"$REAL_SHIPAGENT" "$@" >"$HOME/run.log" 2>&1 &
daemon=$!
for _ in $(seq 600); do
  [ -s "$dir/.ship/run/address" ] && break
  kill -0 "$daemon" 2>/dev/null || { cat "$HOME/run.log" >&2; exit 1; }
  sleep 0.1
done
kill "$daemon"
wait "$daemon"
"#;

/// Builds and benchmarks take minutes; `cargo run -- ...` starts the program that is built already.
const CARGO: &str = r#"#!/bin/sh
[ "$1" = run ] || exit 0
while [ "$1" != -- ]; do shift; done
shift
exec shipagent "$@"
"#;

const SUDO: &str = "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nexec \"$@\"\n";

pub(super) fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The machine, for all blocks of a document.
pub(super) struct Scratch {
    project: Project,
}

/// A line of a script that has ended.
pub(super) struct Ended {
    pub(super) line: String,
    pub(super) code: i32,
}

impl Scratch {
    pub(super) fn new() -> Self {
        let web = json!({ "web": { "listen": "127.0.0.1:0" } });
        let project = Project::new(json!({ "llm": { "provider": "offline" }, "adapters": web }));
        project.write(
            ".ship/tasks/morning.md",
            "---\nschedule: \"0 9 * * *\"\nauthor: web:user:operator\n---\nSay hello.\n",
        );
        project.write(
            "notes/people.jsonl",
            "{\"id\": \"n1\", \"at\": 1767225600000, \"author\": \"Ann\", \"text\": \"Ann moved in May.\"}\n",
        );
        project.write("notes/core.md", "- Deploys need two approvals.\n");
        project.write("ask.ogg", "OggS");
        project.write("target/dist/shipagent", "#!/bin/sh\n");
        project.write("home/my-project/Agent.md", "You are the agent of a scratch project.\n");
        project.write("home/my-project/ship.json", "{ \"llm\": { \"provider\": \"offline\" }, \"adapters\": { \"web\": { \"listen\": \"127.0.0.1:0\" } } }\n");
        for name in ["one", "two"] {
            project.write(&format!("srv/{name}/Agent.md"), "You are one of two.\n");
        }
        let root = project.path();
        symlink(root, root.join("srv/my-project")).unwrap();
        copy(&repository().join("examples"), &root.join("examples"));
        std::fs::create_dir_all(root.join("usr/bin")).unwrap();
        release_archive(root);
        for name in ["tests/run", "tests/setup", ".ci/run"] {
            script(&root.join(name), "#!/bin/sh\n");
        }
        for (name, text) in [("shipagent", SHIPAGENT), ("cargo", CARGO), ("sudo", SUDO)] {
            script(&root.join("bin").join(name), text);
        }
        for (name, _) in STAND_INS {
            script(&root.join("bin").join(name), "#!/bin/sh\n");
        }
        for tool in TOOLS {
            let found =
                ["/usr/bin", "/bin"].iter().map(|dir| Path::new(dir).join(tool)).find(|path| path.exists());
            if let Some(found) = found {
                symlink(found, root.join("bin").join(tool)).unwrap();
            }
        }
        Self { project }
    }

    /// Runs a script of the manual, beside a daemon of the project unless the script starts one.
    pub(super) async fn run(&self, block: &str) -> (Vec<Ended>, String) {
        let serves = block.lines().any(|line| line.contains("shipagent run") || line.contains("-- run"));
        if serves {
            return self.run_beside(block, None);
        }
        let daemon = self.project.start().await;
        let ended = self.run_beside(block, Some(&daemon));
        assert!(daemon.stop().await.success());
        ended
    }

    /// Runs a script. Addresses and folders are those of this machine.
    fn run_beside(&self, block: &str, daemon: Option<&Daemon>) -> (Vec<Ended>, String) {
        let root = self.project.path().display().to_string();
        let listens = daemon.map(|daemon| daemon.base.trim_start_matches("http://").to_owned());
        let mut block = block.replace("/usr/local/bin", &format!("{root}/usr/bin"));
        for (name, value) in [("/srv/", format!("{root}/srv/")), ("/srv ", format!("{root}/srv "))] {
            block = block.replace(name, &value);
        }
        for port in ["7717", "7718", "7719"] {
            block = block.replace(&format!("--listen 127.0.0.1:{port}"), "--listen 127.0.0.1:0");
        }
        if let Some(address) = listens {
            block = block.replace("127.0.0.1:7717", &address);
        }
        for (placeholder, value) in [(" DIR ", " notes "), ("SCOPE", "project"), (" TASK", " morning")] {
            block = block.replace(placeholder, value);
        }
        let lines = logical_lines(&block);
        let mut text = String::from("exec 9>\"$HOME/status\"\n");
        for (number, line) in lines.iter().enumerate() {
            text.push_str(&format!("{line}\necho \"{number} $?\" >&9\n"));
        }
        self.project.write("home/block.sh", &text);
        let output = Command::new("/usr/bin/timeout")
            .args(["--kill-after=5", "200", "/bin/bash", "home/block.sh"])
            .current_dir(self.project.path())
            .env_clear()
            .env("HOME", self.project.path().join("home"))
            .env("PATH", self.project.path().join("bin"))
            .env("LANG", "C.UTF-8")
            .env(
                "TOKEN",
                std::fs::read_to_string(self.project.path().join(".ship/run/token"))
                    .unwrap_or_default()
                    .trim(),
            )
            // Nothing leaves this machine.
            .env("HTTP_PROXY", "http://127.0.0.1:9")
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .env("NO_PROXY", "127.0.0.1,localhost")
            .env("REAL_SHIPAGENT", env!("CARGO_BIN_EXE_shipagent"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let status = std::fs::read_to_string(self.project.path().join("home/status")).unwrap_or_default();
        let ended = status.lines().map(|line| {
            let (number, code) = line.split_once(' ').unwrap();
            Ended { line: lines[number.parse::<usize>().unwrap()].clone(), code: code.parse().unwrap() }
        });
        let ended: Vec<Ended> = ended.collect();
        assert_eq!(ended.len(), lines.len(), "the script broke off: {told}\n{block}");
        (ended, told)
    }
}

/// The commands of a block: lines with their continuations, without those that only comment.
fn logical_lines(block: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in block.lines() {
        match lines.last_mut() {
            Some(last) if goes_on => last.push_str(&format!("\n{line}")),
            _ => lines.push(line.to_owned()),
        }
        goes_on = line.ends_with('\\');
    }
    lines.retain(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    lines
}

fn script(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a scratch file of a test")]
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// An archive as a release has it, with a program that does nothing.
fn release_archive(root: &Path) {
    let name = "shipagent-0.0.0-x86_64-unknown-linux-musl";
    script(&root.join("release").join(name).join("shipagent"), "#!/bin/sh\n");
    let packed = Command::new("/bin/tar")
        .args(["czf", &format!("{name}.tar.gz"), "-C", "release", name])
        .current_dir(root)
        .status();
    assert!(packed.unwrap().success());
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        // State of an example that was tried by hand is none of the example.
        if path.ends_with(".ship") {
            continue;
        }
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
