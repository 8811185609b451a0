//! What the daemon itself says to people, as facts. The words are in `en` and `zh`.

use super::{en, zh};
use crate::domain::{
    Answer, Approval, ApprovalKind, ApprovalNumber, AuthorId, Command, ErrorKind, Language, ThreadId,
    ThreadState,
};

/// Something the daemon says.
#[derive(Clone, Debug, PartialEq)]
pub enum Phrase {
    /// A turn could not be finished: what happened and what to do.
    Error(ErrorKind),
    /// The model has trouble and is asked again.
    Retrying(ErrorKind),
    /// The model has trouble and another one is asked.
    Switching {
        /// What sort of trouble.
        kind: ErrorKind,
        /// The name of the model that is asked next.
        model: String,
    },
    /// Too much is waiting in this thread; the message was not taken.
    Busy,
    /// The daemon is stopping; the message was not taken.
    Stopping,
    /// The turn was ended, as the person asked.
    Stopped,
    /// There was no turn to end.
    NothingToStop,
    /// The conversation so far is forgotten.
    NewConversation,
    /// The conversation is being summed up.
    Compacting,
    /// It was: so many messages, and the tokens of a prompt before and after.
    Compacted {
        messages: u64,
        before: u64,
        after: u64,
        /// Whether no model gave anything usable.
        by_rules: bool,
    },
    /// There is too little to sum up.
    NothingToCompact,
    /// A turn runs, or the conversation is being summed up already.
    CompactLater,
    /// What can be said to the daemon.
    Help,
    /// What the thread is doing.
    Status(Status),
    /// A message could not be written, so it was not taken.
    StorageFailed,
    /// The answer above ends where the model's own limit was.
    Truncated,
    /// The model has not answered for so many seconds.
    StillThinking(u64),
    /// `Agent.md` was edited and read again.
    InstructionsChanged,
    /// The model answered nothing.
    EmptyAnswer,
    /// A question was answered, or needs no answer any more.
    Resolved {
        /// The question, as it is now.
        approval: Box<Approval>,
        by: Option<String>,
    },
    /// An answer was understood.
    Counted {
        number: ApprovalNumber,
        answer: Answer,
    },
    /// There is no such question, or it was settled before.
    NotOpen,
    /// Whoever answered may not.
    NotTheirs(ApprovalNumber),
    /// The buttons of a question cannot be changed any more, so it has to be answered in words.
    AnswerInWords(ApprovalNumber),
    /// The answer came too late.
    TooLate(ApprovalNumber),
    /// Questions that an answer may not have been meant for.
    WhetherMeant(Vec<Approval>),
    /// Questions wait, and this message was none of their answers.
    Reminder(Vec<ApprovalNumber>),
    /// Questions that whoever wants to may not withdraw.
    NotTheirsToWithdraw(Vec<ApprovalNumber>),
    /// A turn that whoever wants to may not end.
    NotTheirsToStop,
    /// So many questions were withdrawn.
    Withdrawn(usize),
    /// The questions that wait.
    Pending(Vec<Approval>),
    ModelIs(String),
    /// Which conversation this is, and who is speaking.
    Id {
        thread: ThreadId,
        author: AuthorId,
    },
    /// Nothing is allowed for longer than once.
    NoGrants,
    /// Somebody the daemon does not know wants in: what the operator has to confirm.
    Pair {
        code: String,
        /// For how many minutes it is good.
        minutes: u64,
    },
    /// A group that is not served is left.
    NotServed,
    /// A file is longer than what can be fetched.
    FileTooBig {
        name: String,
        /// How many megabytes there may be.
        megabytes: u64,
    },
    /// A file could not be fetched.
    FileLost(String),
    /// So many replies wait until somebody speaks again: the platform lets nothing else be sent now.
    Held(usize),
    /// An answer that is too long for the chat is attached whole.
    RestInFile,
    /// Goes with the file that has the whole of a call.
    WholeCall(ApprovalNumber),
    /// A question shows a call only in part: the file above, or the messages above, have the whole.
    WholeAbove(Option<String>),
}

/// What a thread is doing, for `/status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// What it is doing.
    pub state: ThreadState,
    /// For how many seconds the turn has run, and at which step it is, counted from 1.
    pub running: Option<(u64, u32)>,
    /// How many messages wait for the next turn.
    pub queued: usize,
    pub model: String,
    /// Replies that are still on their way.
    pub undelivered: usize,
    /// Those of them that the platform did not take before somebody spoke again.
    pub held: usize,
    /// Replies that could not be delivered at all.
    pub dead: usize,
}

impl Phrase {
    /// What can be answered to a question, in words that are understood.
    pub fn suggested_replies(kind: ApprovalKind, number: ApprovalNumber, language: Language) -> Vec<String> {
        let words = match (kind, language) {
            (ApprovalKind::Tool, Language::En) => ["approve", "deny"].as_slice(),
            (ApprovalKind::Tool, Language::Zh) => &["同意", "拒绝"],
            (ApprovalKind::UnknownOutcome, Language::En) => &["rerun", "skip", "done"],
            (ApprovalKind::UnknownOutcome, Language::Zh) => &["重跑", "跳过", "已完成"],
        };
        words.iter().map(|word| format!("{word} {number}")).collect()
    }

    /// What a command does, in a few words.
    pub const fn of_command(command: Command, language: Language) -> &'static str {
        match language {
            Language::En => en::of_command(command),
            Language::Zh => zh::of_command(command),
        }
    }

    /// The words, as CommonMark.
    pub fn say(&self, language: Language) -> String {
        match language {
            Language::En => en::say(self),
            Language::Zh => zh::say(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ErrorKind; 13] = [
        ErrorKind::Auth,
        ErrorKind::Quota,
        ErrorKind::Rate,
        ErrorKind::ContextLength,
        ErrorKind::Network,
        ErrorKind::Timeout,
        ErrorKind::Server,
        ErrorKind::BadRequest,
        ErrorKind::BadResponse,
        ErrorKind::TooManySteps,
        ErrorKind::Loop,
        ErrorKind::Storage,
        ErrorKind::Internal,
    ];

    /// Where each kind stands in `KINDS`: the compiler leads here when there is a new one.
    const fn place(kind: ErrorKind) -> usize {
        match kind {
            ErrorKind::Auth => 0,
            ErrorKind::Quota => 1,
            ErrorKind::Rate => 2,
            ErrorKind::ContextLength => 3,
            ErrorKind::Network => 4,
            ErrorKind::Timeout => 5,
            ErrorKind::Server => 6,
            ErrorKind::BadRequest => 7,
            ErrorKind::BadResponse => 8,
            ErrorKind::TooManySteps => 9,
            ErrorKind::Loop => 10,
            ErrorKind::Storage => 11,
            ErrorKind::Internal => 12,
        }
    }

    fn busy_status() -> Status {
        Status {
            state: ThreadState::Running,
            running: Some((75, 3)),
            queued: 2,
            model: "gpt-6-luna".into(),
            undelivered: 3,
            held: 2,
            dead: 4,
        }
    }

    fn every_phrase() -> Vec<Phrase> {
        let mut all = vec![
            Phrase::Busy,
            Phrase::Stopping,
            Phrase::Stopped,
            Phrase::NothingToStop,
            Phrase::NewConversation,
            Phrase::Compacting,
            Phrase::Compacted { messages: 12, before: 9000, after: 3000, by_rules: false },
            Phrase::Compacted { messages: 12, before: 9000, after: 3000, by_rules: true },
            Phrase::NothingToCompact,
            Phrase::CompactLater,
            Phrase::Help,
            Phrase::Status(Status::default()),
            Phrase::Status(Status { state: ThreadState::AwaitingApproval, ..Status::default() }),
            Phrase::Status(busy_status()),
            Phrase::StorageFailed,
            Phrase::Truncated,
            Phrase::InstructionsChanged,
            Phrase::StillThinking(65),
            Phrase::EmptyAnswer,
            Phrase::NotTheirsToWithdraw(vec![ApprovalNumber(1), ApprovalNumber(2)]),
            Phrase::NotTheirsToStop,
            Phrase::AnswerInWords(ApprovalNumber(1)),
        ];
        for kind in KINDS {
            all.push(Phrase::Error(kind));
            all.push(Phrase::Retrying(kind));
            all.push(Phrase::Switching { kind, model: "other".into() });
        }
        all
    }

    #[test]
    fn every_phrase_is_said_in_both_languages() {
        for phrase in every_phrase() {
            let (en, zh) = (phrase.say(Language::En), phrase.say(Language::Zh));
            assert!(en.len() > 4 && Language::of(&en) == Language::En, "{phrase:?}: {en}");
            assert!(zh.len() > 4 && Language::of(&zh) == Language::Zh, "{phrase:?}: {zh}");
            for text in [en, zh] {
                assert_eq!(text.trim(), text, "{phrase:?}");
                assert!(!text.contains(['{', '}']), "{phrase:?}: {text}");
            }
        }
    }

    #[test]
    fn no_two_errors_are_told_in_the_same_words() {
        for language in [Language::En, Language::Zh] {
            assert!(KINDS.into_iter().map(place).eq(0..KINDS.len()));
            let mut texts: Vec<_> = KINDS.iter().map(|kind| Phrase::Error(*kind).say(language)).collect();
            texts.sort();
            texts.dedup();
            assert_eq!(texts.len(), KINDS.len());
        }
    }

    #[test]
    fn help_lists_every_command() {
        for language in [Language::En, Language::Zh] {
            let help = Phrase::Help.say(language);
            for command in Command::ALL {
                assert!(help.contains(&format!("/{}", command.name())), "{help}");
            }
        }
    }

    #[test]
    fn the_status_tells_what_matters_and_no_more() {
        let status = Phrase::Status(busy_status());
        assert_eq!(
            status.say(Language::En),
            "Working for 1 min 15 s, step 3.\nWaiting messages: 2\nModel: gpt-6-luna\n\
             Replies on their way: 3\nHeld back until somebody wrote here, because the platform takes no more replies to \
             the last message: 2. They follow now, as far as it lets them.\nReplies that could not be delivered: 4 (the operator can see them in the log)"
        );
        assert_eq!(
            status.say(Language::Zh),
            "正在处理，已用 1 分 15 秒，第 3 步。\n等待中的消息：2\n模型：gpt-6-luna\n\
             正在发送的回复：3\n平台不再接受对上一条消息的回复，因此暂存：2 条。现在随本条消息尽量送出。\n无法送达的回复：4（运维者可在日志中查看）"
        );
        let idle = Phrase::Status(Status { model: "m".into(), ..Status::default() });
        assert_eq!(idle.say(Language::En), "Idle: ready for your next message.\nModel: m");
        assert_eq!(idle.say(Language::Zh), "空闲，可以直接发消息。\n模型：m");
    }

    #[test]
    fn a_switch_names_the_next_model() {
        for language in [Language::En, Language::Zh] {
            let phrase = Phrase::Switching { kind: ErrorKind::Rate, model: "deepseek-chat".into() };
            assert!(phrase.say(language).contains("deepseek-chat"));
        }
    }
}
