//! The text of a systemd unit. Pure.
//!
//! Two settings that would harden it further are left out on purpose: `ProtectKernelTunables` and `ProtectKernelLogs`
//! cover parts of `/proc`, and the kernel then refuses the `/proc` of its own that the sandbox gives to each command.

use std::path::Path;

/// The first line of every unit that `service install` writes: other files are never replaced or removed.
pub(super) const MARK: &str =
    "# Written by `shipagent service install`; `shipagent service uninstall` removes it.";

/// The key of the line that names the project.
const PROJECT_KEY: &str = "WorkingDirectory=";

/// The service manager that a unit is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Manager {
    /// The machine's manager; the service runs as this user.
    System { run_as: String },
    /// The manager of the current user.
    User,
}

/// What a unit is made of. The paths are absolute, in UTF-8 and on one line.
#[derive(Clone, Debug)]
pub(super) struct Unit<'a> {
    pub(super) manager: &'a Manager,
    pub(super) binary: &'a str,
    pub(super) project: &'a str,
}

/// Settings that work for every manager, without privileges.
const FOR_BOTH: &str = "\
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=user mnt pid ipc
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
SystemCallArchitectures=native
SystemCallFilter=@system-service @mount
SystemCallFilter=landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp
SystemCallErrorNumber=EPERM
";

/// Settings that need the machine's manager.
const FOR_SYSTEM: &str = "\
CapabilityBoundingSet=
AmbientCapabilities=
KeyringMode=private
PrivateDevices=yes
PrivateIPC=yes
PrivateMounts=yes
PrivateTmp=yes
ProtectClock=yes
ProtectHome=read-only
ProtectHostname=yes
ProtectKernelModules=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
";

impl Unit<'_> {
    pub(super) fn text(&self) -> String {
        let (project, binary) = (literal(self.project), quoted(self.binary));
        let (settings, target) = match self.manager {
            Manager::System { run_as } => {
                let writable = quoted(self.project);
                let settings = format!("User={}\nReadWritePaths={writable}\n{FOR_SYSTEM}", literal(run_as));
                (settings, "multi-user.target")
            }
            Manager::User => (String::new(), "default.target"),
        };
        format!(
            "{MARK}\n[Unit]\nDescription=shipagent for {project}\nAfter=network-online.target\n\
             Wants=network-online.target\n\n[Service]\nType=notify\nWatchdogSec=60\nRestart=always\nRestartSec=2\n\
             TimeoutStopSec=20\nDelegate=memory pids\n{PROJECT_KEY}{project}\nExecStart={binary} run\n\
             {settings}{FOR_BOTH}\n[Install]\nWantedBy={target}\n"
        )
    }
}

/// The project that a unit of ours is for; `None` for a unit that `service install` did not write.
pub(super) fn project_of(unit: &str) -> Option<String> {
    let line = unit.strip_prefix(MARK)?.lines().find_map(|line| line.strip_prefix(PROJECT_KEY))?;
    Some(line.replace("%%", "%"))
}

/// The default name of a project's service: `shipagent-` and the directory's name in letters that systemd takes.
pub(super) fn default_name(project: &Path) -> String {
    let name = project.file_name().unwrap_or_default().to_string_lossy();
    let plain: String = name
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' })
        .collect();
    match plain.trim_matches('-') {
        "" => "shipagent".to_owned(),
        plain => format!("shipagent-{}", plain.get(..100).unwrap_or(plain)),
    }
}

/// Whether systemd takes this as the name of a service.
pub(super) fn is_name(name: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
    !name.is_empty() && name.len() <= 200 && name.chars().all(allowed)
}

/// A value in which systemd expands nothing.
fn literal(text: &str) -> String {
    text.replace('%', "%%")
}

/// One word of a list or of a command line.
fn quoted(text: &str) -> String {
    let mut word = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => word.extend(['\\', letter]),
            '%' | '$' => word.extend([letter, letter]),
            _ => word.push(letter),
        }
    }
    word.push('"');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system() -> Manager {
        Manager::System { run_as: "agent".to_owned() }
    }

    #[test]
    fn a_unit_names_its_project_whatever_the_path_is() {
        for project in ["/srv/bot", "/srv/my bot", "/srv/50% \"off\"\\$HOME", "/srv/机器人"] {
            for manager in [system(), Manager::User] {
                let text = Unit { manager: &manager, binary: "/usr/bin/shipagent", project }.text();
                assert_eq!(project_of(&text).as_deref(), Some(project), "{text}");
            }
        }
        assert_eq!(project_of("[Service]\nWorkingDirectory=/srv/bot\n"), None, "somebody else wrote it");
    }

    #[test]
    fn words_of_a_command_line_are_taken_literally() {
        for (path, expected) in [
            ("/usr/bin/shipagent", "\"/usr/bin/shipagent\""),
            ("/a b/50%", "\"/a b/50%%\""),
            ("/a\"b\\c$d", "\"/a\\\"b\\\\c$$d\""),
        ] {
            assert_eq!(quoted(path), expected);
        }
    }

    #[test]
    fn names_are_made_of_the_directory() {
        for (path, expected) in [
            ("/srv/bot", "shipagent-bot"),
            ("/srv/my bot", "shipagent-my-bot"),
            ("/srv/机器人", "shipagent"),
            ("/srv/a@b%c", "shipagent-a-b-c"),
            ("/", "shipagent"),
        ] {
            assert_eq!(default_name(Path::new(path)), expected);
            assert!(is_name(expected));
        }
        for name in ["", "a b", "a/b", "../x", "a\nb", "é"] {
            assert!(!is_name(name), "{name:?}");
        }
    }

    #[test]
    fn what_keeps_the_sandbox_from_its_own_proc_is_left_out() {
        let text = Unit { manager: &system(), binary: "/b", project: "/p" }.text();
        for setting in ["ProtectKernelTunables", "ProtectKernelLogs", "ProcSubset"] {
            assert!(!text.contains(setting), "{setting}");
        }
    }
}
