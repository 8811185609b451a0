//! What the daemon itself says to people, as facts. The words are in `phrases`.

use super::status::{Status, duration};
use crate::domain::{
    Answer, Approval, ApprovalKind, ApprovalNumber, ApprovalState, AuthorId, Command, ErrorKind, Language,
    Scope, ThreadId,
};
use crate::phrases::{approvals, conversation, permissions};

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
    /// A call was approved once, though a longer yes was given.
    ResolvedOnce {
        number: ApprovalNumber,
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

impl Phrase {
    /// What can be answered to a question, in words that are understood.
    pub fn suggested_replies(kind: ApprovalKind, number: ApprovalNumber, language: Language) -> Vec<String> {
        approvals::replies(kind, language).iter().map(|word| format!("{word} {number}")).collect()
    }

    /// What a command does, in a few words.
    pub fn of_command(command: Command, language: Language) -> &'static str {
        conversation::command(command, language)
    }

    /// The words, as CommonMark.
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::Error(kind) => conversation::error(*kind, language).into(),
            Self::Retrying(kind) => conversation::retrying(conversation::trouble(*kind, language), language),
            Self::Switching { kind, model } => {
                conversation::switching(conversation::trouble(*kind, language), model, language)
            }
            Self::Busy => conversation::busy(language).into(),
            Self::Stopping => conversation::stopping(language).into(),
            Self::Stopped => conversation::stopped(language).into(),
            Self::NothingToStop => conversation::nothing_to_stop(language).into(),
            Self::NotTheirsToStop => conversation::not_theirs_to_stop(language).into(),
            Self::NewConversation => conversation::new_conversation(language).into(),
            Self::Compacting => conversation::compacting(language).into(),
            Self::Compacted { messages, before, after, by_rules } => {
                conversation::compacted(*by_rules, *messages, *before, *after, language)
            }
            Self::NothingToCompact => conversation::nothing_to_compact(language).into(),
            Self::CompactLater => conversation::compact_later(language).into(),
            Self::Help => help(language),
            Self::Status(status) => status.say(language),
            Self::StorageFailed => conversation::storage_failed(language).into(),
            Self::StillThinking(seconds) => {
                conversation::still_thinking(&duration(*seconds, language), language)
            }
            Self::InstructionsChanged => conversation::instructions_changed(language).into(),
            Self::Truncated => conversation::truncated(language).into(),
            Self::EmptyAnswer => conversation::empty_answer(language).into(),
            Self::ModelIs(model) => conversation::model(model, language),
            Self::Id { thread, author } => conversation::ids(thread, author, language),
            Self::NoGrants => permissions::no_grants(language).into(),
            Self::Pair { code, minutes } => conversation::pair(code, *minutes, language),
            Self::NotServed => conversation::not_served(language).into(),
            Self::FileTooBig { name, megabytes } => conversation::file_too_big(name, *megabytes, language),
            Self::FileLost(name) => conversation::file_lost(name, language),
            Self::Held(count) => conversation::held(*count, language),
            Self::RestInFile => conversation::rest_in_file(language).into(),
            Self::Resolved { approval, by } => resolved(approval, by.as_deref(), language),
            Self::ResolvedOnce { number, by } => {
                let by = by.as_deref().map(|by| approvals::by(by, language)).unwrap_or_default();
                approvals::resolved_once(*number, &by, language)
            }
            Self::Counted { number, answer } => {
                let reach = match answer {
                    Answer::Approve(scope) => reach(*scope, language),
                    Answer::Deny | Answer::Done => String::new(),
                };
                approvals::counted(answer, *number, &reach, language)
            }
            Self::NotTheirs(number) => approvals::not_theirs(*number, language),
            Self::AnswerInWords(number) => approvals::answer_in_words(*number, language),
            Self::TooLate(number) => approvals::too_late(*number, language),
            Self::WhetherMeant(questions) => {
                approvals::whether_meant(&choices(questions, language), language)
            }
            Self::Reminder(numbers) => approvals::reminder(&list(numbers, language), language),
            Self::NotTheirsToWithdraw(numbers) => {
                approvals::not_theirs_to_withdraw(&list(numbers, language), language)
            }
            Self::Withdrawn(0) => approvals::nothing_withdrawn(language).into(),
            Self::Withdrawn(count) => approvals::withdrawn(*count, language),
            Self::Pending(open) if open.is_empty() => approvals::nothing_pending(language).into(),
            Self::Pending(open) => pending(open, language),
            Self::WholeCall(number) => approvals::whole_call(*number, language),
            Self::WholeAbove(Some(file)) => approvals::whole_in_file(file, language),
            Self::WholeAbove(None) => approvals::whole_in_messages(language).into(),
            Self::NotOpen => approvals::not_open(language).into(),
        }
    }
}

fn help(language: Language) -> String {
    let mut text = conversation::help(language).to_owned();
    for command in Command::ALL {
        text.push_str(&format!("\n- /{} {}", command.name(), conversation::command(command, language)));
    }
    text
}

fn resolved(approval: &Approval, by: Option<&str>, language: Language) -> String {
    let by = by.map(|by| approvals::by(by, language)).unwrap_or_default();
    let cut_off = approval.kind == ApprovalKind::UnknownOutcome;
    let reach = match &approval.state {
        ApprovalState::Approved { scope, .. } | ApprovalState::Spent { scope, .. } => reach(*scope, language),
        _ => String::new(),
    };
    approvals::resolved(cut_off, &approval.state, approval.number, &by, &reach, language)
}

/// How far an approval reaches; empty for once.
fn reach(scope: Scope, language: Language) -> String {
    match scope {
        Scope::Once => String::new(),
        Scope::Thread => approvals::reach_thread(language).into(),
        Scope::Minutes(minutes) => approvals::reach_minutes(minutes.get(), language),
        Scope::Shape => approvals::reach_shape(language).into(),
        Scope::Project => approvals::reach_project(language).into(),
        Scope::Program(minutes) => approvals::reach_program(minutes.get(), language),
    }
}

fn pending(open: &[Approval], language: Language) -> String {
    let line = |one: &Approval| approvals::pending_line(one.number, &one.summary, language);
    let lines: Vec<String> = open.iter().map(line).collect();
    approvals::pending(&lines.join("\n"), language)
}

/// Each question with the words that answer it.
fn choices(questions: &[Approval], language: Language) -> String {
    let line = |one: &Approval| {
        let replies = Phrase::suggested_replies(one.kind, one.number, language);
        let replies: Vec<String> = replies.iter().map(|reply| format!("`{reply}`")).collect();
        approvals::choice(one.number, &one.summary, &replies.join(" / "), language)
    };
    questions.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn list(numbers: &[ApprovalNumber], language: Language) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    numbers.join(approvals::between_numbers(language))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ThreadState;

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
