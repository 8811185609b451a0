//! The sandbox mechanisms of Linux.

mod landlock;
mod mount_table;
mod mounts;
mod namespaces;
mod private_view;
mod process;
mod restrict;
mod seccomp;

pub(super) use namespaces::{own_proc, separate};
pub(super) use process::{
    SELF, adopt_orphans, die_with_parent, end_children, end_first_without_memory, hide_self,
    processes_of_user,
};
pub(super) use restrict::restrict;
