//! What `approvals` says, in both languages.

use super::decide::Answer;
use crate::cli::ApprovalFilter;
use crate::commands::terminal::one_line;
use crate::domain::{Approval, ApprovalState, Language, Risk};

/// The widest a summary is shown.
const SUMMARY_COLUMNS: usize = 80;

/// The heads of the table's columns.
pub(super) const fn columns(language: Language) -> [&'static str; 6] {
    match language {
        Language::En => ["NO.", "STATE", "RISK", "ASKED", "THREAD", "WHAT"],
        Language::Zh => ["编号", "状态", "风险", "提出时间", "会话", "内容"],
    }
}

/// Where a question is in its life.
pub(super) const fn state(state: &ApprovalState, language: Language) -> &'static str {
    match (state, language) {
        (ApprovalState::Pending, Language::En) => "pending",
        (ApprovalState::Pending, Language::Zh) => "待决定",
        (ApprovalState::Approved { .. }, Language::En) => "approved",
        (ApprovalState::Approved { .. }, Language::Zh) => "已同意",
        (ApprovalState::Spent { .. }, Language::En) => "spent",
        (ApprovalState::Spent { .. }, Language::Zh) => "已执行",
        (ApprovalState::Denied { .. }, Language::En) => "denied",
        (ApprovalState::Denied { .. }, Language::Zh) => "已拒绝",
        (ApprovalState::Expired { .. }, Language::En) => "expired",
        (ApprovalState::Expired { .. }, Language::Zh) => "已过期",
        (ApprovalState::Cancelled { .. }, Language::En) => "cancelled",
        (ApprovalState::Cancelled { .. }, Language::Zh) => "已撤回",
    }
}

/// How dangerous a call looks.
pub(super) const fn risk(risk: Risk, language: Language) -> &'static str {
    match (risk, language) {
        (Risk::Low, Language::En) => "low",
        (Risk::Low, Language::Zh) => "低",
        (Risk::Medium, Language::En) => "medium",
        (Risk::Medium, Language::Zh) => "中",
        (Risk::High, Language::En) => "high",
        (Risk::High, Language::Zh) => "高",
    }
}

/// Something that is known of a question.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    Tool,
    Risk,
    Thread,
    RequestedBy,
    Asked,
    Expires,
    Fingerprint,
    Id,
    Decided,
    Reason,
}

/// How many columns the names of fields take.
pub(super) const FIELD_COLUMNS: usize = 12;

pub(super) const fn field(field: Field, language: Language) -> &'static str {
    match (field, language) {
        (Field::Tool, Language::En) => "tool",
        (Field::Tool, Language::Zh) => "工具",
        (Field::Risk, Language::En) => "risk",
        (Field::Risk, Language::Zh) => "风险",
        (Field::Thread, Language::En) => "thread",
        (Field::Thread, Language::Zh) => "会话",
        (Field::RequestedBy, Language::En) => "requested by",
        (Field::RequestedBy, Language::Zh) => "发起人",
        (Field::Asked, Language::En) => "asked",
        (Field::Asked, Language::Zh) => "提出时间",
        (Field::Expires, Language::En) => "expires",
        (Field::Expires, Language::Zh) => "过期时间",
        (Field::Fingerprint, Language::En) => "fingerprint",
        (Field::Fingerprint, Language::Zh) => "指纹",
        (Field::Id, Language::En) => "id",
        (Field::Id, Language::Zh) => "标识",
        (Field::Decided, Language::En) => "decided",
        (Field::Decided, Language::Zh) => "决定",
        (Field::Reason, Language::En) => "reason",
        (Field::Reason, Language::Zh) => "理由",
    }
}

/// There is nothing to list.
pub(super) const fn nothing(filter: ApprovalFilter, language: Language) -> &'static str {
    match (filter, language) {
        (ApprovalFilter::Pending, Language::En) => "nothing waits for a decision",
        (ApprovalFilter::Pending, Language::Zh) => "没有等待决定的请求",
        (ApprovalFilter::All, Language::En) => "nothing was ever asked here",
        (ApprovalFilter::All, Language::Zh) => "这里还没有提出过请求",
    }
}

/// There is no such question.
pub(super) fn unknown(name: &str, language: Language) -> String {
    match language {
        Language::En => {
            format!(
                "there is no approval {name:?} here: `shipagent approvals list --state all` shows those there are"
            )
        }
        Language::Zh => {
            format!("这里没有请求 {name:?}：`shipagent approvals list --state all` 会列出所有请求")
        }
    }
}

/// Nobody can act on an answer.
pub(super) const fn no_daemon(language: Language) -> &'static str {
    match language {
        Language::En => {
            "no daemon runs here, and it alone acts on answers: start `shipagent run`, then decide again \
             (the question is kept)"
        }
        Language::Zh => {
            "这里没有守护进程在运行，只有它能执行决定：请先运行 `shipagent run`，再来决定（请求不会丢失）"
        }
    }
}

/// The daemon says no.
pub(super) fn refused(why: &str, language: Language) -> String {
    match language {
        Language::En => format!("the daemon did not take the decision: {why}"),
        Language::Zh => format!("守护进程没有接受这个决定：{why}"),
    }
}

/// The line to the daemon broke.
pub(super) fn broken(why: &str, language: Language) -> String {
    match language {
        Language::En => {
            format!(
                "the daemon did not answer ({why}): `shipagent approvals show` tells whether the decision counts"
            )
        }
        Language::Zh => format!("守护进程没有答复（{why}）：用 `shipagent approvals show` 查看决定是否生效"),
    }
}

/// The question needs no answer any more.
pub(super) fn settled(approval: &Approval, language: Language) -> String {
    let state = state(&approval.state, language);
    match language {
        Language::En => format!("{} is {state} already", approval.number),
        Language::Zh => format!("{} {state}，不需要再决定", approval.number),
    }
}

/// A longer yes was recorded as one to this call alone.
pub(super) const fn only_once(language: Language) -> &'static str {
    match language {
        Language::En => "This once: the call cannot be allowed for longer.",
        Language::Zh => "仅此一次：该调用不能被长期允许。",
    }
}

pub(super) fn counted(approval: &Approval, answer: Answer, language: Language) -> String {
    let word = match (answer, language) {
        (Answer::Approve(_), Language::En) => "approved",
        (Answer::Approve(_), Language::Zh) => "已同意",
        (Answer::Deny, Language::En) => "denied",
        (Answer::Deny, Language::Zh) => "已拒绝",
        (Answer::Done, Language::En) => "noted as done",
        (Answer::Done, Language::Zh) => "已记为完成",
    };
    let colon = match language {
        Language::En => ": ",
        Language::Zh => "：",
    };
    format!("{} {word}{colon}{}", approval.number, one_line(&approval.summary, SUMMARY_COLUMNS))
}
