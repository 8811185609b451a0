//! What keeps commands in, in words: for the summary of a start and for the doctor.

use crate::domain::{Language, SandboxLevel, SandboxReport};

/// How things stand, in one line.
pub(super) fn standing(report: &SandboxReport, language: Language) -> String {
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
