//! What `threads` says, in both languages.

use std::path::Path;

use crate::domain::{Language, Risk, ThreadState};
use crate::uimessage::{Role, RunStatus};

/// The heads of the table's columns.
pub(super) const fn columns(language: Language) -> [&'static str; 5] {
    match language {
        Language::En => ["THREAD", "STATE", "MESSAGES", "UPDATED", "TITLE"],
        Language::Zh => ["会话", "状态", "消息数", "更新时间", "标题"],
    }
}

/// What a thread is doing.
pub(super) const fn state(state: ThreadState, language: Language) -> &'static str {
    match (state, language) {
        (ThreadState::Idle, Language::En) => "idle",
        (ThreadState::Idle, Language::Zh) => "空闲",
        (ThreadState::Running, Language::En) => "running",
        (ThreadState::Running, Language::Zh) => "进行中",
        (ThreadState::AwaitingApproval, Language::En) => "awaiting approval",
        (ThreadState::AwaitingApproval, Language::Zh) => "等待批准",
    }
}

/// There is nothing to list.
pub(super) const fn no_threads(language: Language) -> &'static str {
    match language {
        Language::En => "no conversations yet: `shipagent chat` begins one",
        Language::Zh => "还没有会话：用 `shipagent chat` 开始一个",
    }
}

/// There is no such thread.
pub(super) fn unknown(thread: &str, language: Language) -> String {
    match language {
        Language::En => {
            format!("there is no thread {thread:?} here: `shipagent threads list` shows those there are")
        }
        Language::Zh => format!("这里没有会话 {thread:?}：`shipagent threads list` 会列出已有的会话"),
    }
}

/// The file to export to is there already.
pub(super) fn exists(path: &Path, language: Language) -> String {
    match language {
        Language::En => {
            format!(
                "{} exists and is not overwritten: choose another name, or remove it first",
                path.display()
            )
        }
        Language::Zh => format!("{} 已存在，不会被覆盖：请换个名字，或先删除它", path.display()),
    }
}

/// Who speaks, where nothing better is known.
pub(super) const fn speaker(role: Role, language: Language) -> &'static str {
    match (role, language) {
        (Role::System, Language::En) => "system",
        (Role::System, Language::Zh) => "系统",
        (Role::User, Language::En) => "user",
        (Role::User, Language::Zh) => "用户",
        (Role::Assistant, Language::En) => "agent",
        (Role::Assistant, Language::Zh) => "助手",
    }
}

/// How an answer ended, where it is worth a word.
pub(super) const fn ending(status: Option<RunStatus>, language: Language) -> Option<&'static str> {
    match (status, language) {
        (Some(RunStatus::Stopped), Language::En) => Some("stopped"),
        (Some(RunStatus::Stopped), Language::Zh) => Some("已停止"),
        (Some(RunStatus::Failed), Language::En) => Some("failed"),
        (Some(RunStatus::Failed), Language::Zh) => Some("失败"),
        (Some(RunStatus::Running), Language::En) => Some("unfinished"),
        (Some(RunStatus::Running), Language::Zh) => Some("未完成"),
        (Some(RunStatus::Done | RunStatus::Continued) | None, _) => None,
    }
}

/// The daemon's name, as the speaker of its replies.
pub(super) const fn daemon(language: Language) -> &'static str {
    match language {
        Language::En => "daemon",
        Language::Zh => "守护进程",
    }
}

/// What became of a request for approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Waits,
    /// By whom, from where and when, where that is known.
    Approved(Option<String>),
    /// The same, and the reason.
    Denied(Option<String>, Option<String>),
    Expired,
    Withdrawn(String),
}

/// A call was asked about.
pub(super) fn asked(number: &str, risk: Risk, language: Language) -> String {
    let risk = match (risk, language) {
        (Risk::Low, Language::En) => "low",
        (Risk::Low, Language::Zh) => "低",
        (Risk::Medium, Language::En) => "medium",
        (Risk::Medium, Language::Zh) => "中",
        (Risk::High, Language::En) => "high",
        (Risk::High, Language::Zh) => "高",
    };
    match language {
        Language::En => format!("{number} asked for approval · risk: {risk}"),
        Language::Zh => format!("{number} 请求批准 · 风险：{risk}"),
    }
}

/// What was decided, in one line.
pub(super) fn outcome(number: &str, outcome: &Outcome, language: Language) -> String {
    let by = |by: &Option<String>| by.as_ref().map(|by| format!(" · {by}")).unwrap_or_default();
    let reason = |reason: &Option<String>| reason.as_ref().map(|why| format!(" · {why}")).unwrap_or_default();
    match (outcome, language) {
        (Outcome::Waits, Language::En) => format!("… {number} waits for a decision"),
        (Outcome::Waits, Language::Zh) => format!("… {number} 等待决定"),
        (Outcome::Approved(who), Language::En) => format!("✓ {number} approved{}", by(who)),
        (Outcome::Approved(who), Language::Zh) => format!("✓ {number} 已同意{}", by(who)),
        (Outcome::Denied(who, why), Language::En) => format!("✗ {number} denied{}{}", by(who), reason(why)),
        (Outcome::Denied(who, why), Language::Zh) => format!("✗ {number} 已拒绝{}{}", by(who), reason(why)),
        (Outcome::Expired, Language::En) => format!("✗ {number} expired"),
        (Outcome::Expired, Language::Zh) => format!("✗ {number} 已过期"),
        (Outcome::Withdrawn(why), Language::En) => format!("✗ {number} withdrawn · {why}"),
        (Outcome::Withdrawn(why), Language::Zh) => format!("✗ {number} 已撤回 · {why}"),
    }
}

/// What stands for messages that were summed up.
pub(super) fn checkpoint(language: Language, messages: u64) -> String {
    match language {
        Language::En => format!("earlier conversation summarised, {messages} messages"),
        Language::Zh => format!("之前的对话已整理，共 {messages} 条消息"),
    }
}
