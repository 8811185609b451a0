//! Queries of a thread file through its index: the tail, a page, a message, a run. The results equal those of folding
//! the whole file, without reading it.

use std::ops::ControlFlow;

use super::index::{IndexFault, ThreadFileView};
use super::index_record::{ByHash, Hashes, LineRecord, RecordKind, id_hash, run_hash};
use crate::domain::MessageId;
use crate::uimessage::{UiMessage, checkpoint_chain, holds_all_unfinished, unfinished_runs};

/// How much of a thread is loaded with it, in bytes.
pub const TAIL_BYTES: u64 = 1024 * 1024;
/// And in messages: many small ones take longer to read than few large ones.
pub const TAIL_MESSAGES: usize = 1000;
/// Unfinished work may be further back, but not beyond this.
const MAX_TAIL_BYTES: u64 = 64 * 1024 * 1024;

/// How many lines are searched for a checkpoint. One is made long before a tail has so many.
const SEARCHED_LINES: u64 = 1 << 17;
/// How many checkpoints a chain may have before its oldest are passed over.
const MOST_CHECKPOINTS: usize = 64;

const GO_ON: ControlFlow<()> = ControlFlow::Continue(());
const STOP: ControlFlow<()> = ControlFlow::Break(());

/// What an actor takes a thread up with.
#[derive(Debug, Default)]
pub(super) struct Newest {
    /// The checkpoints that hold, oldest first.
    pub(super) checkpoints: Vec<UiMessage>,
    /// The messages behind them, oldest first.
    pub(super) messages: Vec<UiMessage>,
    /// Whether there are older ones.
    pub(super) more: bool,
}

/// The checkpoints and the messages behind them; where there are none, the newest messages, back to the beginning of
/// whatever is unfinished. A checkpoint whose last message is not to be found is passed over. `is_open` tells whether
/// the thread has work left, as far as anybody wrote that down.
pub(super) fn newest(
    view: &mut ThreadFileView,
    is_open: impl FnOnce() -> bool,
) -> Result<Newest, IndexFault> {
    view.resolve()?;
    let mut checkpoints = checkpoints(view)?;
    while let Some(through) = checkpoints.last().and_then(|last| Some(&last.checkpoint()?.through)) {
        if let Some(messages) = behind(view, through)? {
            return Ok(Newest { checkpoints, messages, more: true });
        }
        checkpoints.pop();
    }
    let (messages, more) = without_checkpoint(view, is_open)?;
    Ok(Newest { checkpoints, messages, more })
}

/// The checkpoints that hold, oldest first. They are marked in the index, so that only they are read.
fn checkpoints(view: &ThreadFileView) -> Result<Vec<UiMessage>, IndexFault> {
    let mut found: Vec<UiMessage> = Vec::new();
    let mut fault = None;
    let mut left = SEARCHED_LINES;
    view.visit_back(view.count(), |_, record| {
        left = left.saturating_sub(1);
        if record.checkpoint && record.kind == RecordKind::First {
            match view.message(&record) {
                Ok(message) => found.push(message),
                Err(error) => fault = Some(error),
            }
        }
        let begins = |message: &UiMessage| {
            message.checkpoint().is_some_and(|held| held.prev.is_none() || !held.supersedes.is_empty())
        };
        let whole = record.checkpoint && found.last().is_some_and(begins);
        if whole || fault.is_some() || left == 0 || found.len() >= MOST_CHECKPOINTS { STOP } else { GO_ON }
    })?;
    found.reverse();
    match fault {
        Some(fault) => Err(fault),
        None => Ok(checkpoint_chain(found)),
    }
}

/// The messages behind this one, oldest first; nothing where it is not found within reach.
fn behind(view: &ThreadFileView, through: &MessageId) -> Result<Option<Vec<UiMessage>>, IndexFault> {
    let hash = id_hash(through);
    let mut contents: ByHash<LineRecord> = ByHash::default();
    let mut taken: Vec<LineRecord> = Vec::new();
    let (mut size, mut found) = (0u64, Ok(false));
    view.visit_back(view.count(), |_, record| {
        if record.kind == RecordKind::Void {
            return GO_ON;
        }
        let content = *contents.entry(record.id).or_insert(record);
        if record.kind != RecordKind::First {
            return GO_ON;
        }
        if record.id == hash {
            found = view.head(&record).map(|head| head.id == *through);
            return STOP;
        }
        size = size.saturating_add(u64::from(content.length));
        taken.push(content);
        if size > MAX_TAIL_BYTES { STOP } else { GO_ON }
    })?;
    if !found? {
        return Ok(None);
    }
    taken.iter().rev().map(|record| view.message(record)).collect::<Result<_, _>>().map(Some)
}

fn without_checkpoint(
    view: &mut ThreadFileView,
    is_open: impl FnOnce() -> bool,
) -> Result<(Vec<UiMessage>, bool), IndexFault> {
    let usual = tail(view, TAIL_MESSAGES, TAIL_BYTES)?;
    let (messages, more) = &usual;
    if !more || holds_all_unfinished(messages) || (unfinished_runs(messages).is_empty() && !is_open()) {
        return Ok(usual);
    }
    let mut bytes = TAIL_BYTES;
    loop {
        bytes = bytes.saturating_mul(2);
        let longer = tail(view, usize::MAX, bytes)?;
        let (messages, more) = &longer;
        let whole = !more || holds_all_unfinished(messages);
        if !whole && bytes >= MAX_TAIL_BYTES {
            tracing::error!(bytes, "unanswered messages exceed the load limit; the oldest may be ignored");
        }
        if whole || bytes >= MAX_TAIL_BYTES {
            return Ok(if unfinished_runs(messages).is_empty() { usual } else { longer });
        }
    }
}

/// At most `limit` of the newest messages, oldest first, with at most `bytes` together, and at least one; and whether
/// there are older ones.
pub(super) fn tail(
    view: &mut ThreadFileView,
    limit: usize,
    bytes: u64,
) -> Result<(Vec<UiMessage>, bool), IndexFault> {
    view.resolve()?;
    let mut contents: ByHash<LineRecord> = ByHash::default();
    let mut taken: Vec<LineRecord> = Vec::new();
    let (mut size, mut more) = (0u64, false);
    view.visit_back(view.count(), |_, record| {
        if record.kind == RecordKind::Void {
            return GO_ON;
        }
        // In reverse order, the first line seen is the last one written.
        let content = *contents.entry(record.id).or_insert(record);
        if record.kind == RecordKind::First {
            size = size.saturating_add(u64::from(content.length));
            if taken.len() >= limit.max(1) || (size > bytes && !taken.is_empty()) {
                more = true;
                return STOP;
            }
            taken.push(content);
        }
        GO_ON
    })?;
    let messages = taken.iter().rev().map(|record| view.message(record)).collect::<Result<_, _>>()?;
    Ok((messages, more))
}

/// Up to `limit` messages before `before`, or the newest, oldest first. Empty where the message `before` does not
/// exist.
pub(super) fn page(
    view: &mut ThreadFileView,
    before: Option<&MessageId>,
    limit: usize,
) -> Result<Vec<UiMessage>, IndexFault> {
    view.resolve()?;
    let end = match before {
        None => view.count(),
        Some(id) => match find_first(view, id)? {
            Some((at, _)) => at,
            None => return Ok(Vec::new()),
        },
    };
    let mut first = end;
    let mut wanted = Vec::new();
    if limit > 0 {
        view.visit_back(end, |at, record| {
            if record.kind == RecordKind::First {
                wanted.push(record.id);
                first = at;
            }
            if wanted.len() < limit { GO_ON } else { STOP }
        })?;
    }
    wanted.reverse();
    read_all(view, first, &wanted)
}

pub(super) fn contains(view: &ThreadFileView, id: &MessageId) -> Result<bool, IndexFault> {
    let hash = id_hash(id);
    let mut found = Ok(false);
    view.visit(0, view.count(), |_, record| {
        if record.id != hash || record.kind == RecordKind::Void {
            return GO_ON;
        }
        match view.head(&record) {
            Ok(head) if head.id == *id => found = Ok(true),
            Ok(_) => return GO_ON,
            Err(fault) => found = Err(fault),
        }
        STOP
    })?;
    found
}

pub(super) fn run_of(view: &mut ThreadFileView, id: &MessageId) -> Result<Vec<UiMessage>, IndexFault> {
    view.resolve()?;
    let Some((at, first)) = find_first(view, id)? else { return Ok(Vec::new()) };
    let Some(message) = read_all(view, at, &[first.id])?.pop() else { return Ok(Vec::new()) };
    let run = message.metadata.correlation_id;
    let hash = run_hash(&run);
    let mut candidates = Hashes::default();
    view.visit(0, view.count(), |_, record| {
        if record.run == hash && record.kind != RecordKind::Void {
            candidates.insert(record.id);
        }
        GO_ON
    })?;
    let (mut begin, mut wanted) = (view.count(), Vec::new());
    view.visit(0, view.count(), |at, record| {
        if record.kind == RecordKind::First && candidates.contains(&record.id) {
            begin = begin.min(at);
            wanted.push(record.id);
        }
        if wanted.len() < candidates.len() { GO_ON } else { STOP }
    })?;
    let mut messages = read_all(view, begin, &wanted)?;
    messages.retain(|message| message.metadata.correlation_id == run);
    Ok(messages)
}

/// How many messages begin at or after this offset.
pub(super) fn messages_since(view: &mut ThreadFileView, offset: u64) -> Result<u64, IndexFault> {
    view.resolve()?;
    let mut count = 0u64;
    view.visit_back(view.count(), |_, record| {
        if record.offset < offset {
            return STOP;
        }
        if record.kind == RecordKind::First {
            count = count.saturating_add(1);
        }
        GO_ON
    })?;
    Ok(count)
}

/// The first line of this message. Hashes may collide; the line itself decides.
fn find_first(view: &ThreadFileView, id: &MessageId) -> Result<Option<(u64, LineRecord)>, IndexFault> {
    let hash = id_hash(id);
    let mut found = Ok(None);
    view.visit(0, view.count(), |at, record| {
        if record.id != hash || record.kind != RecordKind::First {
            return GO_ON;
        }
        match view.head(&record) {
            Ok(head) if head.id == *id => found = Ok(Some((at, record))),
            Ok(_) => return GO_ON,
            Err(fault) => found = Err(fault),
        }
        STOP
    })?;
    found
}

/// The messages of these hashes, in this order, from their last lines at or after `from`.
fn read_all(view: &ThreadFileView, from: u64, wanted: &[u64]) -> Result<Vec<UiMessage>, IndexFault> {
    let mut contents: ByHash<Option<LineRecord>> = wanted.iter().map(|id| (*id, None)).collect();
    view.visit(from, view.count(), |_, record| {
        if record.kind != RecordKind::Void
            && let Some(content) = contents.get_mut(&record.id)
        {
            *content = Some(record);
        }
        GO_ON
    })?;
    let lines = wanted.iter().filter_map(|id| contents.get(id).copied().flatten());
    lines.map(|record| view.message(&record)).collect()
}
