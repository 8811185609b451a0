//! How much a command may use, told to the kernel.

use rustix::io;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::linux;
use super::spec::Limits;

/// Limits this process and all that it starts.
pub(super) fn apply(limits: &Limits) -> io::Result<()> {
    limit(Resource::Core, 0)?;
    limit(Resource::Cpu, limits.cpu_secs)?;
    limit(Resource::Fsize, limits.file_bytes)?;
    limit(Resource::Nofile, limits.open_files)?;
    // The kernel counts all processes of the user, also those that have nothing to do with us.
    limit(Resource::Nproc, limits.processes.saturating_add(linux::processes_of_user()))
}

/// Sets a limit, or leaves a narrower one as it is.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.map_or(most, |ceiling| ceiling.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
}
