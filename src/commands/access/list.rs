//! `access list`: paired people, served groups, and open requests.

use std::io::Write;

use crate::cli::{Exit, Output};
use crate::commands::cli_context::CliContext;
use crate::commands::terminal::{moment, one_line};
use crate::commands::text_table::table;
use crate::domain::Timestamp;
use crate::phrases::commands as words;
use crate::ports::AccessList;

/// Most columns of a name.
const NAME_COLUMNS: usize = 30;

/// Lists all access records.
pub(super) fn list(
    context: &CliContext,
    known: &AccessList,
    output: Output,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    if output.json {
        writeln!(out, "{:#}", serde_json::to_value(known)?)?;
    } else if *known == AccessList::default() {
        writeln!(out, "{}", words::access_empty(context.language))?;
    } else {
        write!(out, "{}", rows(context, known))?;
        if !known.asking.is_empty() {
            writeln!(out, "\n{}", words::access_how_to_approve(context.language))?;
        }
    }
    Ok(Exit::Ok)
}

fn rows(context: &CliContext, known: &AccessList) -> String {
    let when = |text: &str| {
        Timestamp::parse_rfc3339(text).map(|at| moment(at, &context.zone)).unwrap_or_else(|| text.to_owned())
    };
    let name = |name: &Option<String>| one_line(name.as_deref().unwrap_or_default(), NAME_COLUMNS);
    let people = known.people.iter().map(|member| {
        [
            member.id.to_string(),
            name(&member.name),
            words::access_role(member.role, context.language).to_owned(),
            when(&member.approved_at),
            member.approved_by.to_string(),
        ]
    });
    let chats = known.chats.iter().map(|chat| {
        [
            chat.id.to_string(),
            String::new(),
            words::access_group(context.language).to_owned(),
            when(&chat.opened_at),
            chat.opened_by.to_string(),
        ]
    });
    let asking = known.asking.iter().map(|applicant| {
        [
            applicant.id.to_string(),
            name(&applicant.name),
            words::access_asks(context.language).to_owned(),
            when(&applicant.asked_at),
            words::access_code(&applicant.code, &when(&applicant.expires_at), context.language),
        ]
    });
    let removed = known.removed.iter().map(|removed| {
        [
            removed.id.to_string(),
            name(&removed.name),
            words::access_removed(context.language).to_owned(),
            when(&removed.removed_at),
            removed.removed_by.to_string(),
        ]
    });
    let rows: Vec<[String; 5]> = people.chain(chats).chain(asking).chain(removed).collect();
    table(context.surface, words::access_columns(context.language), &rows)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::commands::terminal::Surface;
    use crate::domain::{Language, Role};
    use crate::ports::{Applicant, Member, OpenChat, Removed};

    #[test]
    fn the_table_is_told_in_both_languages() {
        let known = AccessList {
            people: vec![Member {
                id: "telegram:user:1".parse().unwrap(),
                name: Some("小明".to_owned()),
                role: Role::Guest,
                approved_by: "cli:user:operator".parse().unwrap(),
                approved_at: "2023-11-14T22:13:20Z".to_owned(),
            }],
            chats: vec![OpenChat {
                id: "telegram:chat:-100".parse().unwrap(),
                opened_by: "telegram:user:9".parse().unwrap(),
                opened_at: "2023-11-14T22:14:20Z".to_owned(),
            }],
            asking: vec![Applicant {
                id: "feishu:user:ou_1".parse().unwrap(),
                name: None,
                code: "ABCD2345".to_owned(),
                asked_at: "2023-11-14T22:15:20Z".to_owned(),
                expires_at: "2023-11-14T23:15:20Z".to_owned(),
            }],
            removed: vec![Removed {
                id: "qq:user:7".parse().unwrap(),
                name: None,
                removed_by: "cli:user:operator".parse().unwrap(),
                removed_at: "2023-11-14T22:16:20Z".to_owned(),
            }],
        };
        let context = |language| {
            CliContext::with("/nonexistent".into(), language, TimeZone::UTC, Surface::Stream).unwrap()
        };
        insta::assert_snapshot!(rows(&context(Language::En), &known), @r"
        WHO                 NAME  WHAT     SINCE             BY
        telegram:user:1     小明  guest    2023-11-14 22:13  cli:user:operator
        telegram:chat:-100        group    2023-11-14 22:14  telegram:user:9
        feishu:user:ou_1          asks     2023-11-14 22:15  code ABCD2345 until 2023-11-14 23:15
        qq:user:7                 removed  2023-11-14 22:16  cli:user:operator
        ");
        insta::assert_snapshot!(rows(&context(Language::Zh), &known), @r"
        对象                名字  身份    时间              由谁
        telegram:user:1     小明  访客    2023-11-14 22:13  cli:user:operator
        telegram:chat:-100        群组    2023-11-14 22:14  telegram:user:9
        feishu:user:ou_1          待批准  2023-11-14 22:15  配对码 ABCD2345，有效至 2023-11-14 23:15
        qq:user:7                 已移除  2023-11-14 22:16  cli:user:operator
        ");
    }
}
