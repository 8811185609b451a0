//! Chat commands: messages for the daemon, not for the agent.

use serde::{Deserialize, Serialize};

use super::BadId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Help,
    /// Show the state of this thread.
    Status,
    /// Stop the running turn.
    Stop,
    /// Begin a new conversation.
    New,
    /// Sum up the conversation so far, so that it takes less room.
    Compact,
    /// Withdraw the pending approvals.
    Cancel,
    /// List the pending approvals.
    Approvals,
    Approve,
    Deny,
    /// List grants, or revoke one.
    Grants,
    /// Show which model answers, or choose another one.
    Model,
    /// Show what was spent.
    Usage,
    /// Show the agent's memory, forget an item of it, or undo the last change.
    Memory,
    /// Forget everything about the author.
    Forget,
    Tasks,
    /// Show what was understood of the newest spoken message.
    Transcript,
    /// Show the spend caps, or stop all model calls.
    Budget,
    /// Show the ids of this thread and of the author.
    Id,
}

impl Command {
    /// Every command there is, in the order `/help` lists them.
    pub const ALL: [Self; 18] = [
        Self::Help,
        Self::Status,
        Self::Stop,
        Self::New,
        Self::Compact,
        Self::Cancel,
        Self::Approvals,
        Self::Approve,
        Self::Deny,
        Self::Grants,
        Self::Model,
        Self::Usage,
        Self::Memory,
        Self::Forget,
        Self::Tasks,
        Self::Transcript,
        Self::Budget,
        Self::Id,
    ];

    /// The name, without the slash.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Help => "help",
            Self::Status => "status",
            Self::Stop => "stop",
            Self::New => "new",
            Self::Compact => "compact",
            Self::Cancel => "cancel",
            Self::Approvals => "approvals",
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Grants => "grants",
            Self::Model => "model",
            Self::Usage => "usage",
            Self::Memory => "memory",
            Self::Forget => "forget",
            Self::Tasks => "tasks",
            Self::Transcript => "transcript",
            Self::Budget => "budget",
            Self::Id => "id",
        }
    }
}

/// A chat command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommandInvocation {
    pub command: Command,
    pub words: String,
}

impl CommandInvocation {
    /// Parses a message that consists of a command: `/stop`, also as `/stop@bot` and with arguments.
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.trim().strip_prefix('/')?;
        let word = line.split_whitespace().next()?;
        let name = word.split('@').next().unwrap_or(word).to_ascii_lowercase();
        let command = Command::ALL.into_iter().find(|command| command.name() == name)?;
        let words = line.strip_prefix(word).unwrap_or_default().trim().to_owned();
        Some(Self { command, words })
    }
}

impl From<Command> for CommandInvocation {
    fn from(command: Command) -> Self {
        Self { command, words: String::new() }
    }
}

impl TryFrom<String> for CommandInvocation {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        Self::parse(&text).ok_or(BadId::Shape(text, "a command"))
    }
}

impl From<CommandInvocation> for String {
    fn from(invocation: CommandInvocation) -> Self {
        invocation.to_string()
    }
}

impl std::fmt::Display for CommandInvocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "/{}", self.command.name())?;
        if self.words.is_empty() { Ok(()) } else { write!(f, " {}", self.words) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_the_first_word() {
        for (text, expected) in [
            ("/stop", Some((Command::Stop, ""))),
            ("  /NEW please", Some((Command::New, "please"))),
            ("/status@my_bot", Some((Command::Status, ""))),
            ("/approve@my_bot  A1 for 10 minutes ", Some((Command::Approve, "A1 for 10 minutes"))),
            ("/help", Some((Command::Help, ""))),
            ("please /stop", None),
            ("/stopping", None),
            ("/", None),
            ("", None),
        ] {
            let order = CommandInvocation::parse(text);
            let read = order.as_ref().map(|order| (order.command, order.words.as_str()));
            assert_eq!(read, expected, "{text:?}");
        }
    }
}
