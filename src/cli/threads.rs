//! `shipagent threads`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::output::Output;
use crate::domain::Language;
use crate::phrases::cli as words;

/// Subcommands about threads.
#[derive(Debug, Subcommand)]
pub enum ThreadsCommand {
    List(Output),

    Show {
        #[arg(value_name = "THREAD")]
        thread: String,

        #[arg(short, long, value_name = "N", default_value_t = 50)]
        limit: usize,

        #[command(flatten)]
        output: Output,
    },

    Export {
        #[arg(value_name = "THREAD")]
        thread: String,

        #[arg(short, long, value_enum, default_value_t = ExportFormat::Jsonl)]
        format: ExportFormat,

        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// Export formats of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    #[value(help = words::help("threads export/format=jsonl", Language::En))]
    Jsonl,
    #[value(help = words::help("threads export/format=markdown", Language::En))]
    Markdown,
}
