//! `shipagent service` with a `systemctl` that writes down what it was asked, and the unit as systemd judges it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::fakes::daemon::{Output, Project};

const OFFLINE: &str = "offline";

/// A project with a `systemctl` of its own, which says that systemd is in this state.
struct Machine {
    project: Project,
    state: &'static str,
}

impl Machine {
    fn new(state: &'static str) -> Self {
        let project = Project::new(json!({ "llm": { "provider": "offline" } }));
        let log = project.path().join("systemctl.log");
        for program in ["systemctl", "journalctl"] {
            let script = format!(
                "#!/bin/sh\necho \"{program} $*\" >> '{}'\ncase \"$*\" in *is-system-running) echo {state};; esac\n",
                log.display()
            );
            project.write(&format!("bin/{program}"), &script);
            let file = project.path().join("bin").join(program);
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { project, state }
    }

    fn run(&self, args: &[&str]) -> Output {
        let path = format!("{}:/usr/bin:/bin", self.project.path().join("bin").display());
        let done = self.project.command(args).env("PATH", path).output().unwrap();
        Output {
            code: done.status.code(),
            stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
        }
    }

    /// What systemd's programs were asked since the last call, without the questions for its state.
    fn asked(&self) -> Vec<String> {
        let log = self.project.path().join("systemctl.log");
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        drop(std::fs::remove_file(log));
        text.lines().filter(|line| !line.ends_with("is-system-running")).map(str::to_owned).collect()
    }

    fn unit(&self, name: &str) -> PathBuf {
        self.project.path().join(".config/systemd/user").join(name)
    }
}

#[test]
fn a_user_service_is_installed_looked_at_and_removed() {
    let machine = Machine::new("running");
    let done = machine.run(&["service", "install", "--user", "--name", "bot"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(
        machine.asked(),
        ["systemctl --user daemon-reload", "systemctl --user enable --now bot.service"]
    );
    let unit = std::fs::read_to_string(machine.unit("bot.service")).unwrap();
    assert!(unit.contains("Type=notify") && unit.contains(" run\n"), "{unit}");
    assert_eq!(machine.run(&["service", "install", "--user", "--name", "bot"]).code, Some(0), "once more");
    assert_eq!(
        machine.asked().last().map(String::as_str),
        Some("systemctl --user restart bot.service"),
        "what runs is replaced as well"
    );

    for (args, expected) in [
        (&["service", "status"][..], "systemctl --user status --no-pager bot.service"),
        (&["service", "restart"], "systemctl --user restart bot.service"),
        (&["service", "logs"], "journalctl --lines=100 --no-pager --user-unit bot.service"),
        (&["service", "logs", "-f", "-n", "5"], "journalctl --lines=5 --follow --user-unit bot.service"),
    ] {
        let done = machine.run(&[args, &["--user", "--name", "bot"]].concat());
        assert_eq!((done.code, machine.asked()), (Some(0), vec![expected.to_owned()]), "{}", done.stderr);
    }

    let done = machine.run(&["service", "uninstall", "--name", "bot"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(
        machine.asked(),
        ["systemctl --user disable --now bot.service", "systemctl --user daemon-reload"]
    );
    assert!(!machine.unit("bot.service").exists());
    let done = machine.run(&["service", "status", "--name", "bot"]);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("shipagent service install"), "{}", done.stderr);
}

#[test]
fn a_unit_of_somebody_else_is_neither_replaced_nor_removed() {
    let machine = Machine::new("running");
    let foreign = "[Service]\nExecStart=/bin/true\n";
    machine.project.write(".config/systemd/user/bot.service", foreign);
    for subcommand in ["install", "uninstall"] {
        let done = machine.run(&["service", subcommand, "--user", "--name", "bot"]);
        assert_eq!(done.code, Some(1), "{subcommand}");
        assert_eq!(std::fs::read_to_string(machine.unit("bot.service")).unwrap(), foreign);
    }
    assert_eq!(machine.asked(), [] as [&str; 0]);
}

#[test]
fn without_systemd_the_message_says_what_to_do() {
    let machine = Machine::new(OFFLINE);
    assert_eq!(machine.state, OFFLINE);
    let done = machine.run(&["service", "install", "--user"]);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("shipagent run") && done.stderr.contains("--print"), "{}", done.stderr);
    assert!(!machine.project.path().join(".config").exists(), "nothing was written");
    let nothing = machine.project.command(&["service", "install", "--user"]).env("PATH", "/nowhere").output();
    assert_eq!(nothing.unwrap().status.code(), Some(1));
}

#[test]
fn a_project_that_cannot_start_and_a_service_of_root_are_refused() {
    let machine = Machine::new("running");
    let done = machine.run(&["service", "install", "--run-as", "root"]);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("--run-as"), "{}", done.stderr);
    machine.project.write("ship.json", "{ nonsense");
    assert_eq!(machine.run(&["service", "install", "--user"]).code, Some(3));
    assert_eq!(machine.asked(), [] as [&str; 0]);
}

/// systemd's own check of the unit: no warning, and an exposure of at most 3.0.
#[test]
fn systemd_takes_the_unit_and_rates_it_as_hardened() {
    let machine = Machine::new("running");
    let printed = machine.run(&["service", "install", "--run-as", "daemon", "--print"]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    machine.project.write("units/shipagent-test.service", &printed.stdout);
    let unit = machine.project.path().join("units/shipagent-test.service");
    let analyze = |args: &[&str]| Command::new("systemd-analyze").args(args).arg(&unit).output().unwrap();
    let checked = analyze(&["verify", "--recursive-errors=no"]);
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(!said.contains("shipagent-test.service"), "{said}");
    let rated = analyze(&["security", "--offline=true", "--json=short", "--no-pager"]);
    let rows: Vec<Value> = serde_json::from_slice(&rated.stdout).unwrap();
    assert!(rows.len() > 40, "{}", String::from_utf8_lossy(&rated.stderr));
    let rated = analyze(&["security", "--offline=true", "--no-pager"]);
    let text = String::from_utf8_lossy(&rated.stdout).into_owned();
    let exposure: f64 = text
        .rsplit_once(": ")
        .and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("{text}"));
    assert!(exposure <= 3.0, "{exposure}");
}
