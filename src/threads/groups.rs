//! What the threads know of other agents: the shared logs of rooms, the roster, and the settings about groups.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::group_settings::{AnswerAgents, GroupSettings};
use super::room_limits::{HistoryNeed, RoomLimits};
use crate::domain::{AgentAccount, AgentCard, MessageId, Replaceable, RoomLine, ThreadId, Timestamp};
use crate::groups::Names;
use crate::ports::{LineFilter, Peers, Rooms, StoreError};

/// After a failure the shared directory is left alone for this time.
const PAUSE: Duration = Duration::from_secs(30);
/// Interval between two warnings about the shared directory.
const WARN_EVERY: Duration = Duration::from_secs(600);
/// How long the roster is cached.
const ROSTER_FRESH: Duration = Duration::from_secs(2);
/// Most lines that wait for a shared directory that fails.
const MOST_UNTOLD: usize = 1_000;
/// How often a line is tried.
const MOST_TRIES: u8 = 5;
/// The platform part of the id of a room that the settings join.
pub const JOINED_PLATFORM: &str = "room";
/// Most rooms that are followed.
pub(super) const MOST_ROOMS: usize = 1_000;
/// What the agents of a machine share.
#[derive(Debug)]
pub enum Sharing {
    /// Nothing is to be shared.
    Alone,
    /// The directory cannot be used: others may be there, and are not heard.
    Broken,
    With(Arc<dyn Rooms>),
}

/// The groups of a daemon, shared by all actors.
#[derive(Debug)]
pub struct Groups {
    settings: Replaceable<GroupSettings>,
    /// This agent's own entry in the roster.
    pub me: AgentCard,
    pub names: Names,
    shared: Sharing,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Until when the shared directory is left alone.
    pause: Option<Instant>,
    warned: Option<Instant>,
    roster: Option<(Instant, Arc<[AgentCard]>)>,
    /// The threads of groups, with what is known of the logs of their rooms.
    rooms: BTreeMap<ThreadId, Followed>,
    /// The rooms of threads whose chats have another id now.
    moved: BTreeMap<ThreadId, ThreadId>,
    /// Lines that could not be appended, and how often that was tried.
    untold: VecDeque<(ThreadId, RoomLine, u8)>,
    limits: RoomLimits,
}

#[derive(Clone, Copy, Debug)]
struct Followed {
    /// The version of the log that was last followed.
    version: u64,
    noted: Instant,
}

impl Groups {
    pub fn new(settings: GroupSettings, me: AgentCard, shared: Sharing) -> Self {
        let settings = Replaceable::new(settings);
        Self { names: Names::of(&me), settings, me, shared, state: Mutex::default() }
    }

    pub fn settings(&self) -> &GroupSettings {
        self.settings.current()
    }

    /// Uses these settings from the next message on.
    pub fn change(&self, settings: GroupSettings) {
        self.settings.replace(settings);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether agents share what they hear.
    pub const fn is_shared(&self) -> bool {
        matches!(self.shared, Sharing::With(_))
    }

    /// Whether other agents may be there of which nothing is known.
    pub fn may_miss_others(&self) -> bool {
        match self.shared {
            Sharing::Alone => false,
            Sharing::Broken => true,
            Sharing::With(_) => self.state().roster.is_none(),
        }
    }

    /// What adapters are told before the roster is read.
    pub fn unread_peers(&self) -> Peers {
        Peers { hears_bots: self.hears_bots(), unknown: self.may_miss_others(), ..Peers::default() }
    }

    /// Whether messages of other bots matter.
    pub fn hears_bots(&self) -> bool {
        self.is_shared() || self.settings().agents == AnswerAgents::Named
    }

    /// The room whose log a thread shares.
    fn room_of(&self, thread: &ThreadId) -> ThreadId {
        let joined = self.settings().joined.get(thread).cloned();
        joined.or_else(|| self.state().moved.get(thread).cloned()).unwrap_or_else(|| thread.clone())
    }

    /// Notes that the chat of a thread has another id for all who came later.
    pub fn note_moved(&self, thread: &ThreadId, room: ThreadId) {
        let mut state = self.state();
        if state.moved.len() < MOST_ROOMS {
            state.moved.insert(thread.clone(), room);
        }
    }

    /// Whether the settings join the room of a thread with others.
    pub fn is_joined(&self, thread: &ThreadId) -> bool {
        self.settings().joined.contains_key(thread)
    }

    fn shared(&self) -> Option<&Arc<dyn Rooms>> {
        match &self.shared {
            Sharing::With(rooms) => Some(rooms),
            Sharing::Alone | Sharing::Broken => None,
        }
    }

    /// What the agents share.
    pub fn rooms(&self) -> Option<Arc<dyn Rooms>> {
        self.shared().cloned()
    }

    /// The shared logs, unless they failed a short time ago.
    fn working(&self) -> Option<&Arc<dyn Rooms>> {
        let paused = self.state().pause.is_some_and(|until| Instant::now() < until);
        self.shared().filter(|_| !paused)
    }

    fn failed(&self, error: &StoreError) {
        let now = Instant::now();
        let mut state = self.state();
        state.pause = Some(now + PAUSE);
        if state.warned.is_none_or(|last| now.duration_since(last) >= WARN_EVERY) {
            state.warned = Some(now);
            let cause = std::error::Error::source(error).map(ToString::to_string);
            tracing::warn!(%error, cause, "shared directory of groups failed, agents do not hear each other");
        }
    }

    async fn tried<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
        match work.await {
            Ok(value) => Some(value),
            Err(error) => {
                self.failed(&error);
                None
            }
        }
    }

    /// Tells the other agents of a message, later where that fails now.
    pub async fn append(&self, room: &ThreadId, line: RoomLine) {
        if !self.is_shared() {
            return;
        }
        let told = match self.working() {
            Some(rooms) => self.tried(rooms.append(&self.room_of(room), line.clone())).await.is_some(),
            None => false,
        };
        if !told {
            let mut state = self.state();
            if state.untold.len() >= MOST_UNTOLD {
                state.untold.pop_front();
            }
            state.untold.push_back((room.clone(), line, 1));
        }
    }

    /// Tells what could not be told before.
    pub async fn tell_late(&self) {
        while let Some(rooms) = self.working() {
            let Some((room, line, tries)) = self.state().untold.pop_front() else { return };
            if self.tried(rooms.append(&self.room_of(&room), line.clone())).await.is_some() {
                continue;
            }
            // A room that cannot be written keeps no other from being told.
            if tries < MOST_TRIES {
                self.state().untold.push_back((room, line, tries.saturating_add(1)));
            } else {
                tracing::warn!(%room, "line for other agents dropped");
            }
            return;
        }
    }

    /// Claims a message. `None` where that is not possible.
    pub async fn claim(&self, room: &ThreadId, line: RoomLine) -> Option<Timestamp> {
        self.tried(self.working()?.claim(&self.room_of(room), line)).await
    }

    /// The newest lines of a room's log; `None` where it cannot be read.
    pub async fn recent(
        &self,
        room: &ThreadId,
        most: usize,
        since: Timestamp,
        which: LineFilter,
    ) -> Option<Vec<RoomLine>> {
        self.tried(self.working()?.recent(&self.room_of(room), most, since, which)).await
    }

    /// The other agents of the roster, as it was read last.
    pub async fn others(&self) -> Arc<[AgentCard]> {
        let known = self.state().roster.clone();
        if let Some((at, roster)) = &known
            && at.elapsed() < ROSTER_FRESH
        {
            return roster.clone();
        }
        let read = match self.working() {
            Some(rooms) => self.tried(rooms.roster()).await,
            None => None,
        };
        let Some(cards) = read else { return known.map(|(_, roster)| roster).unwrap_or_default() };
        let others: Arc<[AgentCard]> = cards.into_iter().filter(|card| card.id != self.me.id).collect();
        self.state().roster = Some((Instant::now(), others.clone()));
        others
    }

    /// The other agents of the roster that are in the chat of a thread.
    pub async fn others_in(&self, thread: &ThreadId) -> Vec<AgentCard> {
        let room = self.room_of(thread);
        self.others().await.iter().filter(|card| card.is_in(&room)).cloned().collect()
    }

    /// This agent's entry in the roster, if it or an earlier process wrote one; `None` where the roster cannot be read.
    pub async fn own_entry(&self) -> Option<Option<AgentCard>> {
        let cards = self.tried(self.working()?.roster()).await?;
        Some(cards.into_iter().find(|card| card.id == self.me.id))
    }

    /// Writes this agent's entry in the roster.
    pub async fn beat(&self, now: Timestamp, accounts: Vec<AgentAccount>) {
        self.write_entry(AgentCard { at: now, accounts, ..self.me.clone() }).await;
    }

    /// Tells the other agents that this one ends.
    pub async fn leave(&self, now: Timestamp, accounts: Vec<AgentAccount>) {
        self.write_entry(AgentCard { at: now, accounts, left: true, ..self.me.clone() }).await;
    }

    async fn write_entry(&self, card: AgentCard) {
        if let Some(rooms) = self.working() {
            self.tried(rooms.beat(AgentCard { rooms: Some(self.own_rooms()), ..card })).await;
        }
    }

    /// The rooms of the threads that are followed.
    pub fn own_rooms(&self) -> Vec<ThreadId> {
        let threads: Vec<ThreadId> = self.state().rooms.keys().cloned().collect();
        let rooms: BTreeSet<ThreadId> = threads.iter().map(|thread| self.room_of(thread)).collect();
        rooms.into_iter().collect()
    }

    /// Follows the rooms that an earlier process was in.
    pub fn note_rooms_of(&self, earlier: &[ThreadId]) {
        for room in earlier {
            let joined = self.settings().joined.iter().filter(|(_, of)| *of == room);
            let mut threads: Vec<ThreadId> = joined.map(|(thread, _)| thread.clone()).collect();
            if threads.is_empty() && room.platform().as_str() != JOINED_PLATFORM {
                threads.push(room.clone());
            }
            threads.iter().for_each(|thread| self.note_room(thread));
        }
    }

    /// Whether the room of a thread has a log.
    pub async fn has_log(&self, thread: &ThreadId) -> bool {
        let Some(rooms) = self.working() else { return false };
        self.tried(rooms.version(&self.room_of(thread))).await.is_some_and(|version| version > 0)
    }

    /// Removes old logs, and agents that were not seen for long.
    pub async fn sweep(&self) {
        if let Some(rooms) = self.working() {
            self.tried(rooms.sweep()).await;
        }
    }

    /// Notes that a thread is that of a group. Of too many, those that were noted longest ago are not followed.
    pub fn note_room(&self, thread: &ThreadId) {
        if !self.is_shared() {
            return;
        }
        let mut state = self.state();
        let noted = Instant::now();
        if let Some(known) = state.rooms.get_mut(thread) {
            known.noted = noted;
            return;
        }
        if state.rooms.len() >= MOST_ROOMS {
            let oldest = state.rooms.iter().min_by_key(|(_, known)| known.noted);
            let oldest = oldest.map(|(thread, _)| thread.clone());
            oldest.and_then(|thread| state.rooms.remove(&thread));
        }
        state.rooms.insert(thread.clone(), Followed { version: 0, noted });
    }

    /// The rooms whose logs have grown since the last call.
    pub async fn grown(&self) -> Vec<ThreadId> {
        let Some(rooms) = self.working() else { return Vec::new() };
        let known: Vec<(ThreadId, u64)> =
            self.state().rooms.iter().map(|(room, known)| (room.clone(), known.version)).collect();
        let mut grown = Vec::new();
        for (room, before) in known {
            let Some(version) = self.tried(rooms.version(&self.room_of(&room))).await else { break };
            if version != before {
                if let Some(known) = self.state().rooms.get_mut(&room) {
                    known.version = version;
                }
                grown.push(room);
            }
        }
        grown
    }

    /// Whether the platform is to be asked now what was said in a room; notes that it is.
    pub fn may_ask_history(&self, room: &ThreadId, need: HistoryNeed) -> bool {
        self.hears_bots() && self.state().limits.may_ask_history(room, need, self.is_shared())
    }

    /// The platform has answered.
    pub fn history_known(&self, room: &ThreadId, now: Timestamp) {
        self.state().limits.history_known(room, now);
    }

    /// The platform will not answer before an operator acts.
    pub fn history_refused(&self, room: &ThreadId) {
        self.state().limits.history_refused(room);
    }

    /// Whether this agent has not told a room for a while that it stops answering another one; notes that it does.
    pub fn stops_alone(&self, room: &ThreadId, pair: &MessageId, now: Timestamp) -> bool {
        self.state().limits.may_tell_stop(room, pair, now)
    }

    /// Counts the decisions of earlier processes, whose times the messages of a thread tell.
    pub fn note_decided(&self, room: &ThreadId, times: Vec<Timestamp>) {
        self.state().limits.note_decided(room, times);
    }

    /// Whether a model may decide about this room now; counts it.
    pub fn may_decide(&self, room: &ThreadId, now: Timestamp) -> bool {
        self.state().limits.may_decide(room, now)
    }
}
