//! The daemon's own messages to people, as facts. Their texts are in `phrases`.

use super::status::{Status, duration};
use crate::domain::{
    Answer, Approval, ApprovalKind, ApprovalNumber, ApprovalState, AuthorId, Command, ErrorKind, Language,
    Scope, Shortage, ThreadId, VoiceFailure,
};
use crate::phrases::{approvals, budget, conversation, permissions};

/// A message of the daemon.
#[derive(Clone, Debug, PartialEq)]
pub enum Phrase {
    /// A turn could not be finished: what happened and what to do.
    Error(ErrorKind),
    /// The model call failed and is retried.
    Retrying(ErrorKind),
    /// The model call failed and a fallback is asked.
    Switching {
        /// Why the call failed.
        kind: ErrorKind,
        /// The fallback.
        model: String,
    },
    /// The queue of the thread is full; the message was refused.
    Busy,
    /// The daemon is stopping; the message was refused.
    Stopping,
    /// The message was not stored within the deadline; it may be stored all the same.
    NotStoredInTime,
    /// Only the last answer can be made again.
    OnlyLastAnswer,
    /// An edit of a message that the author has not written here.
    NoSuchMessage,
    /// The turn was stopped by a person.
    Stopped,
    /// There is no turn to stop.
    NothingToStop,
    /// The transcript of the newest spoken message.
    Transcript(String),
    /// What the operator wrote to the people of a thread, with the names of its files.
    FromOperator {
        text: String,
        files: Vec<String>,
    },
    NoTranscript,
    NothingSpoken,
    /// A new conversation begins.
    NewConversation,
    /// Notes could not be written into core memory.
    NotKept(String),
    /// A summary is being made.
    Compacting,
    /// The result of a summary: messages, and the tokens of a prompt before and after.
    Compacted {
        messages: u64,
        before: u64,
        after: u64,
        /// Whether the summary was made without a model.
        by_rules: bool,
    },
    /// There is too little to summarise.
    NothingToCompact,
    /// A turn or a summary is running.
    CompactLater,
    /// The list of commands.
    Help,
    /// The status of the thread.
    Status(Status),
    /// The message could not be stored and was refused.
    StorageFailed,
    /// The answer was cut at the model's output limit.
    Truncated,
    /// The model has been silent for this many seconds.
    StillThinking(u64),
    /// `Agent.md` was edited and read again.
    InstructionsChanged,
    /// The model answered nothing.
    EmptyAnswer,
    /// Agents have answered each other as often in a row as they may.
    AgentsStop,
    /// Two agents have exchanged as many messages as they may.
    AgentsSpent,
    /// A model has decided about messages of this group that name nobody as often as it may.
    GateUsedUp(ThreadId),
    /// A question was decided or withdrawn.
    Resolved {
        approval: Box<Approval>,
        by: Option<String>,
    },
    /// A call was approved once, although a longer scope was asked for.
    ResolvedOnce {
        number: ApprovalNumber,
        by: Option<String>,
    },
    /// A reply was read as a decision.
    Counted {
        number: ApprovalNumber,
        answer: Answer,
    },
    /// The question does not exist, or was decided before.
    NotOpen,
    /// A spend cap ended the turn.
    OverBudget(Shortage),
    /// A turn waits for owners to decide about a spend cap: the number of the question, where it has one.
    BudgetAsked(Option<ApprovalNumber>),
    /// The person may not decide.
    NotTheirs(ApprovalNumber),
    /// The buttons of a question are outdated; it has to be answered in words.
    AnswerInWords(ApprovalNumber),
    /// The question expired.
    TooLate(ApprovalNumber),
    /// The reply does not say which question it decides.
    WhetherMeant(Vec<Approval>),
    /// Questions are pending, and this message decides none.
    Reminder(Vec<ApprovalNumber>),
    /// The person may not withdraw these questions.
    NotTheirsToWithdraw(Vec<ApprovalNumber>),
    /// The person may not stop this turn.
    NotTheirsToStop,
    /// This many questions were withdrawn.
    Withdrawn(usize),
    Pending(Vec<Approval>),
    /// The ids of the thread and of the author.
    Id {
        thread: ThreadId,
        author: AuthorId,
    },
    /// There are no grants.
    NoGrants,
    /// An unknown person gets a pairing code for the operator to confirm.
    Pair {
        code: String,
        /// Its lifetime in minutes.
        minutes: u64,
    },
    /// The bot leaves a group that is not served.
    NotServed,
    /// A file is too large to fetch.
    FileTooBig {
        name: String,
        /// The limit in megabytes.
        megabytes: u64,
    },
    /// A file could not be fetched.
    FileLost(String),
    /// A recording has no transcript.
    VoiceFailed(VoiceFailure),
    /// This many replies wait for the next inbound message, because the platform allows no more now.
    Held(usize),
    /// A person may not have results sent to a thread.
    TargetRefused(AuthorId, ThreadId),
    /// A result for another thread, with no known requester.
    TargetNobody(ThreadId),
    /// The platform of a thread is not set up.
    TargetNotServed(ThreadId),
    /// A scheduled task asks; its id.
    AskedByTask(String),
    /// A too long answer is attached as a file.
    RestInFile,
    /// The caption of the file with the whole call.
    WholeCall(ApprovalNumber),
    /// A question shows a shortened call; the file or the messages above have all of it.
    WholeAbove(Option<String>),
}

impl Phrase {
    /// The replies that decide a question.
    pub fn suggested_replies(kind: ApprovalKind, number: ApprovalNumber, language: Language) -> Vec<String> {
        approvals::replies(kind, language).iter().map(|word| format!("{word} {number}")).collect()
    }

    /// The description of a command.
    pub fn of_command(command: Command, language: Language) -> &'static str {
        conversation::command(command, language)
    }

    /// The text, as CommonMark.
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::Error(kind) => conversation::error(*kind, language).into(),
            Self::Retrying(kind) => conversation::retrying(conversation::trouble(*kind, language), language),
            Self::Switching { kind, model } => {
                conversation::switching(conversation::trouble(*kind, language), model, language)
            }
            Self::Busy => conversation::busy(language).into(),
            Self::Stopping => conversation::stopping(language).into(),
            Self::NotStoredInTime => conversation::not_stored_in_time(language).into(),
            Self::OnlyLastAnswer => conversation::only_last_answer(language).into(),
            Self::NoSuchMessage => conversation::no_such_message(language).into(),
            Self::Stopped => conversation::stopped(language).into(),
            Self::Transcript(text) => transcript(text, language),
            Self::FromOperator { text, files } => from_operator(text.trim(), files, language),
            Self::NoTranscript => conversation::no_transcript(language).into(),
            Self::NothingSpoken => conversation::nothing_spoken(language).into(),
            Self::NothingToStop => conversation::nothing_to_stop(language).into(),
            Self::NotTheirsToStop => conversation::not_theirs_to_stop(language).into(),
            Self::NewConversation => conversation::new_conversation(language).into(),
            Self::NotKept(why) => conversation::not_kept(why, language),
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
            Self::Id { thread, author } => conversation::ids(thread, author, language),
            Self::NoGrants => permissions::no_grants(language).into(),
            Self::Pair { code, minutes } => conversation::pair(code, *minutes, language),
            Self::NotServed => conversation::not_served(language).into(),
            Self::FileTooBig { name, megabytes } => conversation::file_too_big(name, *megabytes, language),
            Self::FileLost(name) => conversation::file_lost(name, language),
            Self::VoiceFailed(failure) => voice_failed(failure, language),
            Self::Held(count) => conversation::held(*count, language),
            Self::TargetRefused(by, thread) => conversation::target_refused(by, thread, language),
            Self::TargetNobody(thread) => conversation::target_nobody(thread, language),
            Self::TargetNotServed(thread) => conversation::target_not_served(thread, language),
            Self::AskedByTask(task) => conversation::asked_by_task(task, language),
            Self::RestInFile => conversation::rest_in_file(language).into(),
            Self::Resolved { approval, by } => resolved(approval, by.as_deref(), language),
            Self::ResolvedOnce { number, by } => {
                let by = by.as_deref().map(|by| approvals::by(by, language)).unwrap_or_default();
                approvals::resolved_once(*number, &by, language)
            }
            Self::Counted { number, answer } => counted(*number, answer, language),
            Self::OverBudget(short) => budget::ended(&super::budget::shortage(short, language), language),
            Self::BudgetAsked(number) => budget_asked(*number, language),
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
            Self::AgentsStop => conversation::agents_stop(language).into(),
            Self::AgentsSpent => conversation::agents_spent(language).into(),
            Self::GateUsedUp(room) => conversation::gate_used_up(room, language),
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

fn budget_asked(number: Option<ApprovalNumber>, language: Language) -> String {
    let number = number.map(|number| budget::asked_number(&number.to_string(), language));
    budget::asked(&number.unwrap_or_default(), language)
}

fn transcript(text: &str, language: Language) -> String {
    let quoted: Vec<String> = text.trim().lines().map(|line| format!("> {line}")).collect();
    conversation::transcript(&quoted.join("\n"), language)
}

fn voice_failed(failure: &VoiceFailure, language: Language) -> String {
    match failure {
        VoiceFailure::TooLong { seconds } => {
            conversation::voice_too_long(&duration(*seconds, language), language)
        }
        VoiceFailure::TooBig { megabytes } => conversation::voice_too_big(*megabytes, language),
        VoiceFailure::NoWords => conversation::voice_no_words(language).into(),
        VoiceFailure::Unreadable => conversation::voice_unreadable(language).into(),
        VoiceFailure::Unavailable => conversation::voice_unavailable(language).into(),
        VoiceFailure::Stopped => conversation::voice_stopped(language).into(),
        VoiceFailure::OverBudget => conversation::voice_over_budget(language).into(),
    }
}

fn counted(number: ApprovalNumber, answer: &Answer, language: Language) -> String {
    let reach = match answer {
        Answer::Approve(scope) => reach(*scope, language),
        Answer::Deny | Answer::Done => String::new(),
    };
    approvals::counted(answer, number, &reach, language)
}

fn from_operator(text: &str, files: &[String], language: Language) -> String {
    match files {
        [] => conversation::from_operator(text, language),
        files => conversation::from_operator_with_files(text, &files.join(", "), language),
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

/// The scope of an approval; empty for once.
fn reach(scope: Scope, language: Language) -> String {
    match scope {
        Scope::Once => String::new(),
        Scope::Thread => approvals::reach_thread(language).into(),
        Scope::Minutes(minutes) => approvals::reach_minutes(minutes.get(), language),
        Scope::Shape => approvals::reach_shape(language).into(),
        Scope::Project => approvals::reach_project(language).into(),
        Scope::Program(minutes) => approvals::reach_program(minutes.get(), language),
        Scope::PlusOne => budget::reach_plus_one(language).into(),
        Scope::PlusFive => budget::reach_plus_five(language).into(),
        Scope::Midnight => budget::reach_midnight(language).into(),
    }
}

fn pending(open: &[Approval], language: Language) -> String {
    let line = |one: &Approval| approvals::pending_line(one.number, &one.summary, language);
    let lines: Vec<String> = open.iter().map(line).collect();
    approvals::pending(&lines.join("\n"), language)
}

/// Each question with the replies that decide it.
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

    const KINDS: [ErrorKind; 14] = [
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
        ErrorKind::Budget,
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
            ErrorKind::Budget => 13,
        }
    }

    fn busy_status() -> Status {
        Status {
            state: ThreadState::Running,
            running: Some((75, 3)),
            queued: 2,
            model: "gpt-6-luna".into(),
            spent: Some("spent: 1".into()),
            undelivered: 3,
            held: 2,
            dead: 4,
            others: Vec::new(),
        }
    }

    fn every_phrase() -> Vec<Phrase> {
        let mut all = vec![
            Phrase::Busy,
            Phrase::Stopping,
            Phrase::Stopped,
            Phrase::NothingToStop,
            Phrase::Transcript("run the tests\nand tell me".into()),
            Phrase::FromOperator { text: "please wait".into(), files: Vec::new() },
            Phrase::FromOperator { text: "look".into(), files: vec!["plan.pdf".into()] },
            Phrase::NoTranscript,
            Phrase::NothingSpoken,
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
            Phrase::TargetRefused("web:user:ada".parse().unwrap(), "web:chat:1".parse().unwrap()),
            Phrase::TargetNobody("web:chat:1".parse().unwrap()),
            Phrase::TargetNotServed("web:chat:1".parse().unwrap()),
            Phrase::AskedByTask("daily".to_owned()),
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
            "Working for 1 min 15 s, step 3.\nWaiting messages: 2\nModel: gpt-6-luna\nspent: 1\n\
             Replies on their way: 3\nHeld back until somebody wrote here, because the platform takes no more replies to \
             the last message: 2. They follow now, as far as it lets them.\nReplies that could not be delivered: 4 (the operator can see them in the log)"
        );
        assert_eq!(
            status.say(Language::Zh),
            "正在处理，已用 1 分 15 秒，第 3 步。\n等待中的消息：2\n模型：gpt-6-luna\nspent: 1\n\
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
