//! English words, signs and emoji of a decision, as data. The longest entry that fits is read, so a phrase here
//! outranks its parts. Nothing but the tables: what a meaning leads to is said in `grammar`.

use super::tokens::{Alone, Table, Weight, Word};

/// Every entry is folded: half-width, small letters, straight apostrophes, one space. Entries are parted by `|`.
pub(super) const WORDS: Table = &[
    // The formal yes: also says that a cut-off call is to run again.
    (Word::Approve(Weight::Formal), "approve|/approve"),
    // A yes.
    (
        Word::Approve(Weight::Plain),
        "approved|approving|allow|allowed|permit|permitted|accept|accepted|grant|granted|\
         authorize|authorized|authorise|authorised|agree|agreed|confirm|confirmed",
    ),
    // A nod: yes to whatever was asked.
    (
        Word::Approve(Weight::Nod),
        "yes|y|yep|yup|yeah|yes please|ok|okay|sure|sure thing|go ahead|go for it|do it|\
         just do it|run it|execute it|ship it|proceed|lgtm|looks good|looks good to me|\
         sounds good|no problem|of course|certainly|fine by me|fine with me|ok by me|ok with me|\
         👍|✅|👌|🆗|✔|☑",
    ),
    // The formal no.
    (Word::Deny(Weight::Formal), "/deny|/reject"),
    // A no.
    (
        Word::Deny(Weight::Plain),
        "deny|denied|reject|rejected|refuse|refused|decline|declined|disallow|forbid|veto|\
         disapprove|disapproved|disagree|skip|skip it|cancel|cancel it|abort",
    ),
    // A shake of the head.
    (
        Word::Deny(Weight::Nod),
        "no|n|nope|nah|no way|no need|stop it|of course not|certainly not|absolutely not|\
         definitely not|please no|👎|❌|🚫|🙅|⛔|✖|🛑",
    ),
    // Turns what follows, and alone is a no.
    (
        Word::Negation(Alone::Denies),
        "don't|dont|do not|don't you|please don't|never|must not|mustn't|you must not|should not|\
         shouldn't",
    ),
    // Turns what follows, and alone is nothing.
    (
        Word::Negation(Alone::SaysNothing),
        "not|cannot|can not|can't|cant|won't|will not|wouldn't|isn't|not to",
    ),
    // For a call that was cut off.
    (
        Word::Rerun,
        "rerun|re-run|rerun it|re-run it|run again|run it again|retry|retry it|try again|\
         do it again|redo|repeat it",
    ),
    // For a call that had run all the same.
    (
        Word::Done,
        "done|it was done|it's done|it is done|was done|done already|already done|\
         it was already done|already ran|it ran|it already ran|it completed|it finished",
    ),
    // Asks.
    (
        Word::Question,
        "?|should i|should we|shall i|shall we|do i|do we|may i|is it|is this|is that|are you|\
         isn't it|right?|huh|eh|am i|is a|did|does|whether",
    ),
    // Doubts, waits, or makes it depend.
    (
        Word::Doubt,
        "maybe|perhaps|possibly|probably|presumably|wait|hold on|hold|hang on|hm|hmm|hmmm|er|um|\
         uh|well|not sure|i'm not sure|not yet|not now|not really|not quite|not exactly|\
         don't know|dont know|don't think|don't care|don't mind|don't see|no idea|no worries|\
         no clue|no matter|no one|no longer|never mind|nevermind|if|unless|until|when|whenever|\
         after|before|once you|as long as|provided|assuming|but|however|although|though|except|\
         besides|else|otherwise|or|either|neither|nor|without|later|soon|tomorrow|today|\
         tonight|yesterday|think|i think|i guess|guess|suppose|seems|looks|might|could|would|\
         should|then|stop|pause|continue|carry on|why not|whatever|up to you|almost|half|\
         part|partly|some|any|hardly|barely|unsure|depends|let me think|not all|not both|\
         not everything|please confirm|to be confirmed|pretend|said|it's ok|it's okay|\
         that's ok|that's okay|it is ok|it is okay|i'm ok|i'm okay|i am ok|i'm good|🤔|🤷|😕|🙄|🤨|😬|⏳|⏸",
    ),
    // Gives a reason.
    (Word::Because, "because|since|cause|cuz"),
    // Speaks of something else.
    (
        Word::Elsewhere,
        "what|what's|why|how|who|where|which|can you|could you|would you|will you|tell me|\
         show me|explain|look at|look into|take a look|logs|please look|help me",
    ),
    // Says nothing by itself.
    (
        Word::Filler,
        "please|pls|plz|thanks|thank you|thanks a lot|many thanks|thx|ty|cheers|the|to|i|we|\
         i am|i'm|for me|with|also|too|now|right now|these|those|them|of them|you can|you may|hi|\
         hello|hey|sorry|command|commands|request|requests|!|\"|`|(|)|[|]|🙏|😊|🙂|😀|😃|😄|😁|\
         😉|🎉|👏|❤|🚀|😅|😆|☺|💯",
    ),
    // Joins.
    (Word::And, "and|&|+|plus|as well as"),
    // Points.
    (
        Word::This,
        "this|that|it|this one|that one|this request|that request|it is|that is|this is|it's|\
         that's|the one",
    ),
    // Points at the command.
    (
        Word::ThisCommand,
        "this command|that command|the command|this call|this kind|similar ones|the same command",
    ),
    // Number 1, or in that place.
    (Word::Ordinal(1), "the first one|the first|first one|number one"),
    // Number 2, or in that place.
    (Word::Ordinal(2), "the second one|the second|second one|number two"),
    // Number 3, or in that place.
    (Word::Ordinal(3), "the third one|the third|third one|number three"),
    // Number 4, or in that place.
    (Word::Ordinal(4), "the fourth one|the fourth|fourth one|number four"),
    // Number 5, or in that place.
    (Word::Ordinal(5), "the fifth one|the fifth|fifth one|number five"),
    // Every one that waits.
    (
        Word::All,
        "all|all of them|all of these|all of those|everything|every one|everyone of them|\
         them all|all requests|all pending|all commands|every request",
    ),
    // Both.
    (Word::Both, "both|both of them|the two|both requests"),
    // These and no others.
    (Word::Only, "only|just|nothing but|solely"),
    // The others.
    (
        Word::Rest,
        "the rest|rest|the others|others|the other one|the other|all others|all the others|\
         everything else",
    ),
    // From now on.
    (Word::Ever, "always|from now on|every time|any time|anytime|in future|in the future"),
    // For ever.
    (Word::Forever, "forever|for ever|permanently"),
    // Once.
    (
        Word::Once,
        "just once|only once|only this once|just this once|this once|just this time|\
         only this time|this time|this time only|this time around|one time|one time only|\
         once only|for once",
    ),
    // Once, unless something follows: once it passes.
    (Word::OnceUnless, "once"),
    // In this thread.
    (
        Word::Thread,
        "for this thread|in this thread|this thread|for this chat|in this chat|this chat|\
         for this session|in this session|this session|for this conversation|\
         in this conversation|this conversation|for the session|for the thread|\
         for the rest of this chat|for the rest of this thread",
    ),
    // In this project.
    (
        Word::Project,
        "in this project|for this project|this project|for the project|in the project|\
         project-wide|for the whole project|in this repo|for this repo",
    ),
    // Commands like it.
    (
        Word::Kind,
        "commands like this|commands like that|commands like it|commands like these|\
         this kind of command|this kind of commands|this type of command|this sort of command|\
         such commands|similar commands|calls like this|this command shape",
    ),
    // Between.
    (Word::Delimiter, ",|.|;|:|\n"),
    // Between, but between two numbers it may be a range.
    (Word::Dash, "..|...|…|……|—|——|–|-- |- |--|~|~~"),
];
