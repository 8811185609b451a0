//! Decides about messages of a group that name nobody: rules, then a small model, then a claim, so that one question gets
//! one answer. Any doubt means silence.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::actor::Actor;
use super::jobs::Done;
use super::room_link::LogReach;
use super::runtime::Runtime;
use crate::domain::{LineKind, MentionState, MessageId, Purpose, RoomLine, ThreadId, Timestamp, Via};
use crate::groups::{CLAIM_WINDOW_MS, GateInput, GateRule, gate_prompt, read_gate, rule_for, winner};
use crate::ports::Prompt;
use crate::turn::{Event, GateDecision};
use crate::uimessage::{GATE, UiMessage};

/// Deadline of the model's decision.
const DECIDE_WITHIN: Duration = Duration::from_secs(4);
/// A message that is older is not decided about any more.
const OLDEST_MS: u64 = 10 * 60 * 1000;
/// How long after a claim it is read who won: a little longer than claims count.
const CLAIM_WAIT: Duration = Duration::from_millis(CLAIM_WINDOW_MS + 100);
/// How many lines of the log are searched for claims.
const CLAIM_LINES: usize = 1_000;
/// How many messages before the new ones the model is shown.
const EARLIER: usize = 20;

/// The undecided messages of one thread.
#[derive(Debug, Default)]
pub(super) struct GateState {
    due: Option<Instant>,
    busy: bool,
}

impl GateState {
    /// A message is to be decided about.
    pub(super) fn note(&mut self, settle: Duration) {
        self.due.get_or_insert_with(|| Instant::now() + settle);
    }

    pub(super) const fn is_pending(&self) -> bool {
        self.busy || self.due.is_some()
    }

    /// When the next decision is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.filter(|_| !self.busy)
    }
}

fn by_rule(message: MessageId, answer: bool, rule: &str) -> GateDecision {
    GateDecision { message, answer, reason: json!({ "answer": answer, "by": "rule", "rule": rule }) }
}

/// Whether one of these messages waits for a decision.
pub(super) fn has_undecided(messages: &[UiMessage]) -> bool {
    messages.iter().any(|message| {
        let open = message.metadata.context && message.attention() == MentionState::Undecided;
        open && !message.metadata.extra.contains_key(GATE)
    })
}

impl Actor {
    /// Takes up what was undecided when the last process ended.
    pub(super) fn resume_gate(&mut self) {
        let oldest = self.oldest_undecided();
        if !self.conversation.undecided(oldest).is_empty() {
            self.gate.note(Duration::ZERO);
        }
    }

    fn oldest_undecided(&self) -> Timestamp {
        let now = self.runtime.clock.now().as_millis();
        Timestamp::from_millis(now.saturating_sub(i64::try_from(OLDEST_MS).unwrap_or(0)))
    }

    /// Decides about the undecided messages: at once where a rule does, else in a job.
    pub(super) async fn decide_relevance(&mut self) {
        self.gate.due = None;
        self.take_over(LogReach::Whole, None).await;
        while let Some(event) = self.upcoming.pop_front() {
            self.feed(event).await;
        }
        let runtime = self.runtime.clone();
        let others = runtime.groups.others().await;
        let mut decided = Vec::new();
        let mut open = Vec::new();
        for message in self.conversation.undecided(self.oldest_undecided()) {
            let (id, text) = (message.id.clone(), message.text());
            let forwarded = message.metadata.extra.contains_key("forwardedFrom");
            match rule_for(&text, forwarded, &runtime.groups.names, &others) {
                Some(rule) => {
                    decided.push(by_rule(id, rule == GateRule::NamesMe, rule.as_str()));
                }
                None => open.push((id, message.speaker().unwrap_or_default().to_owned(), text)),
            }
        }
        if !open.is_empty() && !runtime.groups.may_decide(&self.id, runtime.clock.now()) {
            let over = |(id, ..): (MessageId, _, _)| by_rule(id, false, "budget");
            decided.extend(open.drain(..).map(over));
        }
        if !decided.is_empty() {
            self.upcoming.push_back(Event::Decided(decided));
        }
        if open.is_empty() {
            return;
        }
        let earlier = self.conversation.told_before(EARLIER, &|id| open.iter().any(|(new, ..)| new == id));
        let new: Vec<(String, String)> =
            open.iter().map(|(_, who, text)| (who.clone(), text.clone())).collect();
        let instructions = runtime.agent.instructions.current().await;
        let purpose = purpose_of(&runtime.groups.me.purpose, &instructions.text);
        let mut prompt = gate_prompt(GateInput {
            name: &runtime.groups.me.name,
            purpose: &purpose,
            others: &others,
            earlier: &earlier,
            new: &new,
        });
        prompt.account = Some(runtime.account(&self.id, Purpose::Gate));
        let messages: Vec<MessageId> = open.into_iter().map(|(id, ..)| id).collect();
        let failed = refused(&messages, "failed");
        let lines = messages
            .iter()
            .map(|id| RoomLine { kind: LineKind::Claim, ..self.blank_line(id.clone(), Via::Outbound) })
            .collect();
        let room = self.room().cloned();
        self.gate.busy = true;
        let job = async move { Done::Decided(decide(runtime, prompt, messages, room, lines).await) };
        self.jobs.start(job, Done::Decided(failed));
    }

    /// A job has decided.
    pub(super) fn relevance_decided(&mut self, decisions: Vec<GateDecision>) {
        self.gate.busy = false;
        self.upcoming.push_back(Event::Decided(decisions));
        // Messages that came meanwhile.
        let decided = |id: &MessageId| decisions_have(&self.upcoming, id);
        let waits = self.conversation.undecided(self.oldest_undecided());
        if waits.iter().any(|message| !decided(&message.id)) {
            self.gate.note(self.runtime.groups.settings().settle);
        }
    }
}

fn decisions_have(upcoming: &std::collections::VecDeque<Event>, id: &MessageId) -> bool {
    upcoming.iter().any(|event| match event {
        Event::Decided(decisions) => decisions.iter().any(|decision| decision.message == *id),
        _ => false,
    })
}

/// Asks the model, and claims what it wants to answer.
async fn decide(
    runtime: Arc<Runtime>,
    prompt: Prompt,
    messages: Vec<MessageId>,
    room: Option<ThreadId>,
    lines: Vec<RoomLine>,
) -> Vec<GateDecision> {
    let (live, deltas) = mpsc::channel(1);
    // No subscriber needs these deltas.
    drop(deltas);
    runtime.metrics.model_calls.count();
    let asked = tokio::time::timeout(DECIDE_WITHIN, runtime.helper.model.complete(prompt, live)).await;
    let reply = match asked {
        Ok(Ok(completion)) => read_gate(&completion.text),
        Ok(Err(error)) => {
            tracing::info!(kind = ?error.kind, "relevance decision failed");
            None
        }
        Err(_) => None,
    };
    let Some(reply) = reply else { return refused(&messages, "failed") };
    let told = |answer: bool, claim: &str| json!({ "answer": answer, "by": "model", "score": reply.score, "claim": claim });
    let all = |answer: bool, claim: &str| {
        let decision = |message: &MessageId| GateDecision {
            message: message.clone(),
            answer,
            reason: told(answer, claim),
        };
        messages.iter().map(decision).collect()
    };
    if !reply.is_yes(runtime.groups.settings().threshold) {
        return all(false, "none");
    }
    let Some(room) = room else { return all(true, "none") };
    let mut since = runtime.clock.now();
    for line in lines {
        let line = RoomLine { score: reply.score, ..line };
        match runtime.groups.claim(&room, line).await {
            Some(at) => since = since.min(at),
            None => return all(false, "failed"),
        }
    }
    tokio::time::sleep(CLAIM_WAIT).await;
    let since = Timestamp::from_millis(since.as_millis().saturating_sub(60_000));
    let Some(log) = runtime.groups.recent(&room, CLAIM_LINES, since).await else {
        return all(false, "failed");
    };
    let mine = |message: &MessageId| winner(&log, message).is_some_and(|won| won.by == runtime.groups.me.id);
    let decision = |message: &MessageId| {
        let won = mine(message);
        GateDecision {
            message: message.clone(),
            answer: won,
            reason: told(won, if won { "won" } else { "lost" }),
        }
    };
    messages.iter().map(decision).collect()
}

fn refused(messages: &[MessageId], rule: &str) -> Vec<GateDecision> {
    messages.iter().map(|id| by_rule(id.clone(), false, rule)).collect()
}

/// What the agent is for: as the settings say, else the first paragraph of its instructions.
fn purpose_of(configured: &str, instructions: &str) -> String {
    if !configured.is_empty() {
        return configured.to_owned();
    }
    crate::groups::first_paragraph(instructions)
}
