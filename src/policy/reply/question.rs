//! The question back when a reply looks like a decision but is none. It names the choices.

use crate::domain::{ApprovalNumber, Language};

/// The side a reply seems to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Approve,
    Deny,
}

/// A question that a clearer reply would answer. It always names the approvals it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Several are pending, and none was named.
    Which { among: Vec<ApprovalNumber> },
    /// The reply seems to take a side, but not clearly.
    DoYouMean { side: Side, about: Vec<ApprovalNumber> },
    /// Both sides, or neither.
    ApproveOrDeny { about: Vec<ApprovalNumber> },
    /// A number or id without a pending approval.
    NoSuch {
        /// As it was written.
        said: String,
        among: Vec<ApprovalNumber>,
    },
    /// An impossible duration.
    HowLong { about: Vec<ApprovalNumber> },
    /// A scope that was not stated, or stated in two ways.
    HowFar { about: Vec<ApprovalNumber> },
    /// A yes or a no to an interrupted call, whose meaning is ambiguous.
    Outcome { about: Vec<ApprovalNumber> },
}

impl Question {
    /// The approvals it is about. The next reply may be read against these alone.
    pub fn about(&self) -> &[ApprovalNumber] {
        match self {
            Self::Which { among } | Self::NoSuch { among, .. } => among,
            Self::DoYouMean { about, .. }
            | Self::ApproveOrDeny { about }
            | Self::HowLong { about }
            | Self::HowFar { about }
            | Self::Outcome { about } => about,
        }
    }

    /// The text of the question.
    pub fn words(&self, language: Language) -> String {
        match language {
            Language::En => self.english(),
            Language::Zh => self.chinese(),
        }
    }

    /// The question with its possible answers: as text, or with the buttons of the request where it has them.
    pub fn with_answers(&self, language: Language, buttons: bool) -> String {
        let Some(first) = self.about().first() else { return self.words(language) };
        let outcome = matches!(self, Self::Outcome { .. });
        let hint = match (language, outcome) {
            (Language::En, false) => format!("Answer `approve {first}` or `deny {first}`"),
            (Language::En, true) => format!("Answer `rerun {first}`, `skip {first}` or `done {first}`"),
            (Language::Zh, false) => format!("请回复“同意 {first}”或“拒绝 {first}”"),
            (Language::Zh, true) => format!("请回复“重跑 {first}”、“跳过 {first}”或“已完成 {first}”"),
        };
        let or = match (language, buttons) {
            (Language::En, true) => ", or press a button under the request.",
            (Language::En, false) => ".",
            (Language::Zh, true) => "，或点击请求下面的按钮。",
            (Language::Zh, false) => "。",
        };
        format!("{}\n{hint}{or}", self.words(language))
    }

    fn english(&self) -> String {
        let any = listed(self.about(), ", ", " or ");
        let all = listed(self.about(), ", ", " and ");
        match self {
            Self::Which { .. } => format!("Which one: {any}?"),
            Self::DoYouMean { side: Side::Approve, .. } => format!("Do you mean: approve {all}?"),
            Self::DoYouMean { side: Side::Deny, .. } => format!("Do you mean: deny {all}?"),
            Self::ApproveOrDeny { .. } => format!("Approve or deny {all}?"),
            Self::NoSuch { said, among } if among.is_empty() => format!("Nothing waits under {said}."),
            Self::NoSuch { said, .. } => format!("Nothing waits under {said}. Which one: {any}?"),
            Self::HowLong { .. } => {
                format!(
                    "For how long may {all} be allowed? One minute to 24 hours, e.g. “approve for 10 minutes”."
                )
            }
            Self::HowFar { .. } => format!(
                "How far should it reach for {all}? Say it with the decision: `just once`, `for this thread`, \
                 `for 10 minutes`, `always allow commands like this` or `always allow in this project`."
            ),
            Self::Outcome { .. } => {
                format!("{all} was cut off and may have run: run it again, skip it, or was it done?")
            }
        }
    }

    fn chinese(&self) -> String {
        let any = listed(self.about(), "、", " 还是 ");
        let all = listed(self.about(), "、", " 和 ");
        match self {
            Self::Which { .. } => format!("是哪一个：{any}？"),
            Self::DoYouMean { side: Side::Approve, .. } => format!("你的意思是：同意 {all} 吗？"),
            Self::DoYouMean { side: Side::Deny, .. } => format!("你的意思是：拒绝 {all} 吗？"),
            Self::ApproveOrDeny { .. } => format!("同意还是拒绝 {all}？"),
            Self::NoSuch { said, among } if among.is_empty() => format!("没有等待中的 {said}。"),
            Self::NoSuch { said, .. } => format!("没有等待中的 {said}。是哪一个：{any}？"),
            Self::HowLong { .. } => {
                format!("{all} 允许多久？1 分钟到 24 小时，例如“10 分钟内都同意”。")
            }
            Self::HowFar { .. } => {
                format!(
                    "{all} 的允许范围是什么？请和决定一起说：“同意一次”、“本会话都同意”、“10 分钟内都同意”、\
                     “以后同类命令都同意”或“本项目里都同意”。"
                )
            }
            Self::Outcome { .. } => {
                format!("{all} 执行中断，可能已经执行过：重跑、跳过，还是已经做完了？")
            }
        }
    }
}

fn listed(numbers: &[ApprovalNumber], comma: &str, last: &str) -> String {
    let names: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match names.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((end, rest)) => format!("{}{last}{end}", rest.join(comma)),
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
                Question::Which { among: three.clone() },
                "Which one: A1, A2 or A7?",
                "是哪一个：A1、A2 还是 A7？",
            ),
            (
                Question::DoYouMean { side: Side::Approve, about: one.clone() },
                "Do you mean: approve A1?",
                "你的意思是：同意 A1 吗？",
            ),
            (
                Question::NoSuch { said: "A9".to_owned(), among: one },
                "Nothing waits under A9. Which one: A1?",
                "没有等待中的 A9。是哪一个：A1？",
            ),
            (
                Question::ApproveOrDeny { about: three },
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
        let mean = Question::DoYouMean { side: Side::Approve, about: about.clone() };
        for (question, language, buttons, expected) in [
            (&mean, Language::En, false, "Do you mean: approve A3?\nAnswer `approve A3` or `deny A3`."),
            (
                &mean,
                Language::En,
                true,
                "Do you mean: approve A3?\nAnswer `approve A3` or `deny A3`, or press a button under the request.",
            ),
            (
                &mean,
                Language::Zh,
                true,
                "你的意思是：同意 A3 吗？\n请回复“同意 A3”或“拒绝 A3”，或点击请求下面的按钮。",
            ),
            (
                &Question::Outcome { about },
                Language::En,
                false,
                "A3 was cut off and may have run: run it again, skip it, or was it done?\n\
                 Answer `rerun A3`, `skip A3` or `done A3`.",
            ),
            (
                &Question::NoSuch { said: "A9".to_owned(), among: Vec::new() },
                Language::En,
                true,
                "Nothing waits under A9.",
            ),
        ] {
            assert_eq!(question.with_answers(language, buttons), expected);
        }
    }
}
