//! `shipagent config`.

use clap::Subcommand;

use super::output::Output;

/// What can be done with the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    Check(Output),

    Schema,
}
