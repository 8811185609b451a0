//! `shipagent init`.

use clap::Args;

/// What `init` can be told.
#[derive(Clone, Debug, Default, Args)]
pub struct InitArgs {
    /// Ask nothing: take the defaults, keep files that exist
    #[arg(short, long)]
    pub yes: bool,

    /// Ask nothing and overwrite files that exist
    #[arg(long)]
    pub force: bool,

    /// The agent's name [default: the directory's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// The address of the model's server, such as http://127.0.0.1:11434/v1
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,

    /// The model's name
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// The environment variable that holds the server's key
    #[arg(long, value_name = "VAR")]
    pub key_variable: Option<String>,

    /// An adapter to prepare, besides the web console; may be given several times
    #[arg(long = "adapter", value_name = "ADAPTER")]
    pub adapters: Vec<String>,
}
