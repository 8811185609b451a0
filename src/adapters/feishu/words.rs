//! The adapter's own texts, beside those of the core.

use crate::domain::Language;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// The press was accepted.
    Counted,
    /// The approval does not exist.
    NoQuestion,
    /// The press could not be stored.
    TryAgain,
    /// A person recalled a message.
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
