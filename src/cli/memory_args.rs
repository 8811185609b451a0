//! `shipagent memory`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::args::Output;

/// Subcommands about memory.
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    Show {
        #[command(flatten)]
        of: MemoryOf,
        #[command(flatten)]
        output: Output,
    },

    Path(MemoryOf),

    Edit {
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        #[command(flatten)]
        scope: ScopeArgs,
    },

    Forget {
        #[arg(value_name = "ID", required_unless_present = "all")]
        id: Option<String>,
        #[arg(long, conflicts_with = "id")]
        all: bool,
        #[arg(long, requires = "all")]
        history: bool,
        #[command(flatten)]
        scope: ScopeArgs,
        #[command(flatten)]
        output: Output,
    },

    Undo {
        #[command(flatten)]
        scope: ScopeArgs,
        #[command(flatten)]
        output: Output,
    },

    Export {
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        #[command(flatten)]
        scope: ScopeArgs,
        #[command(flatten)]
        output: Output,
    },

    Search {
        #[arg(value_name = "QUERY", allow_hyphen_values = true)]
        query: String,
        #[command(flatten)]
        scope: ScopeArgs,
        #[arg(short, long, value_name = "N", default_value_t = 10)]
        limit: usize,
        #[command(flatten)]
        output: Output,
    },

    Import {
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        #[command(flatten)]
        scope: ScopeArgs,
        #[command(flatten)]
        output: Output,
    },

    Reindex(Output),

    Status(Output),
}

/// Whose memory.
#[derive(Clone, Debug, Args)]
pub struct ScopeArgs {
    #[arg(long, value_name = "SCOPE", default_value = "project")]
    pub scope: String,
}

/// The scope of a memory.
#[derive(Clone, Debug, Args)]
pub struct MemoryOf {
    #[arg(long, value_name = "PERSON")]
    pub user: Option<String>,
    #[arg(long, value_name = "SCOPE", conflicts_with = "user")]
    pub scope: Option<String>,
}
