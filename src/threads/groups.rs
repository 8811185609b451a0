//! What the threads know of other agents: the shared logs of rooms, the roster, and the settings about groups.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{AgentAccount, AgentCard, Replaceable, RoomLine, ThreadId, Timestamp};
use crate::groups::{BotLimits, Names};
use crate::ports::{Rooms, StoreError};

/// After a failure the shared directory is left alone for this time.
const PAUSE: Duration = Duration::from_secs(30);
/// Interval between two warnings about the shared directory.
const WARN_EVERY: Duration = Duration::from_secs(600);
/// How long the roster is cached.
const ROSTER_FRESH: Duration = Duration::from_secs(5);
/// Shortest time between two questions about the history of a room.
const ASK_EVERY: Duration = Duration::from_secs(10);
/// Most rooms that are followed.
const MOST_ROOMS: usize = 1_000;
/// Most decisions of a model about one room in a minute and in a day.
const PER_MINUTE: usize = 6;
const PER_DAY: usize = 200;
const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

/// Whether agents answer agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerAgents {
    #[default]
    Never,
    /// When they name this agent.
    Named,
}

/// How the agent behaves in groups, on all platforms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// How long a message that names nobody waits, so that a burst is judged once.
    pub settle: Duration,
    /// The score from which such a message is answered.
    pub threshold: u32,
    pub agents: AnswerAgents,
    pub limits: BotLimits,
    /// The rooms of chats that no id joins, by the chats of this agent.
    pub joined: BTreeMap<ThreadId, ThreadId>,
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self {
            settle: Duration::from_millis(1_000),
            threshold: 60,
            agents: AnswerAgents::Never,
            limits: BotLimits { depth: 2 },
            joined: BTreeMap::new(),
        }
    }
}

/// The groups of a daemon, shared by all actors.
#[derive(Debug)]
pub struct Groups {
    settings: Replaceable<GroupSettings>,
    /// This agent's own entry in the roster.
    pub me: AgentCard,
    pub names: Names,
    shared: Option<Arc<dyn Rooms>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Until when the shared directory is left alone.
    pause: Option<Instant>,
    warned: Option<Instant>,
    roster: Option<(Instant, Arc<[AgentCard]>)>,
    /// The rooms of this daemon, with the version of their log that was last followed.
    rooms: BTreeMap<ThreadId, u64>,
    /// When the platform may be asked again what was said in a room; `None` is never.
    history: BTreeMap<ThreadId, Option<Instant>>,
    /// When a model decided about a room.
    decided: BTreeMap<ThreadId, VecDeque<Timestamp>>,
}

impl Groups {
    pub fn new(settings: GroupSettings, me: AgentCard, shared: Option<Arc<dyn Rooms>>) -> Self {
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
        self.shared.is_some()
    }

    /// Whether messages of other bots matter.
    pub fn hears_bots(&self) -> bool {
        self.is_shared() || self.settings().agents == AnswerAgents::Named
    }

    /// The room whose log a thread shares.
    fn room_of<'a>(&'a self, thread: &'a ThreadId) -> &'a ThreadId {
        self.settings().joined.get(thread).unwrap_or(thread)
    }

    /// What the agents share.
    pub fn rooms(&self) -> Option<Arc<dyn Rooms>> {
        self.shared.clone()
    }

    /// The shared logs, unless they failed a short time ago.
    fn working(&self) -> Option<&Arc<dyn Rooms>> {
        let paused = self.state().pause.is_some_and(|until| Instant::now() < until);
        self.shared.as_ref().filter(|_| !paused)
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

    /// Tells the other agents of a message. Goes on without them when that fails.
    pub async fn append(&self, room: &ThreadId, line: RoomLine) {
        if let Some(rooms) = self.working() {
            self.tried(rooms.append(self.room_of(room), line)).await;
        }
    }

    /// Claims a message. `None` where that is not possible.
    pub async fn claim(&self, room: &ThreadId, line: RoomLine) -> Option<Timestamp> {
        self.tried(self.working()?.claim(self.room_of(room), line)).await
    }

    /// The newest lines of a room's log; `None` where it cannot be read.
    pub async fn recent(&self, room: &ThreadId, most: usize, since: Timestamp) -> Option<Vec<RoomLine>> {
        self.tried(self.working()?.recent(self.room_of(room), most, since)).await
    }

    /// The other agents of the roster.
    pub async fn others(&self) -> Arc<[AgentCard]> {
        let fresh = |(at, _): &&(Instant, Arc<[AgentCard]>)| at.elapsed() < ROSTER_FRESH;
        if let Some((_, roster)) = self.state().roster.as_ref().filter(fresh) {
            return roster.clone();
        }
        let Some(rooms) = self.working() else { return Arc::default() };
        let cards = self.tried(rooms.roster()).await.unwrap_or_default();
        let others: Arc<[AgentCard]> = cards.into_iter().filter(|card| card.id != self.me.id).collect();
        self.state().roster = Some((Instant::now(), others.clone()));
        others
    }

    /// This agent's entry in the roster, as it or an earlier process wrote it.
    pub async fn own_entry(&self) -> Option<AgentCard> {
        let cards = self.tried(self.working()?.roster()).await?;
        cards.into_iter().find(|card| card.id == self.me.id)
    }

    /// Writes this agent's entry in the roster.
    pub async fn beat(&self, now: Timestamp, accounts: Vec<AgentAccount>) {
        if let Some(rooms) = self.working() {
            self.tried(rooms.beat(AgentCard { at: now, accounts, ..self.me.clone() })).await;
        }
    }

    /// Removes old logs.
    pub async fn sweep(&self, now: Timestamp) {
        if let Some(rooms) = self.working() {
            self.tried(rooms.sweep(now)).await;
        }
    }

    /// Notes that a thread is that of a group.
    pub fn note_room(&self, room: &ThreadId) {
        let mut state = self.state();
        if self.shared.is_some() && state.rooms.len() < MOST_ROOMS && !state.rooms.contains_key(room) {
            state.rooms.insert(room.clone(), 0);
        }
    }

    /// The rooms whose logs have grown since the last call.
    pub async fn grown(&self) -> Vec<ThreadId> {
        let Some(rooms) = self.working() else { return Vec::new() };
        let known: Vec<(ThreadId, u64)> =
            self.state().rooms.iter().map(|(room, version)| (room.clone(), *version)).collect();
        let mut grown = Vec::new();
        for (room, before) in known {
            let Some(version) = self.tried(rooms.version(self.room_of(&room))).await else { break };
            if version != before {
                self.state().rooms.insert(room.clone(), version);
                grown.push(room);
            }
        }
        grown
    }

    /// Whether the platform should be asked what was said in a room: once in each process, because what was said before
    /// is not known, and not again for a while.
    pub fn may_ask_history(&self, room: &ThreadId) -> bool {
        let mut state = self.state();
        let now = Instant::now();
        let waits = state.history.get(room).is_some_and(|until| until.is_none_or(|until| now < until));
        if self.shared.is_none() || state.history.len() >= MOST_ROOMS || waits {
            return false;
        }
        // Until it has answered.
        state.history.insert(room.clone(), Some(now + ASK_EVERY));
        true
    }

    /// The platform has answered, or never will.
    pub fn history_known(&self, room: &ThreadId) {
        self.state().history.insert(room.clone(), None);
    }

    /// Whether a model may decide about this room now; counts it.
    pub fn may_decide(&self, room: &ThreadId, now: Timestamp) -> bool {
        let mut state = self.state();
        if state.decided.len() >= MOST_ROOMS {
            state.decided.retain(|_, times| times.back().is_some_and(|at| now.millis_since(*at) < DAY_MS));
        }
        let times = state.decided.entry(room.clone()).or_default();
        while times.front().is_some_and(|at| now.millis_since(*at) >= DAY_MS) {
            times.pop_front();
        }
        let last_minute = times.iter().filter(|at| now.millis_since(**at) < MINUTE_MS).count();
        let may = last_minute < PER_MINUTE && times.len() < PER_DAY;
        if may {
            times.push_back(now);
        }
        may
    }
}
