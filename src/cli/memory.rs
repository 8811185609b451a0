//! `shipagent memory` and `shipagent tasks`: what stays between conversations.

use clap::{Args, Subcommand};

use super::output::Output;

/// What can be done with what is remembered.
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// Show it
    Show {
        /// For whom
        #[command(flatten)]
        of: MemoryOf,
        /// How
        #[command(flatten)]
        output: Output,
    },

    /// Print the path of the file it is in, which you may write yourself
    Path(MemoryOf),
}

/// For whom something is remembered.
#[derive(Clone, Debug, Args)]
pub struct MemoryOf {
    /// About this person, such as telegram:user:123456, instead of the project
    #[arg(long, value_name = "PERSON")]
    pub user: Option<String>,
}

/// What can be done with tasks.
#[derive(Debug, Subcommand)]
pub enum TasksCommand {
    /// List them; this version does not start them by itself yet
    List(Output),
}
