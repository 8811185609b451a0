//! The command line: types and help pages only; texts are in `phrases`, and each command's code in the file of the same name in `commands`.

mod access;
mod approvals;
mod audit;
mod chat;
mod command;
mod config;
mod exit;
mod grants;
mod help;
mod init;
mod memory;
mod output;
mod run;
mod threads;

pub use access::AccessCommand;
pub use approvals::{ApprovalFilter, ApprovalsCommand, DecisionArgs, ScopeArg};
pub use audit::AuditArgs;
pub use chat::ChatArgs;
pub use command::{Cli, Command};
pub use config::ConfigCommand;
pub use exit::Exit;
pub use grants::GrantsCommand;
pub use help::complaint;
pub use init::InitArgs;
pub use memory::{MemoryCommand, MemoryOf, ScopeArgs, TasksCommand};
pub use output::Output;
pub use run::RunArgs;
pub use threads::{ExportFormat, ThreadsCommand};
