//! Notices of `chat` itself; their texts are in `phrases`.

use std::net::SocketAddr;

use super::question::SettledQuestion;
use crate::domain::Language;
use crate::phrases::chat as words;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Remark<'a> {
    /// How to use the chat.
    Hint,
    /// The daemon listens here.
    InDaemon(SocketAddr),
    /// The daemon runs in this process.
    InProcess,
    /// Ctrl-C at the prompt.
    HowToLeave,
    /// Ctrl-C during a turn.
    Stopping,
    /// An earlier question is still being answered.
    StillRunning,
    /// Requests wait for a decision, and Ctrl-C was pressed.
    DecideFirst {
        names: String,
        /// The replies that decide the first of them.
        replies: String,
    },
    /// A request stays open when the chat ends: how to answer it later.
    StaysOpen {
        name: &'a str,
        /// The command that decides it in this thread.
        chat: &'a str,
        /// The command that decides by number.
        approvals: &'a str,
        /// Whether a daemon runs, which the second command needs.
        daemon: bool,
    },
    /// The message is queued behind pending requests.
    Queued {
        names: String,
    },
    /// A request was decided.
    Settled(&'a SettledQuestion),
    /// The daemon ended during a turn.
    GoneInTurn,
    /// The daemon ended.
    Gone,
    /// The chat ended before the answer; this command shows the rest.
    Left(&'a str),
    /// The standard input has not ended yet.
    ReadingInput,
    /// The message is empty.
    NothingToSay,
    /// The input is not UTF-8.
    NoText,
    /// The input is too long.
    TooLong {
        /// In bytes.
        limit: usize,
    },
    /// `--json` needs a message.
    JsonNeedsMessage,
    BadName(&'a str),
    /// The thread belongs to another platform.
    OtherPlatform(&'a str),
    /// Another process holds the project and cannot be reached.
    Taken(Option<u32>),
    /// The daemon refused the connection.
    DaemonRefused(&'a str),
}

impl Remark<'_> {
    pub(super) fn say(&self, language: Language) -> String {
        match self {
            Self::Hint => words::hint(language).into(),
            Self::InDaemon(address) => words::in_daemon(*address, language),
            Self::InProcess => words::in_process(language).into(),
            Self::HowToLeave => words::how_to_leave(language).into(),
            Self::Stopping => words::stopping(language).into(),
            Self::StillRunning => words::still_running(language).into(),
            Self::DecideFirst { names, replies } => words::decide_first(names, replies, language),
            Self::StaysOpen { name, chat, approvals, daemon: true } => {
                words::stays_open(name, chat, approvals, language)
            }
            Self::StaysOpen { name, chat, approvals, daemon: false } => {
                words::stays_open_without_daemon(name, chat, approvals, language)
            }
            Self::Queued { names } => words::queued(names, language),
            Self::Settled(SettledQuestion { name, approved: true, .. }) => words::approved(name, language),
            Self::Settled(SettledQuestion { name, reason: None, .. }) => words::not_run(name, language),
            Self::Settled(SettledQuestion { name, reason: Some(reason), .. }) => {
                words::not_run_because(name, reason, language)
            }
            Self::GoneInTurn => words::gone_in_turn(language).into(),
            Self::Gone => words::gone(language).into(),
            Self::Left(chat) => words::left(chat, language),
            Self::NothingToSay => words::nothing_to_say(language).into(),
            Self::ReadingInput => words::reading_input(language).into(),
            Self::NoText => words::no_text(language).into(),
            Self::TooLong { limit } => words::too_long(*limit, language),
            Self::JsonNeedsMessage => words::json_needs_message(language).into(),
            Self::BadName(why) => words::bad_name(why, language),
            Self::OtherPlatform(thread) => words::other_platform(thread, language),
            Self::Taken(None) => words::taken(language).into(),
            Self::Taken(Some(pid)) => words::taken_by(*pid, language),
            Self::DaemonRefused(why) => words::daemon_refused(why, language),
        }
    }
}
