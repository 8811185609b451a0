//! What `audit` says, in both languages.

use crate::commands::terminal::one_line;
use crate::domain::Language;

/// The longest name of an event that is not ours to name.
const NAME_COLUMNS: usize = 16;

/// The name of an event; one of a later version keeps its own.
pub(super) fn event(name: &str, language: Language) -> String {
    let chinese = match name {
        "verdict" => "裁定",
        "decision" => "决定",
        "execution" => "执行",
        "grant-added" => "新增授权",
        "grant-used" => "使用授权",
        "thread-stopped" => "停止会话",
        "grant-revoked" => "撤销授权",
        "grant-expired" => "授权到期",
        "access-approved" => "配对",
        "access-revoked" => "收回访问权",
        "access-opened" => "开放群组",
        "lines-lost" => "记录缺失",
        other => return one_line(other, NAME_COLUMNS),
    };
    match language {
        Language::En => name.to_owned(),
        Language::Zh => chinese.to_owned(),
    }
}

/// How something came out.
pub(super) fn outcome(word: &str, language: Language) -> String {
    let chinese = match word {
        "allow" => "放行",
        "ask" => "询问",
        "deny" => "禁止",
        "approved" => "同意",
        "denied" => "拒绝",
        "done" => "已完成",
        "expired" => "过期",
        "cancelled" => "撤回",
        "refused" => "不予接受",
        "ok" => "成功",
        "error" => "失败",
        "aborted" => "中止",
        other => return one_line(other, NAME_COLUMNS),
    };
    match language {
        Language::En => word.to_owned(),
        Language::Zh => chinese.to_owned(),
    }
}

/// How a command ended.
pub(super) fn exit_code(code: i64, language: Language) -> String {
    match language {
        Language::En => format!("exit {code}"),
        Language::Zh => format!("退出码 {code}"),
    }
}

/// Who did it, and from where.
pub(super) fn by(who: &str, via: Option<&str>, language: Language) -> String {
    match (language, via) {
        (Language::En, Some(via)) => format!("by {who} via {via}"),
        (Language::En, None) => format!("by {who}"),
        (Language::Zh, Some(via)) => format!("由 {who}（{via}）"),
        (Language::Zh, None) => format!("由 {who}"),
    }
}

pub(super) const fn nothing(language: Language) -> &'static str {
    match language {
        Language::En => "there is nothing of the kind in the audit trail",
        Language::Zh => "审计记录中没有符合条件的内容",
    }
}

/// Some lines make no sense.
pub(super) fn unreadable(count: usize, language: Language) -> String {
    match language {
        Language::En => {
            format!("{count} lines of .ship/logs/audit-*.jsonl could not be read and are left out")
        }
        Language::Zh => format!(".ship/logs/audit-*.jsonl 中有 {count} 行无法读取，已略过"),
    }
}

pub(super) fn bad_since(text: &str, language: Language) -> String {
    match language {
        Language::En => {
            format!("--since {text:?} is not a time: use 30m, 2h, 7d, or a date such as 2026-11-16")
        }
        Language::Zh => format!("--since {text:?} 不是时间：请用 30m、2h、7d 或日期，如 2026-11-16"),
    }
}
