//! The command line: types and help pages only. Texts are in `phrases`, the code of each command in `commands`.

mod approvals;
mod args;
mod command;
mod exit;
mod help;
mod man;
mod memory;
mod service;
mod tasks;

pub use approvals::{ApprovalFilter, ApprovalsCommand, DecisionArgs, ScopeArg};
pub use args::{
    AccessCommand, AuditArgs, ChatArgs, ConfigCommand, ExportFormat, GrantsCommand, InitArgs, Output,
    RunArgs, ThreadsCommand, UsageArgs,
};
pub use command::{Cli, Command};
pub use exit::Exit;
pub use help::complaint;
pub use man::manual_pages;
pub use memory::{MemoryCommand, MemoryOf, ScopeArgs};
pub use service::{InstallArgs, OpenArgs, ServiceCommand, UnitArgs};
pub use tasks::{OneTask, TasksCommand};
