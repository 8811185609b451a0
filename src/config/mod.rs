//! The configuration: the types of `ship.json`, its schema and checks, and the resolved settings.
//!
//! `file` has the types of the file, from which the schema is derived; `check` validates the parsed text against the
//! schema; `resolve` makes [`Settings`] of a valid file. Only `load` reads files, only [`Env`] reads the
//! environment.

mod agent_md;
mod check;
mod dotenv;
mod env;
mod expand;
pub mod file;
mod formats;
mod literal_secret;
mod load;
mod problem;
mod problem_text;
mod resolve;
mod schema;
mod settings;
mod suggest;
mod syntax;
#[cfg(test)]
mod tests;

pub(crate) use dotenv::is_name as is_variable_name;
pub(crate) use formats::is_web_address;

pub use agent_md::{AGENT_MD, AgentMdError, read_agent_md};
pub use dotenv::LineFault;
pub use env::Env;
pub use file::{Compound, Mode, Sandbox};
pub use formats::Approver;
pub use load::{ConfigCheck, ConfigErrors, check_config, operator_language};
pub use problem::{
    ConfigFault, ConfigProblem, JsonType, Position, ProblemReport, ProblemText, Range, SyntaxFault,
};
pub use schema::schema;
pub use settings::{
    AdapterSettings, ApprovalSettings, Endpoint, ExecShellSettings, IdleAdapter, IdleReason, LimitSettings,
    MemorySettings, ModelSettings, PermissionSettings, Provider, QueueSettings, Settings, WebSettings,
};
