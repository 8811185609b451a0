//! `shipagent chat`.

use clap::Args;

use super::output::Output;

/// What `chat` can be told.
#[derive(Clone, Debug, Default, Args)]
pub struct ChatArgs {
    /// Say this, print the answer and end
    #[arg(value_name = "MESSAGE")]
    pub message: Option<String>,

    /// Which conversation to go on with; a new name begins a new one
    #[arg(short, long, value_name = "NAME", default_value = "terminal")]
    pub thread: String,

    /// How to print
    #[command(flatten)]
    pub output: Output,
}
