//! What the daemon says of grants: what was allowed for longer than once, and how it is taken back.

use crate::domain::{ApprovalNumber, GrantNumber, GrantSummary, Language, Reach, Timestamp};

/// Something the daemon says of grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantPhrase {
    /// Those that hold here.
    List(Vec<GrantSummary>),
    /// One was taken back.
    Revoked(GrantNumber),
    /// There is no such grant.
    Unknown(GrantNumber),
    /// Whoever wants to take it back may not.
    NotTheirs(GrantNumber),
    /// What can be said.
    HowTo,
    /// The grants cannot be read, so none of them counts.
    Unreadable,
    /// A call was allowed for longer, but that could not be kept: only this call is.
    NotKept(ApprovalNumber),
}

impl GrantPhrase {
    /// The words, as CommonMark.
    pub fn say(&self, language: Language) -> String {
        match language {
            Language::En => self.english(),
            Language::Zh => self.chinese(),
        }
    }

    fn english(&self) -> String {
        match self {
            Self::List(grants) if grants.is_empty() => "Nothing is allowed here beyond single calls.".into(),
            Self::List(grants) => {
                let lines: Vec<String> = grants.iter().map(english_line).collect();
                format!("{}\n\n`/grants revoke {}` takes one back.", lines.join("\n"), some_number(grants))
            }
            Self::Revoked(number) => format!("{number} no longer holds: I will ask again."),
            Self::Unknown(number) => format!("There is no grant {number}; /grants lists those there are."),
            Self::NotTheirs(number) => {
                format!("You may not take {number} back: ask whoever could have approved it, or an owner.")
            }
            Self::HowTo => "Send /grants for a list, or `/grants revoke G1` to take one back.".into(),
            Self::Unreadable => {
                "The grants cannot be read, so none of them counts. The operator should mend or \
                                 remove `.ship/grants.json`."
                    .into()
            }
            Self::NotKept(number) => format!(
                "{number} runs this once, but the longer permission could not be kept: the operator should look at \
                 `.ship/grants.json`."
            ),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::List(grants) if grants.is_empty() => "这里没有长期授权：每次都会先问。".into(),
            Self::List(grants) => {
                let lines: Vec<String> = grants.iter().map(chinese_line).collect();
                format!("{}\n\n发送 `/grants 撤销 {}` 可以撤销。", lines.join("\n"), some_number(grants))
            }
            Self::Revoked(number) => format!("{number} 已撤销：以后会再次询问。"),
            Self::Unknown(number) => format!("没有授权 {number}：发送 /grants 查看现有授权。"),
            Self::NotTheirs(number) => format!("你不能撤销 {number}：请让当时可以批准它的人或所有者来撤销。"),
            Self::HowTo => "发送 /grants 查看授权，或发送 `/grants 撤销 G1` 撤销其中一个。".into(),
            Self::Unreadable => {
                "授权文件无法读取，因此所有授权都不生效。请运维者修复或删除 `.ship/grants.json`。".into()
            }
            Self::NotKept(number) => {
                format!("{number} 这一次会执行，但长期授权没能保存：请运维者检查 `.ship/grants.json`。")
            }
        }
    }
}

fn some_number(grants: &[GrantSummary]) -> GrantNumber {
    grants.first().map_or(GrantNumber(1), |grant| grant.number)
}

fn calls(grant: &GrantSummary) -> String {
    if grant.commands.is_empty() {
        return format!("`{}`", grant.tool);
    }
    grant.commands.iter().map(|command| format!("`{command}`")).collect::<Vec<_>>().join(", ")
}

/// The moment, to the minute.
fn until(moment: Timestamp) -> String {
    let text = moment.rfc3339();
    let minute: String = text.chars().take("2026-01-01T00:00".len()).collect();
    format!("{} UTC", minute.replace('T', " "))
}

fn english_line(grant: &GrantSummary) -> String {
    let reach = match &grant.reach {
        Reach::Thread(_) => "in this conversation".to_owned(),
        Reach::Until { until: end, .. } => format!("in this conversation until {}", until(*end)),
        Reach::Shape => "everywhere in the project, for commands of this shape".to_owned(),
        Reach::Project => "everywhere in the project".to_owned(),
    };
    let by = grant.by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default();
    format!("- {}: {} {reach}{by}", grant.number, calls(grant))
}

fn chinese_line(grant: &GrantSummary) -> String {
    let reach = match &grant.reach {
        Reach::Thread(_) => "在本会话中".to_owned(),
        Reach::Until { until: end, .. } => format!("在本会话中，至 {}", until(*end)),
        Reach::Shape => "整个项目中同样形式的命令".to_owned(),
        Reach::Project => "在整个项目中".to_owned(),
    };
    let by = grant.by.as_ref().map(|by| format!("，由 {by} 授权")).unwrap_or_default();
    format!("- {}：{} {reach}{by}", grant.number, calls(grant))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(number: u32, commands: &[&str], reach: Reach) -> GrantSummary {
        GrantSummary {
            number: GrantNumber(number),
            tool: "exec_shell".to_owned(),
            commands: commands.iter().map(|command| (*command).to_owned()).collect(),
            reach,
            requested_by: None,
            by: Some("telegram:user:1".parse().unwrap()),
            at: String::new(),
            summary: String::new(),
        }
    }

    #[test]
    fn a_list_tells_what_where_how_long_by_whom_and_how_to_take_it_back() {
        let thread = "web:chat:1".parse().unwrap();
        let soon = Reach::Until { thread, until: Timestamp::from_millis(60_000) };
        let list = GrantPhrase::List(vec![grant(2, &["git add …"], soon), grant(5, &[], Reach::Project)]);
        assert_eq!(
            list.say(Language::En),
            "- G2: `git add …` in this conversation until 1970-01-01 00:01 UTC, by telegram:user:1\n\
             - G5: `exec_shell` everywhere in the project, by telegram:user:1\n\n\
             `/grants revoke G2` takes one back."
        );
        assert_eq!(
            list.say(Language::Zh),
            "- G2：`git add …` 在本会话中，至 1970-01-01 00:01 UTC，由 telegram:user:1 授权\n\
             - G5：`exec_shell` 在整个项目中，由 telegram:user:1 授权\n\n\
             发送 `/grants 撤销 G2` 可以撤销。"
        );
    }

    #[test]
    fn everything_is_said_in_both_languages() {
        let number = GrantNumber(1);
        for phrase in [
            GrantPhrase::List(Vec::new()),
            GrantPhrase::Revoked(number),
            GrantPhrase::Unknown(number),
            GrantPhrase::NotTheirs(number),
            GrantPhrase::HowTo,
            GrantPhrase::Unreadable,
            GrantPhrase::NotKept(ApprovalNumber(1)),
        ] {
            assert_eq!(Language::of(&phrase.say(Language::En)), Language::En, "{phrase:?}");
            assert_eq!(Language::of(&phrase.say(Language::Zh)), Language::Zh, "{phrase:?}");
        }
    }
}
