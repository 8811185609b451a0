//! `shipagent grants`.

use clap::Subcommand;

use super::output::Output;

/// What can be done with grants.
#[derive(Debug, Subcommand)]
pub enum GrantsCommand {
    List(Output),

    Revoke {
        #[arg(value_name = "GRANT")]
        grant: String,
    },
}
