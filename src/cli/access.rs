//! `shipagent access`.

use clap::Subcommand;

use super::output::Output;
use crate::domain::Role;

/// What can be done about who may talk to the agent.
#[derive(Debug, Subcommand)]
pub enum AccessCommand {
    /// List who was let in, which groups are open, and who asks
    List(Output),

    /// Let in whoever was given this code
    Approve {
        /// The code
        #[arg(value_name = "CODE")]
        code: String,
        /// What they may do: owner (like those in ship.json), member (talk, and approve what they asked for), or guest
        /// (talk; what needs approval needs somebody else's)
        #[arg(long, default_value_t, value_name = "ROLE")]
        role: Role,
    },

    /// Make a code that lets in one person, whoever brings it first
    Invite {
        /// What they may do: owner, member or guest
        #[arg(long, default_value_t, value_name = "ROLE")]
        role: Role,
    },

    /// Change what somebody may do who was let in
    Role {
        /// Such as telegram:user:123
        #[arg(value_name = "WHO")]
        who: String,
        /// owner, member or guest
        #[arg(value_name = "ROLE")]
        role: Role,
    },

    /// Take access back from a person or a group
    Revoke {
        /// Such as telegram:user:123 or telegram:chat:-100123
        #[arg(value_name = "WHO")]
        who: String,
    },
}
