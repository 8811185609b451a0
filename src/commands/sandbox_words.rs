//! What keeps commands in, in words: for the summary of a start and for the doctor.

use std::path::PathBuf;

use crate::domain::{Language, SandboxLevel, SandboxReport};
use crate::sandbox::{MemoryControl, MemoryLimits};

/// How things stand, in one line.
pub(super) fn status(report: &SandboxReport, language: Language) -> String {
    let reasons = report.reasons.join("; ");
    let by = by(report, language);
    match (language, report.level) {
        (Language::En, SandboxLevel::Full) => format!("on ({by})"),
        (Language::En, SandboxLevel::Partial) => format!("on, with gaps ({by}): {reasons}"),
        (Language::En, SandboxLevel::Unavailable) if report.required => {
            format!("required but not to be had, so exec_shell refuses: {reasons}")
        }
        (Language::En, SandboxLevel::Unavailable) => {
            format!("none on this machine: commands run unconfined: {reasons}")
        }
        (Language::En, SandboxLevel::Off) => "off: commands run unconfined".to_owned(),
        (Language::Zh, SandboxLevel::Full) => format!("已启用（{by}）"),
        (Language::Zh, SandboxLevel::Partial) => format!("已启用但有缺口（{by}）：{reasons}"),
        (Language::Zh, SandboxLevel::Unavailable) if report.required => {
            format!("必须有却没有，exec_shell 会拒绝执行：{reasons}")
        }
        (Language::Zh, SandboxLevel::Unavailable) => format!("本机没有沙箱，命令不受限制：{reasons}"),
        (Language::Zh, SandboxLevel::Off) => "已关闭，命令不受限制".to_owned(),
    }
}

fn by(report: &SandboxReport, language: Language) -> String {
    let by = match (language, report.by) {
        (Language::En, "namespaces") => "namespaces",
        (Language::En, "rules") => "rules alone, secrets left out of them",
        (Language::Zh, "namespaces") => "命名空间",
        (Language::Zh, "rules") => "仅靠规则，机密文件排除在外",
        (_, other) => other,
    };
    if report.landlock == 0 { by.to_owned() } else { format!("Landlock {}, {by}", report.landlock) }
}

/// What can be done about it, where something can.
pub(super) fn advice(report: &SandboxReport, language: Language) -> Option<String> {
    let advice = match (language, report.level) {
        (_, SandboxLevel::Full) => return None,
        (Language::En, SandboxLevel::Partial) => {
            "let unprivileged users make namespaces, or run a newer kernel"
        }
        (Language::En, SandboxLevel::Unavailable) => {
            "use Linux 5.13 or newer with landlock in the kernel's lsm= list"
        }
        (Language::En, SandboxLevel::Off) => "set permissions.exec_shell.sandbox to \"auto\" or \"require\"",
        (Language::Zh, SandboxLevel::Partial) => "请允许普通用户创建命名空间，或使用更新的内核",
        (Language::Zh, SandboxLevel::Unavailable) => {
            "请使用 Linux 5.13 或更新版本，并在内核参数 lsm= 中加入 landlock"
        }
        (Language::Zh, SandboxLevel::Off) => {
            "请把 permissions.exec_shell.sandbox 设为 \"auto\" 或 \"require\""
        }
    };
    Some(advice.to_owned())
}

/// Which sockets of other programs approved commands can reach; nothing where none is listed. Without namespaces
/// one cannot be told from another.
pub(super) fn sockets(listed: &[PathBuf], report: &SandboxReport, language: Language) -> Option<String> {
    if listed.is_empty() {
        return None;
    }
    let names: Vec<String> = listed.iter().map(|path| path.display().to_string()).collect();
    let names = names.join(", ");
    Some(match (language, report.by) {
        (Language::En, "namespaces") => {
            format!("approved commands can have the programs behind these sockets act for them: {names}")
        }
        (Language::En, _) => {
            format!(
                "approved commands can reach every local socket, not only {names}: there are no namespaces"
            )
        }
        (Language::Zh, "namespaces") => format!("获批的命令可以通过这些套接字让其他程序代为执行：{names}"),
        (Language::Zh, _) => format!("没有命名空间，获批的命令可以连接所有本地套接字，不限于 {names}"),
    })
}

/// How much memory commands may use, and what keeps them to it.
pub(super) fn memory(limits: MemoryLimits, control: MemoryControl, language: Language) -> String {
    let (command, together) = (limits.command >> 20, limits.together >> 20);
    match (language, control) {
        (Language::En, MemoryControl::Groups) => {
            format!("a command may use {command} MB, all together {together} MB; kept by control groups")
        }
        (Language::En, MemoryControl::Sampling) => format!(
            "a command may use {command} MB, all together {together} MB; looked at a few times a second, since the \
             control group is not delegated"
        ),
        (Language::Zh, MemoryControl::Groups) => {
            format!("单个命令最多使用 {command} MB 内存，合计 {together} MB；由控制组限制")
        }
        (Language::Zh, MemoryControl::Sampling) => {
            format!("单个命令最多使用 {command} MB 内存，合计 {together} MB；控制组未委派，改为每秒检查数次")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::{Isolation, Level, Mode, Status};

    #[test]
    fn a_listed_socket_is_a_risk_and_without_namespaces_all_of_them_are() {
        let report = |isolation| {
            let status = Status { level: Level::Partial, isolation, landlock: 7, reasons: Vec::new() };
            status.report(Mode::Auto)
        };
        let listed = [PathBuf::from("/run/docker.sock")];
        for (isolation, en, zh) in [
            (Isolation::Namespaces, "these sockets act for them: /run/docker.sock", "这些套接字"),
            (Isolation::Rules, "every local socket, not only /run/docker.sock", "所有本地套接字"),
        ] {
            let report = report(isolation);
            for (language, expected) in [(Language::En, en), (Language::Zh, zh)] {
                let said = sockets(&listed, &report, language).unwrap();
                assert!(said.contains(expected), "{said}");
                assert_eq!(sockets(&[], &report, language), None);
            }
        }
    }
}
