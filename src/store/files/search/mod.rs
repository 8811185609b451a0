//! The search index: `.ship/state/search.sqlite`. It is derived from thread files, core memory and notes, and can be deleted
//! at any time, also while a daemon runs.
//!
//! A full-text table holds tokens only; `doc` holds what a result shows. The row number of a text says where it stands:
//! area, file and position, so that the area of a search is a range of rows inside the full-text query, and the
//! neighbours of a text are the rows beside it.

mod database;
mod file_search;
mod filling;
mod finding;
mod forgotten;
mod listing;
mod memory_texts;
mod sources;
mod thread_texts;
mod vectors;
mod writing;

pub use file_search::FileSearch;
