//! `shipagent config`.

use clap::Subcommand;

use super::output::Output;

/// Subcommands about the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    Check(Output),

    Schema,
}
