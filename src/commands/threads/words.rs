//! What `threads` says, in both languages.

use std::path::Path;

use crate::domain::{Language, ThreadState};
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
