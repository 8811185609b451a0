//! `shipagent audit`.

use clap::Args;

/// Options of `audit`.
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
