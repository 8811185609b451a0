//! Connects a group thread with the log of its room: tells the other agents what is said here, and takes over what they
//! report as context.

use std::collections::BTreeMap;

use serde_json::Value;

use super::actor::Actor;
use crate::domain::{
    AgentCard, ChatKind, CorrelationId, IngressEvent, IngressKind, Intent, LINE_VERSION, LineAuthor,
    LineKind, LineReply, MessageId, OutboundIntent, RoomLine, SpeakerKind, ThreadId, Timestamp, Via,
};
use crate::fail_point::fail_point;
use crate::groups::{changed_report, fold_lines, is_reported, reported_message};
use crate::ports::{LineFilter, MessageFacts, Receipt};
use crate::turn::{ANSWERS_AGENT, CHAIN, DEPTH, Event};
use crate::uimessage::{GATE, PEER, Role, UiMessage};

/// How many lines are read for a message that is only heard, and at the start of a turn.
const FEW_LINES: usize = 60;
const MANY_LINES: usize = 400;
/// Most messages that are taken over at once, and how old they may be.
const MOST_TAKEN: usize = 50;
pub(super) const OLDEST_MS: u64 = 24 * 60 * 60 * 1000;
/// How long a person's message is left to the platform, which may send it itself.
const NATIVE_MS: u64 = 5_000;

/// How much of a log is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogReach {
    Brief,
    Whole,
}

impl Actor {
    /// The room of this thread, where other agents can share it.
    pub(super) fn room(&self) -> Option<&ThreadId> {
        let shared = self.runtime.groups.is_shared() && !self.id.is_of_one_person();
        Some(&self.id).filter(|_| shared)
    }

    /// Whether people speak with each other here, as far as its messages or its id tell.
    pub(super) fn is_in_group(&self) -> bool {
        let adapter = self.runtime.adapters.get(self.id.platform());
        self.conversation.is_group() || adapter.is_some_and(|adapter| adapter.is_group(&self.id))
    }

    /// Follows the room of this thread, under the name that it has for all.
    pub(super) fn note_room(&self) {
        let Some(thread) = self.room() else { return };
        let adapter = self.runtime.adapters.get(thread.platform());
        if let Some(room) = adapter.and_then(|adapter| adapter.room(thread)) {
            self.runtime.groups.note_moved(thread, room);
        }
        self.runtime.groups.note_room(thread);
    }

    /// The other agents of the roster that are here now.
    pub(super) async fn others_here(&self) -> Vec<AgentCard> {
        if self.room().is_none() || !self.is_in_group() {
            return Vec::new();
        }
        let now = self.runtime.clock.now();
        let mut others = self.runtime.groups.others_in(&self.id).await;
        others.retain(|card| !card.is_away(now));
        others
    }

    /// What a message of this chat is called by all agents.
    pub(super) fn key_of(&self, message: &UiMessage) -> Option<MessageId> {
        let metadata = &message.metadata;
        let text = message.text();
        let facts = MessageFacts {
            platform_message: metadata.message_id.as_deref()?,
            author: metadata.author_id.as_ref()?,
            at: metadata.timestamp,
            text: &text,
        };
        self.runtime.adapters.get(self.id.platform())?.shared_key(&self.id, facts)
    }

    /// The id that a message of the platform has in all threads of its room; `None` where each account counts for itself.
    pub(super) fn shared_id(&self, platform_message: &str) -> Option<MessageId> {
        self.runtime.adapters.get(self.id.platform())?.message_id(&self.id, platform_message)
    }

    /// Takes over what other agents have reported since. `arriving` is a message that comes from the platform now.
    pub(super) async fn take_over(&mut self, look: LogReach, arriving: Option<(&MessageId, Timestamp)>) {
        let Some(room) = self.room().cloned() else { return };
        let runtime = self.runtime.clone();
        self.note_room();
        let now = runtime.clock.now();
        let since = now.as_millis().saturating_sub(i64::try_from(OLDEST_MS).unwrap_or(0));
        let most = if look == LogReach::Brief { FEW_LINES } else { MANY_LINES };
        let lines = runtime.groups.recent(&room, most, Timestamp::from_millis(since), LineFilter::All).await;
        let lines = lines.unwrap_or_default();
        let mut taken = self.changed_reports(&lines);
        let lines = fold_lines(lines);
        let skip = lines.len().saturating_sub(MOST_TAKEN);
        for line in lines.into_iter().skip(skip) {
            if arriving.is_some_and(|(id, _)| line.key == *id) {
                self.told_room = Some(line.key);
            } else if self.takes(&line, look, now).await && !is_later(&line, look, arriving.map(|(_, at)| at))
            {
                taken.push(reported_message(&line, &self.id, runtime.ids.correlation()));
            }
        }
        if !taken.is_empty() {
            fail_point("room-lines-read");
            self.upcoming.push_back(Event::Reported(taken));
        }
    }

    /// The messages that were taken over and that their authors have changed or removed since.
    fn changed_reports(&self, lines: &[RoomLine]) -> Vec<UiMessage> {
        let is_change = |line: &&RoomLine| matches!(line.kind, LineKind::Edited | LineKind::Gone);
        let mut last: BTreeMap<&MessageId, &RoomLine> = BTreeMap::new();
        for line in lines.iter().filter(is_change) {
            // A removal is final: another agent may report an earlier edit after it.
            if last.get(&line.key).is_none_or(|known| known.kind != LineKind::Gone) {
                last.insert(&line.key, line);
            }
        }
        last.into_values()
            .filter_map(|line| changed_report(self.conversation.message(&line.key)?, line))
            .collect()
    }

    /// Reads the log of the room before a message of the group is taken up.
    pub(super) async fn hear_room(&mut self, event: &IngressEvent) {
        self.told_room = None;
        if event.chat != ChatKind::Group {
            return;
        }
        if let IngressKind::Said(said) = &event.kind {
            let reach = if said.addressed.context_only { LogReach::Brief } else { LogReach::Whole };
            self.take_over(reach, Some((&event.message, event.at))).await;
        }
    }

    /// Whether a message is known only because another agent reported it, and no run has begun for it.
    pub(super) fn is_only_reported(&self, id: &MessageId) -> bool {
        self.conversation.message(id).is_some_and(|message| is_reported(message) && message.metadata.context)
    }

    /// After a crash a message may be durable and not told.
    pub(super) async fn tell_room_again(&mut self, id: &MessageId) {
        let message = self.conversation.message(id).cloned();
        self.tell_room(message.as_slice()).await;
    }

    /// Whether a line becomes a message of this thread.
    async fn takes(&self, line: &RoomLine, look: LogReach, now: Timestamp) -> bool {
        let groups = &self.runtime.groups;
        if line.author.id == groups.me.id && line.author.kind == SpeakerKind::Agent {
            return false;
        }
        // At the start of a turn what others said must not be missed; what is for this agent starts a turn of its own.
        let waits = look == LogReach::Brief || groups.names.are_in(&line.text);
        let native_soon =
            waits && line.author.kind == SpeakerKind::Person && now.millis_since(line.at) < NATIVE_MS;
        // Where the thread cannot be read, nothing is taken twice.
        !native_soon && !self.knows(&line.key).await.unwrap_or(true) && !self.has_native_copy(line)
    }

    /// Tells the other agents of messages that the platform sent. They are durable in the thread file.
    pub(super) async fn tell_room(&mut self, messages: &[UiMessage]) {
        let Some(room) = self.room().cloned() else { return };
        for message in messages {
            let told = self.told_room.as_ref() == Some(&message.id);
            if let Some(line) = self.inbound_line(message).filter(|_| !told) {
                fail_point("stored-not-told");
                self.runtime.groups.append(&room, line).await;
            }
        }
    }

    fn inbound_line(&self, message: &UiMessage) -> Option<RoomLine> {
        let metadata = &message.metadata;
        let has = |key: &str| metadata.extra.contains_key(key);
        // A decision about a message changes nothing for the others.
        let silent = has("corrects") || (has(GATE) && !has("edited"));
        if message.role != Role::User || metadata.command || is_reported(message) || silent {
            return None;
        }
        let name = message.speaker()?.to_owned();
        let platform_message = metadata.message_id.clone()?;
        // An id that only this account knows cannot be recognised by others.
        self.shared_id(&platform_message)?;
        let id = metadata.author_id.as_ref()?.as_str().rsplit(':').next().unwrap_or_default().to_owned();
        let kind = match metadata.extra.get(PEER).and_then(Value::as_str) {
            // It tells of its messages itself.
            Some(kind) if kind == SpeakerKind::Agent.as_str() => return None,
            Some(_) => SpeakerKind::Bot,
            None => SpeakerKind::Person,
        };
        Some(RoomLine {
            kind: if has("edited") { LineKind::Edited } else { LineKind::Said },
            key: message.id.clone(),
            at: metadata.timestamp,
            message_id: Some(platform_message),
            reply_to: reply_of(message),
            author: LineAuthor { id, name, kind },
            text: message.text(),
            ..self.blank_line(message.id.clone(), Via::Inbound)
        })
    }

    /// Tells the other agents of a message that the platform took at this time. Before the receipt is stored: after a
    /// crash in between it is told again, under the same key.
    pub(super) async fn tell_room_of_delivery(
        &self,
        delivery: &str,
        sent: &OutboundIntent,
        receipt: &Receipt,
        at: Timestamp,
    ) {
        let Some(room) = self.room().cloned().filter(|_| self.is_in_group()) else { return };
        let of_model = self.conversation.is_models_text(delivery);
        let text = match &sent.intent {
            Intent::AssistantText { text } if of_model => text.clone(),
            Intent::Attachment { name, caption, .. } if of_model => match caption {
                Some(caption) => format!("[file: {name}] {caption}"),
                None => format!("[file: {name}]"),
            },
            Intent::ApprovalRequest { .. } => "[asked for approval]".to_owned(),
            _ => return,
        };
        let platform_message = receipt.platform_message.clone();
        let shared = platform_message.as_deref().and_then(|id| self.shared_id(id));
        let own = || format!("room:{}:{delivery}", self.runtime.groups.me.id).parse().ok();
        let Some(key) = shared.or_else(own) else { return };
        fail_point("sent-not-told");
        let ChainLink { root, depth, answers } = self.chain_of(&sent.correlation_id);
        let line = RoomLine {
            at,
            message_id: platform_message,
            text,
            depth,
            // What no message of this chat led to begins a chain of its own.
            chain: root.or_else(|| Some(MessageId::made(sent.correlation_id.as_str(), ".chain"))),
            answers,
            ..self.blank_line(key, Via::Outbound)
        };
        self.runtime.groups.append(&room, line).await;
        fail_point("told-not-recorded");
    }

    /// The chain that the answer of a run belongs to, and the agent that it answers.
    fn chain_of(&self, run: &CorrelationId) -> ChainLink {
        let messages = self.conversation.messages_of(run);
        let asked = messages.iter().rev().filter(|message| {
            message.role == Role::User && !message.metadata.context && !message.metadata.command
        });
        let mut of_agent = None;
        for message in asked {
            let extra = &message.metadata.extra;
            if !extra.contains_key(PEER) {
                let root = self.key_of(message).unwrap_or_else(|| message.id.clone());
                return ChainLink { root: Some(root), depth: 1, answers: None };
            }
            let depth = extra.get(DEPTH).and_then(Value::as_u64).and_then(|depth| u32::try_from(depth).ok());
            let link = || ChainLink {
                root: extra.get(CHAIN).and_then(Value::as_str).and_then(|root| root.parse().ok()),
                depth: depth.unwrap_or(u32::MAX / 2).saturating_add(1),
                answers: extra.get(ANSWERS_AGENT).and_then(Value::as_str).map(str::to_owned),
            };
            of_agent.get_or_insert_with(link);
        }
        of_agent.unwrap_or(ChainLink { root: None, depth: 1, answers: None })
    }

    /// A line by this agent.
    pub(super) fn blank_line(&self, key: MessageId, via: Via) -> RoomLine {
        let me = &self.runtime.groups.me;
        RoomLine {
            v: LINE_VERSION,
            kind: LineKind::Said,
            key,
            at: self.runtime.clock.now(),
            message_id: None,
            reply_to: None,
            author: LineAuthor { id: me.id.clone(), name: me.name.clone(), kind: SpeakerKind::Agent },
            text: String::new(),
            cut: false,
            chain: None,
            depth: 0,
            answers: None,
            score: 0,
            lapsed: None,
            via,
            by: me.id.clone(),
        }
    }
}

/// Where an answer stands in a chain of agents' messages.
struct ChainLink {
    /// The message of a person that it began with.
    root: Option<MessageId>,
    /// How many messages of agents the chain has, with the answer.
    depth: u32,
    /// The agent that is answered.
    answers: Option<String>,
}

/// Whether a line was written after the message that arrives, and is taken over behind it. At the start of a turn an
/// agent's line is taken in any case: its time is that of another clock.
fn is_later(line: &RoomLine, look: LogReach, arriving: Option<Timestamp>) -> bool {
    // Some platforms tell whole seconds only.
    let seconds = |at: Timestamp| at.as_millis().div_euclid(1000);
    let whole = |at: Timestamp| at.as_millis().rem_euclid(1000) == 0;
    let later = arriving.is_some_and(|at| line.at > at && !(whole(at) && seconds(line.at) == seconds(at)));
    later && (look == LogReach::Brief || line.via != Via::Outbound)
}

fn reply_of(message: &UiMessage) -> Option<LineReply> {
    let quoted = message.metadata.extra.get("replyTo")?;
    let text = |key: &str| quoted.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(LineReply {
        message_id: text("messageId")?,
        author: text("author"),
        text: text("text").unwrap_or_default(),
    })
}
