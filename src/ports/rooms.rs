//! The port of what agents in the same groups share: a log for each room, and the roster of agents.
//!
//! A feed, not a truth: lines may come twice, late or forged, and grant nothing. Callers go on without it.

use super::{BoxFuture, StoreError};
use crate::domain::{AgentCard, RoomLine, ThreadId, Timestamp};

/// Which lines of a log are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFilter {
    All,
    /// What agents sent, and their claims: few in a log that is mostly people's words.
    OfAgents,
}

/// Logs of rooms and the roster. A room is named by the thread of its chat or topic.
pub trait Rooms: Send + Sync + std::fmt::Debug {
    /// Appends a line. It survives the end of the process.
    fn append<'a>(&'a self, room: &'a ThreadId, line: RoomLine) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Appends a claim, stamped while no other line can be appended: claims are in the order of their times.
    fn claim<'a>(
        &'a self,
        room: &'a ThreadId,
        line: RoomLine,
    ) -> BoxFuture<'a, Result<Timestamp, StoreError>>;

    /// The newest lines in the order of the log, at most `most`, none older than `since`. Lines that cannot be read are
    /// left out. Every line that was appended before the call is included.
    fn recent<'a>(
        &'a self,
        room: &'a ThreadId,
        most: usize,
        since: Timestamp,
        which: LineFilter,
    ) -> BoxFuture<'a, Result<Vec<RoomLine>, StoreError>>;

    /// A number that changes when lines are appended to the room.
    fn version<'a>(&'a self, room: &'a ThreadId) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Replaces the agent's entry in the roster.
    fn beat(&self, card: AgentCard) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The agents that have given a sign of life within the time that the store keeps.
    fn roster(&self) -> BoxFuture<'_, Result<Vec<AgentCard>, StoreError>>;

    /// Removes logs, and entries of the roster, that are older than the store keeps them.
    fn sweep(&self) -> BoxFuture<'_, Result<(), StoreError>>;
}
