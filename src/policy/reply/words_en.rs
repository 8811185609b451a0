//! English words, punctuation and emoji of a decision, as data. The longest matching entry is used, so a phrase takes
//! precedence over its parts. Tables only: `closed` defines which words together make a yes.

use super::word::{Alone, Language, Word, WordTable, WordWeight, Yes};

/// Every entry is normalized: half-width, lower case, straight apostrophes, one space. Entries are separated by `|`.
pub(super) const WORDS: WordTable = &[
    (Word::Approve(Yes::Command), "/approve"),
    (Word::Approve(Yes::Formal), "approve"),
    (Word::Approve(Yes::Verb), "allow|authorize|authorise"),
    (
        Word::Approve(Yes::Speaker),
        "i approve|we approve|i allow|i accept|i agree|we agree|i authorize|i authorise",
    ),
    (Word::Approve(Yes::First), "accept|agree"),
    // Also a request: `confirm, please`.
    (Word::Approve(Yes::Confirm), "confirm|i confirm"),
    // Also used about the past: with anything beside it, it is a report.
    (
        Word::Approve(Yes::Past),
        "approved|allowed|permitted|accepted|granted|authorized|authorised|agreed|confirmed",
    ),
    (
        Word::Approve(Yes::Nod),
        "yes|y|yep|yup|yeah|yes please|ok|okay|ok的|ok 的|ok吧|sure|sure thing|go ahead|please go ahead|\
         go for it",
    ),
    // An opinion: with a target or a duration beside it, it is a remark.
    (
        Word::Approve(Yes::Comment),
        "lgtm|looks good|looks good to me|sounds good|no problem|of course|certainly|fine by me|\
         fine with me|ok by me|ok with me",
    ),
    (Word::Approve(Yes::Sign), "👍|✅|👌|🆗|✔|☑"),
    (Word::Approve(Yes::To), "yes to|go ahead with|please go ahead with|proceed with"),
    (
        Word::Approve(Yes::Go),
        "do it|just do it|run it|execute it|ship it|proceed|please do it|please run it|please execute it|\
         please proceed|you may proceed|you can proceed|you may go ahead|you can go ahead",
    ),
    (Word::Deny(WordWeight::Formal), "/deny|/reject"),
    (
        Word::Deny(WordWeight::Plain),
        "deny|denied|reject|rejected|refuse|refused|decline|declined|disallow|forbid|veto|\
         disapprove|disapproved|disagree|skip|skip it|cancel|cancel it|abort",
    ),
    (
        Word::Deny(WordWeight::Nod),
        "no|n|no to|nope|nah|no way|no need|stop it|of course not|certainly not|absolutely not|\
         definitely not|please no|👎|❌|🚫|🙅|⛔|✖|🛑",
    ),
    (
        Word::Negation(Alone::Denies),
        "don't|dont|do not|don't you|please don't|never|must not|mustn't|you must not|should not|\
         shouldn't",
    ),
    (
        Word::Negation(Alone::SaysNothing),
        "not|cannot|can not|can't|cant|won't|will not|wouldn't|isn't|not to",
    ),
    (
        Word::Rerun,
        "rerun|re-run|rerun it|re-run it|run again|run it again|retry|retry it|try again|\
         do it again|redo|repeat it",
    ),
    (
        Word::Done,
        "done|it was done|it's done|it is done|was done|done already|already done|\
         it was already done|already ran|it ran|it already ran|it completed|it finished",
    ),
    (
        Word::Question,
        "?|should i|should we|shall i|shall we|do i|do we|may i|is it|is this|is that|are you|\
         isn't it|right?|huh|eh|am i|is a|did|does|whether",
    ),
    (
        Word::Doubt,
        "maybe|perhaps|possibly|probably|presumably|wait|waiting|hold on|hold|hang on|hm|hmm|hmmm|er|um|\
         uh|well|not sure|i'm not sure|not yet|not now|not really|not quite|not exactly|\
         don't know|dont know|don't think|don't care|don't mind|don't see|no idea|no worries|\
         no clue|no matter|no one|no longer|never mind|nevermind|if|unless|until|when|whenever|\
         after|before|once you|as long as|provided|assuming|but|however|although|though|except|\
         besides|else|otherwise|or|either|neither|nor|without|later|soon|tomorrow|today|\
         tonight|yesterday|think|i think|i guess|guess|suppose|seems|looks|might|could|would|\
         should|then|stop|pause|continue|carry on|why not|whatever|up to you|almost|half|\
         part|partly|some|any|hardly|barely|unsure|depends|let me think|not all|not both|\
         not everything|please confirm|to be confirmed|pretend|said|it's ok|it's okay|\
         that's ok|that's okay|it is ok|it is okay|i'm ok|i'm okay|i am ok|i'm good|i'll|let me|need|\
         request to|asking|approval|\
         🤔|🤷|😕|🙄|🤨|😬|⏳|⏸",
    ),
    (Word::Because, "because|since|cause|cuz"),
    (
        Word::Elsewhere,
        "what|what's|why|how|who|where|which|can you|could you|would you|will you|tell me|\
         show me|explain|look at|look into|take a look|logs|please look|help me|hi|hello|hey|good morning|\
         good afternoon|good evening|good night",
    ),
    (Word::Please, "please|pls|plz"),
    (Word::Thanks, "thanks|thank you|thanks a lot|many thanks|thx|ty|cheers|🙏|😊"),
    // Filler. Allowed in a no, never in a yes.
    (
        Word::Aside,
        "the|to|i|we|i am|i'm|for me|with|also|too|now|right now|these|those|them|of them|sorry|\
         command|commands|request|requests",
    ),
    (Word::And, "and|&|+|plus|as well as"),
    (Word::It, "this|that|it|this one|that one|this request|that request|the one"),
    (Word::ThisCommand, "this command|that command|the command|this call|the same command"),
    (Word::Ordinal(1), "the first one|the first|first one|number one"),
    (Word::Ordinal(2), "the second one|the second|second one|number two"),
    (Word::Ordinal(3), "the third one|the third|third one|number three"),
    (Word::Ordinal(4), "the fourth one|the fourth|fourth one|number four"),
    (Word::Ordinal(5), "the fifth one|the fifth|fifth one|number five"),
    (
        Word::All(Language::English),
        "all|all of them|all of these|all of those|everything|every one|everyone of them|\
         them all|all requests|all pending|all commands|every request",
    ),
    (Word::Both(Language::English), "both|both of them|the two|both requests"),
    (Word::Only, "only|nothing but|solely"),
    (Word::Just, "just"),
    (
        Word::Rest,
        "the rest|rest|the others|others|the other one|the other|all others|all the others|\
         everything else",
    ),
    (Word::Ever, "always|from now on|every time"),
    (Word::Forever, "forever|for ever|permanently"),
    (
        Word::Once,
        "just once|only once|only this once|just this once|this once|just this time|\
         only this time|this time|this time only|one time|one time only|once only",
    ),
    // Once, unless something follows: once it passes.
    (Word::OnceUnless, "once"),
    (
        Word::Thread(Language::English),
        "for this thread|for this chat|for this session|for this conversation|for the session|\
         for the thread|for the rest of this chat|for the rest of this thread|\
         for the rest of this conversation|for the rest of this session",
    ),
    // A place, which may also be where something is to be decided.
    (
        Word::InThread,
        "in this thread|this thread|in this chat|this chat|in this session|this session|\
         in this conversation|this conversation",
    ),
    (
        Word::Project(Language::English),
        "in this project|for this project|this project|for the project|in the project|\
         project-wide|for the whole project|in this repo|for this repo",
    ),
    (
        Word::Kind(Language::English),
        "commands like this|commands like that|commands like it|commands like these|\
         such commands|similar commands|calls like this|this command shape",
    ),
    (Word::Comma, ",|;|\n"),
    (Word::Stop, "."),
    (Word::Colon, ":"),
    (Word::Exclamation, "!|~"),
    (Word::Dash, "—|——|–|-- |- |--"),
    (Word::Ellipsis, "..|...|…|……"),
    // Strikethrough, code, or a quotation.
    (Word::Quote, "~~|\"|`|```|(|)|[|]"),
];
