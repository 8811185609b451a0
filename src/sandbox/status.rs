//! The sandbox level of this machine, and what to do without a sandbox. Pure.

use serde::Serialize;

use super::spec::Isolation;
use crate::domain::{SandboxLevel, SandboxReport};

/// The level of isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Full,
    /// Isolated, except for the gaps in `reasons`.
    Partial,
    Unavailable,
}

/// The sandbox of this machine, found by probing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub level: Level,
    pub isolation: Isolation,
    /// The Landlock version; 0 without Landlock.
    pub landlock: u8,
    /// Why the level is not higher.
    pub reasons: Vec<String>,
}

/// The operator's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The best available isolation; without any, commands run and the status says so.
    Auto,
    /// Without isolation, commands do not run.
    Require,
    Off,
}

/// Commands cannot be isolated, and the operator requires it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("commands must run in a sandbox, and this machine has none: {reasons}")]
pub struct Refusal {
    reasons: String,
}

impl Status {
    /// The isolation for a command.
    pub fn isolation_for(&self, mode: Mode) -> Result<Isolation, Refusal> {
        match (mode, self.level) {
            (Mode::Off, _) => Ok(Isolation::Nothing),
            (Mode::Require, Level::Unavailable) => Err(Refusal { reasons: self.reasons.join("; ") }),
            (Mode::Auto | Mode::Require, _) => Ok(self.isolation),
        }
    }

    /// The report for people, with the operator's choice.
    pub fn report(&self, mode: Mode) -> SandboxReport {
        SandboxReport {
            level: match self.level {
                Level::Full => SandboxLevel::Full,
                Level::Partial => SandboxLevel::Partial,
                Level::Unavailable => SandboxLevel::Unavailable,
            },
            by: match self.isolation {
                Isolation::Namespaces => "namespaces",
                Isolation::Rules => "rules",
                Isolation::Nothing => "nothing",
            },
            landlock: self.landlock,
            required: mode == Mode::Require,
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
        let status =
            |level, isolation| Status { level, isolation, landlock: 0, reasons: vec!["no Landlock".into()] };
        let full = status(Level::Full, Isolation::Namespaces);
        let partial = status(Level::Partial, Isolation::Rules);
        let none = status(Level::Unavailable, Isolation::Nothing);
        for (status, mode, expected) in [
            (&full, Mode::Auto, Ok(Isolation::Namespaces)),
            (&full, Mode::Require, Ok(Isolation::Namespaces)),
            (&full, Mode::Off, Ok(Isolation::Nothing)),
            (&partial, Mode::Require, Ok(Isolation::Rules)),
            (&none, Mode::Auto, Ok(Isolation::Nothing)),
            (&none, Mode::Off, Ok(Isolation::Nothing)),
            (&none, Mode::Require, Err(Refusal { reasons: "no Landlock".into() })),
        ] {
            assert_eq!(status.isolation_for(mode), expected, "{status:?} {mode:?}");
        }
    }
}
