//! What `chat` itself says, in both languages. What the agent and the daemon say comes from them.

use std::net::SocketAddr;

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
    /// A tool waits for a decision.
    Asks,
    /// The agent has ended while it was asked something.
    GoneInTurn,
    /// The agent has ended.
    Gone,
    /// Whoever asked has left before the answer was whole.
    Left,
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
    /// Somebody else has the project and cannot be talked to.
    Taken(Option<u32>),
    /// The daemon did not let us in.
    DaemonRefused(&'a str),
}

impl Word<'_> {
    /// The words.
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
            Self::Asks => {
                "this needs a decision: answer here with yes or no, or decide in the console".into()
            }
            Self::GoneInTurn => {
                "the daemon has ended: your message is kept, and is answered when it runs again".into()
            }
            Self::Gone => "the daemon has ended".into(),
            Self::Left => "left before the answer was whole: `shipagent chat` shows the rest".into(),
            Self::NothingToSay => {
                "there is nothing to say: give a message, or write one to the standard input".into()
            }
            Self::NoText => "the standard input is not text in UTF-8".into(),
            Self::TooLong { limit } => format!("the message is too long: it may have {limit} bytes"),
            Self::JsonNeedsMessage => {
                "--json is for one message: give it, or write it to the standard input".into()
            }
            Self::BadName(why) => format!("--thread cannot be used as a name: {why}"),
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
            Self::Asks => "需要你的决定：在这里回答同意或拒绝，或到控制台决定".into(),
            Self::GoneInTurn => "守护进程已结束：你的消息已保存，它再次运行时会回答".into(),
            Self::Gone => "守护进程已结束".into(),
            Self::Left => "回答尚未结束就离开了：用 `shipagent chat` 可以看到其余部分".into(),
            Self::NothingToSay => "没有要说的话：请给出消息，或写到标准输入".into(),
            Self::NoText => "标准输入不是 UTF-8 文本".into(),
            Self::TooLong { limit } => format!("消息太长：最多 {limit} 字节"),
            Self::JsonNeedsMessage => "--json 只用于单条消息：请给出消息，或写到标准输入".into(),
            Self::BadName(why) => format!("--thread 不能用作名字：{why}"),
            Self::Taken(pid) => format!(
                "项目正被另一个无法对话的进程{}占用（例如另一个 `shipagent chat`）：请先结束它，\
                 或运行 `shipagent run`，让两边都与守护进程对话",
                pid.map(|pid| format!("（{pid}）")).unwrap_or_default()
            ),
            Self::DaemonRefused(why) => format!("守护进程没有接受这次对话：{why}"),
        }
    }
}
