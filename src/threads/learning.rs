//! Learns from conversations in idle threads: from what a checkpoint covers (flush), and from what was said since the
//! last time (distil). Both write notes, which are only searched, and move one mark; notes and mark are one write, so that
//! after a crash nothing is read twice and nothing is skipped. What shall be known in every conversation is one question
//! to a person: see `promotion`.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::actor::Actor;
use super::count;
use super::jobs::Done;
use super::promotion::{proposal, question_about};
use super::runtime::Runtime;
use crate::distil::{
    Accepted, AgentRules, Candidate, DistilEvery, Speaker, accept, distil_prompt, read_candidates,
};
use crate::domain::{
    AutoMemory, DistilMark, LedgerLine, LedgerOp, MemoryChange, MemoryEdit, MessageId, Origin, Provenance,
    Purpose, ThreadId, Tier,
};
use crate::fail_point::fail_point;
use crate::ports::{ChangeError, LedgerRequest, MemoryBatch, Prompt, StoreError};
use crate::turn::{CompactionSpan, Draft, Proposal};
use crate::uimessage::{Role, UiMessage, WrittenBy};

/// How long a model may take to distil.
const DISTIL_DEADLINE: Duration = Duration::from_secs(60);
const FLUSH_DEADLINE: Duration = Duration::from_secs(10);
/// Most tokens of its answer.
const ANSWER_TOKENS: u32 = 1_500;
/// Most messages that are read for one distil, and how many at once.
const MOST_MESSAGES: usize = 1_000;
const PAGE: usize = 200;
/// Most characters of a conversation that a model is shown.
const MOST_CHARS: usize = 60_000;
/// After a failed call so many more turns pass before the next.
const TURNS_AFTER_FAILURE: usize = 5;
/// Most ledger lines that are searched for notes.
const LEDGER_LINES: usize = 200;
/// Most notes that a checkpoint lists.
const MOST_LISTED: usize = 12;

/// What may be learned, and how often a conversation is distilled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learning {
    pub auto: AutoMemory,
    /// What ship.json says; nothing leaves it to `Agent.md`.
    pub distil_every: Option<u32>,
}

/// The distilling of one thread.
#[derive(Debug, Default)]
pub(super) struct LearningState {
    in_flight: Option<InFlight>,
    next_id: u64,
    /// Whether a turn has ended since it was last seen whether it is time.
    pub(super) due: bool,
    /// The thread's mark; nothing where it must be read.
    mark: Option<Option<DistilMark>>,
    /// After how many turns a model was last asked.
    asked_after: usize,
    /// After a failure, before how many turns no model is asked.
    not_before: usize,
    /// What a person is asked as soon as nothing else is to be done.
    proposal: Option<Proposal>,
    /// Whether it is known that no question of an earlier process is left.
    questions_checked: bool,
}

#[derive(Debug)]
struct InFlight {
    id: u64,
    abort: AbortHandle,
}

/// What came of distilling.
#[derive(Debug)]
pub(super) enum Distilled {
    /// Notes and mark are written. With what a person may be asked about.
    Read(Option<Proposal>),
    Failed,
}

impl LearningState {
    pub(super) const fn is_busy(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Something else has moved the mark.
    pub(super) fn moved(&mut self) {
        self.mark = None;
        self.due = true;
    }

    /// Ends the distillation that idleness started. What it has written by then stays.
    pub(super) fn interrupt(&mut self) {
        if let Some(InFlight { abort, .. }) = self.in_flight.take() {
            abort.abort();
            self.mark = None;
            self.due = true;
            self.questions_checked = false;
        }
    }
}

impl Actor {
    /// Distils the conversation where enough turns have passed and the thread is idle.
    pub(super) async fn distil_when_idle(&mut self) {
        let busy = self.compaction.is_busy() || self.learning.is_busy() || self.storage_down;
        if busy || !self.conversation.is_idle() {
            return;
        }
        if let Some(proposal) = self.learning.proposal.take() {
            return self.propose(proposal).await;
        }
        if !std::mem::take(&mut self.learning.due) || self.runtime.settings().learning.auto == AutoMemory::Off
        {
            return;
        }
        let instructions = self.runtime.agent.instructions.current().await;
        let rules = AgentRules::read(&instructions.text);
        let Some(every) = DistilEvery::of(self.runtime.settings().learning.distil_every, &rules).turns()
        else {
            return;
        };
        let Ok(mark) = self.distil_mark().await else { return };
        if !std::mem::replace(&mut self.learning.questions_checked, true)
            && let Some(proposal) = self.unasked_proposal(mark.as_ref()).await
        {
            self.learning.due = true;
            return self.propose(proposal).await;
        }
        let read = mark.as_ref().map_or(0, |mark| mark.turns);
        let fresh = self.conversation.turns_since(mark.as_ref().map(|mark| &mark.through));
        let turns = usize::try_from(read).unwrap_or(usize::MAX).saturating_add(fresh);
        let every = usize::try_from(every).unwrap_or(usize::MAX);
        if fresh == 0 || turns < every.max(self.learning.not_before) {
            return;
        }
        let Some(through) = self.conversation.last_message().cloned() else { return };
        self.learning.asked_after = turns;
        let id = self.learning.next_id;
        self.learning.next_id += 1;
        let private = self.conversation.private_with().is_some();
        let (runtime, thread) = (self.runtime.clone(), self.id.clone());
        let job = async move {
            fail_point("distil-begun");
            let span = DistilSpan { thread, through, mark, private, section: rules.section };
            Done::Distilled(id, Box::new(distil(&runtime, span).await))
        };
        let abort = self.jobs.start_apart(job, Done::Distilled(id, Box::new(Distilled::Failed)));
        self.learning.in_flight = Some(InFlight { id, abort });
    }

    /// Takes in what came of distilling.
    pub(super) fn distilled(&mut self, id: u64, done: Distilled) {
        if self.learning.in_flight.take_if(|flight| flight.id == id).is_none() {
            return;
        }
        match done {
            Distilled::Read(proposal) => {
                self.learning.mark = None;
                self.learning.not_before = 0;
                self.learning.questions_checked = true;
                self.learning.proposal = proposal;
            }
            Distilled::Failed => {
                self.learning.not_before = self.learning.asked_after.saturating_add(TURNS_AFTER_FAILURE);
            }
        }
    }

    async fn distil_mark(&mut self) -> Result<Option<DistilMark>, StoreError> {
        if let Some(mark) = &self.learning.mark {
            return Ok(mark.clone());
        }
        let mark = self.runtime.memory.distilled(&self.id).await.inspect_err(|error| {
            tracing::error!(error = error as &dyn std::error::Error, "distil mark unavailable");
        })?;
        self.learning.mark = Some(mark.clone());
        Ok(mark)
    }
}

/// What a distil reads.
struct DistilSpan {
    thread: ThreadId,
    /// The newest message that is read.
    through: MessageId,
    mark: Option<DistilMark>,
    /// Whether only one person writes in the thread.
    private: bool,
    section: Option<String>,
}

async fn distil(runtime: &Runtime, span: DistilSpan) -> Distilled {
    let messages = match messages_since(runtime, &span).await {
        Ok(messages) => messages,
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "conversation not distilled");
            return Distilled::Failed;
        }
    };
    let room = runtime.helper.context_tokens.min(MOST_CHARS);
    let accepted = match distil_prompt(&messages, span.section.as_deref(), room) {
        None => Vec::new(),
        Some((prompt, named)) => {
            let Some(answer) = ask(runtime, &span.thread, prompt).await else { return Distilled::Failed };
            fail_point("distil-called");
            accepted(runtime, &read_candidates(&answer, &named), &messages, span.private)
        }
    };
    let after = span.mark.as_ref().and_then(|mark| mark.since);
    let asks = !accepted.iter().any(|one| is_written_unasked(runtime, one));
    let question = asks.then(|| question_about(runtime, &messages, after, span.private)).flatten();
    let at = messages.last().map_or_else(|| runtime.clock.now(), |last| last.metadata.timestamp);
    let mark = DistilMark {
        thread: span.thread.clone(),
        through: span.through,
        at: runtime.clock.now(),
        turns: 0,
        since: Some(at),
        question: question.clone(),
    };
    match learn(runtime, &span.thread, &accepted, mark).await {
        Ok(lines) => {
            fail_point("distil-applied");
            let added = lines.iter().filter(|line| line.tier == Tier::Notes && line.op == LedgerOp::Add);
            runtime.metrics.notes_distilled.add(added.count() as u64);
            tracing::info!(thread = %span.thread, candidates = accepted.len(), lines = lines.len(), "conversation distilled");
            Distilled::Read(match &question {
                Some(question) => proposal(runtime, &span.thread, question, &lines).await,
                None => None,
            })
        }
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "conversation not distilled");
            Distilled::Failed
        }
    }
}

/// The messages behind the mark, up to the newest that is read.
async fn messages_since(runtime: &Runtime, span: &DistilSpan) -> Result<Vec<UiMessage>, StoreError> {
    let mut messages: Vec<UiMessage> = Vec::new();
    loop {
        let before = messages.first().map(|first| first.id.clone());
        let mut page = runtime.store.page(&span.thread, before.as_ref(), PAGE).await?;
        let whole = page.len() < PAGE;
        let marked = |message: &UiMessage| span.mark.as_ref().is_some_and(|mark| message.id == mark.through);
        let found = page.iter().rposition(marked);
        if let Some(at) = found {
            page.drain(..=at);
        }
        page.append(&mut messages);
        messages = page;
        if whole || found.is_some() || messages.len() >= MOST_MESSAGES {
            break;
        }
    }
    if let Some(at) = messages.iter().position(|message| message.id == span.through) {
        messages.truncate(at.saturating_add(1));
    }
    Ok(messages)
}

async fn ask(runtime: &Runtime, thread: &ThreadId, prompt: Prompt) -> Option<String> {
    let account = Some(runtime.account(thread, Purpose::Distil));
    let prompt = Prompt { max_output_tokens: Some(ANSWER_TOKENS), account, ..prompt };
    let (live, deltas) = mpsc::channel(1);
    // No subscriber needs these deltas.
    drop(deltas);
    runtime.metrics.model_calls.count();
    runtime.metrics.distil_calls.count();
    match timeout(DISTIL_DEADLINE, runtime.helper.model.complete(prompt, live)).await {
        Ok(Ok(completion)) => {
            count::memory_usage(&runtime.metrics, completion.usage);
            Some(completion.text)
        }
        Ok(Err(error)) => {
            tracing::warn!(kind = ?error.kind, detail = %error.detail, "distil failed");
            None
        }
        Err(_) => {
            tracing::warn!("distil timed out");
            None
        }
    }
}

/// The candidates that may be kept.
fn accepted(
    runtime: &Runtime,
    candidates: &[Candidate],
    messages: &[UiMessage],
    private: bool,
) -> Vec<Accepted> {
    let speaker_of = |message: &UiMessage| {
        let own = message.memory_scope().and_then(|scope| scope.write().cloned());
        Speaker { origin: message.origin(), scope: own.filter(|key| private || !key.is_of_one_person()) }
    };
    let redact = |text: &str| runtime.redactor.apply(text).into_owned();
    let mut out: Vec<Accepted> = Vec::new();
    for candidate in candidates {
        match accept(candidate, messages, speaker_of, redact) {
            Ok(one) => out.push(one),
            // Without its text, which may be an attack or a secret.
            Err(why) => tracing::info!(reason = ?why, from = ?candidate.ids, "candidate rejected"),
        }
    }
    out
}

fn note_change(thread: &ThreadId, one: &Accepted) -> MemoryChange {
    MemoryChange {
        scope: one.scope.clone(),
        tier: Tier::Notes,
        edit: MemoryEdit::Add { text: one.text.clone(), section: None },
        expected: None,
        provenance: Provenance {
            // Of the message: the same notes once more change nothing.
            at: one.at,
            by: None,
            via: None,
            thread: Some(thread.clone()),
            from: one.from.clone(),
            origin: one.origin.max(Origin::Auto),
            reviewed: false,
        },
    }
}

/// Whether an owner said it about themselves, and ship.json wants such things in core memory.
fn is_written_unasked(runtime: &Runtime, one: &Accepted) -> bool {
    let owners = one.origin == Origin::Owner && one.scope.is_of_one_person();
    owners && runtime.settings().learning.auto == AutoMemory::Write
}

/// Writes what was learned: all of it as notes, some of it into core memory, and how far the thread was read.
async fn learn(
    runtime: &Runtime,
    thread: &ThreadId,
    accepted: &[Accepted],
    mark: DistilMark,
) -> Result<Vec<LedgerLine>, ChangeError> {
    let notes: Vec<MemoryChange> = accepted.iter().map(|one| note_change(thread, one)).collect();
    let core = accepted.iter().filter(|one| is_written_unasked(runtime, one));
    let core = core.map(|one| MemoryChange { tier: Tier::Core, ..note_change(thread, one) });
    let changes = notes.iter().cloned().chain(core).collect();
    let batch = MemoryBatch { changes, mark: Some(mark.clone()) };
    match runtime.memory.apply_all(batch).await {
        // Core memory may be full: the notes are kept all the same.
        Err(ChangeError::Refused(why)) => {
            tracing::info!(%why, "core memory not written");
            runtime.memory.apply_all(MemoryBatch { changes: notes, mark: Some(mark) }).await
        }
        applied => applied,
    }
}

/// The part of a checkpoint's span that nothing was taken from yet.
#[derive(Debug)]
pub(super) struct FlushPlace {
    pub(super) thread: ThreadId,
    /// The messages behind the span.
    pub(super) behind: Vec<MessageId>,
    /// Whether only one person writes in the thread.
    pub(super) private: bool,
}

/// Keeps the notes that a summary brought, before its checkpoint is written, and gives their ids. They are a gain: without
/// them the checkpoint is as good.
pub(super) async fn flush(
    runtime: &Runtime,
    place: &FlushPlace,
    span: &CompactionSpan,
    draft: &Draft,
) -> Vec<String> {
    if runtime.settings().learning.auto == AutoMemory::Off || draft.by == WrittenBy::Rules {
        return Vec::new();
    }
    match timeout(FLUSH_DEADLINE, flush_notes(runtime, place, span, draft)).await {
        Ok(Ok(ids)) => ids,
        Ok(Err(error)) => {
            tracing::error!(error = &error as &dyn std::error::Error, "notes not flushed");
            Vec::new()
        }
        Err(_) => {
            tracing::error!("notes not flushed in time");
            Vec::new()
        }
    }
}

async fn flush_notes(
    runtime: &Runtime,
    place: &FlushPlace,
    span: &CompactionSpan,
    draft: &Draft,
) -> Result<Vec<String>, ChangeError> {
    let Some(last) = span.messages.last() else { return Ok(Vec::new()) };
    let mark = runtime.memory.distilled(&place.thread).await?;
    let marked = mark.as_ref().map(|mark| &mark.through);
    let read = span.messages.iter().rposition(|message| Some(&message.id) == marked);
    let all_read =
        read == span.messages.len().checked_sub(1) || marked.is_some_and(|id| place.behind.contains(id));
    if all_read {
        return Ok(known_notes(runtime, &place.thread, span).await?);
    }
    let unread: Vec<UiMessage> =
        span.messages.iter().skip(read.map_or(0, |at| at.saturating_add(1))).cloned().collect();
    let candidates: Vec<Candidate> =
        draft.notes.iter().map(|note| Candidate { text: note.text.clone(), ids: note.ids.clone() }).collect();
    let accepted = accepted(runtime, &candidates, &unread, place.private);
    let turns = turns_of(&unread).saturating_add(mark.as_ref().map_or(0, |mark| mark.turns));
    let mark = DistilMark {
        thread: place.thread.clone(),
        through: last.id.clone(),
        at: runtime.clock.now(),
        turns,
        since: mark.as_ref().and_then(|mark| mark.since),
        question: mark.and_then(|mark| mark.question),
    };
    let lines = learn(runtime, &place.thread, &accepted, mark).await?;
    fail_point("flush-applied");
    let notes: Vec<String> =
        lines.into_iter().filter(|line| line.tier == Tier::Notes).filter_map(|line| line.id).collect();
    runtime.metrics.notes_flushed.add(notes.len() as u64);
    Ok(notes)
}

/// The notes that were taken from a span before.
async fn known_notes(
    runtime: &Runtime,
    thread: &ThreadId,
    span: &CompactionSpan,
) -> Result<Vec<String>, StoreError> {
    let request = LedgerRequest { scope: None, before: None, limit: LEDGER_LINES };
    let page = runtime.memory.ledger(request).await?;
    let covered = |id: &MessageId| span.messages.iter().any(|message| message.id == *id);
    let taken = |line: &LedgerLine| {
        let own =
            line.thread.as_ref() == Some(thread) && line.tier == Tier::Notes && line.op == LedgerOp::Add;
        own && !line.from.is_empty() && line.from.iter().all(covered)
    };
    Ok(page.lines.into_iter().filter(taken).filter_map(|line| line.id).take(MOST_LISTED).collect())
}

/// How many turns of people these messages are.
fn turns_of(messages: &[UiMessage]) -> u32 {
    let said = |m: &&UiMessage| m.role == Role::User && !m.metadata.command && !m.metadata.context;
    let runs: BTreeSet<_> = messages.iter().filter(said).map(|m| &m.metadata.correlation_id).collect();
    u32::try_from(runs.len()).unwrap_or(u32::MAX)
}
