//! A line to the agent: the same words in and the same events out, wherever the agent runs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::local::Local;
use super::remote::Remote;
use crate::domain::{CorrelationId, MessageId};
use crate::uimessage::{Chunk, UiMessage};

/// Something that happened in the thread.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ThreadEvent {
    Chunk {
        message: MessageId,
        chunk: Chunk,
    },
    /// A message was written, or written anew.
    Written(Arc<UiMessage>),
    /// What is going on, in passing.
    Progress(String),
    /// Something went wrong that no message tells of.
    Trouble(String),
    /// Something was missed: the thread must be read again.
    Reload,
    /// The agent has ended.
    Gone,
}

/// Words that the agent has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// The id they are stored under.
    pub(super) message: MessageId,
    /// The run that answers them.
    pub(super) correlation: CorrelationId,
}

/// Why words were not taken, or nothing could be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LineError {
    /// The agent said no, and why.
    #[error("{0}")]
    Refused(String),
    /// The agent cannot be reached any more.
    #[error("{0}")]
    Broken(String),
}

/// A line to the agent.
#[derive(Debug)]
pub(super) enum Line {
    /// To one inside this process.
    Local(Box<Local>),
    Remote(Box<Remote>),
}

impl Line {
    /// Says something: words for the agent, or a command for the daemon.
    pub(super) async fn say(&self, text: &str) -> Result<Taken, LineError> {
        match self {
            Self::Local(line) => line.say(text).await,
            Self::Remote(line) => line.say(text).await,
        }
    }

    /// What happens next. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> ThreadEvent {
        match self {
            Self::Local(line) => line.next().await,
            Self::Remote(line) => line.next().await,
        }
    }

    /// The newest messages, the oldest of them first.
    pub(super) async fn recent(&self, limit: usize) -> Result<Vec<UiMessage>, LineError> {
        match self {
            Self::Local(line) => line.recent(limit).await,
            Self::Remote(line) => line.recent(limit).await,
        }
    }

    /// Where the daemon listens, if there is one.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Local(_) => None,
            Self::Remote(line) => Some(line.address()),
        }
    }

    /// Ends the line. An agent inside this process ends with it; a turn that runs gets until `grace` is over.
    pub(super) async fn hang_up(self, grace: Duration) {
        match self {
            Self::Local(line) => line.hang_up(grace).await,
            Self::Remote(_) => {}
        }
    }
}

/// An id for words of ours that nothing else has.
pub(super) fn fresh_id() -> String {
    format!("cli:{}", uuid::Uuid::now_v7())
}
