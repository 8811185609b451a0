//! The guarantees of the store as a whole, over real files in temporary directories.

mod commits;
mod crashes;
mod full_disk;
mod memory;
mod reading;
mod search;
mod support;
mod threads_list;
