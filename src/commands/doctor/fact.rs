//! What a check can find, and how bad that is. Pure.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Serialize;

use crate::config::{AgentMdError, Idle, IdleAdapter, Problem};
use crate::distil::DistilEvery;
use crate::domain::{AutoMemory, ErrorKind, SandboxLevel, SandboxReport};
use crate::ports::{Probe, ProbeLevel};
use crate::sandbox::{MemoryControl, MemoryLimits};

/// How bad a fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    /// As it should be.
    Ok,
    /// It works, but somebody should know.
    Warning,
    /// It must be mended.
    Error,
}

/// What a check found.
#[derive(Debug)]
pub(super) enum Fact {
    /// The agent knows who it is.
    AgentMd {
        characters: usize,
    },
    NoAgentMd(AgentMdError),
    /// The configuration is valid.
    Config {
        has_file: bool,
    },
    /// Something in it is not.
    ConfigProblem(Problem),
    /// Something in it is allowed, and does nothing.
    ConfigWarning(Problem),
    /// An adapter that the file names but that will not run.
    IdleAdapter(IdleAdapter),
    /// The built-in model will answer; `key_unused` when a usual key is set that nothing refers to.
    Offline {
        key_unused: bool,
    },
    ModelAnswers {
        name: String,
        millis: u64,
    },
    /// A model did not.
    ModelFails {
        name: String,
        kind: ErrorKind,
        detail: String,
    },
    /// A model said nothing in time.
    ModelSilent {
        name: String,
        seconds: u64,
    },
    /// A model's client cannot be made.
    ModelUnusable {
        name: String,
        why: String,
    },
    /// The server shuts a model down on this day.
    ModelEnds {
        name: String,
        on: jiff::civil::Date,
        days: i64,
        alternatives: Vec<String>,
    },
    /// A model fails and its server does not list it.
    ModelNotListed {
        name: String,
        alternatives: Vec<String>,
    },
    /// What a chat platform says about its bot.
    Chat {
        platform: &'static str,
        probe: Probe,
    },
    /// State can be written.
    Writable(PathBuf),
    NotWritable {
        path: PathBuf,
        why: String,
    },
    /// Only we can read our state.
    Private,
    /// Others can read it.
    OpenToOthers {
        path: PathBuf,
        mode: u32,
    },
    /// Git tracks files that hold state or secrets.
    Tracked(Vec<String>),
    /// How much room there is.
    DiskFree {
        mebibytes: u64,
    },
    /// The port is ours to take.
    PortFree(SocketAddr),
    /// The daemon that runs here holds it.
    PortOurs(SocketAddr),
    /// Somebody else holds it.
    PortTaken {
        listen: SocketAddr,
        chosen: bool,
    },
    /// It cannot be had.
    PortRefused {
        listen: SocketAddr,
        why: String,
    },
    /// The console is reachable from other machines.
    OpenListen(SocketAddr),
    /// No daemon runs here.
    LockFree,
    LockHeld {
        pid: Option<u32>,
    },
    /// It cannot be told.
    LockUnclear(String),
    /// What keeps commands in, tried out.
    Sandbox(SandboxReport),
    /// Sockets of other programs that commands can reach.
    Sockets {
        listed: Vec<PathBuf>,
        sandbox: SandboxReport,
    },
    /// How much memory commands may use, and what keeps them to it.
    CommandMemory {
        limits: MemoryLimits,
        control: MemoryControl,
    },
    /// What is learned from conversations, and how often.
    Learning {
        auto: AutoMemory,
        every: DistilEvery,
    },
    /// The time, and where.
    Clock {
        now: String,
        zone: Option<String>,
    },
    /// A time that cannot be.
    ClockWrong {
        now: String,
    },
    /// The token, made by the daemon.
    TokenMade,
    TokenStrong,
    /// A token that can be guessed.
    TokenWeak {
        characters: usize,
        exposed: bool,
    },
}

/// The least room to begin with, in mebibytes.
const SCARCE: u64 = 16;
/// The room below which somebody should know.
const LITTLE: u64 = 256;

impl Fact {
    /// What was checked, as a stable word.
    pub(super) fn check(&self) -> &'static str {
        match self {
            Self::AgentMd { .. } | Self::NoAgentMd(_) => "agent",
            Self::Config { .. } | Self::ConfigProblem(_) | Self::ConfigWarning(_) => "config",
            Self::IdleAdapter(_) => "adapter",
            Self::Offline { .. }
            | Self::ModelAnswers { .. }
            | Self::ModelFails { .. }
            | Self::ModelSilent { .. }
            | Self::ModelUnusable { .. }
            | Self::ModelEnds { .. }
            | Self::ModelNotListed { .. } => "model",
            Self::Chat { platform, .. } => platform,
            Self::Writable(_) | Self::NotWritable { .. } => "state",
            Self::Private | Self::OpenToOthers { .. } => "permissions",
            Self::Tracked(_) => "git",
            Self::DiskFree { .. } => "disk",
            Self::PortFree(_) | Self::PortOurs(_) | Self::PortTaken { .. } | Self::PortRefused { .. } => {
                "port"
            }
            Self::OpenListen(_) => "network",
            Self::LockFree | Self::LockHeld { .. } | Self::LockUnclear(_) => "lock",
            Self::Sandbox(_) => "sandbox",
            Self::Sockets { .. } => "sockets",
            Self::CommandMemory { .. } => "memory",
            Self::Learning { .. } => "learning",
            Self::Clock { .. } | Self::ClockWrong { .. } => "clock",
            Self::TokenMade | Self::TokenStrong | Self::TokenWeak { .. } => "token",
        }
    }

    /// How bad it is.
    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Self::AgentMd { .. }
            | Self::Config { .. }
            | Self::ModelAnswers { .. }
            | Self::Writable(_)
            | Self::Private
            | Self::PortFree(_)
            | Self::PortOurs(_)
            | Self::LockFree
            | Self::LockHeld { .. }
            | Self::CommandMemory { .. }
            | Self::Learning { .. }
            | Self::Clock { .. }
            | Self::TokenMade
            | Self::TokenStrong => Verdict::Ok,
            Self::Chat { probe, .. } => match probe.level {
                ProbeLevel::Ok => Verdict::Ok,
                ProbeLevel::Warning => Verdict::Warning,
                ProbeLevel::Error => Verdict::Error,
            },
            Self::Offline { key_unused } => warn_if(*key_unused),
            Self::IdleAdapter(idle) => warn_if(idle.why != Idle::Disabled),
            Self::ConfigWarning(_)
            | Self::ModelEnds { .. }
            | Self::ModelNotListed { .. }
            | Self::OpenToOthers { .. }
            | Self::Tracked(_)
            | Self::PortTaken { chosen: false, .. }
            | Self::OpenListen(_)
            | Self::Sockets { .. }
            | Self::LockUnclear(_) => Verdict::Warning,
            Self::Sandbox(report) => match report.level {
                SandboxLevel::Full => Verdict::Ok,
                SandboxLevel::Unavailable if report.required => Verdict::Error,
                SandboxLevel::Partial | SandboxLevel::Unavailable | SandboxLevel::Off => Verdict::Warning,
            },
            Self::DiskFree { mebibytes } if *mebibytes < SCARCE => Verdict::Error,
            Self::DiskFree { mebibytes } => warn_if(*mebibytes < LITTLE),
            Self::TokenWeak { exposed: false, .. } => Verdict::Warning,
            Self::TokenWeak { exposed: true, .. }
            | Self::NoAgentMd(_)
            | Self::ConfigProblem(_)
            | Self::ModelFails { .. }
            | Self::ModelSilent { .. }
            | Self::ModelUnusable { .. }
            | Self::NotWritable { .. }
            | Self::PortTaken { chosen: true, .. }
            | Self::PortRefused { .. }
            | Self::ClockWrong { .. } => Verdict::Error,
        }
    }
}

fn warn_if(condition: bool) -> Verdict {
    if condition { Verdict::Warning } else { Verdict::Ok }
}
