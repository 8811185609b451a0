//! The output format, an option of most commands.

use clap::Args;

/// The output format of a command.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Output {
    #[arg(long)]
    pub json: bool,
}
