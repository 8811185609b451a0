//! `shipagent grants`.

use clap::Subcommand;

use super::output::Output;

/// Subcommands about grants.
#[derive(Debug, Subcommand)]
pub enum GrantsCommand {
    List(Output),

    Revoke {
        #[arg(value_name = "GRANT")]
        grant: String,
    },
}
