//! The configuration: the types of `ship.json`, its schema and checks, and the resolved settings.
//!
//! `file` has the types of the file, from which the schema is derived; `check` validates the parsed text against the
//! schema; `resolve` makes [`Settings`] of a valid file. Only `load` reads files, only [`Env`] reads the
//! environment.

mod agent_md;
mod check;
mod describe;
mod dotenv;
mod env;
mod expand;
pub mod file;
mod formats;
mod key_path;
mod literal_secret;
mod load;
mod problem;
mod problem_text;
mod reference;
mod reloading;
mod resolve;
mod resolve_budget;
mod resolve_voice;
mod schema;
mod settings;
mod ship_text;
mod suggest;
mod syntax;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use dotenv::is_name as is_variable_name;
pub(crate) use formats::is_web_address;
pub(crate) use load::project_env;

pub use agent_md::{AGENT_MD, AgentMdError, read_agent_md};
pub use describe::{
    ConfigKey, ConfigView, ValueOrigin, ValueSource, VariableOrigin, VariableSource, describe_config,
};
pub use dotenv::LineFault;
pub use env::Env;
pub use file::{BotsChoice, Compound, Mode, Sandbox, WavFile};
pub use formats::Approver;
pub use load::{ConfigCheck, ConfigErrors, check_config, operator_language};
pub use problem::{
    ConfigFault, ConfigProblem, JsonType, ProblemReport, ProblemText, Range, SyntaxFault, TextPosition,
};
pub use reference::reference;
pub use reloading::{FileStamps, KeyDigests, is_editable, needs_restart};
pub use schema::schema;
pub use settings::{
    AdapterSettings, ApprovalSettings, BudgetSettings, Endpoint, ExecShellSettings, GroupsSettings,
    IdleAdapter, IdleReason, LimitSettings, MemorySettings, ModelSettings, PermissionSettings, Provider,
    QueueSettings, Settings, SttBackend, SttSettings, TtsBackend, TtsSettings, VoiceServer, VoiceSettings,
    WebSettings,
};
pub use write::{ConfigEdit, ConfigWriteError, ConfigWritten, NewValue, write_config};
