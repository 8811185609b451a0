//! `shipagent grants`.

use clap::Subcommand;

use super::output::Output;

/// What can be done with grants.
#[derive(Debug, Subcommand)]
pub enum GrantsCommand {
    /// List them, oldest first
    List(Output),

    /// Take one back: from the next call on the agent asks again
    Revoke {
        /// Its number, such as G1
        #[arg(value_name = "GRANT")]
        grant: String,
    },
}
