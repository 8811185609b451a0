//! `shipagent threads`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::output::Output;

/// What can be done with conversations.
#[derive(Debug, Subcommand)]
pub enum ThreadsCommand {
    /// List them, newest first
    List(Output),

    /// Show one
    Show {
        /// The thread's id, as `threads list` prints it
        #[arg(value_name = "THREAD")]
        thread: String,

        /// Only so many of the newest messages
        #[arg(short, long, value_name = "N", default_value_t = 50)]
        limit: usize,

        /// How to print
        #[command(flatten)]
        output: Output,
    },

    /// Write one to standard output or a file, whole
    Export {
        /// The thread's id, as `threads list` prints it
        #[arg(value_name = "THREAD")]
        thread: String,

        /// In which form
        #[arg(short, long, value_enum, default_value_t = ExportFormat::Jsonl)]
        format: ExportFormat,

        /// Where to; a file that exists is not overwritten
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// The forms a conversation can be exported in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One UIMessage per line, the newest version of each
    Jsonl,
    /// To read
    Markdown,
}
