//! Reads a reply to the question whether a spend cap is raised: `+1`, `+5 A3`, `until midnight`, `stop`, `到午夜`.
//! The whole reply must be of this form; any other is read by the general rules.

use crate::domain::{Answer, ApprovalNumber, Scope};

/// Words that may stand beside the answer.
const BESIDE: [&str; 22] = [
    "approve", "approved", "allow", "yes", "ok", "okay", "please", "add", "and", "for", "it", "give", "批准",
    "同意", "允许", "可以", "增加", "加", "再", "给", "请", "吧",
];
const MIDNIGHT: [&str; 6] = ["until midnight", "till midnight", "midnight", "到午夜", "直到午夜", "午夜前"];
const STOP: [&str; 5] = ["stop", "停止", "停下", "停", "到此为止"];

/// The answer of a reply, and the number that it names.
pub fn raise(reply: &str) -> Option<(Option<ApprovalNumber>, Answer)> {
    let low = reply.trim().to_lowercase().replace('＋', "+");
    let mut rest = low.trim_start_matches('/');
    let (mut number, mut answer) = (None, None);
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() || matches!(first, ',' | '，' | '.' | '。' | '!' | '！' | ':' | '：') {
            rest = rest.get(first.len_utf8()..)?;
            continue;
        }
        let (found, after) = word(rest)?;
        match found {
            Found::Answer(new) if answer.is_none() => answer = Some(new),
            Found::Number(new) if number.is_none() => number = Some(new),
            Found::Beside => {}
            Found::Answer(_) | Found::Number(_) => return None,
        }
        rest = after;
    }
    answer.map(|answer| (number, answer))
}

enum Found {
    Answer(Answer),
    Number(ApprovalNumber),
    Beside,
}

/// The word at the beginning, and what follows it.
fn word(text: &str) -> Option<(Found, &str)> {
    let ends = |after: &str| !after.starts_with(|next: char| next.is_ascii_alphanumeric());
    let listed =
        |words: &[&str]| words.iter().find_map(|word| text.strip_prefix(word).filter(|after| ends(after)));
    if let Some(amount) = text.strip_prefix('+') {
        let amount = amount.trim_start();
        let scope = [("1", Scope::PlusOne), ("5", Scope::PlusFive)];
        return scope.into_iter().find_map(|(digit, scope)| {
            let after = amount.strip_prefix(digit).filter(|after| ends(after))?;
            Some((Found::Answer(Answer::Approve(scope)), after))
        });
    }
    if let Some(after) = listed(&MIDNIGHT) {
        return Some((Found::Answer(Answer::Approve(Scope::Midnight)), after));
    }
    if let Some(after) = listed(&STOP) {
        return Some((Found::Answer(Answer::Deny), after));
    }
    if let Some(after) = listed(&BESIDE) {
        return Some((Found::Beside, after));
    }
    let end = text.find(|next: char| !next.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (name, after) = text.split_at_checked(end)?;
    Some((Found::Number(ApprovalNumber::typed(name)?), after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_reply_raises_the_cap_or_stops_and_is_never_guessed() {
        let yes = |number: Option<u32>, scope| Some((number.map(ApprovalNumber), Answer::Approve(scope)));
        for (reply, expected) in [
            ("+1", yes(None, Scope::PlusOne)),
            ("+5", yes(None, Scope::PlusFive)),
            (" + 5 ", yes(None, Scope::PlusFive)),
            ("＋1", yes(None, Scope::PlusOne)),
            ("A3 +5", yes(Some(3), Scope::PlusFive)),
            ("+5 a3", yes(Some(3), Scope::PlusFive)),
            ("/approve A3 +1", yes(Some(3), Scope::PlusOne)),
            ("Until midnight A12.", yes(Some(12), Scope::Midnight)),
            ("同意到午夜", yes(None, Scope::Midnight)),
            ("A3：加+1", yes(Some(3), Scope::PlusOne)),
            ("stop", Some((None, Answer::Deny))),
            ("停止 A3", Some((Some(ApprovalNumber(3)), Answer::Deny))),
            ("+2", None),
            ("+10", None),
            ("+1 +5", None),
            ("A1 A2 +1", None),
            ("+1 for everyone", None),
            ("do not stop", None),
            ("approve", None),
            ("stopping", None),
            ("", None),
        ] {
            assert_eq!(raise(reply), expected, "{reply:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in any::<String>()) {
            raise(&text);
        }
    }
}
