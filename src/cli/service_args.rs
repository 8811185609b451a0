//! `shipagent service` and `shipagent open`.

use clap::{Args, Subcommand};

use super::args::Output;

/// Subcommands about the systemd service of a project.
#[derive(Debug, Subcommand)]
pub enum ServiceCommand {
    Install(InstallArgs),

    Uninstall(UnitArgs),

    Status(UnitArgs),

    Logs {
        #[command(flatten)]
        unit: UnitArgs,

        #[arg(short, long)]
        follow: bool,

        #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
        lines: u32,
    },

    Restart(UnitArgs),
}

/// Which service: every subcommand needs it.
#[derive(Clone, Debug, Default, Args)]
pub struct UnitArgs {
    /// A service of the current user instead of the machine.
    #[arg(long)]
    pub user: bool,

    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// Options of `service install`.
#[derive(Clone, Debug, Default, Args)]
pub struct InstallArgs {
    #[command(flatten)]
    pub unit: UnitArgs,

    #[arg(long, value_name = "USER", conflicts_with = "user")]
    pub run_as: Option<String>,

    #[arg(long)]
    pub print: bool,
}

/// Options of `open`.
#[derive(Clone, Debug, Default, Args)]
pub struct OpenArgs {
    #[arg(long)]
    pub print: bool,

    #[arg(long, value_name = "URL")]
    pub base: Option<String>,

    #[command(flatten)]
    pub output: Output,
}
