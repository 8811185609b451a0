//! In which form a command prints; an option of most of them.

use clap::Args;

/// In which form a command prints what it found.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Output {
    #[arg(long)]
    pub json: bool,
}
