//! How the program ends, and the words of the help about it.

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

/// What each number means, as the help says it.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  all is well
  1  it did not work
  2  the command line makes no sense
  3  Agent.md, ship.json or .env is not as it should be
  4  another daemon runs in this project
  5  the address is already in use
  6  .ship cannot be written (permissions, read-only or full disk)";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

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
        let help = Cli::command().render_help().to_string();
        for exit in all {
            assert!(help.contains(&format!("\n  {}  ", exit.code())), "{exit:?} in {help}");
        }
    }
}
