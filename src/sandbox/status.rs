//! What keeps commands in on this machine, and what to do where nothing does. Pure.

use serde::Serialize;

use super::spec::Isolation;
use crate::domain::{SandboxLevel, SandboxReport};

/// How well commands are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Full,
    /// Kept in, with the gaps that the reasons name.
    Partial,
    Unavailable,
}

/// What this machine has, found by trying.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// How well commands are kept in.
    pub level: Level,
    pub isolation: Isolation,
    /// The version of Landlock; 0 without.
    pub landlock: u8,
    /// Why it is not more.
    pub reasons: Vec<String>,
}

/// What the operator wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The best there is; where there is nothing, run all the same and say so.
    Auto,
    /// Where there is nothing, do not run.
    Require,
    Off,
}

/// Commands cannot be kept in, and the operator wants them to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("commands must run in a sandbox, and this machine has none: {reasons}")]
pub struct Refusal {
    reasons: String,
}

impl Status {
    /// How a command is to be kept in.
    pub fn isolation_for(&self, mode: Mode) -> Result<Isolation, Refusal> {
        match (mode, self.level) {
            (Mode::Off, _) => Ok(Isolation::Nothing),
            (Mode::Require, Level::Unavailable) => Err(Refusal { reasons: self.reasons.join("; ") }),
            (Mode::Auto | Mode::Require, _) => Ok(self.isolation),
        }
    }

    /// The same for people, with what the operator wants.
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
