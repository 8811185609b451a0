//! `shipagent init`.

use clap::Args;

/// Options of `init`.
#[derive(Clone, Debug, Default, Args)]
pub struct InitArgs {
    #[arg(short, long)]
    pub yes: bool,

    #[arg(long)]
    pub force: bool,

    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,

    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    #[arg(long, value_name = "VAR")]
    pub key_variable: Option<String>,

    #[arg(long = "adapter", value_name = "ADAPTER")]
    pub adapters: Vec<String>,
}
