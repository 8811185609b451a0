//! The meanings of words in a reply, and the kinds of yes and no. The words themselves are data in `words_en` and
//! `words_zh`.

use std::num::NonZeroU32;

/// Meanings with their words, separated by `|`.
pub(super) type WordTable = &'static [(Word, &'static str)];

/// How explicit a yes or a no is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WordWeight {
    /// Yes without a target: `ok`.
    Nod,
    /// States that something may be done: `同意`.
    Plain,
    /// The word on the button: `approve`.
    Formal,
}

/// The kinds of yes, distinguished by the words they occur with: see `closed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Yes {
    /// `ok`, `好的`.
    Nod,
    /// `looks good`, `没问题`.
    Comment,
    /// `👍`.
    Sign,
    /// `可以`.
    Can,
    /// `好`, `行`: part of many other words.
    Lone,
    /// `yes to`, `go ahead with`.
    To,
    /// `do it`, `去吧`.
    Go,
    /// `approved`, `批准了`: also used in reports.
    Past,
    /// `执行`: a decision only before its object.
    First,
    /// `confirm`: also a request.
    Confirm,
    /// `I approve`, `我同意`.
    Speaker,
    /// `allow`, `同意`: may be followed by a duration.
    Verb,
    /// `approve`.
    Formal,
    /// `/approve`.
    Command,
}

impl Yes {
    /// How explicit it is.
    pub(super) const fn weight(self) -> WordWeight {
        match self {
            Self::Nod | Self::Comment | Self::Sign | Self::Can | Self::Lone | Self::To | Self::Go => {
                WordWeight::Nod
            }
            Self::Past | Self::First | Self::Confirm | Self::Speaker | Self::Verb => WordWeight::Plain,
            Self::Formal | Self::Command => WordWeight::Formal,
        }
    }
}

/// The language of a word: each has its own explicit forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// `for 10 minutes`, `for this thread`: explicit by itself.
    English,
    /// `10 分钟内`, `本会话`: explicit only before `都`.
    Chinese,
}

/// The meaning of a negation without a following word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alone {
    /// A denial: `别`.
    Denies,
    /// Nothing: `not`.
    SaysNothing,
}

/// The meaning of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Approve(Yes),
    Deny(WordWeight),
    /// Negates the yes that follows.
    Negation(Alone),
    /// Run the interrupted call again.
    Rerun,
    /// The interrupted call had run.
    Done,
    Question,
    /// A doubt, a delay, a report, or a condition.
    Doubt,
    Because,
    /// Refers to another subject.
    Elsewhere,
    /// `please`.
    Please,
    /// `thanks`.
    Thanks,
    /// `嗯`: before a yes.
    Yeah,
    /// `吧`: after the targets of a yes.
    Particle,
    /// Words without a meaning of their own; none of them is part of a yes.
    Aside,
    /// `那就`: an opening; later it makes one thing depend on another.
    Then,
    Comma,
    Stop,
    Colon,
    Exclamation,
    /// Ends a clause, unless it is between two numbers.
    Dash,
    Ellipsis,
    /// A quotation mark, a mark of code or strikethrough, or a bracket.
    Quote,
    And,
    /// A demonstrative: `这个`.
    This,
    /// A pronoun, after its verb only: `it`.
    It,
    /// Refers to the command.
    ThisCommand,
    /// Every pending one.
    All(Language),
    /// Each of those that are meant.
    Each,
    /// The two pending ones.
    Both(Language),
    /// These and no others.
    Only,
    /// `just`: these and no others, or impatience.
    Just,
    Rest,
    Ever,
    /// From now on, or later: `以后`.
    Later,
    Forever,
    Once,
    /// `once`: this one time, unless something follows that it waits for.
    OnceUnless,
    Thread(Language),
    /// `in this chat`: explicit after `always` and `allow`, elsewhere the place of a decision.
    InThread,
    Project(Language),
    /// `这个项目里`.
    InProject,
    /// Commands like this one.
    Kind(Language),
    /// `这种命令`.
    ThisKind,
    /// The approval with this number.
    Number(u32),
    /// The approval with this number, or at this position.
    Ordinal(u32),
    /// The approval with this id.
    Id(usize),
    /// An id without an approval.
    StrangeId,
    /// The approval whose command is this or begins so, in two words at least.
    Named(usize),
    /// The approval whose command contains this, or is this one word.
    NamedLoosely(usize),
    /// The approval whose command runs this program, with arguments that are not named.
    Program(usize),
    /// More than one approval has this name.
    NamedSeveral,
    /// For this many minutes; `None` if the duration is impossible.
    Window(Option<NonZeroU32>, Language),
    /// A number of minutes without a target.
    Length(NonZeroU32),
    /// In no table, with its weight.
    Unknown(usize),
}

impl Word {
    pub(super) const fn ends_a_clause(self) -> bool {
        matches!(self, Self::Comma | Self::Stop | Self::Dash | Self::Ellipsis)
    }

    /// Whether it may occur anywhere in a denial.
    pub(super) const fn says_nothing(self) -> bool {
        matches!(
            self,
            Self::Aside
                | Self::Please
                | Self::Thanks
                | Self::Yeah
                | Self::Particle
                | Self::Then
                | Self::Colon
                | Self::Exclamation
                | Self::Quote
        )
    }

    /// Whether it names an approval, or all of them.
    pub(super) const fn names(self) -> bool {
        matches!(
            self,
            Self::Number(_)
                | Self::Ordinal(_)
                | Self::Id(_)
                | Self::StrangeId
                | Self::Named(_)
                | Self::NamedLoosely(_)
                | Self::Program(_)
                | Self::NamedSeveral
                | Self::All(_)
                | Self::Both(_)
        )
    }
}
