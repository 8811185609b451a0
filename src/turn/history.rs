//! The newest messages of a thread: which of them the model reads, who wrote them, and when the oldest leave memory.
//!
//! The history follows the commits: every message of an [`Effect::Commit`] that a part returns enters it.

use std::collections::{BTreeMap, BTreeSet};

use super::Effect;
use super::user_message::{CHAIN, scheduled_run};
use crate::domain::{
    AuthorId, CorrelationId, Language, MemoryScope, MessageId, ScheduledRun, ThreadId, Timestamp,
};
use crate::ports::ThreadRecord;
use crate::uimessage::{CheckpointRecord, PEER, Part, Role, RunStatus, UiMessage, VIA, unfinished_runs};

/// Size of the tail in memory at which its oldest messages are dropped.
const TAIL_BYTES: usize = 1 << 20;
/// Estimated size of a message beside its parts.
const MESSAGE_OVERHEAD: usize = 512;

/// A tail of so many bytes or messages is compacted, so that its start moves only with a checkpoint. Below what a store
/// takes a thread up with.
const LONG_TAIL_BYTES: usize = TAIL_BYTES * 5 / 8;
const LONG_TAIL_MESSAGES: usize = 640;

/// How many messages arrive before the tail is measured again.
const TRIM_EVERY: usize = 32;

/// The mark of a refused command.
pub(super) const REFUSED: &str = "refused";

/// The mark of a command, other than `/new`, that began a new conversation.
pub(super) const BEGINS_ANEW: &str = "beginsAnew";

/// The mark of a message that is not private. Only the newest messages are in memory, so each message that is written
/// after a second person has spoken carries it.
pub(super) const IN_COMPANY: &str = "inCompany";

/// The messages of a thread that are in memory, and the checkpoints that cover the others.
pub(super) struct History {
    /// In the order of the file.
    messages: Vec<UiMessage>,
    /// The checkpoints that hold, oldest first. What they cover is not in `messages`.
    checkpoints: Vec<UiMessage>,
    next_checkpoint: u32,
    /// Whether the file has older messages.
    has_older: bool,
    /// The number of messages at which they are measured next for trimming.
    trim_at: usize,
}

impl History {
    pub(super) fn new(record: ThreadRecord) -> Self {
        Self {
            next_checkpoint: next_number(&record.checkpoints),
            checkpoints: record.checkpoints,
            messages: record.tail,
            has_older: record.has_more,
            trim_at: TRIM_EVERY,
        }
    }

    pub(super) fn messages(&self) -> &[UiMessage] {
        &self.messages
    }

    pub(super) const fn has_older(&self) -> bool {
        self.has_older
    }

    pub(super) const fn next_checkpoint(&self) -> u32 {
        self.next_checkpoint
    }

    pub(super) fn find(&self, id: &MessageId) -> Option<&UiMessage> {
        self.messages.iter().find(|message| message.id == *id)
    }

    /// A person's message.
    pub(super) fn find_said(&self, id: &MessageId) -> Option<&UiMessage> {
        self.find(id).filter(|message| message.role == Role::User)
    }

    /// What the message of a run says about the task that started it.
    pub(super) fn scheduled(&self, run: &CorrelationId) -> Option<ScheduledRun> {
        self.of_run(run).find_map(scheduled_run)
    }

    /// Further threads where the questions of a run are asked.
    pub(super) fn asks_in(&self, run: &CorrelationId, own: &ThreadId) -> Vec<ThreadId> {
        let threads = self.scheduled(run).map(|scheduled| scheduled.ask_in).unwrap_or_default();
        threads.into_iter().filter(|thread| thread != own).collect()
    }

    /// All messages of a run.
    pub(super) fn of_run<'a>(
        &'a self,
        run: &CorrelationId,
    ) -> impl DoubleEndedIterator<Item = &'a UiMessage> {
        self.messages.iter().filter(move |message| message.metadata.correlation_id == *run)
    }

    /// The assistant's messages of a run.
    pub(super) fn answers_of<'a>(
        &'a self,
        run: &CorrelationId,
    ) -> impl DoubleEndedIterator<Item = &'a UiMessage> {
        self.of_run(run).filter(|message| message.role == Role::Assistant)
    }

    /// The messages that a run answers.
    pub(super) fn said_in<'a>(
        &'a self,
        run: &CorrelationId,
    ) -> impl DoubleEndedIterator<Item = &'a UiMessage> {
        self.of_run(run).filter(|message| message.role == Role::User && !message.metadata.context)
    }

    /// The first message of a person in a run.
    fn request(&self, run: &CorrelationId) -> Option<&UiMessage> {
        self.of_run(run).find(|message| message.role == Role::User)
    }

    /// The author of the message that led to a run; where a program wrote it, the person whose message began the chain
    /// of programs, if the platform sent that here.
    pub(super) fn requester(&self, run: &CorrelationId) -> Option<AuthorId> {
        let request = self.request(run)?;
        let opener = self.opener(request).unwrap_or(request);
        opener.metadata.author_id.clone()
    }

    fn opener(&self, request: &UiMessage) -> Option<&UiMessage> {
        let root = request.metadata.extra.get(PEER).and(request.metadata.extra.get(CHAIN))?.as_str()?;
        let opener = self.messages.iter().find(|message| message.id.as_str() == root)?;
        let vouched = !opener.metadata.extra.contains_key(PEER) && !opener.metadata.extra.contains_key(VIA);
        Some(opener).filter(|opener| vouched && opener.role == Role::User)
    }

    /// Whether a program wrote one of the messages that a run answers.
    pub(super) fn is_asked_by_program(&self, run: &CorrelationId) -> bool {
        self.said_in(run).any(|message| message.metadata.extra.contains_key(PEER))
    }

    /// When the message that led to a run was written, by the platform's clock.
    pub(super) fn requested_at(&self, run: &CorrelationId) -> Option<Timestamp> {
        self.request(run).map(|message| message.metadata.timestamp)
    }

    /// The authors of the messages that a run answers.
    pub(super) fn authors_of<'a>(&'a self, run: &CorrelationId) -> impl Iterator<Item = &'a AuthorId> {
        self.said_in(run).filter_map(|message| message.metadata.author_id.as_ref())
    }

    /// The runs that have not ended, in their order.
    pub(super) fn unfinished(&self) -> Vec<CorrelationId> {
        unfinished_runs(&self.messages)
    }

    /// Whether a message stands behind another one.
    pub(super) fn is_after(&self, one: &UiMessage, other: &UiMessage) -> bool {
        let place = |message: &UiMessage| self.messages.iter().position(|known| known.id == message.id);
        place(one) > place(other)
    }

    /// The display name of a person, as far as this thread knows it.
    pub(super) fn name_of(&self, author: &AuthorId) -> String {
        let known =
            self.messages.iter().rev().find(|message| message.metadata.author_id.as_ref() == Some(author));
        known.and_then(|message| message.metadata.author_name.clone()).unwrap_or_else(|| author.to_string())
    }

    /// The language of the last message of a person that has words.
    pub(super) fn language(&self) -> Language {
        let mut said = self.messages.iter().rev().filter(|message| message.role == Role::User);
        said.find_map(written_in).unwrap_or_default()
    }

    /// Whether a message of this person is not, or no longer, private.
    pub(super) fn is_in_company(&self, author: &AuthorId) -> bool {
        let spoke = self.messages.iter().any(|message| message.role == Role::User);
        spoke && self.private_with().as_ref() != Some(author)
    }

    /// The people who have written here, as far as their messages are in memory.
    pub(super) fn people(&self) -> Vec<AuthorId> {
        let mut people: Vec<AuthorId> = Vec::new();
        for author in self.messages.iter().filter_map(|message| message.metadata.author_id.as_ref()) {
            if !people.contains(author) {
                people.push(author.clone());
            }
        }
        people
    }

    /// The only person in this thread, where no one else can read it.
    pub(super) fn private_with(&self) -> Option<AuthorId> {
        let mut people = self.messages.iter().filter(|message| message.role == Role::User);
        let first = people.next()?;
        let person = first.metadata.author_id.as_ref()?;
        let shared = |message: &&UiMessage| {
            message.speaker().is_some()
                || message.metadata.extra.contains_key(IN_COMPANY)
                || message.metadata.author_id.as_ref() != Some(person)
        };
        let alone = !std::iter::once(first).chain(people).any(|message| shared(&message));
        alone.then(|| person.clone())
    }

    /// The messages of people that a run answers; those of the last run where none is given.
    pub(super) fn people_in(&self, run: Option<&CorrelationId>) -> impl Iterator<Item = &UiMessage> {
        let said = |message: &&UiMessage| message.role == Role::User && !message.metadata.command;
        let last = || self.messages.iter().rfind(said).map(|message| &message.metadata.correlation_id);
        let run = run.or_else(last).cloned();
        let own = move |message: &&UiMessage| run.as_ref() == Some(&message.metadata.correlation_id);
        self.messages.iter().filter(said).filter(own)
    }

    /// The memory that a run may use: as it was resolved when its messages were accepted, and narrowed where other
    /// people have spoken in this thread.
    pub(super) fn memory_scope(&self, run: Option<&CorrelationId>) -> MemoryScope {
        self.scope_of(self.people_in(run))
    }

    /// The memory that all of these messages may use.
    pub(super) fn scope_of<'a>(&self, messages: impl Iterator<Item = &'a UiMessage>) -> MemoryScope {
        let scopes = messages
            .filter(|message| message.role == Role::User && !message.metadata.command)
            .map(|message| message.memory_scope().unwrap_or_default());
        let common = scopes.reduce(|common, scope| common.and(&scope)).unwrap_or_default();
        if self.private_with().is_some() { common } else { common.without_person() }
    }

    /// The last question and its answer, if no message has arrived since. An answer of several messages cannot be
    /// superseded, because a line cannot remove another.
    pub(super) fn last_exchange(&self) -> Option<(MessageId, UiMessage)> {
        let answer = self.messages.iter().rfind(|message| !message.metadata.command);
        let answer = answer.filter(|message| message.role == Role::Assistant)?;
        let run = &answer.metadata.correlation_id;
        let question = self.of_run(run).rfind(|message| message.role == Role::User)?;
        let ended = answer.metadata.status.is_some_and(RunStatus::is_final);
        (self.answers_of(run).count() == 1 && ended).then(|| (question.id.clone(), answer.clone()))
    }

    /// The message after which the visible conversation begins, where that is not the thread's first.
    pub(super) fn start(&self) -> Option<&MessageId> {
        let begun = self.messages.iter().rfind(|message| is_new_conversation(message));
        begun.or(self.checkpoints.last()).map(|message| &message.id)
    }

    /// What the model is shown of the conversation before the messages in memory, oldest first.
    pub(super) fn checkpoints(&self) -> Vec<&CheckpointRecord> {
        // A new conversation begins without what was summed up before.
        let anew = self.messages.iter().any(is_new_conversation);
        self.checkpoints.iter().filter(|_| !anew).filter_map(UiMessage::checkpoint).collect()
    }

    /// The checkpoint that the next one is chained to.
    pub(super) fn last_checkpoint(&self) -> Option<&MessageId> {
        let chained = !self.checkpoints().is_empty();
        self.checkpoints.last().filter(|_| chained).map(|message| &message.id)
    }

    /// The messages since the conversation was begun anew.
    pub(super) fn since_new(&self) -> impl Iterator<Item = &UiMessage> {
        let start = self.messages.iter().rposition(is_new_conversation).map_or(0, |at| at + 1);
        self.messages.iter().skip(start)
    }

    /// Whether so much is in memory that its beginning will be dropped soon, however large the window is.
    pub(super) fn is_tail_long(&self) -> bool {
        let size = || self.messages.iter().map(UiMessage::size).sum::<usize>();
        self.messages.len() >= LONG_TAIL_MESSAGES || size() >= LONG_TAIL_BYTES
    }

    /// The messages for the model: up to and including the message that is being written, without those that wait for
    /// a later run.
    pub(super) fn prompt_messages<'a>(
        &'a self,
        live: Option<&'a UiMessage>,
        is_queued: impl Fn(&MessageId) -> bool,
    ) -> Vec<&'a UiMessage> {
        let mut out: Vec<&UiMessage> = Vec::new();
        for message in self.since_new().filter(|message| !message.metadata.checkpoint) {
            match live.filter(|live| live.id == message.id) {
                Some(live) => {
                    out.push(live);
                    return beside_their_answers(out);
                }
                None if is_queued(&message.id) => {}
                None => out.push(message),
            }
        }
        out.extend(live);
        beside_their_answers(out)
    }

    /// Adds a message in the file's order: a known id keeps its place.
    pub(super) fn remember(&mut self, message: &UiMessage) {
        match self.messages.iter_mut().find(|known| known.id == message.id) {
            Some(known) => *known = message.clone(),
            None => self.messages.push(message.clone()),
        }
    }

    /// Adds the messages of all commits.
    pub(super) fn record(&mut self, effects: &[Effect]) {
        for effect in effects {
            if let Effect::Commit { messages, .. } = effect {
                messages.iter().for_each(|message| self.remember(message));
            }
        }
    }

    /// Adds a checkpoint and drops what it covers from memory.
    pub(super) fn adopt_checkpoint(&mut self, message: UiMessage, through: &MessageId) {
        let begins = |record: &CheckpointRecord| record.prev.is_none() || !record.supersedes.is_empty();
        if message.checkpoint().is_some_and(begins) {
            self.checkpoints.clear();
        }
        self.next_checkpoint = self.next_checkpoint.saturating_add(1);
        self.checkpoints.push(message);
        if let Some(at) = self.messages.iter().position(|message| message.id == *through) {
            self.messages.drain(..=at);
            self.has_older = true;
        }
    }

    /// Estimated memory: parsed messages take about three times the bytes of their text.
    pub(super) fn memory(&self) -> usize {
        self.messages
            .iter()
            .map(|message| message.size().saturating_add(MESSAGE_OVERHEAD).saturating_mul(3))
            .sum()
    }

    /// Drops the oldest messages once the tail has grown too long: whole runs only, and never an open one.
    pub(super) fn trim(&mut self, is_open: impl Fn(&CorrelationId) -> bool) {
        if self.messages.len() < self.trim_at {
            return;
        }
        self.trim_at = self.messages.len() + TRIM_EVERY;
        let mut total: usize = self.messages.iter().map(UiMessage::size).sum();
        if total <= TAIL_BYTES {
            return;
        }
        let keep_from = self.messages.iter().position(|message| is_open(&message.metadata.correlation_id));
        let limit = keep_from.unwrap_or(self.messages.len().saturating_sub(1));
        let mut cut = 0;
        let mut run = None;
        for (at, message) in self.messages.iter().enumerate().take(limit + 1) {
            let next = &message.metadata.correlation_id;
            if run.replace(next) != Some(next) {
                cut = at;
                if total <= TAIL_BYTES / 2 || at == limit {
                    break;
                }
            }
            total = total.saturating_sub(message.size());
        }
        self.messages.drain(..cut);
        self.has_older |= cut > 0;
        self.trim_at = self.messages.len() + TRIM_EVERY;
    }
}

/// The language of a message; `None` for one without words, such as a recording.
fn written_in(message: &UiMessage) -> Option<Language> {
    let text = message.parts.iter().find_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    text.map(Language::of)
}

/// Whether a message begins a new conversation in the thread.
fn is_new_conversation(message: &UiMessage) -> bool {
    let asked = message.parts.iter().any(|part| matches!(part, Part::Command(record) if record.is("new")));
    let extra = &message.metadata.extra;
    (asked && !extra.contains_key(REFUSED)) || extra.contains_key(BEGINS_ANEW)
}

fn next_number(checkpoints: &[UiMessage]) -> u32 {
    let newest =
        checkpoints.iter().filter_map(|message| message.checkpoint()).map(|record| record.number).max();
    newest.unwrap_or(0).saturating_add(1)
}

/// Puts the messages of a run that waited while another run was answered in front of its own answer: the file has them
/// where they arrived.
fn beside_their_answers(messages: Vec<&UiMessage>) -> Vec<&UiMessage> {
    let run = |message: &UiMessage| message.metadata.correlation_id.clone();
    let asks = |message: &UiMessage| {
        message.role == Role::User && !message.metadata.context && !message.metadata.command
    };
    let asked: BTreeSet<CorrelationId> =
        messages.iter().filter(|one| asks(one)).map(|one| run(one)).collect();
    let answers = |message: &UiMessage| {
        message.role == Role::Assistant
            && !message.metadata.command
            && asked.contains(&message.metadata.correlation_id)
    };
    // The number of answers before the first one of each run.
    let (mut first, mut count) = (BTreeMap::new(), 0_usize);
    for message in messages.iter().filter(|message| answers(message)) {
        first.entry(run(message)).or_insert(count);
        count += 1;
    }
    let (mut out, mut waiting, mut seen) = (Vec::with_capacity(messages.len()), BTreeMap::new(), 0_usize);
    for message in messages {
        let of = run(message);
        if answers(message) {
            seen += 1;
            out.extend(waiting.remove(&of).unwrap_or_default());
        } else if asks(message) && first.get(&of).is_some_and(|before| *before > seen) {
            waiting.entry(of).or_insert_with(Vec::new).push(message);
            continue;
        }
        out.push(message);
    }
    out
}
