//! Decides what of the followed runs is shown, and in which order. Pure: events in, output items out.
//!
//! An answer arrives twice, in chunks and then whole, and sometimes again from its beginning. What was shown once is not
//! shown again, and what was missed while it grew is shown when it is whole.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::connection::ThreadEvent;
use super::question::{Questions, SettledQuestion, ShownQuestion};
use crate::commands::terminal::call_line;
use crate::domain::{ApprovalNumber, CorrelationId, Language, MessageId};
use crate::ports::RunOutcome;
use crate::render::Phrase;
use crate::uimessage::{Chunk, Role, RunStatus, UiMessage, replay};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shown {
    /// More of the agent's text.
    Words(String),
    /// A paragraph break before the next text.
    Paragraph,
    /// A tool is called.
    Call(String),
    /// The call did not work.
    CallFailed(String),
    /// The result of a call that a person approved.
    Result(Value),
    /// A call needs a decision.
    Question(Box<ShownQuestion>),
    /// A decision was made.
    Settled(SettledQuestion),
    File(String),
    /// The daemon's reply to a command.
    Reply(String),
    /// A transient progress text.
    Progress(String),
    Error(String),
}

/// A run that is followed.
#[derive(Debug)]
struct FollowedRun {
    correlation: CorrelationId,
    /// Whether any message has arrived.
    seen: bool,
    /// Whether the agent has begun to answer.
    begun: bool,
    ended: Option<RunStatus>,
}

/// What was shown of one message.
#[derive(Debug)]
struct ShownMessage {
    run: CorrelationId,
    /// How many steps have begun.
    step: usize,
    texts: HashMap<String, ReceivedText>,
    calls: HashSet<String>,
    failed: HashSet<String>,
    results: HashSet<String>,
    /// Parts that come in one piece: how many arrived, and how many were shown.
    pieces_received: usize,
    pieces_shown: usize,
}

#[derive(Debug, Default)]
struct ReceivedText {
    received: String,
    shown: String,
}

/// Follows some runs of a thread, and the questions of all of them.
#[derive(Debug, Default)]
pub(super) struct TranscriptPrinter {
    runs: Vec<FollowedRun>,
    messages: HashMap<MessageId, ShownMessage>,
    written: Vec<Arc<UiMessage>>,
    /// The last state of messages whose run is not followed and has not ended: what was there before it is followed.
    unfollowed: HashMap<MessageId, Arc<UiMessage>>,
    /// The message and step of the last text.
    words_at: Option<(MessageId, usize)>,
    questions: Questions,
    shown_questions: HashSet<String>,
}

impl TranscriptPrinter {
    /// Follows one more run. The first is that of the sent message; later ones are commands, or runs that it lets
    /// go on.
    pub(super) fn follow(&mut self, correlation: CorrelationId) {
        if !self.follows(correlation.as_str()) {
            self.runs.push(FollowedRun { correlation, seen: false, begun: false, ended: None });
        }
    }

    /// Forgets the runs that have ended.
    pub(super) fn forget_ended(&mut self) {
        self.runs.retain(|run| run.ended.is_none());
        let runs = &self.runs;
        let open = |correlation: &CorrelationId| runs.iter().any(|run| run.correlation == *correlation);
        self.messages.retain(|_, state| open(&state.run));
        self.written.retain(|message| open(&message.metadata.correlation_id));
        self.words_at = None;
    }

    /// Records a message from before the chat, which is not shown.
    pub(super) fn note(&mut self, message: &Arc<UiMessage>) {
        self.questions.update(message);
        self.keep_unfollowed(message);
    }

    /// Whether all that is followed has ended.
    pub(super) fn is_over(&self) -> bool {
        self.runs.iter().all(|run| run.ended.is_some())
    }

    /// Whether any message of this run has arrived.
    pub(super) fn has_event_of(&self, correlation: &CorrelationId) -> bool {
        self.find(correlation).is_some_and(|run| run.seen)
    }

    /// Whether this run waits behind others: the daemon has its message, and the agent has not begun to answer.
    pub(super) fn is_queued(&self, correlation: &CorrelationId) -> bool {
        self.find(correlation).is_some_and(|run| run.seen && !run.begun && run.ended.is_none())
    }

    /// The questions that wait for a decision in this thread.
    pub(super) fn questions(&self) -> &[ShownQuestion] {
        self.questions.open()
    }

    /// Whether nothing goes on in the thread until a person decides.
    pub(super) fn is_parked(&self) -> bool {
        self.questions.hold_everything()
    }

    /// The numbers of the open questions.
    pub(super) fn numbers(&self) -> Vec<ApprovalNumber> {
        self.questions().iter().filter_map(|question| question.number).collect()
    }

    /// The open questions that were not shown yet. From now on they count as shown.
    pub(super) fn new_questions(&mut self) -> Vec<Shown> {
        let open = self.questions.open().iter();
        let new = open.filter(|question| self.shown_questions.insert(question.id.clone()));
        new.map(|question| Shown::Question(Box::new(question.clone()))).collect()
    }

    /// The outcome of the first run, or of the runs that it let go on.
    pub(super) fn outcome(&self) -> RunOutcome {
        let Some(first) = self.runs.first() else { return RunOutcome::default() };
        let resumed: Vec<&FollowedRun> = self.runs.iter().skip(1).filter(|run| run.begun).collect();
        let runs = if first.begun || resumed.is_empty() { vec![first] } else { resumed };
        let of_runs = |message: &&Arc<UiMessage>| {
            runs.iter().any(|run| run.correlation == message.metadata.correlation_id)
        };
        // The first failure is the outcome.
        let bad = runs.iter().map(|run| run.ended).find(|ended| *ended != Some(RunStatus::Done));
        RunOutcome {
            status: bad.unwrap_or(Some(RunStatus::Done)).or(Some(RunStatus::Running)),
            messages: self.written.iter().filter(of_runs).cloned().collect(),
            error: None,
            correlation: Some(first.correlation.clone()),
            approvals: Vec::new(),
        }
    }

    /// Applies an event; returns what to show.
    pub(super) fn event(&mut self, event: ThreadEvent) -> Vec<Shown> {
        let mut out = Vec::new();
        match event {
            ThreadEvent::Chunk { message, chunk } => self.chunk_event(&message, chunk, &mut out),
            ThreadEvent::Written(message) => self.message_event(message, &mut out),
            ThreadEvent::Progress(text) if self.is_reminder(&text) => {}
            ThreadEvent::Progress(text) => out.push(Shown::Progress(text)),
            ThreadEvent::Error(text) => out.push(Shown::Error(text)),
            ThreadEvent::Reload | ThreadEvent::Disconnected => {}
        }
        out
    }

    /// Whether the daemon reminds of the open questions. It does so once for each run; the chat does it every time.
    fn is_reminder(&self, text: &str) -> bool {
        let reminder = Phrase::Reminder(self.numbers());
        [Language::En, Language::Zh].into_iter().any(|language| reminder.say(language) == text)
    }

    fn message_event(&mut self, message: Arc<UiMessage>, out: &mut Vec<Shown>) {
        let correlation = message.metadata.correlation_id.clone();
        let settled = self.questions.update(&message);
        if !settled.is_empty() {
            self.follow_from_here(&correlation);
        }
        out.extend(settled.into_iter().map(Shown::Settled));
        let Some(run) = self.runs.iter_mut().find(|run| run.correlation == correlation) else {
            self.keep_unfollowed(&message);
            return;
        };
        run.seen = true;
        if message.role != Role::Assistant {
            return;
        }
        run.begun |= !message.metadata.command;
        run.ended = message.metadata.status.filter(|status| status.is_final()).or(run.ended);
        for chunk in replay(&message) {
            self.chunk_event(&message.id, chunk, out);
        }
        match self.written.iter_mut().find(|known| known.id == message.id) {
            Some(known) => *known = message,
            None => self.written.push(message),
        }
    }

    fn keep_unfollowed(&mut self, message: &Arc<UiMessage>) {
        let ended = message.metadata.status.is_none_or(RunStatus::is_final);
        if message.role != Role::Assistant || ended {
            self.unfollowed.remove(&message.id);
        } else {
            self.unfollowed.insert(message.id.clone(), message.clone());
        }
    }

    /// Follows a run that goes on now: what it said before is not shown.
    fn follow_from_here(&mut self, correlation: &CorrelationId) {
        if self.follows(correlation.as_str()) {
            return;
        }
        self.follow(correlation.clone());
        let of_run = |message: &UiMessage| message.metadata.correlation_id == *correlation;
        let before: Vec<_> = self.unfollowed.extract_if(|_, message| of_run(message)).collect();
        for (_, message) in before {
            self.message_event(message, &mut Vec::new());
        }
        self.words_at = None;
    }

    fn find(&self, correlation: &CorrelationId) -> Option<&FollowedRun> {
        self.runs.iter().find(|run| run.correlation == *correlation)
    }

    fn follows(&self, correlation: &str) -> bool {
        self.runs.iter().any(|run| run.correlation.as_str() == correlation)
    }

    fn chunk_event(&mut self, message: &MessageId, chunk: Chunk, out: &mut Vec<Shown>) {
        if let Some(call) = ended_call(&chunk) {
            self.questions.end_call(message, call);
        }
        if let Chunk::Start { message_metadata, .. } = &chunk {
            let run = message_metadata.as_ref().and_then(|facts| facts.get("correlationId"));
            let run = run.and_then(Value::as_str);
            if let Some(run) = self.runs.iter().find(|known| run == Some(known.correlation.as_str())) {
                let run = run.correlation.clone();
                self.messages.entry(message.clone()).or_insert_with(|| ShownMessage::new(run)).rewind();
            }
            return;
        }
        let Some(state) = self.messages.get_mut(message) else { return };
        match chunk {
            Chunk::StartStep => state.step += 1,
            Chunk::TextDelta { id, delta } => {
                let step = state.step;
                if let Some(growth) = state.texts.entry(id).or_default().grow(&delta) {
                    self.say(message, step, growth, out);
                }
            }
            Chunk::ToolInputAvailable { tool_call_id, tool_name, input, .. } => {
                state.call(tool_call_id, &tool_name, &input, out);
            }
            Chunk::ToolInputError { tool_call_id, tool_name, input, error_text, .. } => {
                state.call(tool_call_id.clone(), &tool_name, &input, out);
                state.fail(tool_call_id, error_text, out);
            }
            Chunk::ToolOutputError { tool_call_id, error_text } => state.fail(tool_call_id, error_text, out),
            Chunk::ToolOutputAvailable { tool_call_id, output, preliminary: None | Some(false) }
                if self.questions.asked_about(message, &tool_call_id) =>
            {
                state.result(tool_call_id, &output, out);
            }
            Chunk::File { url, .. } => state.piece(Shown::File(url), out),
            Chunk::DataCommand { data } => state.piece(Shown::Reply(word(&data, "reply")), out),
            Chunk::DataError { data } => {
                // The person at the terminal is the operator: the provider's own message is shown as well.
                let words = [word(&data, "text"), word(&data, "detail")];
                let words = words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>();
                state.piece(Shown::Error(words.join("\n")), out);
            }
            _ => {}
        }
    }

    fn say(&mut self, message: &MessageId, step: usize, growth: TextGrowth, out: &mut Vec<Shown>) {
        let here = (message.clone(), step);
        let same_step = self.words_at.as_ref() == Some(&here);
        let (words, anew) = match growth {
            TextGrowth::More(words) => (words, false),
            TextGrowth::Anew(words) => (words, true),
        };
        let begins = anew || !same_step;
        // A step begins with its first word, not with the blank lines before it.
        let words = if begins { words.trim_start_matches(['\n', '\r']).to_owned() } else { words };
        if words.is_empty() {
            return;
        }
        if begins && self.words_at.is_some() {
            out.push(Shown::Paragraph);
        }
        self.words_at = Some(here);
        out.push(Shown::Words(words));
    }
}

impl ShownMessage {
    fn new(run: CorrelationId) -> Self {
        Self {
            run,
            step: 0,
            texts: HashMap::new(),
            calls: HashSet::new(),
            failed: HashSet::new(),
            results: HashSet::new(),
            pieces_received: 0,
            pieces_shown: 0,
        }
    }

    /// The message arrives again from its beginning.
    fn rewind(&mut self) {
        self.step = 0;
        self.pieces_received = 0;
        self.texts = std::mem::take(&mut self.texts)
            .into_iter()
            .map(|(id, text)| (id, ReceivedText { received: String::new(), ..text }))
            .collect();
    }

    fn call(&mut self, id: String, name: &str, input: &Value, out: &mut Vec<Shown>) {
        if self.calls.insert(id) {
            out.push(Shown::Call(call_line(name, input)));
        }
    }

    fn fail(&mut self, id: String, why: String, out: &mut Vec<Shown>) {
        if self.failed.insert(id) {
            out.push(Shown::CallFailed(why));
        }
    }

    fn result(&mut self, id: String, output: &Value, out: &mut Vec<Shown>) {
        if self.results.insert(id) {
            out.push(Shown::Result(output.clone()));
        }
    }

    fn piece(&mut self, piece: Shown, out: &mut Vec<Shown>) {
        self.pieces_received += 1;
        if self.pieces_received > self.pieces_shown {
            self.pieces_shown = self.pieces_received;
            out.push(piece);
        }
    }
}

/// The new part of a text.
enum TextGrowth {
    More(String),
    /// The text was replaced.
    Anew(String),
}

impl ReceivedText {
    fn grow(&mut self, delta: &str) -> Option<TextGrowth> {
        self.received.push_str(delta);
        if self.shown.starts_with(&self.received) {
            return None;
        }
        match self.received.strip_prefix(&self.shown) {
            Some(more) => {
                let more = more.to_owned();
                self.shown.push_str(&more);
                Some(TextGrowth::More(more))
            }
            None => {
                self.shown.clone_from(&self.received);
                Some(TextGrowth::Anew(self.received.clone()))
            }
        }
    }
}

/// The call that a chunk tells the outcome of.
fn ended_call(chunk: &Chunk) -> Option<&str> {
    match chunk {
        Chunk::ToolOutputAvailable { tool_call_id, preliminary: None | Some(false), .. }
        | Chunk::ToolOutputError { tool_call_id, .. }
        | Chunk::ToolOutputDenied { tool_call_id } => Some(tool_call_id),
        _ => None,
    }
}

fn word(data: &Value, key: &str) -> String {
    data.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
#[path = "transcript_printer_tests.rs"]
mod tests;
