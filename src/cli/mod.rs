//! The command line: types and help pages only. Texts are in `phrases`, the code of each command in `commands`.

mod approvals_args;
mod args;
mod command;
mod exit;
mod help;
mod man;
mod memory_args;
mod service_args;
mod tasks_args;

pub use approvals_args::{ApprovalFilter, ApprovalsCommand, DecisionArgs, ScopeArg};
pub use args::{
    AccessCommand, AuditArgs, ChatArgs, ConfigCommand, ExportFormat, GrantsCommand, InitArgs, Output,
    RunArgs, ThreadsCommand, UsageArgs,
};
pub use command::{Cli, CliCommand};
pub use exit::Exit;
pub use help::complaint;
pub use man::manual_pages;
pub use memory_args::{MemoryCommand, MemoryOf, ScopeArgs};
pub use service_args::{InstallArgs, OpenArgs, ServiceCommand, UnitArgs};
pub use tasks_args::{OneTask, TasksCommand};
