//! The buttons of an approval: their rows, labels, and the data that each carries.

use std::num::NonZeroU32;

use crate::domain::{Answer, ApprovalId, ApprovalKind, Language, Scope};
use crate::phrases::approvals as words;

/// The smallest limit among the platforms for the data of a button.
const MAX_BYTES: usize = 64;

/// The action of a button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Button {
    Answer(Answer),
    /// Shows the scopes of an approval.
    Scopes,
    /// Shows the first menu again.
    Back,
}

/// A set of buttons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Menu {
    /// Approve, deny, and the button that shows the scopes.
    First,
    /// The scopes of an approval.
    Scopes,
}

const fn minutes(count: u32) -> Answer {
    match NonZeroU32::new(count) {
        Some(count) => Answer::Approve(Scope::Minutes(count)),
        None => Answer::Approve(Scope::Once),
    }
}

/// The buttons of an approval, row by row.
pub fn rows(kind: ApprovalKind, menu: Menu) -> Vec<Vec<Button>> {
    let answer = |answer| Button::Answer(answer);
    let yes = |scope| Button::Answer(Answer::Approve(scope));
    match (kind, menu) {
        (ApprovalKind::Tool, Menu::First) => {
            vec![vec![yes(Scope::Once), answer(Answer::Deny)], vec![Button::Scopes]]
        }
        (ApprovalKind::Tool, Menu::Scopes) => vec![
            vec![yes(Scope::Thread), yes(Scope::Shape)],
            vec![answer(minutes(10)), answer(minutes(60))],
            vec![yes(Scope::Project), Button::Back],
        ],
        (ApprovalKind::UnknownOutcome, _) => {
            vec![vec![yes(Scope::Once), answer(Answer::Deny), answer(Answer::Done)]]
        }
    }
}

pub fn label(button: &Button, kind: ApprovalKind, language: Language) -> String {
    let words = match (button, kind) {
        (Button::Answer(Answer::Approve(Scope::Minutes(count))), _) => {
            return words::button_minutes(count.get(), language);
        }
        (Button::Answer(Answer::Approve(_)), ApprovalKind::UnknownOutcome) => words::button_rerun,
        (Button::Answer(Answer::Deny), ApprovalKind::UnknownOutcome) => words::button_skip,
        (Button::Answer(Answer::Approve(Scope::Once)), _) => words::button_approve,
        (Button::Answer(Answer::Approve(Scope::Thread)), _) => words::button_thread,
        (Button::Answer(Answer::Approve(Scope::Shape)), _) => words::button_shape,
        (Button::Answer(Answer::Approve(Scope::Project)), _) => words::button_project,
        (Button::Answer(Answer::Deny), _) => words::button_deny,
        (Button::Answer(Answer::Done), _) => words::button_done,
        (Button::Scopes, _) => words::button_longer,
        (Button::Back, _) => words::button_back,
    };
    words(language).to_owned()
}

/// The data of a button; `None` where it would exceed the limit.
pub fn encode(button: &Button, approval: &ApprovalId) -> Option<String> {
    let verb = match button {
        Button::Answer(Answer::Approve(Scope::Once)) => "y".to_owned(),
        Button::Answer(Answer::Approve(Scope::Thread)) => "t".to_owned(),
        Button::Answer(Answer::Approve(Scope::Shape)) => "s".to_owned(),
        Button::Answer(Answer::Approve(Scope::Project)) => "p".to_owned(),
        Button::Answer(Answer::Approve(Scope::Minutes(count))) => format!("m{count}"),
        Button::Answer(Answer::Deny) => "n".to_owned(),
        Button::Answer(Answer::Done) => "d".to_owned(),
        Button::Scopes => "o".to_owned(),
        Button::Back => "b".to_owned(),
    };
    Some(format!("{verb}:{approval}")).filter(|text| text.len() <= MAX_BYTES)
}

/// Parses the data of a pressed button.
pub fn decode(text: &str) -> Option<(Button, ApprovalId)> {
    let (verb, approval) = text.split_once(':')?;
    let button = match verb {
        "y" => Button::Answer(Answer::Approve(Scope::Once)),
        "t" => Button::Answer(Answer::Approve(Scope::Thread)),
        "s" => Button::Answer(Answer::Approve(Scope::Shape)),
        "p" => Button::Answer(Answer::Approve(Scope::Project)),
        "n" => Button::Answer(Answer::Deny),
        "d" => Button::Answer(Answer::Done),
        "o" => Button::Scopes,
        "b" => Button::Back,
        other => Button::Answer(Answer::Approve(Scope::Minutes(other.strip_prefix('m')?.parse().ok()?))),
    };
    Some((button, approval.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ports::{Ids as _, RandomIds};

    #[test]
    fn every_button_comes_back_from_its_few_bytes_and_says_something() {
        let id = RandomIds.approval();
        let mut seen = 0;
        for kind in [ApprovalKind::Tool, ApprovalKind::UnknownOutcome] {
            for button in [Menu::First, Menu::Scopes].into_iter().flat_map(|menu| rows(kind, menu)).flatten()
            {
                let text = encode(&button, &id).unwrap();
                assert!(text.len() <= MAX_BYTES);
                assert_eq!(decode(&text), Some((button.clone(), id.clone())));
                for language in [Language::En, Language::Zh] {
                    assert!(!label(&button, kind, language).is_empty());
                }
                seen += 1;
            }
        }
        assert_eq!(seen, 15);
    }

    #[test]
    fn an_unknown_outcome_can_be_rerun_skipped_or_noted_as_done() {
        let buttons = rows(ApprovalKind::UnknownOutcome, Menu::First).concat();
        let said: Vec<_> =
            buttons.iter().map(|button| label(button, ApprovalKind::UnknownOutcome, Language::En)).collect();
        assert_eq!(said, ["🔁 Re-run", "⏭ Skip", "✔ It was done"]);
    }

    proptest! {
        #[test]
        fn whatever_somebody_sends_is_read_without_harm(text in any::<String>()) {
            if let Some((button, id)) = decode(&text) {
                prop_assert_eq!(decode(&encode(&button, &id).unwrap_or(text)), Some((button, id)));
            }
        }
    }
}
