//! Approvals that a reply decides by number or id, whether they are pending or not: `approve A3` after A3 was settled.
//! The whole reply must be such a decision; a bare yes is about what is pending, or about another subject.

use super::fold::Folded;
use super::reader::{LONGEST, PendingApproval, ReadReply, read};
use super::tokens::tokens;
use super::word::{Word, WordWeight};
use crate::domain::{ApprovalId, ApprovalKind, ApprovalNumber};

/// Most approvals in one reply.
const MOST: usize = 16;

/// An approval by number or id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// The number people see.
    Number(ApprovalNumber),
    /// The id of buttons.
    Id(ApprovalId),
}

/// The approvals that a reply decides by number or id; empty unless the whole reply does. A bare number counts only
/// after a command: `approve 2` may be about another subject.
pub fn decided_outright(reply: &str) -> Vec<Named> {
    let folded = Folded::of(reply);
    if folded.chars.len() > LONGEST {
        return Vec::new();
    }
    let command = folded.chars.first() == Some(&'/');
    let tokens = tokens(&folded, &[]);
    // `yes, A4` may be about paper; `approve A4` is about an approval.
    if !command && !tokens.iter().any(|token| is_plain(token.word)) {
        return Vec::new();
    }
    let mut named: Vec<Named> = Vec::new();
    for token in tokens {
        let name = match token.word {
            Word::Number(number) => {
                let marked = folded.text(token.at, token.end).contains(['a', 'A']);
                (marked || command).then_some(Named::Number(ApprovalNumber(number)))
            }
            Word::StrangeId => folded.text(token.at, token.end).parse().ok().map(Named::Id),
            _ => None,
        };
        named.extend(name.filter(|name| !named.contains(name)));
    }
    let decided = (1..=MOST).contains(&named.len())
        && [ApprovalKind::Tool, ApprovalKind::UnknownOutcome]
            .iter()
            .any(|kind| decides(reply, &named, *kind));
    if decided { named } else { Vec::new() }
}

/// Whether a word can hardly refer to anything but an approval.
const fn is_plain(word: Word) -> bool {
    match word {
        Word::Approve(yes) => matches!(yes.weight(), WordWeight::Plain | WordWeight::Formal),
        Word::Deny(weight) => matches!(weight, WordWeight::Plain | WordWeight::Formal),
        Word::Rerun | Word::StrangeId => true,
        _ => false,
    }
}

/// Whether a reply would decide all of these, if they were pending.
fn decides(reply: &str, named: &[Named], kind: ApprovalKind) -> bool {
    let stand_ins: Vec<(ApprovalNumber, ApprovalId)> = (0..)
        .zip(named)
        .map(|(at, name)| match name {
            Named::Number(number) => (*number, ApprovalId::made("of-no-approval")),
            // A number that no person types.
            Named::Id(id) => (ApprovalNumber(u32::MAX - at), id.clone()),
        })
        .collect();
    let pending: Vec<PendingApproval<'_>> = stand_ins
        .iter()
        .map(|(number, id)| PendingApproval {
            number: *number,
            id,
            kind,
            tool: "",
            command: None,
            plain: false,
            program: false,
        })
        .collect();
    matches!(read(reply, &pending), ReadReply::Decide(rulings) if rulings.len() == named.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_decisions_that_name_what_they_are_about_count() {
        let id = "apr_0123456789abcdef0123456789abcdef";
        let by_id = [Named::Id(id.parse().unwrap())];
        let number = |number| Named::Number(ApprovalNumber(number));
        for (reply, expected) in [
            ("approve A1", vec![number(1)]),
            ("Approve a12, please.", vec![number(12)]),
            ("同意 A3", vec![number(3)]),
            ("同意Ａ３", vec![number(3)]),
            ("拒绝 A3，太危险了", vec![number(3)]),
            ("approve A1 and A2", vec![number(1), number(2)]),
            ("approve A1 for 10 minutes", vec![number(1)]),
            ("rerun A4", vec![number(4)]),
            ("/approve 7", vec![number(7)]),
            ("/deny A7 too risky", vec![number(7)]),
            ("approve", vec![]),
            ("yes", vec![]),
            ("approve 1", vec![]),
            ("同意 1", vec![]),
            ("A1", vec![]),
            ("yes, A4", vec![]),
            ("ok A4", vec![]),
            ("好的，A4", vec![]),
            ("👍 A4", vec![]),
            ("no, A4", vec![]),
            ("A4 done", vec![]),
            ("what is A1?", vec![]),
            ("should I approve A1?", vec![]),
            ("approve A1 if the tests pass", vec![]),
            ("print it on A4 paper", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(decided_outright(reply), expected, "{reply:?}");
        }
        assert_eq!(decided_outright(&format!("approve {id}")), by_id);
        assert_eq!(decided_outright(&format!("/deny {id}")), by_id);
    }
}
