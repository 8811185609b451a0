//! The command line: types and help pages only. Texts are in `phrases`, the code of each command in `commands`.

mod approvals;
mod args;
mod command;
mod exit;
mod help;
mod memory;
mod tasks;

pub use approvals::{ApprovalFilter, ApprovalsCommand, DecisionArgs, ScopeArg};
pub use args::{
    AccessCommand, AuditArgs, ChatArgs, ConfigCommand, ExportFormat, GrantsCommand, InitArgs, Output,
    RunArgs, ThreadsCommand,
};
pub use command::{Cli, Command};
pub use exit::Exit;
pub use help::complaint;
pub use memory::{MemoryCommand, MemoryOf, ScopeArgs};
pub use tasks::{OneTask, TasksCommand};
