//! What a word of a reply can mean, and the kinds of yes and no. The words themselves are data in `words_en` and
//! `words_zh`.

use std::num::NonZeroU32;

/// Meanings with the words that have them, parted by `|`.
pub(super) type Table = &'static [(Word, &'static str)];

/// How much a yes or a no says by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Yes without a target: `ok`.
    Nod,
    /// Says that something may be done: `同意`.
    Plain,
    /// The word on the button: `approve`.
    Formal,
}

/// The kinds of yes, told apart by the company they keep: see `closed`.
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
    /// `approved`, `批准了`: also what a report says.
    Past,
    /// `执行`: a decision only before its object.
    First,
    /// `confirm`: also a request.
    Confirm,
    /// `I approve`, `我同意`.
    Speaker,
    /// `allow`, `同意`: may say for how long, too.
    Verb,
    /// `approve`.
    Formal,
    /// `/approve`.
    Command,
}

impl Yes {
    /// How much it says by itself.
    pub(super) const fn weight(self) -> Weight {
        match self {
            Self::Nod | Self::Comment | Self::Sign | Self::Can | Self::Lone | Self::To | Self::Go => {
                Weight::Nod
            }
            Self::Past | Self::First | Self::Confirm | Self::Speaker | Self::Verb => Weight::Plain,
            Self::Formal | Self::Command => Weight::Formal,
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

/// What a negation means when nothing follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alone {
    /// A no: `别`.
    Denies,
    /// Nothing: `not`.
    SaysNothing,
}

/// What a word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Approve(Yes),
    Deny(Weight),
    /// Turns the yes that follows.
    Negation(Alone),
    /// Run the cut-off call again.
    Rerun,
    /// The cut-off call had run.
    Done,
    Question,
    /// Doubts, waits, reports, or makes it depend.
    Doubt,
    /// What follows is a reason.
    Because,
    /// Speaks of something else.
    Elsewhere,
    /// `please`.
    Please,
    /// `thanks`.
    Thanks,
    /// `嗯`: before a yes.
    Yeah,
    /// `吧`: behind the targets of a yes.
    Particle,
    /// Words that mean nothing by themselves; none of them is part of a yes.
    Aside,
    /// `那就`: a beginning; later it makes one thing depend on another.
    Then,
    Comma,
    Stop,
    Colon,
    Exclamation,
    /// Ends a clause, unless it stands between two numbers.
    Dash,
    Ellipsis,
    /// A sign of quotation, code or striking through, or a bracket.
    Quote,
    And,
    /// Points at something: `这个`.
    This,
    /// Points at something, behind its verb only: `it`.
    It,
    /// Points at the command.
    ThisCommand,
    /// Every one that waits.
    All(Language),
    /// Each of those that are meant.
    Each,
    /// The two that wait.
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
    /// `in this chat`: explicit behind `always` and `allow`, elsewhere the place of a decision.
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
    /// The approval with this number, or in this place.
    Ordinal(u32),
    /// The approval with this id.
    Id(usize),
    /// An id that no approval has.
    StrangeId,
    /// The approval whose command is this or begins so, in two words at least.
    Named(usize),
    /// The approval with this somewhere in its command, or whose command is this one word.
    NamedLoosely(usize),
    /// The approval whose command runs this program, with arguments that are not named.
    Program(usize),
    /// More than one approval goes by this name.
    NamedSeveral,
    /// For so many minutes; none if the length cannot be had.
    Window(Option<NonZeroU32>, Language),
    /// A number of minutes without a target.
    Length(NonZeroU32),
    /// Not in any table; counts for so much.
    Unknown(usize),
}

impl Word {
    pub(super) const fn ends_a_clause(self) -> bool {
        matches!(self, Self::Comma | Self::Stop | Self::Dash | Self::Ellipsis)
    }

    /// Whether it may stand anywhere in a no.
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
