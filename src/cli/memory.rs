//! `shipagent memory` and `shipagent tasks`: what stays between conversations.

use clap::{Args, Subcommand};

use super::output::Output;

/// What can be done with what is remembered.
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    Show {
        #[command(flatten)]
        of: MemoryOf,
        #[command(flatten)]
        output: Output,
    },

    Path(MemoryOf),
}

/// For whom something is remembered.
#[derive(Clone, Debug, Args)]
pub struct MemoryOf {
    #[arg(long, value_name = "PERSON")]
    pub user: Option<String>,
}

/// What can be done with tasks.
#[derive(Debug, Subcommand)]
pub enum TasksCommand {
    List(Output),
}
