//! Arguments and subcommands of the commands; those of `approvals` and `memory` have files of their own.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::domain::{Language, Role};
use crate::phrases::cli as words;

/// The output format of a command.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Output {
    #[arg(long)]
    pub json: bool,
}

/// Options of `run`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub struct RunArgs {
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub listen: Option<SocketAddr>,

    #[arg(long)]
    pub setup: bool,
}

fn listen_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let text = text.replacen("localhost:", "127.0.0.1:", 1);
    text.parse().map_err(|_| "give an address and a port, such as 127.0.0.1:7718, or a port alone".to_owned())
}

/// Options of `init`.
#[derive(Clone, Debug, Default, Args)]
pub struct InitArgs {
    #[arg(short, long)]
    pub yes: bool,

    #[arg(long)]
    pub force: bool,

    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    #[arg(long, value_name = "TEXT")]
    pub purpose: Option<String>,

    #[arg(long, value_name = "LANGUAGE", value_parser = language)]
    pub language: Option<Language>,

    #[arg(long, value_name = "PROVIDER")]
    pub provider: Option<String>,

    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,

    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    #[arg(long = "key-env", visible_alias = "key-variable", value_name = "VAR")]
    pub key_variable: Option<String>,

    #[arg(long = "adapter", value_name = "ADAPTER")]
    pub adapters: Vec<String>,
}

impl InitArgs {
    /// Whether they say who the agent is and which model answers, so that no step has to ask for it.
    pub fn is_complete(&self) -> bool {
        self.name.is_some() && self.model.is_some()
    }
}

fn language(text: &str) -> Result<Language, String> {
    match text {
        "en" => Ok(Language::En),
        "zh" => Ok(Language::Zh),
        _ => Err("en or zh".to_owned()),
    }
}

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

/// Subcommands about threads.
#[derive(Debug, Subcommand)]
pub enum ThreadsCommand {
    List(Output),

    Show {
        #[arg(value_name = "THREAD")]
        thread: String,

        #[arg(short, long, value_name = "N", default_value_t = 50)]
        limit: usize,

        #[command(flatten)]
        output: Output,
    },

    Export {
        #[arg(value_name = "THREAD")]
        thread: String,

        #[arg(short, long, value_enum, default_value_t = ExportFormat::Jsonl)]
        format: ExportFormat,

        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// Export formats of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    #[value(help = words::help("threads export/format=jsonl", Language::En))]
    Jsonl,
    #[value(help = words::help("threads export/format=markdown", Language::En))]
    Markdown,
}

/// Subcommands about grants.
#[derive(Debug, Subcommand)]
pub enum GrantsCommand {
    List(Output),

    Revoke {
        #[arg(value_name = "GRANT")]
        grant: String,
    },
}

/// Subcommands about who may talk to the agent.
#[derive(Debug, Subcommand)]
pub enum AccessCommand {
    List(Output),

    Approve {
        #[arg(value_name = "CODE")]
        code: String,
        #[arg(long, default_value_t, value_name = "ROLE")]
        role: Role,
    },

    Invite {
        #[arg(long, default_value_t, value_name = "ROLE")]
        role: Role,
    },

    Role {
        #[arg(value_name = "WHO")]
        who: String,
        #[arg(value_name = "ROLE")]
        role: Role,
    },

    Revoke {
        #[arg(value_name = "WHO")]
        who: String,
    },
}

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

/// Options of `usage`.
#[derive(Clone, Debug, Args)]
pub struct UsageArgs {
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "day")]
    pub by: Vec<String>,

    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,

    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,

    #[arg(long)]
    pub json: bool,

    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

/// Subcommands about the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    Check(Output),

    Get {
        #[arg(value_name = "KEY")]
        key: Option<String>,

        #[command(flatten)]
        output: Output,
    },

    Set {
        #[arg(value_name = "KEY")]
        key: String,

        #[arg(value_name = "VALUE", allow_hyphen_values = true)]
        value: Option<String>,

        #[command(flatten)]
        output: Output,
    },

    Unset {
        #[arg(value_name = "KEY")]
        key: String,

        #[command(flatten)]
        output: Output,
    },

    Schema,

    Reference,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_and_without_its_host() {
        for (text, expected) in [
            ("7718", Some("127.0.0.1:7718")),
            ("0", Some("127.0.0.1:0")),
            ("127.0.0.1:80", Some("127.0.0.1:80")),
            ("localhost:7718", Some("127.0.0.1:7718")),
            ("[::1]:7718", Some("[::1]:7718")),
            ("0.0.0.0:7717", Some("0.0.0.0:7717")),
            ("127.0.0.1", None),
            ("70000", None),
            ("example.com:1", None),
            ("", None),
        ] {
            let read = listen_address(text).ok().map(|address| address.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }
}
