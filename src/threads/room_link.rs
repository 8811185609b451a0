//! Connects a group thread with the log of its room: tells the other agents what is said here, and takes over what they
//! report as context.

use std::time::Duration;

use serde_json::Value;

use super::actor::Actor;
use crate::domain::{
    AgentCard, ChatKind, CorrelationId, IngressEvent, IngressKind, Intent, LINE_VERSION, LineAuthor,
    LineKind, LineReply, MessageId, OutboundIntent, RoomLine, SpeakerKind, ThreadId, Timestamp, Via,
};
use crate::fail_point::fail_point;
use crate::groups::{Chain, fold_lines, is_reported, reported_message};
use crate::ports::{HistoryError, PastWords, Receipt};
use crate::turn::{ANSWERS_AGENT, CHAIN, DEPTH, Event};
use crate::uimessage::{GATE, PEER, Role, UiMessage};

/// How many lines are read for a message that is only heard, and at the start of a turn.
const FEW_LINES: usize = 60;
const MANY_LINES: usize = 400;
/// Most messages that are taken over at once, and how old they may be.
const MOST_TAKEN: usize = 50;
const OLDEST_MS: u64 = 24 * 60 * 60 * 1000;
/// How many messages the platform is asked for, and how long it may take.
const MOST_ASKED: usize = 100;
const ASK_WITHIN: Duration = Duration::from_secs(3);
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

    /// The other agents of the roster that are here now.
    pub(super) async fn others_here(&self) -> Vec<AgentCard> {
        if self.room().is_none() || !self.conversation.is_group() {
            return Vec::new();
        }
        let now = self.runtime.clock.now();
        let others = self.runtime.groups.others().await;
        others.iter().filter(|card| !card.is_away(now)).cloned().collect()
    }

    /// The id that a message of the platform has in all threads of its room; `None` where each account counts for itself.
    pub(super) fn shared_id(&self, platform_message: &str) -> Option<MessageId> {
        self.runtime.adapters.get(self.id.platform())?.message_id(&self.id, platform_message)
    }

    /// Takes over what other agents have reported since. `arriving` is a message that comes from the platform now.
    pub(super) async fn take_over(&mut self, look: LogReach, arriving: Option<(&MessageId, Timestamp)>) {
        let Some(room) = self.room().cloned() else { return };
        let runtime = self.runtime.clone();
        runtime.groups.note_room(&room);
        let now = runtime.clock.now();
        let since = now.as_millis().saturating_sub(i64::try_from(OLDEST_MS).unwrap_or(0));
        let most = if look == LogReach::Brief { FEW_LINES } else { MANY_LINES };
        let lines = runtime.groups.recent(&room, most, Timestamp::from_millis(since)).await;
        let lines = fold_lines(lines.unwrap_or_default());
        let mut taken = Vec::new();
        let skip = lines.len().saturating_sub(MOST_TAKEN);
        for line in lines.into_iter().skip(skip) {
            if arriving.is_some_and(|(id, _)| line.key == *id) {
                self.told_room = Some(line.key);
            } else if self.takes(&line, now).await && !is_later(&line, look, arriving.map(|(_, at)| at)) {
                taken.push(reported_message(&line, &self.id, runtime.ids.correlation()));
            }
        }
        if !taken.is_empty() {
            fail_point("room-lines-read");
            self.upcoming.push_back(Event::Reported(taken));
        }
    }

    /// Reads the log of the room before a message of the group is taken up.
    pub(super) async fn hear_room(&mut self, event: &IngressEvent) {
        self.told_room = None;
        if event.chat != ChatKind::Group {
            return;
        }
        match &event.kind {
            IngressKind::Said(said) if !said.context_only => {
                self.ask_history(&event.message, event.at).await;
                self.take_over(LogReach::Whole, Some((&event.message, event.at))).await;
            }
            IngressKind::Said(_) => self.take_over(LogReach::Brief, Some((&event.message, event.at))).await,
            _ => {}
        }
    }

    /// Asks the platform for what was said before this process listened. What it does not tell in time is left out.
    async fn ask_history(&mut self, arriving: &MessageId, at: Timestamp) {
        let Some(room) = self.room().cloned() else { return };
        let runtime = self.runtime.clone();
        let Some(adapter) = runtime.adapters.get(room.platform()) else { return };
        let Some(asked) = adapter.history(&room, MOST_ASKED) else { return };
        if !runtime.groups.may_ask_history(&room) {
            return;
        }
        let mut past = match tokio::time::timeout(ASK_WITHIN, asked).await {
            Ok(Ok(past)) => past,
            Ok(Err(error @ HistoryError::Refused(_))) => {
                runtime.groups.history_known(&room);
                tracing::warn!(thread = %room, %error, "history refused");
                return;
            }
            Ok(Err(error)) => {
                tracing::info!(thread = %room, %error, "history not available");
                return;
            }
            Err(_) => return,
        };
        runtime.groups.history_known(&room);
        let oldest = runtime.clock.now().as_millis().saturating_sub(i64::try_from(OLDEST_MS).unwrap_or(0));
        let others = runtime.groups.others().await;
        let mut taken: Vec<UiMessage> = Vec::new();
        past.sort_by_key(|past| past.at);
        for past in past {
            let Some(line) = self
                .history_line(past, &others)
                .filter(|line| line.at.as_millis() >= oldest && line.at <= at)
            else {
                continue;
            };
            let again = taken.iter().any(|message| message.id == line.key);
            if again || line.key == *arriving || self.knows(&line.key).await.unwrap_or(true) {
                continue;
            }
            taken.push(reported_message(&line, &self.id, runtime.ids.correlation()));
            // The others on this machine need not ask.
            runtime.groups.append(&room, line).await;
        }
        if !taken.is_empty() {
            self.upcoming.push_back(Event::Reported(taken));
        }
    }

    fn history_line(&self, past: PastWords, others: &[AgentCard]) -> Option<RoomLine> {
        let key = self.shared_id(&past.platform_message)?;
        let platform = self.id.platform();
        let agent =
            others.iter().find(|card| past.by_program && card.is_known_as(platform, &past.author, None));
        let author = match agent {
            Some(card) => {
                LineAuthor { id: card.id.clone(), name: card.name.clone(), kind: SpeakerKind::Agent }
            }
            None => LineAuthor {
                name: self.conversation.name_of(&self.id, &past.author),
                kind: if past.by_program { SpeakerKind::Bot } else { SpeakerKind::Person },
                id: past.author,
            },
        };
        Some(RoomLine {
            at: past.at,
            message_id: Some(past.platform_message),
            author,
            text: past.text,
            ..self.blank_line(key, Via::History)
        })
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
    async fn takes(&self, line: &RoomLine, now: Timestamp) -> bool {
        let groups = &self.runtime.groups;
        if line.author.id == groups.me.id && line.author.kind == SpeakerKind::Agent {
            return false;
        }
        let native_soon = line.author.kind == SpeakerKind::Person && now.millis_since(line.at) < NATIVE_MS;
        // Where the thread cannot be read, nothing is taken twice.
        !native_soon && !self.knows(&line.key).await.unwrap_or(true) && !self.has_native_copy(line)
    }

    /// Tells the other agents of messages that the platform sent. They are durable in the thread file.
    pub(super) async fn tell_room(&mut self, messages: &[UiMessage]) {
        let Some(room) = self.room().cloned() else { return };
        for message in messages {
            let told = self.told_room.as_ref() == Some(&message.id);
            if let Some(line) = self.inbound_line(message).filter(|_| !told) {
                self.runtime.groups.append(&room, line).await;
            }
        }
    }

    fn inbound_line(&self, message: &UiMessage) -> Option<RoomLine> {
        let metadata = &message.metadata;
        let silent = ["corrects", GATE].iter().any(|key| metadata.extra.contains_key(*key));
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
        let edited = metadata.extra.contains_key("edited");
        Some(RoomLine {
            kind: if edited { LineKind::Edited } else { LineKind::Said },
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
        let Some(room) = self.room().cloned().filter(|_| self.conversation.is_group()) else { return };
        let text = match &sent.intent {
            Intent::AssistantText { text } => text.clone(),
            Intent::Attachment { name, caption, .. } => match caption {
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
        let (chain, answers) = self.chain_of(&sent.correlation_id);
        let line = RoomLine {
            at,
            message_id: platform_message,
            text,
            depth: chain.as_ref().map_or(1, |chain| chain.depth),
            chain: chain.map(|chain| chain.root),
            answers,
            ..self.blank_line(key, Via::Outbound)
        };
        self.runtime.groups.append(&room, line).await;
        fail_point("told-not-recorded");
    }

    /// The chain that the answer of a run belongs to, and the agent that it answers.
    fn chain_of(&self, run: &CorrelationId) -> (Option<Chain>, Option<String>) {
        let messages = self.conversation.messages_of(run);
        let asked = messages.iter().rev().filter(|message| {
            message.role == Role::User && !message.metadata.context && !message.metadata.command
        });
        let mut of_agent = None;
        for message in asked {
            let extra = &message.metadata.extra;
            if !extra.contains_key(PEER) {
                return (Some(Chain { root: message.id.clone(), depth: 1 }), None);
            }
            let depth = extra.get(DEPTH).and_then(Value::as_u64).and_then(|depth| u32::try_from(depth).ok());
            let root = extra.get(CHAIN).and_then(Value::as_str).and_then(|root| root.parse().ok());
            let peer = extra.get(ANSWERS_AGENT).and_then(Value::as_str).map(str::to_owned);
            let chain = root.map(|root| Chain { root, depth: depth.unwrap_or(u32::MAX / 2) + 1 });
            of_agent = of_agent.or(Some((chain, peer)));
        }
        of_agent.unwrap_or_default()
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
            via,
            by: me.id.clone(),
        }
    }
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
