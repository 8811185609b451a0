//! Messages whose claim another agent has won: where it dies before it answers, its claim lapses, and the others claim the
//! message once more.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::actor::Actor;
use super::count;
use super::jobs::Done;
use super::relevance::{CLAIM_WAIT, claims_since};
use super::runtime::Runtime;
use crate::domain::{LineKind, MessageId, RoomLine, ThreadId, Timestamp, Via};
use crate::groups::{CLAIM_LAPSES_MS, Winner, is_answered, winner};
use crate::turn::{CLAIM_LOST, CLAIM_WON, Event, GateDecision};

/// The claims that were lost, as far as they may lapse.
#[derive(Debug, Default)]
pub(super) struct LostClaims {
    look_at: Option<Instant>,
    /// The messages that the winners have answered.
    answered: BTreeSet<MessageId>,
    busy: bool,
}

impl LostClaims {
    pub(super) const fn is_pending(&self) -> bool {
        self.busy || self.look_at.is_some()
    }

    /// When they are looked at next.
    pub(super) fn due(&self) -> Option<Instant> {
        self.look_at.filter(|_| !self.busy)
    }

    /// Looks at them at this time, or earlier.
    fn look(&mut self, at: Instant) {
        self.look_at = Some(self.look_at.map_or(at, |known| known.min(at)));
    }
}

/// What came of a look at lost claims.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// The messages whose claims have lapsed: this agent or another one has them now.
    decided: Vec<GateDecision>,
    answered: Vec<MessageId>,
}

/// A message whose claim another agent has won.
#[derive(Debug)]
struct Lost {
    message: MessageId,
    /// What it is called by all agents.
    key: MessageId,
    at: Timestamp,
    score: u64,
    claim: RoomLine,
}

/// What is kept with a message that another agent answers.
pub(super) fn lost_to(score: u32, winner: &Winner) -> Value {
    json!({
        "answer": false, "by": "model", "score": score, "claim": CLAIM_LOST,
        "winner": winner.by, "claimedAt": winner.claimed_at.as_millis(),
    })
}

impl Actor {
    /// Takes up the claims that were lost before the last process ended.
    pub(super) fn resume_lost_claims(&mut self) {
        let lost = self.conversation.lost_claims(self.oldest_undecided());
        let decided: Vec<Value> = lost.iter().map(|(_, gate)| Value::clone(gate)).collect();
        self.watch(decided.iter());
    }

    /// Looks at the claims that were lost now when they may have lapsed.
    pub(super) fn watch_lost_claims(&mut self, decisions: &[GateDecision]) {
        self.watch(decisions.iter().map(|decision| &decision.reason));
    }

    fn watch<'a>(&mut self, reasons: impl Iterator<Item = &'a Value>) {
        let now = self.runtime.clock.now();
        for claimed_at in reasons.filter_map(|reason| reason.get("claimedAt")?.as_i64()) {
            let lapses_at = Timestamp::from_millis(claimed_at).plus_millis(CLAIM_LAPSES_MS);
            self.gate.lost.look(Instant::now() + Duration::from_millis(lapses_at.millis_since(now)));
        }
    }

    /// Looks, in a job, whether the agents that won have answered or are alive.
    pub(super) fn look_at_lost_claims(&mut self) {
        self.gate.lost.look_at = None;
        let Some(room) = self.room().cloned() else { return };
        let messages = self.conversation.lost_claims(self.oldest_undecided());
        let open = messages.into_iter().filter(|(message, _)| !self.gate.lost.answered.contains(&message.id));
        let lost = open.filter_map(|(message, gate)| {
            let key = self.key_of(message)?;
            let claim = self.blank_line(key.clone(), Via::Outbound);
            Some(Lost {
                message: message.id.clone(),
                at: message.metadata.timestamp,
                score: gate.get("score").and_then(Value::as_u64).unwrap_or(0),
                claim: RoomLine { kind: LineKind::Claim, ..claim },
                key,
            })
        });
        let lost: Vec<Lost> = lost.collect();
        if lost.is_empty() {
            return;
        }
        self.gate.lost.busy = true;
        let runtime = self.runtime.clone();
        let job = async move { Done::Lapsed(look(&runtime, &room, lost).await) };
        self.jobs.start(job, Done::Lapsed(Looked::default()));
    }

    pub(super) fn lost_claims_looked_at(&mut self, looked: Looked) {
        self.gate.lost.busy = false;
        let Looked { decided, answered } = looked;
        self.gate.lost.answered.extend(answered);
        let oldest = self.oldest_undecided();
        let lost = self.conversation.lost_claims(oldest);
        let is_open = |id: &MessageId| {
            !self.gate.lost.answered.contains(id) && !decided.iter().any(|decision| decision.message == *id)
        };
        if lost.iter().any(|(message, _)| is_open(&message.id)) {
            self.gate.lost.look(Instant::now() + Duration::from_millis(CLAIM_LAPSES_MS));
        } else {
            self.gate.lost.answered.clear();
        }
        if !decided.is_empty() {
            count::gate(&self.runtime.metrics, &decided);
            self.upcoming.push_back(Event::Decided(decided));
        }
    }
}

/// Looks at lost claims, and claims again what nobody answers.
async fn look(runtime: &Arc<Runtime>, room: &ThreadId, lost: Vec<Lost>) -> Looked {
    let mut looked = Looked::default();
    let oldest = lost.iter().map(|lost| lost.at).min().unwrap_or_default();
    let Some(log) = claims_since(runtime, room, oldest).await else { return looked };
    let (me, now) = (&runtime.groups.me.id, runtime.clock.now());
    let others = runtime.groups.others().await;
    let is_alive = |id: &str| {
        let alive = |at: Timestamp| now.millis_since(at) < CLAIM_LAPSES_MS;
        others.iter().any(|card| card.id == id && alive(card.at) && !card.left)
    };
    let mut claimed = Vec::new();
    for lost in lost {
        let Some(winner) = winner(&log, &lost.key) else { continue };
        let lapses_at = winner.claimed_at.plus_millis(CLAIM_LAPSES_MS);
        // A claim lapses once: the agent that takes the message over then is not replaced again.
        let taken_over = winner.instead_of.clone();
        if is_answered(&log, &lost.key, me) || (taken_over.is_some() && winner.by != *me) {
            looked.answered.push(lost.message);
        } else if let Some(dead) = taken_over {
            // This agent took it over, and a kill or a stop came before its decision was stored.
            claimed.push((lost, dead));
        } else if lapses_at <= now && !is_alive(&winner.by) {
            let score = u32::try_from(lost.score).unwrap_or(0);
            let claim = RoomLine { score, lapsed: Some(winner.by.clone()), ..lost.claim.clone() };
            if runtime.groups.claim(room, claim).await.is_some() {
                claimed.push((lost, winner.by));
            }
        }
    }
    if claimed.is_empty() {
        return looked;
    }
    tokio::time::sleep(CLAIM_WAIT).await;
    let Some(log) = claims_since(runtime, room, oldest).await else { return looked };
    for (lost, dead) in claimed {
        let won =
            !is_answered(&log, &lost.key, me) && winner(&log, &lost.key).is_some_and(|won| won.by == *me);
        looked.decided.push(GateDecision {
            message: lost.message,
            answer: won,
            reason: json!({
                "answer": won, "by": "model", "score": lost.score, "claim": if won { CLAIM_WON } else { CLAIM_LOST }, "lapsed": dead,
            }),
        });
    }
    looked
}
