//! The sandbox level of this machine, and what to do without a sandbox. Pure.

use serde::Serialize;

use super::spec::Isolation;
use crate::domain::{SandboxLevel, SandboxReport};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IsolationLevel {
    Full,
    /// Isolated, except for the gaps in `reasons`.
    Partial,
    Unavailable,
}

/// The sandbox of this machine, found by probing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxStatus {
    pub level: IsolationLevel,
    pub isolation: Isolation,
    /// The Landlock version; 0 without Landlock.
    pub landlock: u8,
    /// Why the level is not higher.
    pub reasons: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxMode {
    /// The best available isolation; without any, commands run and the status says so.
    Auto,
    /// Without isolation, commands do not run.
    Require,
    Off,
}

/// Commands cannot be isolated, and the operator requires it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("commands must run in a sandbox, and this machine has none: {reasons}")]
pub struct SandboxMissing {
    reasons: String,
}

impl SandboxStatus {
    /// The isolation for a command.
    pub fn isolation_for(&self, mode: SandboxMode) -> Result<Isolation, SandboxMissing> {
        match (mode, self.level) {
            (SandboxMode::Off, _) => Ok(Isolation::Nothing),
            (SandboxMode::Require, IsolationLevel::Unavailable) => {
                Err(SandboxMissing { reasons: self.reasons.join("; ") })
            }
            (SandboxMode::Auto | SandboxMode::Require, _) => Ok(self.isolation),
        }
    }

    /// The report for people, with the operator's choice.
    pub fn report(&self, mode: SandboxMode) -> SandboxReport {
        SandboxReport {
            level: match self.level {
                IsolationLevel::Full => SandboxLevel::Full,
                IsolationLevel::Partial => SandboxLevel::Partial,
                IsolationLevel::Unavailable => SandboxLevel::Unavailable,
            },
            by: match self.isolation {
                Isolation::Namespaces => "namespaces",
                Isolation::Rules => "rules",
                Isolation::Nothing => "nothing",
            },
            landlock: self.landlock,
            required: mode == SandboxMode::Require,
            reasons: self.reasons.clone(),
        }
    }

    /// The report for `sandbox: "off"`.
    pub fn off() -> SandboxReport {
        let (level, by) = (SandboxLevel::Off, "nothing");
        SandboxReport { level, by, landlock: 0, required: false, reasons: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_that_is_required_and_missing_is_a_refusal() {
        let status = |level, isolation| SandboxStatus {
            level,
            isolation,
            landlock: 0,
            reasons: vec!["no Landlock".into()],
        };
        let full = status(IsolationLevel::Full, Isolation::Namespaces);
        let partial = status(IsolationLevel::Partial, Isolation::Rules);
        let none = status(IsolationLevel::Unavailable, Isolation::Nothing);
        for (status, mode, expected) in [
            (&full, SandboxMode::Auto, Ok(Isolation::Namespaces)),
            (&full, SandboxMode::Require, Ok(Isolation::Namespaces)),
            (&full, SandboxMode::Off, Ok(Isolation::Nothing)),
            (&partial, SandboxMode::Require, Ok(Isolation::Rules)),
            (&none, SandboxMode::Auto, Ok(Isolation::Nothing)),
            (&none, SandboxMode::Off, Ok(Isolation::Nothing)),
            (&none, SandboxMode::Require, Err(SandboxMissing { reasons: "no Landlock".into() })),
        ] {
            assert_eq!(status.isolation_for(mode), expected, "{status:?} {mode:?}");
        }
    }
}
