//! What a checkpoint covers: whole runs that have ended, never the newest ones.

use std::collections::BTreeMap;

use super::check::lost;
use super::shown::{inert, shown};
use crate::domain::{CorrelationId, Language, MessageId};
use crate::turn::budget::estimate_messages;
use crate::turn::history::History;
use crate::uimessage::{
    CHECKPOINT_BYTES, CheckpointReason, CheckpointRecord, OpenAsk, Role, RunStatus, UiMessage, to_model,
};

/// How many estimated tokens a checkpoint of the longest permitted record is, about.
const LONGEST: usize = CHECKPOINT_BYTES * 3 / 10;
/// Checkpoints together may take one part in so many of the usable window.
const SHARE: usize = 4;
/// A window that has less room than this for a checkpoint is too small for any.
const SHORTEST: usize = 120;
/// How many characters of an unanswered question are kept.
const ASK_CHARS: usize = 300;

/// When a conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionRules {
    /// How many of the newest runs are never covered.
    pub keep_runs: usize,
    /// At how many percent of the usable window a conversation is compacted once nothing else is to be done.
    pub idle_percent: usize,
    /// At how many percent a prompt is not sent before the conversation was compacted.
    pub call_percent: usize,
}

impl Default for CompactionRules {
    fn default() -> Self {
        Self { keep_runs: 4, idle_percent: 70, call_percent: 90 }
    }
}

/// What one checkpoint is to cover, and within which bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionSpan {
    pub reason: CheckpointReason,
    /// What a person wants to be kept above all.
    pub focus: Option<String>,
    /// The messages that are covered, in the file's order.
    pub messages: Vec<UiMessage>,
    /// Earlier checkpoints that are told anew, because the chain has grown too long.
    pub retold: Vec<CheckpointRecord>,
    /// The questions that the checkpoint must keep open.
    pub asks: Vec<OpenAsk>,
    pub(super) number: u32,
    pub(super) prev: Option<MessageId>,
    /// How many estimated tokens it takes the place of.
    pub(super) tokens: usize,
    /// How many it may take itself.
    pub(super) most_tokens: usize,
    pub(super) language: Language,
}

impl CompactionSpan {
    /// The last message that is covered.
    pub(super) fn through(&self) -> Option<&MessageId> {
        self.messages.last().map(|message| &message.id)
    }

    /// The first message that is covered, by this checkpoint or by those it retells.
    pub(super) fn from(&self) -> Option<&MessageId> {
        let retold = self.retold.first().map(|record| &record.from);
        retold.or_else(|| self.messages.first().map(|message| &message.id))
    }

    /// How many messages are covered.
    pub fn covered(&self) -> u64 {
        let retold: u64 = self.retold.iter().map(|record| record.messages).sum();
        let said = self.messages.iter().filter(|message| is_conversation(message)).count();
        retold.saturating_add(u64::try_from(said).unwrap_or(u64::MAX))
    }
}

impl CompactionSpan {
    /// Whether it is about the next checkpoint of this history.
    pub(in crate::turn) fn follows(&self, history: &History) -> bool {
        history.next_checkpoint() == self.number && history.last_checkpoint() == self.prev.as_ref()
    }

    /// Whether these messages begin with the ones that it covers.
    pub(in crate::turn) fn is_start_of(&self, messages: &[&UiMessage]) -> bool {
        messages.len() >= self.messages.len()
            && self.messages.iter().zip(messages).all(|(one, other)| one == *other)
    }
}

/// What a checkpoint over these messages would cover; nothing where it would not help. `usable` is the window in
/// estimated tokens.
pub(in crate::turn) fn plan(
    history: &History,
    messages: Vec<&UiMessage>,
    reason: CheckpointReason,
    focus: Option<String>,
    usable: usize,
    language: Language,
) -> Option<CompactionSpan> {
    let own: usize = messages.iter().map(|message| estimate_messages(&to_model([*message]))).sum();
    let share = usable / SHARE;
    let most = LONGEST.min(share / 2);
    let least = match reason {
        // One that comes with every turn would cost a model call and the provider's cache each time.
        CheckpointReason::Idle => usable / 5,
        CheckpointReason::Threshold => usable / 10,
        CheckpointReason::Overflow | CheckpointReason::Manual => SHORTEST,
    };
    if most < SHORTEST || own < SHORTEST || (own < least && !history.is_tail_long()) {
        return None;
    }
    let chain = history.checkpoints();
    let chained: usize = chain.iter().map(|record| estimate_messages(&[shown(record)])).sum();
    let retold: Vec<CheckpointRecord> =
        if chained + most > share { chain.into_iter().cloned().collect() } else { Vec::new() };
    let mut asks: Vec<OpenAsk> = retold.iter().flat_map(|record| record.open.clone()).collect();
    asks.extend(unanswered(&messages));
    Some(CompactionSpan {
        reason,
        focus,
        number: history.next_checkpoint(),
        prev: history.last_checkpoint().cloned(),
        tokens: own + if retold.is_empty() { 0 } else { chained },
        most_tokens: most,
        messages: messages.into_iter().cloned().collect(),
        retold,
        asks,
        language,
    })
}

/// The oldest messages behind the last checkpoint, as far as they may be covered.
pub(in crate::turn) fn coverable(
    history: &History,
    keep_runs: usize,
    is_pending: impl Fn(&CorrelationId) -> bool,
) -> Vec<&UiMessage> {
    let tail: Vec<&UiMessage> = history.since_new().collect();
    let mut places: BTreeMap<&CorrelationId, (usize, usize)> = BTreeMap::new();
    for (at, message) in tail.iter().enumerate().filter(|(_, message)| is_conversation(message)) {
        let place = places.entry(&message.metadata.correlation_id).or_insert((at, at));
        place.1 = at;
    }
    let open = history.unfinished();
    let is_open = |run: &CorrelationId| open.contains(run) || is_pending(run);
    let context: Vec<&CorrelationId> =
        tail.iter().filter(|message| message.metadata.context).map(|m| &m.metadata.correlation_id).collect();
    let mut runs: Vec<_> = places
        .iter()
        .filter(|(run, _)| !context.contains(*run))
        .map(|(run, place)| (place.0, *run))
        .collect();
    runs.sort_unstable();
    let keep = keep_runs.max(1);
    let kept = runs.len().checked_sub(keep).and_then(|at| runs.get(at)).map(|(at, _)| *at);
    let Some(kept) = kept else { return Vec::new() };
    let unfinished = runs.iter().find(|(_, run)| is_open(run)).map_or(usize::MAX, |(at, _)| *at);
    let mut end = kept.min(unfinished);
    // A run that goes on behind the end is not covered in part.
    while let Some((first, _)) = places.values().find(|(first, last)| *first < end && *last >= end) {
        end = *first;
    }
    let covered: Vec<&UiMessage> = tail.into_iter().take(end).collect();
    if covered.iter().any(|message| is_conversation(message)) { covered } else { Vec::new() }
}

/// Whether a message is part of what people and the agent say to each other.
pub(super) fn is_conversation(message: &UiMessage) -> bool {
    !message.metadata.command && !message.metadata.checkpoint && message.role != Role::System
}

/// What people asked for and did not get: their turn failed, and they did not say the same again.
fn unanswered(messages: &[&UiMessage]) -> Vec<OpenAsk> {
    let failed = |run: &CorrelationId| {
        let mut of_run = messages.iter().filter(|message| message.metadata.correlation_id == *run);
        let last = of_run.rfind(|message| message.role == Role::Assistant);
        last.is_none_or(|message| message.metadata.status == Some(RunStatus::Failed))
    };
    let asks = |message: &&&UiMessage| {
        message.role == Role::User && is_conversation(message) && !message.metadata.context
    };
    let mut open = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let text = message.text();
        let said_again = || messages.iter().skip(at + 1).filter(asks).any(|later| later.text() == text);
        if asks(&message) && failed(&message.metadata.correlation_id) && !text.is_empty() && !said_again() {
            open.push(OpenAsk { text: shortened_ask(&text), ids: vec![message.id.clone()] });
        }
    }
    open
}

/// A question in one line; what it names survives.
fn shortened_ask(text: &str) -> String {
    let flat = inert(text);
    let short: String = flat.chars().take(ASK_CHARS).collect();
    if short.len() == flat.len() {
        return short;
    }
    let lost = lost(&flat, &short);
    if lost.is_empty() { format!("{short}…") } else { format!("{short}… ({})", lost.join(", ")) }
}
