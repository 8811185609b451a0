//! The buttons of an approval: their rows, labels, and the data that each carries.

use std::num::NonZeroU32;

use crate::domain::{Answer, ApprovalChoice, ApprovalId, ApprovalKind, Language, Scope, ScopeKind};
use crate::phrases::approvals as words;
use crate::phrases::budget;

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

const fn minutes(count: u32) -> Scope {
    match NonZeroU32::new(count) {
        Some(count) => Scope::Minutes(count),
        None => Scope::Once,
    }
}

/// The longer scopes that have a button.
const LONGER: [Scope; 5] = [Scope::Thread, Scope::Shape, minutes(10), minutes(60), Scope::Project];

/// How many questions a question back has buttons for: one platform takes five rows.
const MOST_CHOICES: usize = 5;

/// The buttons of a question, row by row: of the scopes only those that can hold.
pub fn rows(kind: ApprovalKind, menu: Menu, scopes: &[ScopeKind]) -> Vec<Vec<Button>> {
    let answer = |answer| Button::Answer(answer);
    let yes = |scope| Button::Answer(Answer::Approve(scope));
    let longer = |scope: &Scope| *scope != Scope::Once && scopes.contains(&scope.kind());
    let longer: Vec<Scope> = LONGER.into_iter().filter(longer).collect();
    match (kind, menu) {
        (ApprovalKind::Tool, Menu::Scopes) if !longer.is_empty() => {
            let buttons: Vec<Button> = longer.into_iter().map(yes).chain([Button::Back]).collect();
            buttons.chunks(2).map(<[Button]>::to_vec).collect()
        }
        (ApprovalKind::Tool, _) => {
            let first = vec![yes(Scope::Once), answer(Answer::Deny)];
            let more = (!longer.is_empty()).then(|| vec![Button::Scopes]);
            [first].into_iter().chain(more).collect()
        }
        (ApprovalKind::UnknownOutcome, _) => {
            vec![vec![yes(Scope::Once), answer(Answer::Deny), answer(Answer::Done)]]
        }
        (ApprovalKind::Budget, _) => vec![
            vec![yes(Scope::PlusOne), yes(Scope::PlusFive)],
            vec![yes(Scope::Midnight), answer(Answer::Deny)],
        ],
    }
}

/// The buttons under a question back: the answers to each question that may be meant, one row each.
pub(super) fn ask_back_rows(choices: &[ApprovalChoice]) -> Vec<(&ApprovalChoice, Vec<Button>)> {
    let answers = |choice: &ApprovalChoice| rows(choice.kind, Menu::First, &[]).concat();
    choices.iter().take(MOST_CHOICES).map(|choice| (choice, answers(choice))).collect()
}

/// What a button under a question back says: the answer, and which question it is for.
pub(super) fn ask_back_label(button: &Button, choice: &ApprovalChoice, language: Language) -> String {
    format!("{} {}", label(button, choice.kind, language), choice.number)
}

pub(super) fn label(button: &Button, kind: ApprovalKind, language: Language) -> String {
    let words = match (button, kind) {
        (Button::Answer(Answer::Approve(Scope::Minutes(count) | Scope::Program(count))), _) => {
            return words::button_minutes(count.get(), language);
        }
        (Button::Answer(Answer::Approve(_)), ApprovalKind::UnknownOutcome) => words::button_rerun,
        (Button::Answer(Answer::Deny), ApprovalKind::UnknownOutcome) => words::button_skip,
        (Button::Answer(Answer::Deny), ApprovalKind::Budget) => budget::button_stop,
        (Button::Answer(Answer::Approve(Scope::PlusOne)), _) => budget::button_plus_one,
        (Button::Answer(Answer::Approve(Scope::PlusFive)), _) => budget::button_plus_five,
        (Button::Answer(Answer::Approve(Scope::Midnight)), _) => budget::button_midnight,
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
pub(super) fn encode(button: &Button, approval: &ApprovalId) -> Option<String> {
    let verb = match button {
        Button::Answer(Answer::Approve(Scope::Once)) => "y".to_owned(),
        Button::Answer(Answer::Approve(Scope::Thread)) => "t".to_owned(),
        Button::Answer(Answer::Approve(Scope::Shape)) => "s".to_owned(),
        Button::Answer(Answer::Approve(Scope::Project)) => "p".to_owned(),
        Button::Answer(Answer::Approve(Scope::PlusOne)) => "1".to_owned(),
        Button::Answer(Answer::Approve(Scope::PlusFive)) => "5".to_owned(),
        Button::Answer(Answer::Approve(Scope::Midnight)) => "0".to_owned(),
        Button::Answer(Answer::Approve(Scope::Minutes(count))) => format!("m{count}"),
        // A program is allowed by naming it, not by a button.
        Button::Answer(Answer::Approve(Scope::Program(_))) => return None,
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
        "1" => Button::Answer(Answer::Approve(Scope::PlusOne)),
        "5" => Button::Answer(Answer::Approve(Scope::PlusFive)),
        "0" => Button::Answer(Answer::Approve(Scope::Midnight)),
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

    const ALL: [ScopeKind; 5] =
        [ScopeKind::Once, ScopeKind::Thread, ScopeKind::Minutes, ScopeKind::Shape, ScopeKind::Project];

    #[test]
    fn only_scopes_that_can_hold_have_a_button() {
        let said = |menu, scopes: &[ScopeKind]| -> Vec<String> {
            let buttons = rows(ApprovalKind::Tool, menu, scopes).concat();
            buttons.iter().map(|button| label(button, ApprovalKind::Tool, Language::En)).collect()
        };
        assert_eq!(said(Menu::First, &[ScopeKind::Once]), ["✅ Approve", "❌ Deny"]);
        assert_eq!(
            said(Menu::Scopes, &[ScopeKind::Once]),
            ["✅ Approve", "❌ Deny"],
            "there is no other menu"
        );
        assert_eq!(said(Menu::First, &ALL), ["✅ Approve", "❌ Deny", "Approve for longer …"]);
        let tool = [ScopeKind::Once, ScopeKind::Thread, ScopeKind::Minutes, ScopeKind::Project];
        assert_eq!(
            said(Menu::Scopes, &tool),
            ["In this chat", "For 10 min", "For 60 min", "Always in this project", "‹ Back"]
        );
        assert_eq!(said(Menu::First, &[]), ["✅ Approve", "❌ Deny"]);
    }

    #[test]
    fn a_question_back_has_the_answers_of_each_question_with_its_number() {
        let choice = |number: u32, kind| ApprovalChoice {
            id: RandomIds.approval(),
            number: format!("A{number}"),
            kind,
        };
        let choices = [choice(1, ApprovalKind::Tool), choice(2, ApprovalKind::UnknownOutcome)];
        let rows = ask_back_rows(&choices);
        let said: Vec<Vec<String>> = rows
            .iter()
            .map(|(choice, row)| row.iter().map(|one| ask_back_label(one, choice, Language::En)).collect())
            .collect();
        assert_eq!(
            said,
            [vec!["✅ Approve A1", "❌ Deny A1"], vec!["🔁 Re-run A2", "⏭ Skip A2", "✔ It was done A2"]]
        );
        let many: Vec<ApprovalChoice> = (1..9).map(|number| choice(number, ApprovalKind::Tool)).collect();
        assert_eq!(ask_back_rows(&many).len(), MOST_CHOICES);
    }

    #[test]
    fn every_button_comes_back_from_its_few_bytes_and_says_something() {
        let id = RandomIds.approval();
        let mut seen = 0;
        for kind in [ApprovalKind::Tool, ApprovalKind::UnknownOutcome, ApprovalKind::Budget] {
            let menus = [Menu::First, Menu::Scopes].into_iter();
            for button in menus.flat_map(|menu| rows(kind, menu, &ALL)).flatten() {
                let text = encode(&button, &id).unwrap();
                assert!(text.len() <= MAX_BYTES);
                assert_eq!(decode(&text), Some((button.clone(), id.clone())));
                for language in [Language::En, Language::Zh] {
                    assert!(!label(&button, kind, language).is_empty());
                }
                seen += 1;
            }
        }
        assert_eq!(seen, 23);
    }

    #[test]
    fn an_unknown_outcome_can_be_rerun_skipped_or_noted_as_done() {
        let buttons = rows(ApprovalKind::UnknownOutcome, Menu::First, &ALL).concat();
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
