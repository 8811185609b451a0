//! What the agent can do. A new tool is one file here and one line in `registry.rs`.
//!
//! A tool knows its arguments, the project directory and the thread that asked; it knows no model, no
//! platform and no history. Whatever touches the disk goes through `confine` first.

mod arguments;
mod bounds;
mod confine;
mod current_time;
mod glob;
mod job;
mod lines;
mod list_files;
mod open;
mod read_file;
mod registry;
mod reserved;
mod schema;
mod search_files;
mod sniff;
mod walk;

#[cfg(test)]
mod testing;

pub use confine::{Confinement, Inside};
pub use current_time::CurrentTime;
pub use list_files::ListFiles;
pub use read_file::ReadFile;
pub use registry::{TOOLS, all_tools};
pub use schema::schema_of;
pub use search_files::SearchFiles;
