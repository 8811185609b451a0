//! The question back when a reply looks like a decision but is none. It names the choices.

use crate::domain::{ApprovalNumber, Language};
use crate::phrases::approvals as words;

/// The side a reply seems to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Approve,
    Deny,
}

/// A question that a clearer reply would answer. It always names the approvals it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyQuestion {
    /// Several are pending, and none was named.
    Which {
        among: Vec<ApprovalNumber>,
    },
    /// The reply seems to take a side, but not clearly.
    DoYouMean {
        side: Side,
        about: Vec<ApprovalNumber>,
    },
    /// Both sides, or neither.
    ApproveOrDeny {
        about: Vec<ApprovalNumber>,
    },
    /// A number or id without a pending approval.
    NoSuch {
        /// As it was written.
        said: String,
        among: Vec<ApprovalNumber>,
    },
    HowLong {
        about: Vec<ApprovalNumber>,
    },
    /// A scope that was not stated, or stated in two ways.
    HowFar {
        about: Vec<ApprovalNumber>,
    },
    /// A yes or a no to an interrupted call, whose meaning is ambiguous.
    Outcome {
        about: Vec<ApprovalNumber>,
    },
    /// A decision in a transcript, which decides nothing.
    Heard {
        /// As it was transcribed.
        said: String,
        about: Vec<ApprovalNumber>,
        /// Whether the first one is about an interrupted call.
        interrupted: bool,
    },
}

impl ReplyQuestion {
    /// The approvals it is about. The next reply may be read against these alone.
    pub fn about(&self) -> &[ApprovalNumber] {
        match self {
            Self::Which { among } | Self::NoSuch { among, .. } => among,
            Self::DoYouMean { about, .. }
            | Self::ApproveOrDeny { about }
            | Self::HowLong { about }
            | Self::HowFar { about }
            | Self::Outcome { about }
            | Self::Heard { about, .. } => about,
        }
    }

    /// The text of the question.
    pub fn words(&self, language: Language) -> String {
        let any = listed(self.about(), words::last_or(language), language);
        let all = listed(self.about(), words::last_and(language), language);
        match self {
            Self::Which { .. } => words::which_one(&any, language),
            Self::DoYouMean { side: Side::Approve, .. } => words::mean_approve(&all, language),
            Self::DoYouMean { side: Side::Deny, .. } => words::mean_deny(&all, language),
            Self::ApproveOrDeny { .. } => words::approve_or_deny(&all, language),
            Self::NoSuch { said, among } if among.is_empty() => words::none_waits(said, language),
            Self::NoSuch { said, .. } => words::none_waits_but(said, &any, language),
            Self::HowLong { .. } => words::how_long(&all, language),
            Self::HowFar { .. } => words::how_far(&all, language),
            Self::Outcome { .. } => words::which_outcome(&all, language),
            Self::Heard { said, .. } => words::heard(said, &all, language),
        }
    }

    /// The question with its possible answers: as text, or with the buttons below it where there are any.
    pub fn with_answers(&self, language: Language, buttons: bool) -> String {
        let Some(first) = self.about().first() else { return self.words(language) };
        let hint = match self {
            Self::Outcome { .. } | Self::Heard { interrupted: true, .. } => {
                words::hint_outcome(*first, language)
            }
            _ => words::hint_decide(*first, language),
        };
        let end = if buttons { words::or_press_button(language) } else { words::full_stop(language) };
        format!("{}\n{hint}{end}", self.words(language))
    }
}

fn listed(numbers: &[ApprovalNumber], last: &str, language: Language) -> String {
    let names: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match names.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((end, rest)) => format!("{}{last}{end}", rest.join(words::between_numbers(language))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_name_their_choices() {
        let one = vec![ApprovalNumber(1)];
        let three = vec![ApprovalNumber(1), ApprovalNumber(2), ApprovalNumber(7)];
        for (question, english, chinese) in [
            (
                ReplyQuestion::Which { among: three.clone() },
                "Which one: A1, A2 or A7?",
                "是哪一个：A1、A2 还是 A7？",
            ),
            (
                ReplyQuestion::DoYouMean { side: Side::Approve, about: one.clone() },
                "Do you mean: approve A1?",
                "你的意思是：同意 A1 吗？",
            ),
            (
                ReplyQuestion::NoSuch { said: "A9".to_owned(), among: one },
                "Nothing waits under A9. Which one: A1?",
                "没有等待中的 A9。是哪一个：A1？",
            ),
            (
                ReplyQuestion::ApproveOrDeny { about: three },
                "Approve or deny A1, A2 and A7?",
                "同意还是拒绝 A1、A2 和 A7？",
            ),
        ] {
            assert_eq!(question.words(Language::En), english);
            assert_eq!(question.words(Language::Zh), chinese);
        }
    }

    #[test]
    fn a_question_says_how_it_can_be_answered() {
        let about = vec![ApprovalNumber(3)];
        let mean = ReplyQuestion::DoYouMean { side: Side::Approve, about: about.clone() };
        for (question, language, buttons, expected) in [
            (&mean, Language::En, false, "Do you mean: approve A3?\nAnswer `approve A3` or `deny A3`."),
            (
                &mean,
                Language::En,
                true,
                "Do you mean: approve A3?\nAnswer `approve A3` or `deny A3`, or press a button below.",
            ),
            (
                &mean,
                Language::Zh,
                true,
                "你的意思是：同意 A3 吗？\n请回复“同意 A3”或“拒绝 A3”，或点击下面的按钮。",
            ),
            (
                &ReplyQuestion::Outcome { about },
                Language::En,
                false,
                "A3 was cut off and may have run: run it again, skip it, or was it done?\n\
                 Answer `rerun A3`, `skip A3` or `done A3`.",
            ),
            (
                &ReplyQuestion::NoSuch { said: "A9".to_owned(), among: Vec::new() },
                Language::En,
                true,
                "Nothing waits under A9.",
            ),
        ] {
            assert_eq!(question.with_answers(language, buttons), expected);
        }
    }
}
