//! The agent's tools. A new tool is one file here and one line in `registry.rs`.
//!
//! A tool gets its arguments, the project directory, the thread of the call and its permit; it knows no model and no
//! platform, and it asks for no approval. All disk access goes through `confine` or through the sandbox.

mod arguments;
mod bounds;
mod change;
mod chat_load_history;
mod chat_send;
mod confine;
mod current_time;
mod edit_file;
mod exec_shell;
mod file_change;
mod glob;
mod job;
mod lines;
mod list_files;
mod memory_search;
mod memory_upsert;
mod open;
mod read_file;
mod registry;
mod replace;
mod reserved;
mod schema;
mod search_files;
mod secret_search;
mod send_file;
mod sniff;
mod task_done;
mod task_list;
mod task_upsert;
mod walk;
mod write_file;

#[cfg(test)]
mod path_tests;
#[cfg(test)]
mod testing;

pub use change::redacted_diff;
pub use chat_load_history::ChatLoadHistory;
pub use chat_send::ChatSend;
pub use confine::{Confinement, Inside};
pub use current_time::CurrentTime;
pub use edit_file::EditFile;
pub use exec_shell::{
    ExecSettings, ExecShell, Redact, Scratch, git_hardened, hides_secrets, object_to_reads, programs_of,
    sweep,
};
pub use file_change::diff;
pub use list_files::ListFiles;
pub use memory_search::MemorySearch;
pub use memory_upsert::MemoryUpsert;
pub use read_file::ReadFile;
pub use registry::{PermissionKey, TOOLS, ToolDef, all_tools, permission_keys};
pub use schema::schema_of;
pub use search_files::SearchFiles;
pub use send_file::SendFile;
pub use task_done::TaskDone;
pub use task_list::TaskList;
pub use task_upsert::{TaskRemove, TaskUpsert};
pub use write_file::WriteFile;
