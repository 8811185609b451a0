//! `shipagent tasks`.

use clap::{Args, Subcommand};

use super::args::Output;

/// What can be done with scheduled tasks.
#[derive(Debug, Subcommand)]
pub enum TasksCommand {
    List(Output),

    Show(OneTask),

    Run(OneTask),

    Pause(OneTask),

    Resume(OneTask),

    Validate {
        #[arg(value_name = "TASK")]
        task: Option<String>,

        #[command(flatten)]
        output: Output,
    },

    History(OneTask),

    Clean(Output),
}

/// A task by its id.
#[derive(Debug, Args)]
pub struct OneTask {
    #[arg(value_name = "TASK")]
    pub task: String,

    #[command(flatten)]
    pub output: Output,
}
