//! `shipagent audit`.

use clap::Args;

/// What `audit` can be told.
#[derive(Clone, Debug, Default, Args)]
pub struct AuditArgs {
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,

    #[arg(long, value_name = "THREAD")]
    pub thread: Option<String>,

    #[arg(long, value_name = "EVENT")]
    pub event: Option<String>,

    #[arg(short, long, value_name = "N", default_value_t = 100)]
    pub limit: usize,

    #[arg(long)]
    pub json: bool,
}
