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
mod forms;
mod literal_secret;
mod load;
mod problem;
mod resolve;
mod schema;
mod settings;
mod suggest;
mod syntax;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use dotenv::is_name as is_variable_name;
pub(crate) use forms::is_web_address;

pub use agent_md::{AGENT_MD, AgentMdError, read_agent_md};
pub use dotenv::LineFault;
pub use env::Env;
pub use file::{Compound, Mode, Sandbox};
pub use forms::Approver;
pub use load::{ConfigCheck, ConfigErrors, check_config, operator_language};
pub use problem::{Fault, JsonType, Position, Problem, ProblemReport, Range, SyntaxFault, Words};
pub use schema::schema;
pub use settings::{
    AdapterSettings, Approvals, Endpoint, ExecShell, Idle, IdleAdapter, Limits, MemorySettings,
    ModelSettings, Permissions, Provider, Queue, Settings, WebSettings,
};
