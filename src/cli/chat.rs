//! `shipagent chat`.

use clap::Args;

use super::output::Output;

/// Options of `chat`.
#[derive(Clone, Debug, Default, Args)]
pub struct ChatArgs {
    #[arg(value_name = "MESSAGE")]
    pub message: Option<String>,

    #[arg(short, long, value_name = "THREAD")]
    pub thread: Option<String>,

    #[command(flatten)]
    pub output: Output,
}
