//! Exit codes of the program.

/// Exit codes of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Ok,
    /// Any other failure.
    Failed,
    /// Invalid arguments.
    Usage,
    /// `Agent.md`, `ship.json` or `.env` is missing or invalid.
    Configuration,
    /// Another daemon runs in this project.
    AnotherDaemon,
    /// The address to listen on is in use.
    PortInUse,
    /// State cannot be written.
    StateNotWritable,
}

impl Exit {
    /// The code that the shell gets.
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Configuration => 3,
            Self::AnotherDaemon => 4,
            Self::PortInUse => 5,
            Self::StateNotWritable => 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use crate::domain::Language;

    #[test]
    fn every_exit_code_is_explained() {
        let all = [
            Exit::Ok,
            Exit::Failed,
            Exit::Usage,
            Exit::Configuration,
            Exit::AnotherDaemon,
            Exit::PortInUse,
            Exit::StateNotWritable,
        ];
        for language in [Language::En, Language::Zh] {
            let help = Cli::command_with(&[], language).render_help().to_string();
            for exit in all {
                assert!(help.contains(&format!("\n  {}  ", exit.code())), "{exit:?} in {help}");
            }
        }
    }
}
