//! `shipagent audit`.

use clap::Args;

/// What `audit` can be told.
#[derive(Clone, Debug, Default, Args)]
pub struct AuditArgs {
    /// Only what happened since: 30m, 2h, 7d, or a date such as 2026-11-16
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,

    /// Only what happened in this conversation
    #[arg(long, value_name = "THREAD")]
    pub thread: Option<String>,

    /// Only this kind of event, such as decision, execution, or grant (for all of grant-*)
    #[arg(long, value_name = "EVENT")]
    pub event: Option<String>,

    /// Only so many of the newest lines
    #[arg(short, long, value_name = "N", default_value_t = 100)]
    pub limit: usize,

    /// Print the lines as they are, one JSON object each
    #[arg(long)]
    pub json: bool,
}
