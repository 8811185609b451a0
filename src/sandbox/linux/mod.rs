//! What Linux has for keeping a command in.

mod capabilities;
mod landlock;
mod mounts;
mod namespaces;
mod process;
mod restrict;
mod seccomp;

pub(super) use namespaces::{own_proc, separate};
pub(super) use process::{SELF, adopt_orphans, die_with_parent, end_children, hide_self, processes_of_user};
pub(super) use restrict::restrict;
