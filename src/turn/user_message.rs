//! The stored messages of people: new ones, edited ones, and corrections of messages that are no longer in memory.

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::context::TurnContext;
use super::history::IN_COMPANY;
use crate::domain::{
    ChatKind, CorrelationId, IngressEvent, MemoryScope, MessageId, PeerWords, Said, ScheduledRun,
};
use crate::uimessage::{FilePart, Metadata, PEER, Part, Role, SPEAKER, TextPart, UiMessage, VIA, VOICE};

/// The metadata of an agent's message: who it is, the person's message its chain began with, and its length.
pub const ANSWERS_AGENT: &str = "agent";
pub const CHAIN: &str = "chain";
pub const DEPTH: &str = "depth";

/// The metadata of a message that names further threads for the result of its run.
pub const DELIVER_TO: &str = "deliverTo";

/// The metadata of a message that starts the run of a task.
const TASK: &str = "task";

/// The run of a task that a message starts.
pub(super) fn scheduled_run(message: &UiMessage) -> Option<ScheduledRun> {
    ScheduledRun::deserialize(message.metadata.extra.get(TASK)?).ok()
}

/// The user message of an event, with metadata about the author and other participants.
pub(super) fn user_message(
    event: &IngressEvent,
    said: &Said,
    correlation: &CorrelationId,
    ctx: &TurnContext<'_>,
) -> UiMessage {
    let mut message = plain_message(event, said, correlation);
    let rules = ctx.rules();
    let scope = match &said.scheduled {
        Some(run) => run.memory.scope(&event.author.id, &event.thread, &rules.scopes),
        None => MemoryScope::resolve(&event.author.id, event.chat, &event.thread, &rules.scopes),
    };
    message.set_memory_scope(&scope, rules.rights.origin_of(event));
    if event.chat == ChatKind::Group {
        message.set_mention(said.addressed.mention);
    }
    if event.chat.is_private() && ctx.history.is_in_company(&event.author.id) {
        message.metadata.extra.insert(IN_COMPANY.to_owned(), true.into());
    }
    message
}

/// A known message with new content. `None` means that nothing has changed.
pub(super) fn edited(
    event: &IngressEvent,
    said: &Said,
    known: &UiMessage,
    ctx: &TurnContext<'_>,
) -> Option<UiMessage> {
    let mut message = user_message(event, said, &known.metadata.correlation_id, ctx);
    if message.parts == known.parts {
        return None;
    }
    let Metadata { timestamp, context, command, .. } = known.metadata;
    message.metadata = Metadata { timestamp, context, command, ..message.metadata };
    message.keep_memory_scope_of(known);
    message.keep_addressed_of(known);
    message.metadata.extra.insert("edited".to_owned(), true.into());
    Some(message)
}

/// A note that tells the model of the correction of an earlier message.
pub(super) fn correction_note(
    event: &IngressEvent,
    said: &Said,
    correlation: &CorrelationId,
    ctx: &TurnContext<'_>,
) -> UiMessage {
    let mut note = user_message(event, said, correlation, ctx);
    note.id = MessageId::made(correlation.as_str(), ".edit");
    note.metadata.context = true;
    note.metadata.extra.insert("corrects".to_owned(), event.message.as_str().into());
    note
}

/// Notes the program that wrote a message.
fn tell_peer(peer: &PeerWords, extra: &mut Map<String, Value>) {
    let mut add = |key: &str, value: Value| extra.insert(key.to_owned(), value);
    add(PEER, peer.kind.as_str().into());
    if let Some(via) = peer.via {
        add(VIA, via.as_str().into());
    }
    if let Some(agent) = &peer.agent {
        add(ANSWERS_AGENT, agent.as_str().into());
    }
    if let Some(chain) = &peer.chain {
        add(CHAIN, chain.as_str().into());
    }
    add(DEPTH, peer.depth.into());
}

/// The user message of an event, with the unchanged text.
fn plain_message(event: &IngressEvent, said: &Said, correlation: &CorrelationId) -> UiMessage {
    // Files before the text: clients that show the message before it is stored use the same order.
    let mut parts: Vec<Part> = said
        .files
        .iter()
        .map(|file| {
            Part::File(FilePart {
                media_type: file.media_type.clone(),
                url: file.url.clone(),
                filename: file.name.clone(),
                extra: Map::new(),
            })
        })
        .collect();
    if !said.text.is_empty() || said.files.is_empty() {
        parts.push(Part::Text(TextPart::plain(said.text.clone())));
    }
    let mut extra = Map::new();
    // In a group the model is told the speaker.
    if event.chat == ChatKind::Group {
        let speaker = event.author.name.clone().unwrap_or_else(|| event.author.id.to_string());
        extra.insert(SPEAKER.to_owned(), speaker.into());
    }
    if let Some(quoted) = &said.quoted {
        let quoted = serde_json::json!({
            "messageId": quoted.platform_message, "author": quoted.author, "text": quoted.text,
        });
        extra.insert("replyTo".to_owned(), quoted);
    }
    if let Some(peer) = &said.peer {
        tell_peer(peer, &mut extra);
    }
    if let Some(from) = &said.forwarded_from {
        extra.insert("forwardedFrom".to_owned(), from.clone().into());
    }
    if let Some(voice) = &said.voice {
        extra.insert(VOICE.to_owned(), serde_json::to_value(voice).unwrap_or_default());
    }
    if !said.deliver_to.is_empty() {
        let targets = said.deliver_to.iter().map(|thread| Value::from(thread.as_str()));
        extra.insert(DELIVER_TO.to_owned(), targets.collect());
    }
    if let Some(run) = said.scheduled.as_ref().and_then(|run| serde_json::to_value(run).ok()) {
        extra.insert(TASK.to_owned(), run);
    }
    UiMessage {
        id: event.message.clone(),
        role: Role::User,
        metadata: Metadata {
            platform: event.thread.platform().as_str().to_owned(),
            thread_id: event.thread.clone(),
            author_id: Some(event.author.id.clone()),
            author_name: event.author.name.clone(),
            message_id: Some(event.platform_message.clone()),
            timestamp: event.at,
            correlation_id: correlation.clone(),
            status: None,
            command: false,
            context: false,
            checkpoint: false,
            extra,
        },
        parts,
    }
}
