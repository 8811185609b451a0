//! The sandbox in words, for the start summary and the doctor.

use std::path::PathBuf;

use crate::domain::{Language, SandboxLevel, SandboxReport};
use crate::phrases::doctor as words;
use crate::sandbox::{MemoryControl, MemoryLimits};

/// The state of the sandbox in one line.
pub(super) fn status(report: &SandboxReport, language: Language) -> String {
    let reasons: Vec<String> = report.reasons.iter().map(|text| reason(text, language)).collect();
    let reasons = reasons.join(words::between_reasons(language));
    match report.level {
        SandboxLevel::Full => words::sandbox_full(&by(report, language), language),
        SandboxLevel::Partial => words::sandbox_partial(&by(report, language), &reasons, language),
        SandboxLevel::Unavailable if report.required => words::sandbox_required(&reasons, language),
        SandboxLevel::Unavailable => words::sandbox_unavailable(&reasons, language),
        SandboxLevel::Off => words::sandbox_off(language).to_owned(),
    }
}

/// A reason of the probe. Unknown ones, and the causes after a colon, stay in English.
fn reason(text: &str, language: Language) -> String {
    let (what, cause) = text.split_once(": ").map_or((text, None), |(what, cause)| (what, Some(cause)));
    match (words::sandbox_reason(what, language), cause) {
        (Some(known), None) => known.to_owned(),
        (Some(known), Some(cause)) => format!("{known}: {cause}"),
        (None, _) => text.to_owned(),
    }
}

fn by(report: &SandboxReport, language: Language) -> String {
    let by = match report.by {
        "namespaces" => words::by_namespaces(language),
        "rules" => words::by_rules(language),
        other => other,
    };
    if report.landlock == 0 { by.to_owned() } else { format!("Landlock {}, {by}", report.landlock) }
}

/// Advice, where there is any.
pub(super) fn advice(report: &SandboxReport, language: Language) -> Option<String> {
    let advice = match report.level {
        SandboxLevel::Full => return None,
        SandboxLevel::Partial => words::sandbox_partial_fix(language),
        SandboxLevel::Unavailable => words::sandbox_unavailable_fix(language),
        SandboxLevel::Off => words::sandbox_off_fix(language),
    };
    Some(advice.to_owned())
}

/// The sockets of other programs that approved commands can reach; `None` where none is listed. Without namespaces
/// they cannot be told apart.
pub(super) fn sockets(listed: &[PathBuf], report: &SandboxReport, language: Language) -> Option<String> {
    if listed.is_empty() {
        return None;
    }
    let names: Vec<String> = listed.iter().map(|path| path.display().to_string()).collect();
    let names = names.join(", ");
    Some(match report.by {
        "namespaces" => words::sockets(&names, language),
        _ => words::every_socket(&names, language),
    })
}

/// The memory limit of commands, and its enforcement.
pub(super) fn memory(limits: MemoryLimits, control: MemoryControl, language: Language) -> String {
    let (command, together) = (limits.command >> 20, limits.together >> 20);
    match control {
        MemoryControl::Groups => words::memory_groups(command, together, language),
        MemoryControl::Sampling => words::memory_sampling(command, together, language),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::{Isolation, IsolationLevel, SandboxMode, SandboxStatus};

    #[test]
    fn reasons_of_the_probe_are_told_in_the_readers_language() {
        let reasons = vec![
            "this kernel has no Landlock".to_owned(),
            "the helper cannot be used: permission denied".to_owned(),
            "something new".to_owned(),
        ];
        let found = SandboxStatus {
            level: IsolationLevel::Unavailable,
            isolation: Isolation::Nothing,
            landlock: 0,
            reasons,
        };
        let report = found.report(SandboxMode::Auto);
        assert!(status(&report, Language::En).ends_with(&report.reasons.join("; ")));
        let chinese = status(&report, Language::Zh);
        assert!(
            chinese.ends_with("此内核没有 Landlock；无法使用辅助进程: permission denied；something new"),
            "{chinese}"
        );
    }

    #[test]
    fn a_listed_socket_is_a_risk_and_without_namespaces_all_of_them_are() {
        let report = |isolation| {
            let status =
                SandboxStatus { level: IsolationLevel::Partial, isolation, landlock: 7, reasons: Vec::new() };
            status.report(SandboxMode::Auto)
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
