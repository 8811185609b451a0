//! Messages of groups that come late: reported by other agents, or decided about after they were stored.

use serde_json::Value;

use super::conversation::Conversation;
use crate::domain::{AuthorId, CorrelationId, MessageId, ThreadId, Timestamp};
use crate::ports::Durability;
use crate::turn::runs::run::Run;
use crate::turn::{ANSWERS_AGENT, Effect, GateDecision};
use crate::uimessage::{GATE, PEER, Role, UiMessage, VIA};

/// What a decision says of the claim of this agent on a message.
pub const CLAIM_WON: &str = "won";
pub const CLAIM_LOST: &str = "lost";

impl Conversation {
    /// Whether people speak with each other here.
    pub fn is_group(&self) -> bool {
        self.history.messages().iter().any(|message| message.speaker().is_some())
    }

    /// Whether a delivery has words or a file of the model. Replies to commands, questions and notices are the daemon's.
    pub fn is_models_text(&self, delivery: &str) -> bool {
        let source = delivery.rsplit_once('#').map_or(delivery, |(source, _)| source);
        if source.ends_with(".result") || source.contains(".said.") {
            return true;
        }
        let partial =
            source.rsplit_once(".partial").filter(|(_, step)| step.bytes().all(|c| c.is_ascii_digit()));
        let id = partial.map_or(source, |(id, _)| id);
        let answers = |message: &UiMessage| message.role == Role::Assistant && !message.metadata.command;
        self.history.messages().iter().rev().find(|message| message.id.as_str() == id).is_some_and(answers)
    }

    /// Tells the names of the other agents that are here.
    pub fn note_others(&mut self, names: Vec<String>) {
        self.others = names;
    }

    /// The display name of an author of the platform, as far as this thread knows it.
    pub fn name_of(&self, thread: &ThreadId, author: &str) -> String {
        let id = AuthorId::new(thread.platform(), author).ok();
        let known = id.filter(|id| self.history.people().contains(id));
        known.map_or_else(|| author.to_owned(), |id| self.history.name_of(&id))
    }

    /// A message in memory.
    pub fn message(&self, id: &MessageId) -> Option<&UiMessage> {
        self.history.find(id)
    }

    /// The last message of a person, and how many messages of programs have followed it, the agent's own included.
    pub fn programs_since_person(&self) -> (Option<MessageId>, u32) {
        let mut count = 0;
        for message in self.history.messages().iter().rev().filter(|message| !message.metadata.command) {
            match message.role {
                Role::User if !message.metadata.extra.contains_key(PEER) => {
                    return (Some(message.id.clone()), count);
                }
                Role::Assistant if message.text().trim().is_empty() => {}
                Role::User | Role::Assistant => count += 1,
                Role::System => {}
            }
        }
        (None, count)
    }

    /// When a person last wrote something that is answered here.
    pub fn last_asked(&self) -> Option<Timestamp> {
        let asked = |message: &&UiMessage| {
            let plain = !message.metadata.context && !message.metadata.command;
            message.role == Role::User && plain && !message.metadata.extra.contains_key(PEER)
        };
        self.history.messages().iter().rev().find(asked).map(|message| message.metadata.timestamp)
    }

    /// The messages of a program that were answered here, with their times.
    pub fn answered_programs(&self, program: &str) -> Vec<(MessageId, Timestamp)> {
        let is_its = |message: &&UiMessage| {
            let agent = message.metadata.extra.get(ANSWERS_AGENT).and_then(Value::as_str);
            !message.metadata.context && agent == Some(program)
        };
        let told = |message: &UiMessage| (message.id.clone(), message.metadata.timestamp);
        self.history.messages().iter().filter(is_its).map(told).collect()
    }

    /// Whether a message in memory is like this.
    pub fn any_message(&self, is_so: &dyn Fn(&UiMessage) -> bool) -> bool {
        self.history.messages().iter().rev().any(is_so)
    }

    /// The messages since `oldest` about which nothing is decided, in their order.
    pub fn undecided(&self, oldest: Timestamp) -> Vec<&UiMessage> {
        let open = |message: &&UiMessage| message.is_undecided() && message.metadata.timestamp >= oldest;
        self.history.since_new().filter(open).collect()
    }

    /// The messages since `oldest` whose claim another agent has won, with the decisions about them. A claim lapses once.
    pub fn lost_claims(&self, oldest: Timestamp) -> Vec<(&UiMessage, &Value)> {
        let recent = self.history.since_new().filter(|message| message.metadata.timestamp >= oldest);
        recent.filter_map(|message| Some((message, lost_claim(message)?))).collect()
    }

    /// The times since `oldest` of messages about which a model has decided, in their order.
    pub fn judged_since(&self, oldest: Timestamp) -> Vec<Timestamp> {
        let by_model = |message: &&UiMessage| {
            let gate = message.metadata.extra.get(GATE).and_then(|gate| gate.get("by"));
            gate.and_then(Value::as_str) == Some("model")
        };
        let messages = self.history.messages().iter().filter(by_model);
        let mut times: Vec<Timestamp> =
            messages.map(|message| message.metadata.timestamp).filter(|at| *at >= oldest).collect();
        times.sort();
        times
    }

    /// The last messages before the new ones, with their speakers.
    pub fn told_before(&self, most: usize, is_new: &dyn Fn(&MessageId) -> bool) -> Vec<(String, String)> {
        let told = |message: &UiMessage| {
            let who = match message.role {
                Role::User => message.speaker().unwrap_or("operator"),
                Role::System | Role::Assistant => "this agent",
            };
            (who.to_owned(), message.text())
        };
        let mut last: Vec<(String, String)> = self
            .history
            .since_new()
            .filter(|message| {
                !message.metadata.command && !message.metadata.checkpoint && !is_new(&message.id)
            })
            .map(told)
            .filter(|(_, text)| !text.trim().is_empty())
            .collect();
        last.drain(..last.len().saturating_sub(most));
        last
    }

    /// The messages that the run in flight answers and that other messages have followed, with their speakers: they were
    /// decided about or vouched for late. None once the run has said something.
    pub fn asked_above(&self) -> Vec<(String, String)> {
        let Some(run) = self.current() else { return Vec::new() };
        let context = self.context();
        let own = |message: &UiMessage| message.metadata.correlation_id == *run;
        let end = context.iter().rposition(|message| !own(message) && !message.metadata.command);
        let asked = context
            .iter()
            .take(end.unwrap_or(0))
            .filter(|message| own(message) && message.role == Role::User && message.speaker().is_some());
        let begun = context
            .iter()
            .any(|message| own(message) && message.role == Role::Assistant && message.steps() > 1);
        let told = |message: &&UiMessage| (message.speaker().unwrap_or_default().to_owned(), message.text());
        if begun { Vec::new() } else { asked.map(told).collect() }
    }

    /// Other agents have reported messages: they are kept as context, and replace what was reported before.
    pub(super) fn reported(&mut self, messages: Vec<UiMessage>) -> Vec<Effect> {
        let mut lines = self.place_run();
        let is_reported =
            |known: &UiMessage| known.metadata.context && known.metadata.extra.contains_key(VIA);
        lines.extend(
            messages.into_iter().filter(|message| self.history.find(&message.id).is_none_or(is_reported)),
        );
        vec![self.recorded(Effect::commit(lines, Durability::Written))]
    }

    /// Decisions about messages that were kept as context: those to answer start a run or wait for one.
    pub(super) fn decided(
        &mut self,
        decisions: &[GateDecision],
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Vec<Effect> {
        let mut lines = Vec::new();
        let mut answered: Option<(CorrelationId, Vec<MessageId>)> = None;
        let mut reply_to = None;
        for decision in decisions {
            let is_open = |message: &&UiMessage| message.is_undecided() || lost_claim(message).is_some();
            let Some(known) = self.history.find(&decision.message).filter(is_open) else { continue };
            let mut line = known.clone();
            line.metadata.extra.insert(GATE.to_owned(), decision.reason.clone());
            // A closed queue starts no run: the message stays undecided for the next process.
            if decision.answer && self.queue.is_closed() {
                continue;
            }
            if decision.answer {
                let (correlation, ids) = answered.get_or_insert_with(|| (fresh(), Vec::new()));
                line.metadata.context = false;
                line.metadata.correlation_id = correlation.clone();
                reply_to.clone_from(&line.metadata.message_id);
                ids.push(line.id.clone());
            }
            lines.push(line);
        }
        if lines.is_empty() {
            return Vec::new();
        }
        let Some((correlation, ids)) = answered else {
            return vec![self.recorded(Effect::commit(lines, Durability::Written))];
        };
        let mut placed = self.place_run();
        placed.append(&mut lines);
        let mut effects = vec![self.recorded(Effect::commit(placed, Durability::Synced))];
        if self.run.is_none() && self.queue.is_empty() {
            self.run = Some(Run::new(&self.settings.thread, correlation, reply_to, now));
            effects.push(Effect::AcquireSlot);
        } else {
            self.queue.wait(&correlation, ids);
        }
        effects.push(Effect::Publish);
        effects
    }
}

/// The decision about a message whose claim another agent has won, as long as that claim may lapse.
fn lost_claim(message: &UiMessage) -> Option<&Value> {
    let gate = message.metadata.extra.get(GATE).filter(|_| message.metadata.context)?;
    let lost = gate.get("claim").and_then(Value::as_str) == Some(CLAIM_LOST);
    (lost && gate.get("claimedAt").is_some()).then_some(gate)
}
