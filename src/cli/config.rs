//! `shipagent config`.

use clap::Subcommand;

use super::output::Output;

/// What can be done with the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check ship.json and .env, and name every mistake at once
    Check(Output),

    /// Print the JSON Schema of ship.json, for editors
    Schema,
}
