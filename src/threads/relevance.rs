//! Decides about messages of a group without a mention: rules, then a small model, then a claim, so that one question gets
//! one answer. Any doubt means silence.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::actor::Actor;
use super::count;
use super::direct_chats::{OwnerNotice, tell_owners};
use super::jobs::Done;
use super::lapsed_claims::{LostClaims, lost_to};
use super::room_link::LogReach;
use super::runtime::Runtime;
use crate::domain::{AgentCard, LineKind, MessageId, Purpose, RoomLine, ThreadId, Timestamp, Via};
use crate::groups::{
    BEST_SCORE, CLAIM_WINDOW_MS, GateInput, GateRule, gate_prompt, is_answered, read_gate, rule_for, winner,
};
use crate::ports::{LineFilter, Prompt, ThreadsHandle};
use crate::render::Phrase;
use crate::turn::{Event, GateDecision};
use crate::uimessage::UiMessage;

/// Deadline of the model's decision.
const DECIDE_WITHIN: Duration = Duration::from_secs(4);
/// A message that is older is not decided about any more.
const OLDEST_MS: u64 = 10 * 60 * 1000;
/// How long after a claim it is read who won: a little longer than claims count.
pub(super) const CLAIM_WAIT: Duration = Duration::from_millis(CLAIM_WINDOW_MS + 100);
/// How many lines of agents are searched for claims and answers.
const CLAIM_LINES: usize = 5_000;
/// How far the clocks of a platform and of the machine may be apart.
const CLOCKS_APART_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How many messages before the new ones the model is shown.
const EARLIER: usize = 20;

/// The undecided messages of one thread, and those whose claim another agent has won.
#[derive(Debug, Default)]
pub(super) struct GateState {
    due: Option<Instant>,
    busy: bool,
    pub(super) lost: LostClaims,
}

impl GateState {
    /// A message is to be decided about.
    pub(super) fn note(&mut self, settle: Duration) {
        self.due.get_or_insert_with(|| Instant::now() + settle);
    }

    pub(super) const fn is_pending(&self) -> bool {
        self.busy || self.due.is_some() || self.lost.is_pending()
    }

    /// When the next decision, or the next look at lost claims, is due.
    pub(super) fn due(&self) -> Option<Instant> {
        let decision = self.due.filter(|_| !self.busy);
        decision.into_iter().chain(self.lost.due()).min()
    }
}

/// Tells owners once a day that a model has decided about a group as often as it may.
async fn tell_gate_used_up(runtime: Arc<Runtime>, threads: ThreadsHandle, room: ThreadId, text: String) {
    let day = runtime.clock.now().day();
    match runtime.budget.notice(format!("gate:{room}:{day}")).await {
        Ok(true) => {}
        Ok(false) => return,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "notice about a group not recorded");
            return;
        }
    }
    tracing::warn!(thread = %room, "budget of relevance decisions used up");
    let correlation = runtime.ids.correlation();
    let notice = OwnerNotice { from: room, correlation, name: "gate", text };
    tell_owners(&threads, runtime.direct_chats.as_ref(), &runtime.owners, notice).await;
}

fn by_rule(message: MessageId, answer: bool, rule: &str) -> GateDecision {
    GateDecision { message, answer, reason: json!({ "answer": answer, "by": "rule", "rule": rule }) }
}

/// Whether one of these messages waits for a decision.
pub(super) fn has_undecided(messages: &[UiMessage]) -> bool {
    messages.iter().any(UiMessage::is_undecided)
}

impl Actor {
    /// The time for a decision, or for a look at lost claims, has come.
    pub(super) async fn gate_due(&mut self) {
        let now = Instant::now();
        if self.gate.lost.due().is_some_and(|due| due <= now) {
            self.look_at_lost_claims();
        }
        if self.gate.due.is_some_and(|due| due <= now) && !self.gate.busy {
            self.decide_relevance().await;
        }
    }

    /// Takes up what was undecided when the last process ended.
    pub(super) fn resume_gate(&mut self) {
        let day_ago = self.runtime.clock.now().as_millis().saturating_sub(DAY_MS);
        let judged = self.conversation.judged_since(Timestamp::from_millis(day_ago));
        if !judged.is_empty() {
            self.runtime.groups.note_decided(&self.id, judged);
        }
        let oldest = self.oldest_undecided();
        if !self.conversation.undecided(oldest).is_empty() {
            self.gate.note(Duration::ZERO);
        }
        self.resume_lost_claims();
    }

    pub(super) fn oldest_undecided(&self) -> Timestamp {
        let now = self.runtime.clock.now().as_millis();
        Timestamp::from_millis(now.saturating_sub(i64::try_from(OLDEST_MS).unwrap_or(0)))
    }

    /// Decides about the undecided messages: at once where a rule does, else in a job.
    async fn decide_relevance(&mut self) {
        self.gate.due = None;
        self.take_over(LogReach::Whole, None).await;
        while let Some(event) = self.upcoming.pop_front() {
            self.feed(event).await;
        }
        let runtime = self.runtime.clone();
        let others = runtime.groups.others_in(&self.id).await;
        let mut decided = Vec::new();
        let mut open = Vec::new();
        let mut questions = Vec::new();
        for message in self.conversation.undecided(self.oldest_undecided()) {
            let (id, text) = (message.id.clone(), message.text());
            let forwarded = message.metadata.extra.contains_key("forwardedFrom");
            match rule_for(&text, forwarded, &runtime.groups.names, &others) {
                Some(rule) => {
                    decided.push(by_rule(id, rule == GateRule::NamesMe, rule.as_str()));
                }
                None => {
                    let key = self.key_of(message);
                    questions.push(Question { message: id.clone(), key, at: message.metadata.timestamp });
                    open.push((id, message.speaker().unwrap_or_default().to_owned(), text));
                }
            }
        }
        let keyless = questions.iter().any(|question| question.key.is_none());
        let refusal = if open.is_empty() {
            None
        } else if runtime.groups.may_miss_others() || (keyless && self.has_others(&others).await) {
            // Without claims that all agents can read, a second answer cannot be prevented.
            Some("no-claims")
        } else if !runtime.groups.may_decide(&self.id, runtime.clock.now()) {
            Some("budget")
        } else {
            None
        };
        if refusal == Some("budget") {
            let threads = self.threads.open();
            let text = Phrase::GateUsedUp(self.id.clone()).say(self.conversation.language());
            let told = tell_gate_used_up(runtime.clone(), threads, self.id.clone(), text);
            let job = async move {
                told.await;
                Done::OwnersTold
            };
            self.jobs.start(job, Done::OwnersTold);
        }
        if let Some(rule) = refusal {
            decided.extend(open.drain(..).map(|(id, ..)| by_rule(id, false, rule)));
        }
        if !decided.is_empty() {
            count::gate(&runtime.metrics, &decided);
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
        let failed = refused(&questions, "failed");
        let claims = self.room().filter(|_| !keyless).map(|room| {
            let keys = questions.iter().filter_map(|question| question.key.clone());
            let line = |key| RoomLine { kind: LineKind::Claim, ..self.blank_line(key, Via::Outbound) };
            Claims { room: room.clone(), lines: keys.map(line).collect() }
        });
        self.gate.busy = true;
        let job = async move { Done::Decided(judge_relevance(runtime, prompt, questions, claims).await) };
        self.jobs.start(job, Done::Decided(failed));
    }

    /// Whether other agents may be in this chat. Where the settings join rooms, the others tell it late.
    async fn has_others(&self, here: &[AgentCard]) -> bool {
        let groups = &self.runtime.groups;
        !here.is_empty() || (groups.is_joined(&self.id) && !groups.others().await.is_empty())
    }

    /// A job has decided.
    pub(super) fn relevance_decided(&mut self, decisions: Vec<GateDecision>) {
        self.gate.busy = false;
        count::gate(&self.runtime.metrics, &decisions);
        self.watch_lost_claims(&decisions);
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

/// A message to decide about.
struct Question {
    message: MessageId,
    /// What it is called by all agents.
    key: Option<MessageId>,
    at: Timestamp,
}

/// The claims on questions, in their order.
struct Claims {
    room: ThreadId,
    lines: Vec<RoomLine>,
}

/// Asks the model, and claims what it wants to answer.
async fn judge_relevance(
    runtime: Arc<Runtime>,
    prompt: Prompt,
    questions: Vec<Question>,
    claims: Option<Claims>,
) -> Vec<GateDecision> {
    let (live, deltas) = mpsc::channel(1);
    // No subscriber needs these deltas.
    drop(deltas);
    runtime.metrics.model_calls.count();
    let began = Instant::now();
    let asked = tokio::time::timeout(DECIDE_WITHIN, runtime.helper.model.complete(prompt, live)).await;
    runtime.metrics.gate.model_micros.add(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX));
    let reply = match asked {
        Ok(Ok(completion)) => read_gate(&completion.text),
        Ok(Err(error)) => {
            tracing::info!(kind = ?error.kind, "relevance decision failed");
            None
        }
        Err(_) => None,
    };
    let Some(reply) = reply else { return refused(&questions, "failed") };
    let decision = |question: &Question, answer: bool, claim: &str| GateDecision {
        message: question.message.clone(),
        answer,
        reason: json!({ "answer": answer, "by": "model", "score": reply.score, "claim": claim }),
    };
    let all = |answer: bool, claim: &str| {
        questions.iter().map(|question| decision(question, answer, claim)).collect()
    };
    if !reply.is_yes(runtime.groups.settings().threshold) {
        return all(false, "none");
    }
    let Some(Claims { room, lines }) = claims else { return all(true, "none") };
    for line in lines {
        if runtime
            .groups
            .claim(&room, RoomLine { score: reply.score.min(BEST_SCORE - 1), ..line })
            .await
            .is_none()
        {
            return all(false, "failed");
        }
    }
    tokio::time::sleep(CLAIM_WAIT).await;
    // A message may come late: others may have claimed and answered it long ago.
    let oldest = questions.iter().map(|question| question.at).min().unwrap_or_default();
    let Some(log) = claims_since(&runtime, &room, oldest).await else { return all(false, "failed") };
    let me = &runtime.groups.me.id;
    let claimed = |question: &Question| {
        let Some(key) = question.key.as_ref() else { return decision(question, false, "lost") };
        let winner = winner(&log, key).filter(|_| !is_answered(&log, key, me));
        match winner {
            Some(winner) if winner.by == *me => decision(question, true, "won"),
            // Another one answers it, unless its agent dies: what has no answer yet is looked at again.
            Some(winner) => {
                GateDecision { reason: lost_to(reply.score, &winner), ..decision(question, false, "lost") }
            }
            None => decision(question, false, "lost"),
        }
    };
    questions.iter().map(claimed).collect()
}

/// The claims and answers of agents since a message came; `None` where the log cannot be read.
pub(super) async fn claims_since(
    runtime: &Runtime,
    room: &ThreadId,
    oldest: Timestamp,
) -> Option<Vec<RoomLine>> {
    let since = Timestamp::from_millis(oldest.as_millis().saturating_sub(CLOCKS_APART_MS));
    runtime.groups.recent(room, CLAIM_LINES, since, LineFilter::OfAgents).await
}

fn refused(questions: &[Question], rule: &str) -> Vec<GateDecision> {
    questions.iter().map(|question| by_rule(question.message.clone(), false, rule)).collect()
}

/// What the agent is for: as the settings say, else the first paragraph of its instructions.
fn purpose_of(configured: &str, instructions: &str) -> String {
    if !configured.is_empty() {
        return configured.to_owned();
    }
    crate::groups::first_paragraph(instructions)
}
