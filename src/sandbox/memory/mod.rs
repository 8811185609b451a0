//! How much memory commands may use, one by one and together.
//!
//! Where the daemon's control group is its own to divide (systemd's `Delegate=yes`), each command gets a group and
//! the kernel keeps it exactly. Elsewhere a thread of the daemon looks at the processes of all commands a few times
//! a second and ends a command that uses too much; a command can exceed its limit until it is looked at next.
//! Address space is not limited: many runtimes reserve far more of it than they use.

mod cgroup;
mod limits;
mod memory_limit;
mod sampler;
mod usage;

pub use cgroup::{MemoryControl, control_of};
pub use limits::{Exceeded, MemoryLimits, MemoryScope};
pub use memory_limit::{Memory, MemoryLimit};
