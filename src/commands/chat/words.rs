//! What `chat` itself says, in both languages. What the agent and the daemon say comes from them.

use std::net::SocketAddr;

use super::question::Settled;
use crate::domain::Language;

/// Something `chat` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// How to go about it.
    Hint,
    /// The agent runs in a daemon, which listens here.
    InDaemon(SocketAddr),
    /// The agent runs in this process.
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
        /// The command that comes back to this conversation with a decision.
        chat: &'a str,
        /// The command that decides by number.
        approvals: &'a str,
        /// Whether a daemon runs, which the second command needs.
        daemon: bool,
    },
    /// A message was kept, and is answered when earlier requests are decided.
    Queued { names: String },
    /// A request was decided.
    Settled(&'a Settled),
    /// The agent has ended while it was asked something.
    GoneInTurn,
    /// The agent has ended.
    Gone,
    /// The chat ended before the answer was whole; this command shows the rest.
    Left(&'a str),
    /// The standard input has not ended yet.
    ReadingInput,
    /// There was no message.
    NothingToSay,
    /// What came in is no text.
    NoText,
    /// What came in is too long.
    TooLong {
        /// How many bytes it may have.
        limit: usize,
    },
    /// Data can only be printed for one message.
    JsonNeedsMessage,
    /// Not a name for a thread.
    BadName(&'a str),
    /// The thread belongs to another platform.
    OtherPlatform(&'a str),
    /// Somebody else has the project and cannot be talked to.
    Taken(Option<u32>),
    /// The daemon did not let us in.
    DaemonRefused(&'a str),
}

impl Word<'_> {
    pub(super) fn say(&self, language: Language) -> String {
        match language {
            Language::En => self.english(),
            Language::Zh => self.chinese(),
        }
    }

    fn english(&self) -> String {
        match self {
            Self::Hint => "/help lists commands · Ctrl-C stops an answer · Ctrl-D leaves".into(),
            Self::InDaemon(address) => format!("daemon at {address}"),
            Self::InProcess => "no daemon runs: the agent lives in this chat".into(),
            Self::HowToLeave => "Ctrl-D or /quit leaves".into(),
            Self::Stopping => "stopping (Ctrl-C again leaves)".into(),
            Self::StillRunning => "an earlier question is still being answered".into(),
            Self::DecideFirst { names, replies } => {
                format!(
                    "{names} needs a decision: {replies}, or /cancel. Ctrl-C again leaves and keeps it open"
                )
            }
            Self::StaysOpen { name, chat, approvals, daemon } => {
                let needs = if *daemon { "" } else { " while `shipagent run` is running" };
                format!("{name} stays open. Answer later with `{chat}`, or with `{approvals}`{needs}")
            }
            Self::Queued { names } => {
                format!(
                    "{names} of an earlier message waits first: your message is kept, and is answered after it"
                )
            }
            Self::Settled(Settled { name, approved: true, .. }) => format!("{name} was approved"),
            Self::Settled(Settled { name, reason: None, .. }) => format!("{name} was not run"),
            Self::Settled(Settled { name, reason: Some(reason), .. }) => {
                format!("{name} was not run: {reason}")
            }
            Self::GoneInTurn => {
                "the daemon has ended: your message is kept, and is answered when it runs again".into()
            }
            Self::Gone => "the daemon has ended".into(),
            Self::Left(chat) => format!("left before the answer was whole: `{chat}` shows the rest"),
            Self::NothingToSay => {
                "there is nothing to say: give a message, or write one to the standard input".into()
            }
            Self::ReadingInput => {
                "reading the standard input until it ends (Ctrl-D ends it; `< /dev/null` gives none)".into()
            }
            Self::NoText => "the standard input is not text in UTF-8".into(),
            Self::TooLong { limit } => {
                format!(
                    "the message and the standard input are too long: together they may have {limit} bytes"
                )
            }
            Self::JsonNeedsMessage => {
                "--json is for one message: give it, or write it to the standard input".into()
            }
            Self::BadName(why) => format!("--thread cannot be used as a name: {why}"),
            Self::OtherPlatform(thread) => format!(
                "{thread} belongs to another platform: it can be read with `shipagent threads show`, and written \
                 only there"
            ),
            Self::Taken(pid) => format!(
                "this project is in use by another process{} that cannot be talked to, such as another \
                 `shipagent chat`: end it first, or run `shipagent run` and let both talk to the daemon",
                pid.map(|pid| format!(" ({pid})")).unwrap_or_default()
            ),
            Self::DaemonRefused(why) => format!("the daemon did not let this chat in: {why}"),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Hint => "/help 查看命令 · Ctrl-C 停止回答 · Ctrl-D 离开".into(),
            Self::InDaemon(address) => format!("守护进程 {address}"),
            Self::InProcess => "没有守护进程：助手就在本次对话中运行".into(),
            Self::HowToLeave => "按 Ctrl-D 或输入 /quit 离开".into(),
            Self::Stopping => "正在停止（再按一次 Ctrl-C 离开）".into(),
            Self::StillRunning => "之前的问题仍在回答中".into(),
            Self::DecideFirst { names, replies } => {
                format!("{names} 需要决定：{replies}，或 /cancel。再按一次 Ctrl-C 离开，请求会保留")
            }
            Self::StaysOpen { name, chat, approvals, daemon } => {
                let needs = if *daemon { "" } else { "（需要 `shipagent run` 正在运行）" };
                format!("{name} 仍在等待。之后可用 `{chat}` 回答，或用 `{approvals}`{needs}")
            }
            Self::Queued { names } => {
                format!("之前消息的 {names} 在先等待决定：你的消息已保存，决定后就会回答")
            }
            Self::Settled(Settled { name, approved: true, .. }) => format!("{name} 已同意"),
            Self::Settled(Settled { name, reason: None, .. }) => format!("{name} 没有执行"),
            Self::Settled(Settled { name, reason: Some(reason), .. }) => format!("{name} 没有执行：{reason}"),
            Self::GoneInTurn => "守护进程已结束：你的消息已保存，它再次运行时会回答".into(),
            Self::Gone => "守护进程已结束".into(),
            Self::Left(chat) => format!("回答尚未结束就离开了：用 `{chat}` 可以看到其余部分"),
            Self::NothingToSay => "没有要说的话：请给出消息，或写到标准输入".into(),
            Self::ReadingInput => {
                "正在读取标准输入直到结束（按 Ctrl-D 结束；用 `< /dev/null` 则不读取）".into()
            }
            Self::NoText => "标准输入不是 UTF-8 文本".into(),
            Self::TooLong { limit } => format!("消息和标准输入太长：合计最多 {limit} 字节"),
            Self::JsonNeedsMessage => "--json 只用于单条消息：请给出消息，或写到标准输入".into(),
            Self::BadName(why) => format!("--thread 不能用作名字：{why}"),
            Self::OtherPlatform(thread) => {
                format!("{thread} 属于其他平台：可以用 `shipagent threads show` 查看，只能在那里回复")
            }
            Self::Taken(pid) => format!(
                "项目正被另一个无法对话的进程{}占用（例如另一个 `shipagent chat`）：请先结束它，\
                 或运行 `shipagent run`，让两边都与守护进程对话",
                pid.map(|pid| format!("（{pid}）")).unwrap_or_default()
            ),
            Self::DaemonRefused(why) => format!("守护进程没有接受这次对话：{why}"),
        }
    }
}
