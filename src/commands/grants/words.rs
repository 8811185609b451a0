//! What `grants` says, in both languages.

use crate::domain::{GrantSummary, Language, Reach};

/// The heads of the table's columns.
pub(super) const fn columns(language: Language) -> [&'static str; 7] {
    match language {
        Language::En => ["NO.", "TOOL", "CALLS", "WHERE", "UNTIL", "BY", "GRANTED"],
        Language::Zh => ["编号", "工具", "调用", "范围", "有效至", "授权人", "授权时间"],
    }
}

/// Every call of the tool.
pub(super) const fn every_call(language: Language) -> &'static str {
    match language {
        Language::En => "every call",
        Language::Zh => "所有调用",
    }
}

/// Where a grant holds.
pub(super) fn reach(reach: &Reach, language: Language) -> String {
    match (reach, language) {
        (Reach::Thread(thread) | Reach::Until { thread, .. }, _) => thread.to_string(),
        (Reach::Shape | Reach::Project, Language::En) => "project".to_owned(),
        (Reach::Shape | Reach::Project, Language::Zh) => "整个项目".to_owned(),
    }
}

/// There is nothing to list.
pub(super) const fn nothing(language: Language) -> &'static str {
    match language {
        Language::En => "nothing is allowed beyond single calls",
        Language::Zh => "没有长期授权：每次都会先问",
    }
}

/// One was taken back.
pub(super) fn revoked(grant: &GrantSummary, language: Language) -> String {
    match language {
        Language::En => format!("{} no longer holds: the agent will ask again", grant.number),
        Language::Zh => format!("{} 已撤销：助手会再次询问", grant.number),
    }
}

/// There is no such grant.
pub(super) fn unknown(name: &str, language: Language) -> String {
    match language {
        Language::En => {
            format!("there is no grant {name:?} here: `shipagent grants list` shows those there are")
        }
        Language::Zh => format!("这里没有授权 {name:?}：`shipagent grants list` 会列出现有授权"),
    }
}
