//! `shipagent access`.

use clap::Subcommand;

use super::output::Output;
use crate::domain::Role;

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
