//! Follows the logs of this daemon's rooms: keeps the agent in the roster, and starts a turn when another agent names it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::group_settings::AnswerAgents;
use super::groups::Groups;
use crate::domain::{
    AgentAccount, AgentCard, Author, AuthorId, AuthorRole, ChatKind, IngressEvent, IngressKind, MessageId,
    PeerWords, Quoted, RoomLine, Said, ThreadId, Timestamp, Via,
};
use crate::groups::fold_lines;
use crate::ports::{Acceptance, Adapter, Clock, LineFilter, Peers, ThreadQuery, ThreadStore, ThreadsHandle};

const LOOK_EVERY: Duration = Duration::from_secs(1);
const BEAT_EVERY: Duration = Duration::from_secs(30);
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);
/// An agent's message that is older starts no turn.
const OLDEST_MS: u64 = 10 * 60 * 1000;
const MANY_LINES: usize = 1_000;
/// How many of the newest threads are looked at for groups.
const MOST_STORED: usize = 500;
/// Most lines whose decision is remembered.
const MOST_SEEN: usize = 2_000;

/// Follows the rooms of a daemon until it stops.
#[derive(Debug)]
pub struct RoomFollower {
    groups: Arc<Groups>,
    threads: ThreadsHandle,
    store: Arc<dyn ThreadStore>,
    clock: Arc<dyn Clock>,
    adapters: Vec<Arc<dyn Adapter>>,
    seen: VecDeque<MessageId>,
    /// The accounts that the roster has of this agent.
    accounts: Vec<AgentAccount>,
    /// The rooms that the roster has of this agent.
    rooms: Vec<ThreadId>,
    /// The roster that the adapters have.
    others: Option<Arc<[AgentCard]>>,
    /// The agents that were warned about because they use an account of this one.
    rivals: Vec<String>,
}

impl RoomFollower {
    pub const fn new(
        groups: Arc<Groups>,
        threads: ThreadsHandle,
        store: Arc<dyn ThreadStore>,
        clock: Arc<dyn Clock>,
        adapters: Vec<Arc<dyn Adapter>>,
    ) -> Self {
        Self {
            groups,
            threads,
            store,
            clock,
            adapters,
            seen: VecDeque::new(),
            accounts: Vec::new(),
            rooms: Vec::new(),
            others: None,
            rivals: Vec::new(),
        }
    }

    pub async fn run(mut self, stop: CancellationToken) {
        let mut ticks = interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut beat_at, mut sweep_at) = (Instant::now(), Instant::now());
        let mut earlier = None;
        let mut resumed = false;
        loop {
            tokio::select! {
                () = stop.cancelled() => {
                    if resumed {
                        self.groups.leave(self.clock.now(), self.accounts).await;
                    }
                    return;
                }
                _ = ticks.tick() => {}
            }
            if !resumed {
                let Some(found) = self.groups.own_entry().await else { continue };
                self.resume(found.as_ref()).await;
                (earlier, resumed) = (found, true);
            }
            let (now, time) = (Instant::now(), self.clock.now());
            self.introduce(&mut earlier).await;
            // An account that the platform has not told yet is that of the earlier process.
            let known = |adapter: &Arc<dyn Adapter>| {
                let platform = adapter.platform();
                let earlier = || self.accounts.iter().find(|account| account.platform == platform).cloned();
                adapter.account().or_else(earlier)
            };
            let accounts: Vec<AgentAccount> = self.adapters.iter().filter_map(known).collect();
            self.groups.tell_late().await;
            let rooms = self.groups.own_rooms();
            if now >= beat_at || differs(&accounts, &self.accounts) || rooms != self.rooms {
                self.groups.beat(time, accounts.clone()).await;
                (self.accounts, self.rooms) = (accounts, rooms);
                beat_at = now + BEAT_EVERY;
            }
            self.warn_of_rivals(time);
            if now >= sweep_at {
                self.groups.sweep().await;
                sweep_at = now + SWEEP_EVERY;
            }
            if self.groups.settings().agents == AnswerAgents::Named {
                for room in self.groups.grown().await {
                    self.follow(&room).await;
                }
            }
        }
    }

    /// Takes over what an earlier process wrote into the roster: the other agents' accounts, and the rooms.
    async fn resume(&mut self, earlier: Option<&AgentCard>) {
        self.accounts = earlier.map(|card| card.accounts.clone()).unwrap_or_default();
        self.groups.note_rooms_of(earlier.and_then(|card| card.rooms.as_deref()).unwrap_or_default());
        self.note_stored_rooms().await;
    }

    /// Follows the groups among the newest threads: those whose rooms have a log.
    async fn note_stored_rooms(&self) {
        let page = match self.store.list(ThreadQuery::newest(MOST_STORED)).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, "threads not listed, other agents are heard here after the next message");
                return;
            }
        };
        let served = |thread: &ThreadId| {
            let known = self.adapters.iter().any(|adapter| adapter.platform() == *thread.platform());
            known && !thread.is_of_one_person()
        };
        for thread in page.threads.into_iter().map(|summary| summary.thread_id).filter(served) {
            if self.groups.has_log(&thread).await {
                self.groups.note_room(&thread);
            }
        }
    }

    /// Tells the adapters who the other agents are, when that has changed and is known.
    async fn introduce(&mut self, earlier: &mut Option<AgentCard>) {
        let others = self.groups.others().await;
        if self.groups.may_miss_others() {
            return;
        }
        let same = |known: &Arc<[AgentCard]>| {
            let facts = |card: &AgentCard| {
                (card.names().map(str::to_owned).collect::<Vec<_>>(), card.accounts.clone())
            };
            known.len() == others.len() && known.iter().zip(others.iter()).all(|(a, b)| facts(a) == facts(b))
        };
        if !self.others.as_ref().is_some_and(same) {
            let peers =
                Peers { others: others.clone(), hears_bots: true, me: earlier.take(), ..Peers::default() };
            self.adapters.iter().for_each(|adapter| adapter.know_peers(&peers));
        }
        self.others = Some(others);
    }

    /// Warns once about each other agent that is here with an account of this one: the platform tells each only a part.
    fn warn_of_rivals(&mut self, now: Timestamp) {
        for card in self.others.iter().flat_map(|others| others.iter()).filter(|card| !card.is_away(now)) {
            let shared = card.shared_account(&self.accounts);
            if let Some(account) = shared.filter(|_| !self.rivals.contains(&card.id)) {
                tracing::warn!(platform = %account.platform, account = account.id, agent = card.name,
                    "another agent uses the same account: each gets only a part of the messages");
                self.rivals.push(card.id.clone());
            }
        }
    }

    /// Hands each new line of an agent that names this one to the thread, which decides whether it is answered.
    async fn follow(&mut self, room: &ThreadId) {
        let now = self.clock.now().as_millis();
        let oldest = Timestamp::from_millis(now.saturating_sub(i64::try_from(OLDEST_MS).unwrap_or(0)));
        let Some(lines) = self.groups.recent(room, MANY_LINES, oldest, LineFilter::OfAgents).await else {
            return;
        };
        let names_me = |line: &&RoomLine| {
            line.via == Via::Outbound
                && line.is_of_other_agent(&self.groups.me.id)
                && line.by == line.author.id
                && !self.seen.contains(&line.key)
                && self.groups.names.are_mentioned_in(&line.text)
        };
        let mut named = fold_lines(lines);
        named.retain(|line| names_me(&line));
        for line in named {
            let Some(event) = event_of(room, &line) else { continue };
            let taken = self.threads.deliver(event).await;
            if matches!(
                taken,
                Acceptance::Accepted { .. } | Acceptance::Duplicate { .. } | Acceptance::Refused(_)
            ) {
                self.see(line.key);
            }
        }
    }

    fn see(&mut self, key: MessageId) {
        if self.seen.len() >= MOST_SEEN {
            self.seen.pop_front();
        }
        self.seen.push_back(key);
    }
}

/// Whether accounts have changed in what others need to know at once.
fn differs(accounts: &[AgentAccount], known: &[AgentAccount]) -> bool {
    let facts = |account: &AgentAccount| AgentAccount { heard_bot: None, ..account.clone() };
    accounts.len() != known.len() || accounts.iter().zip(known).any(|(one, other)| facts(one) != facts(other))
}

/// The event of an agent's message. Its author is no person and has no rights.
fn event_of(room: &ThreadId, line: &RoomLine) -> Option<IngressEvent> {
    let id = AuthorId::new(room.platform(), &format!("agent-{}", line.author.id)).ok()?;
    let quoted = line.reply_to.as_ref().map(|reply| Quoted {
        platform_message: reply.message_id.clone(),
        author: reply.author.clone(),
        text: reply.text.clone(),
    });
    let peer = PeerWords {
        kind: line.author.kind,
        agent: Some(line.author.id.clone()),
        via: Some(line.via),
        chain: line.chain.clone(),
        depth: line.depth,
    };
    let said = Said { text: line.text.clone(), quoted, peer: Some(peer), ..Said::default() };
    Some(IngressEvent {
        thread: room.clone(),
        author: Author { id, name: Some(line.author.name.clone()), role: AuthorRole::Anonymous },
        message: line.key.clone(),
        platform_message: line.message_id.clone().unwrap_or_default(),
        at: line.at,
        chat: ChatKind::Group,
        kind: IngressKind::Said(said),
    })
}
