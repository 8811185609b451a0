//! Words that are for the daemon, not for the agent.

/// A command of the daemon's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Say what can be said.
    Help,
    /// Say what this thread is doing.
    Status,
    /// End the running turn.
    Stop,
    /// Forget the conversation so far.
    New,
    /// Withdraw the questions that wait for a person.
    Cancel,
    /// List the questions that wait for a person.
    Approvals,
}

impl Command {
    /// Every command there is, in the order `/help` lists them.
    pub const ALL: [Self; 6] =
        [Self::Help, Self::Status, Self::Stop, Self::New, Self::Cancel, Self::Approvals];

    /// Its name, without the slash.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Help => "help",
            Self::Status => "status",
            Self::Stop => "stop",
            Self::New => "new",
            Self::Cancel => "cancel",
            Self::Approvals => "approvals",
        }
    }

    /// Reads a message that consists of a command: `/stop`, also as `/stop@bot` and with words behind it.
    pub fn parse(text: &str) -> Option<Self> {
        let word = text.trim().strip_prefix('/')?.split_whitespace().next()?;
        let name = word.split('@').next().unwrap_or(word).to_ascii_lowercase();
        Self::ALL.into_iter().find(|command| command.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_the_first_word() {
        for (text, expected) in [
            ("/stop", Some(Command::Stop)),
            ("  /NEW please", Some(Command::New)),
            ("/status@my_bot", Some(Command::Status)),
            ("/help", Some(Command::Help)),
            ("please /stop", None),
            ("/stopping", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(Command::parse(text), expected, "{text:?}");
        }
    }
}
