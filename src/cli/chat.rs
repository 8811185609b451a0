//! `shipagent chat`.

use clap::Args;

use super::output::Output;

/// What each exit code of `chat` means, as its help says it.
pub(super) const CHAT_EXIT_CODES: &str = "\
Exit codes:
  0  answered, or the conversation was left
  1  not answered: the turn failed or was stopped, the daemon ended,
     or a request waits for a decision (its number and how to answer are printed)
  2  nothing to say, an unusable --thread, or an input that is too long or not text
  3  Agent.md, ship.json or .env is not as it should be
  4  another process has this project and cannot be talked to
  6  .ship cannot be written (permissions, read-only or full disk)";

/// What `chat` can be told.
#[derive(Clone, Debug, Default, Args)]
pub struct ChatArgs {
    /// Say this, print the answer and end; what is piped into the standard input goes below it
    #[arg(value_name = "MESSAGE")]
    pub message: Option<String>,

    /// Which conversation to go on with, by name or by id; a new name begins a new one
    ///
    /// Without it, one message gets a conversation of its own, and typed lines go on with `terminal`.
    #[arg(short, long, value_name = "THREAD")]
    pub thread: Option<String>,

    /// How to print
    #[command(flatten)]
    pub output: Output,
}
