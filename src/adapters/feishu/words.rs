//! What the adapter itself says, beside what core says.

use crate::domain::Language;

/// Something the adapter says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// A press was understood.
    Counted,
    /// There is no such question.
    NoQuestion,
    /// A press could not be written down.
    TryAgain,
    /// Somebody took their message back.
    Recalled,
}

impl Words {
    pub(super) const fn say(self, language: Language) -> &'static str {
        match (self, language) {
            (Self::Counted, Language::En) => "Got it.",
            (Self::Counted, Language::Zh) => "已收到。",
            (Self::NoQuestion, Language::En) => "There is no such question any more.",
            (Self::NoQuestion, Language::Zh) => "这个问题已不存在。",
            (Self::TryAgain, Language::En) => "That did not work. Please press again.",
            (Self::TryAgain, Language::Zh) => "没有成功，请再按一次。",
            (Self::Recalled, Language::En) => "[its author took this message back]",
            (Self::Recalled, Language::Zh) => "[消息已被撤回]",
        }
    }
}
