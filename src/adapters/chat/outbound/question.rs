//! The text of an approval, as CommonMark. The platform converts it.

use crate::domain::{ApprovalKind, Intent, Language, Risk, Timestamp};
use crate::phrases::approvals as words;
use crate::render::fenced;

/// The text of an approval request; `None` for any other intent.
pub fn question(intent: &Intent, now: Timestamp) -> Option<String> {
    let Intent::ApprovalRequest {
        number,
        kind,
        language,
        summary,
        risk,
        details,
        suggested_replies,
        expires_at,
        ..
    } = intent
    else {
        return None;
    };
    let mut text = format!("{}\n\n{}", title(number, *kind, *risk, *language), fenced(summary));
    if let Some(details) = details {
        text.push_str(&format!("\n\n{details}"));
    }
    let replies: Vec<String> = suggested_replies.iter().map(|reply| format!("`{reply}`")).collect();
    let left = Timestamp::parse_rfc3339(expires_at).map(|end| end.millis_since(now) / 60_000);
    text.push_str(&format!("\n\n{}", how_to_answer(&replies, left, *language)));
    Some(text)
}

fn title(number: &str, kind: ApprovalKind, risk: Risk, language: Language) -> String {
    let sign = match risk {
        Risk::Low => "🟢",
        Risk::Medium => "🟡",
        Risk::High => "🔴",
    };
    words::title(kind, sign, number, language)
}

fn how_to_answer(replies: &[String], minutes_left: Option<u64>, language: Language) -> String {
    let expires = minutes_left.map(|minutes| match minutes / 60 {
        0 => words::expires_in_minutes(minutes, language),
        hours => words::expires_in_hours(hours, language),
    });
    words::how_to_answer(&replies.join(" / "), &expires.unwrap_or_default(), language)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{Ids as _, RandomIds};

    fn asked(kind: ApprovalKind, language: Language, summary: &str) -> Intent {
        Intent::ApprovalRequest {
            approval_id: RandomIds.approval(),
            number: "A1".to_owned(),
            kind,
            language,
            summary: summary.to_owned(),
            risk: Risk::High,
            details: Some("- it deletes".to_owned()),
            scopes: Vec::new(),
            suggested_replies: vec!["approve A1".to_owned(), "deny A1".to_owned()],
            expires_at: Timestamp::from_millis(3 * 3_600_000).rfc3339(),
        }
    }

    #[test]
    fn a_question_says_what_why_how_and_until_when() {
        let text = question(&asked(ApprovalKind::Tool, Language::En, "rm -r out"), Timestamp::from_millis(0));
        assert_eq!(
            text.unwrap(),
            "🔴 **A1: may I do this?**\n\n```\nrm -r out\n```\n\n- it deletes\n\nAnswer `approve A1` / `deny A1`. Expires in 3 h."
        );
        let text =
            question(&asked(ApprovalKind::UnknownOutcome, Language::Zh, "x"), Timestamp::from_millis(0));
        assert!(text.unwrap().contains("结果未知"));
        assert_eq!(question(&Intent::Typing, Timestamp::from_millis(0)), None);
    }

    #[test]
    fn a_command_cannot_break_out_of_its_fence() {
        let text = question(
            &asked(ApprovalKind::Tool, Language::En, "echo '```' **hi**"),
            Timestamp::from_millis(0),
        );
        assert!(text.unwrap().contains("````\necho '```' **hi**\n````"));
    }
}
