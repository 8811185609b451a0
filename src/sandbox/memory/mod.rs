//! Memory limits of commands, one by one and together.
//!
//! Where the daemon's control group is delegated to it (systemd's `Delegate=yes`), each command gets a group and the
//! kernel enforces the limit exactly. Elsewhere a thread of the daemon samples the processes of all commands a few
//! times a second and ends a command that exceeds its limit; a command can exceed it until the next sample. Address
//! space is not limited: many runtimes reserve far more of it than they use.

mod cgroup;
mod limits;
mod memory_limit;
mod process_memory;
mod sampler;

pub use cgroup::{MemoryControl, control_of};
pub use limits::{Exceeded, ExceededLimit, MemoryLimits};
pub use memory_limit::{MemoryLimit, MemoryLimiter};
