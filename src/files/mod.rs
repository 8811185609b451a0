//! Looks at the project's files from its directory down: resolves paths without leaving the project, opens regular
//! files only, and never waits for a pipe. The judge and the tools share it, so that both see the same file.

mod dir;
mod hard_links;
mod resolve;

pub use dir::{DirOpenError, FileId, OpenedFile, ProjectDir};
pub use hard_links::SpecialFiles;
pub use resolve::{follow, own_files_of, resolve, resolve_exact};
