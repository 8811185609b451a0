//! `shipagent memory` and `shipagent tasks`: what stays between conversations.

use std::path::PathBuf;

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

    /// Search notes and core memory
    ///
    /// Needs no running daemon. Words of a question that only ask ("when did") do not count; the best match comes first.
    Search {
        /// What to look for, in your own words
        #[arg(value_name = "QUERY", allow_hyphen_values = true)]
        query: String,
        #[command(flatten)]
        scope: ScopeArgs,
        /// How many results to print at most
        #[arg(short, long, value_name = "N", default_value_t = 10)]
        limit: usize,
        #[command(flatten)]
        output: Output,
    },

    /// Add conversations from files to the notes, to be searched
    ///
    /// Reads every *.jsonl file of a folder; a line is {"id", "at": milliseconds since 1970, "author", "text"}. Lines that
    /// are there already are left as they are.
    Import {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        #[command(flatten)]
        scope: ScopeArgs,
        #[command(flatten)]
        output: Output,
    },

    /// Make the search index anew from the files it comes from
    Reindex(Output),

    /// Show what the search index holds
    Status(Output),
}

/// Whose memory.
#[derive(Clone, Debug, Args)]
pub struct ScopeArgs {
    /// Whose: project, main, peer:NAME, PLATFORM:user:ID or group:PLATFORM:chat:ID
    #[arg(long, value_name = "SCOPE", default_value = "project")]
    pub scope: String,
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
