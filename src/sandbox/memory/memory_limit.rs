//! The memory limit of one running command, by either mechanism.

use std::io;
use std::sync::{Arc, OnceLock};

use super::cgroup::{ControlGroup, ControlGroups, MemoryControl};
use super::limits::{Exceeded, MemoryLimits};
use super::sampler::{Sampled, Sampler};

/// Limits the memory of all commands of a daemon. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MemoryLimiter(Arc<LimitState>);

#[derive(Debug)]
struct LimitState {
    limits: MemoryLimits,
    /// `None` where control groups are not available.
    groups: OnceLock<Option<Arc<ControlGroups>>>,
    sampler: Arc<Sampler>,
}

/// The memory limit of one command.
#[derive(Debug)]
pub struct MemoryLimit(Mechanism);

#[derive(Debug)]
enum Mechanism {
    Grouped(ControlGroup),
    Sampled(Sampled),
}

impl MemoryLimiter {
    /// With these limits. Nothing happens before [`MemoryLimiter::prepare`] or the first command.
    pub fn new(limits: MemoryLimits) -> Self {
        let sampler = Sampler::new(limits);
        Self(Arc::new(LimitState { limits, groups: OnceLock::new(), sampler }))
    }

    pub fn limits(&self) -> MemoryLimits {
        self.0.limits
    }

    /// Chooses and sets up the mechanism. Changes control groups; one call is enough.
    pub fn prepare(&self) -> MemoryControl {
        match self.groups() {
            Some(_) => MemoryControl::Groups,
            None => MemoryControl::Sampling,
        }
    }

    fn groups(&self) -> Option<&Arc<ControlGroups>> {
        let prepared = self.0.groups.get_or_init(|| {
            let MemoryLimits { command, together } = self.0.limits;
            match ControlGroups::prepare(self.0.limits) {
                Ok(groups) => {
                    tracing::info!(by = "cgroup", command, together, "command memory limited");
                    Some(groups)
                }
                Err(error) => {
                    tracing::info!(by = "sampling", command, together, reason = %error, "command memory limited");
                    None
                }
            }
        });
        prepared.as_ref()
    }

    /// Limits the memory of a process and its future descendants. Call it before the process starts any.
    pub(in crate::sandbox) fn open(&self, pid: u32, processes: u64) -> io::Result<MemoryLimit> {
        if let Some(groups) = self.groups() {
            match groups.enter(pid, processes) {
                Ok(group) => return Ok(MemoryLimit(Mechanism::Grouped(group))),
                Err(error) => tracing::warn!(%error, "control group not usable, sampling instead"),
            }
        }
        Ok(MemoryLimit(Mechanism::Sampled(self.0.sampler.watch(pid)?)))
    }
}

impl MemoryLimit {
    /// Waits until the command has exceeded a limit and must be ended; pending for ever where the kernel does that.
    /// Cancel-safe.
    pub async fn exceeded(&mut self) -> Exceeded {
        match &mut self.0 {
            Mechanism::Grouped(_) => std::future::pending().await,
            Mechanism::Sampled(sampled) => sampled.exceeded().await,
        }
    }

    /// Whether the kernel ended the command because of its memory. Call it after the command's end.
    pub fn ended_by_kernel(&self) -> Option<Exceeded> {
        match &self.0 {
            Mechanism::Grouped(group) => group.exceeded(),
            Mechanism::Sampled(_) => None,
        }
    }
}
