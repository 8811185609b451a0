//! How the program ends.

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Ok,
    /// It did not work.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// `Agent.md`, `ship.json` or `.env` is not as it should be.
    Configuration,
    /// Another daemon runs in this project.
    AnotherDaemon,
    /// The address is taken.
    PortInUse,
    /// State cannot be written.
    StateNotWritable,
}

impl Exit {
    /// The number the shell sees.
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
