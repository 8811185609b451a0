//! The daemon's messages about grants.

use crate::domain::{ApprovalNumber, GrantNumber, GrantSummary, Language, Reach, Timestamp};
use crate::phrases::permissions;

/// A message about grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantPhrase {
    /// The grants of this thread.
    List(Vec<GrantSummary>),
    Revoked(GrantNumber),
    /// There is no such grant.
    Unknown(GrantNumber),
    /// The person may not revoke it.
    NotTheirs(GrantNumber),
    /// How to use the command.
    HowTo,
    /// The grants cannot be read; none is in force.
    Unreadable,
    /// The grant could not be stored: only this call is approved.
    NotKept(ApprovalNumber),
}

impl GrantPhrase {
    /// The text, as CommonMark.
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::List(grants) if grants.is_empty() => permissions::no_grants_here(language).into(),
            Self::List(grants) => {
                let lines: Vec<String> = grants.iter().map(|grant| line(grant, language)).collect();
                permissions::grants(&lines.join("\n"), some_number(grants), language)
            }
            Self::Revoked(number) => permissions::grant_revoked(*number, language),
            Self::Unknown(number) => permissions::grant_unknown(*number, language),
            Self::NotTheirs(number) => permissions::grant_not_theirs(*number, language),
            Self::HowTo => permissions::grants_how_to(language).into(),
            Self::Unreadable => permissions::grants_unreadable(language).into(),
            Self::NotKept(number) => permissions::grant_not_kept(*number, language),
        }
    }
}

fn some_number(grants: &[GrantSummary]) -> GrantNumber {
    grants.first().map_or(GrantNumber(1), |grant| grant.number)
}

fn calls(grant: &GrantSummary) -> String {
    if matches!(grant.reach, Reach::Cap { .. }) {
        return grant.summary.clone();
    }
    if grant.commands.is_empty() {
        return format!("`{}`", grant.tool);
    }
    grant.commands.iter().map(|command| format!("`{command}`")).collect::<Vec<_>>().join(", ")
}

/// The time, to the minute.
fn until(moment: Timestamp) -> String {
    let text = moment.rfc3339();
    let minute: String = text.chars().take("2026-01-01T00:00".len()).collect();
    format!("{} UTC", minute.replace('T', " "))
}

fn line(grant: &GrantSummary, language: Language) -> String {
    let reach = match &grant.reach {
        Reach::Thread(_) => permissions::reach_thread(language).to_owned(),
        Reach::Until { until: end, .. } => permissions::reach_until(&until(*end), language),
        Reach::Shape => permissions::reach_shape(language).to_owned(),
        Reach::Project => permissions::reach_project(language).to_owned(),
        Reach::Cap { until: end } => permissions::reach_cap(&until(*end), language),
    };
    let by = grant.by.as_ref().map(|by| permissions::granted_by(by, language)).unwrap_or_default();
    permissions::grant_line(grant.number, &calls(grant), &reach, &by, language)
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
