//! Why a call needs approval or is denied, as data and in the daemon's languages.

use crate::domain::Language;

/// Why a call does not run without approval.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The operator's deny list has it.
    DeniedByRule(String),
    /// The operator denies what no rule covers.
    DeniedByMode,
    /// The operator requires approval for this tool.
    AskedByMode(String),
    UnknownTool(String),
    /// The tool has side effects.
    Changes(String),
    /// The deny list may match: part of the command is unknown until it runs.
    PerhapsDenied,
    /// The text is no shell command that can be parsed.
    Unparsed,
    /// The text is too long to be parsed.
    TooLong,
    /// The text has a character that is invisible or looks like another.
    StrangeCharacter(char),
    /// The text has a spelling that hides what runs.
    HiddenSpelling,
    /// It consists of several commands.
    Compound,
    /// A command runs inside another: `$(…)`, backticks, `<(…)`.
    Substitution,
    /// It contains input text: `<<EOF`, `<<<`.
    HereDocument,
    /// It has loops, conditions or functions.
    ControlFlow,
    /// It continues in the background.
    Background,
    /// It sets a variable.
    Assignment,
    /// A part is unknown until it runs: a variable, `*`, `~`, `{a,b}`.
    NotLiteral(String),
    /// It writes this file.
    WritesFile(String),
    /// It names a path outside the project.
    Outside(String),
    /// It names a file that is reserved or looks like a secret.
    Secret(String),
    /// It names a file that can start programs.
    Sensitive(String),
    /// It reads everything below this directory, which is too large to search for secrets.
    TooLargeToCheck(String),
    /// The command is not on the read-only list.
    UnknownCommand(String),
    /// The command is on the list, but not with this argument.
    Argument {
        command: String,
        argument: String,
    },
    /// It starts another command.
    Wrapper(String),
    /// It uses the network.
    Network(String),
    /// It deletes or overwrites.
    Destroys(String),
    /// It runs a program in the command itself, or one that cannot be inspected.
    Inline(String),
    /// It posts a message to another conversation.
    Elsewhere,
    /// It names a file whose class could not be determined with certainty.
    Unchecked(String),
}

impl Reason {
    /// The reason as one short phrase.
    pub fn words(&self, language: Language) -> String {
        match language {
            Language::En => self.english(),
            Language::Zh => self.chinese(),
        }
    }

    fn english(&self) -> String {
        match self {
            Self::DeniedByRule(rule) => format!("the project forbids `{rule}`"),
            Self::DeniedByMode => "the project refuses whatever its rules do not allow".into(),
            Self::AskedByMode(tool) => format!("the project wants to be asked about {tool}"),
            Self::UnknownTool(tool) => format!("{tool} is not one of the built-in tools"),
            Self::Changes(tool) => format!("{tool} changes something"),
            Self::PerhapsDenied => "it may hide a command the project forbids".into(),
            Self::Unparsed => "the command could not be read with certainty".into(),
            Self::TooLong => "the command is too long to be read with certainty".into(),
            Self::StrangeCharacter(c) => {
                format!("it has an invisible or misleading character (U+{:04X})", u32::from(*c))
            }
            Self::HiddenSpelling => "its spelling hides what runs".into(),
            Self::Compound => "it is made of several commands".into(),
            Self::Substitution => "it runs a command inside another".into(),
            Self::HereDocument => "it carries an inline text".into(),
            Self::ControlFlow => "it has loops, conditions or functions".into(),
            Self::Background => "it goes on in the background".into(),
            Self::Assignment => "it sets a variable".into(),
            Self::NotLiteral(text) => format!("`{text}` is only known when it runs"),
            Self::WritesFile(path) => format!("it writes {path}"),
            Self::Outside(path) => format!("{path} is outside the project"),
            Self::Secret(path) => format!("{path} may hold secrets"),
            Self::Sensitive(path) => format!("programs are started through {path}"),
            Self::TooLargeToCheck(path) => format!("{path} holds too many files to check them for secrets"),
            Self::UnknownCommand(name) => format!("{name} is not on the read-only list"),
            Self::Argument { command, argument } => {
                format!("{command} with `{argument}` is not on the read-only list")
            }
            Self::Wrapper(name) => format!("{name} starts another command"),
            Self::Network(name) => format!("{name} reaches the network"),
            Self::Destroys(name) => format!("{name} deletes or overwrites"),
            Self::Inline(name) => format!("{name} runs a program that is not checked"),
            Self::Elsewhere => "it speaks in another conversation".into(),
            Self::Unchecked(path) => format!("{path} could not be checked"),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::DeniedByRule(rule) => format!("项目禁止执行 `{rule}`"),
            Self::DeniedByMode => "项目拒绝规则之外的一切操作".into(),
            Self::AskedByMode(tool) => format!("项目要求 {tool} 先征得同意"),
            Self::UnknownTool(tool) => format!("{tool} 不是内置工具"),
            Self::Changes(tool) => format!("{tool} 会做出修改"),
            Self::PerhapsDenied => "其中可能藏有项目禁止的命令".into(),
            Self::Unparsed => "无法确切读懂这条命令".into(),
            Self::TooLong => "命令太长，无法确切读懂".into(),
            Self::StrangeCharacter(c) => format!("含有不可见或易混淆的字符（U+{:04X}）", u32::from(*c)),
            Self::HiddenSpelling => "写法掩盖了真正执行的内容".into(),
            Self::Compound => "由多条命令组成".into(),
            Self::Substitution => "命令中嵌有另一条命令".into(),
            Self::HereDocument => "命令自带一段文本".into(),
            Self::ControlFlow => "含有循环、条件或函数".into(),
            Self::Background => "会在后台继续运行".into(),
            Self::Assignment => "会设置变量".into(),
            Self::NotLiteral(text) => format!("`{text}` 要到执行时才知道是什么"),
            Self::WritesFile(path) => format!("会写入 {path}"),
            Self::Outside(path) => format!("{path} 在项目之外"),
            Self::Secret(path) => format!("{path} 可能含有机密"),
            Self::Sensitive(path) => format!("{path} 可用来启动程序"),
            Self::TooLargeToCheck(path) => format!("{path} 中的文件太多，无法逐一确认是否含有机密"),
            Self::UnknownCommand(name) => format!("{name} 不在只读命令之列"),
            Self::Argument { command, argument } => format!("带 `{argument}` 的 {command} 不在只读命令之列"),
            Self::Wrapper(name) => format!("{name} 会启动另一条命令"),
            Self::Network(name) => format!("{name} 会访问网络"),
            Self::Destroys(name) => format!("{name} 会删除或覆盖内容"),
            Self::Inline(name) => format!("{name} 会运行未经检查的程序"),
            Self::Elsewhere => "会在另一个对话里发言".into(),
            Self::Unchecked(path) => format!("无法检查 {path}"),
        }
    }
}
