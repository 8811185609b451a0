//! Advances a run: begins a step, processes the model's output, and ends the run.

use serde_json::Value;

use super::run::{Run, RunPhase};
use crate::domain::{CorrelationId, ErrorKind, Footer, Intent, MentionState, SpeechMode, ToolCallId};
use crate::ports::{Completion, Durability, ModelDelta, ModelError};
use crate::render::{Phrase, Spent};
use crate::turn::context::TurnContext;
use crate::turn::{Effect, Spoken};
use crate::uimessage::{
    CheckpointReason, ErrorRecord, Part, RunStatus, SILENT, SPEECH, TaskReport, TextPart, ToolPart,
    ToolState, UiMessage, VOICE,
};

/// How often a prompt that the server finds too long is retried with half the window.
const MAX_SHRINKS: u32 = 2;
/// Longest error detail of a provider that is kept, in characters.
const MAX_DETAIL: usize = 600;
/// How often an empty answer is requested again.
const MAX_EMPTY: u32 = 1;

/// Whether the text of a step is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Voice {
    Aloud,
    Silent,
}

impl Run {
    /// It got its permit: the model is called, or the open calls go on.
    pub(in crate::turn) fn slot_granted(&mut self, ctx: &TurnContext<'_>) -> Vec<Effect> {
        let mut effects = vec![Effect::Show(Intent::Typing)];
        if self.open_calls().is_empty() {
            effects.extend(self.next_step(ctx));
        } else {
            self.phase = RunPhase::Acting;
            effects.extend(self.advance_calls(ctx));
        }
        effects.push(Effect::Publish);
        effects
    }

    /// The model streams its answer.
    pub(in crate::turn) fn delta(&mut self, delta: ModelDelta, ctx: &TurnContext<'_>) -> Vec<Effect> {
        if self.phase != RunPhase::Thinking {
            return Vec::new();
        }
        let mut effects = Vec::new();
        match delta {
            ModelDelta::Retrying { kind, next_model } => {
                if std::mem::replace(&mut self.retry_shown, true) {
                    return Vec::new();
                }
                let phrase = match next_model {
                    Some(model) => Phrase::Switching { kind, model },
                    None => Phrase::Retrying(kind),
                };
                return vec![progress(phrase.say(ctx.language()))];
            }
            ModelDelta::Text(more) => {
                self.grow(false, &more);
                // What a task says before its end is not delivered.
                let streams = ctx.is_push() && ctx.rules().capabilities.streaming;
                if streams && ctx.history.scheduled(self.correlation()).is_none() {
                    effects.push(Effect::Drafted);
                }
            }
            ModelDelta::Reasoning(more) => self.grow(true, &more),
            ModelDelta::ToolInput(more) => self.grow_tool_input(&more.id, &more.name, &more.arguments),
            ModelDelta::StartOver => self.forget_step(),
        }
        self.shown = true;
        effects.push(Effect::Publish);
        effects
    }

    /// The model call has ended.
    pub(in crate::turn) fn model_ended(
        &mut self,
        result: Result<Completion, ModelError>,
        ctx: &TurnContext<'_>,
    ) -> Vec<Effect> {
        match result {
            _ if self.phase != RunPhase::Thinking => Vec::new(),
            Ok(completion) => self.model_answered(completion, ctx),
            Err(error) => self.model_failed(&error, ctx),
        }
    }

    fn model_answered(&mut self, completion: Completion, ctx: &TurnContext<'_>) -> Vec<Effect> {
        if let Some(usage) = completion.usage {
            self.note_usage(usage);
        }
        if let Some(fallback) = &completion.fallback {
            self.note_fallback(fallback);
        }
        let words = completion.text.trim();
        if completion.tool_calls.is_empty() && (words.is_empty() || words == SILENT) {
            if self.may_be_silent(ctx) {
                self.put_words(&completion);
                return self.end_of_words(Voice::Silent, ctx);
            }
            if words.is_empty() || self.answers_group(ctx) {
                return self.empty_answer(ctx);
            }
        }
        self.put_words(&completion);
        if completion.tool_calls.is_empty() {
            let truncated = completion.truncated.then(|| progress(Phrase::Truncated.say(ctx.language())));
            return truncated.into_iter().chain(self.end_of_words(Voice::Aloud, ctx)).collect();
        }
        self.phase = RunPhase::Acting;
        for call in completion.tool_calls {
            if let Err(kind) = self.take_call(call, ctx) {
                return self.fail(kind, ctx);
            }
        }
        let mut effects = self.advance_calls(ctx);
        effects.push(Effect::Publish);
        effects
    }

    fn model_failed(&mut self, error: &ModelError, ctx: &TurnContext<'_>) -> Vec<Effect> {
        // A partial answer is never stored as the answer.
        self.forget_step();
        if error.kind == ErrorKind::ContextLength && self.shrunk < MAX_SHRINKS {
            if self.may_compact() {
                self.note_compacting();
                return vec![Effect::Compact { reason: CheckpointReason::Overflow, focus: None }];
            }
            self.shrunk += 1;
            return vec![Effect::CallModel];
        }
        let detail: String = error.detail.chars().take(MAX_DETAIL).collect();
        self.fail_saying(&Phrase::Error(error.kind), error.kind, Some(detail), ctx)
    }

    /// An attempt to compact has ended: a run that waited for it calls the model. Without a checkpoint, a prompt that
    /// was too long is tried with a smaller window.
    pub(in crate::turn) fn compacted(
        &mut self,
        has_checkpoint: bool,
        reason: CheckpointReason,
    ) -> Vec<Effect> {
        if !std::mem::take(&mut self.compacting) || self.phase != RunPhase::Thinking {
            return Vec::new();
        }
        if !has_checkpoint && reason == CheckpointReason::Overflow {
            self.shrunk += 1;
        }
        vec![Effect::CallModel]
    }

    /// A message joins it before anything was shown: the model is called again with it.
    pub(in crate::turn) fn join(&mut self) -> Vec<Effect> {
        self.joined += 1;
        self.start_over()
    }

    /// The model is called again, because a message changed or joined.
    pub(in crate::turn) fn start_over(&self) -> Vec<Effect> {
        match self.phase {
            RunPhase::Thinking => vec![Effect::CancelJobs, Effect::CallModel],
            _ => Vec::new(),
        }
    }

    /// It reads one more message at its next step.
    pub(in crate::turn) const fn steer(&mut self) {
        self.joined += 1;
        self.steered = true;
    }

    /// Stops the current step for a new message. Returns nothing where there is no step to stop.
    pub(in crate::turn) fn interrupt(&mut self) -> Option<Effect> {
        self.steer();
        if self.phase == RunPhase::WaitingForSlot {
            return None;
        }
        if self.phase == RunPhase::Thinking {
            self.forget_step();
        }
        Some(Effect::CancelJobs)
    }

    /// Begins a step with the message that interrupted it; the calls of the last one have ended.
    pub(in crate::turn) fn resume_interrupted(&mut self, ctx: &TurnContext<'_>) -> Vec<Effect> {
        self.settle_all("Interrupted: the user sent a new message before this call finished.");
        self.next_step(ctx)
    }

    /// Ends it for a person. Returns its run id and its last message.
    pub(in crate::turn) fn stop(mut self) -> (CorrelationId, UiMessage) {
        self.end_texts();
        self.settle_all("Stopped by the user before it finished.");
        if self.message.parts.is_empty() {
            self.message.parts.push(Part::StepStart);
        }
        self.message.metadata.status = Some(RunStatus::Stopped);
        (self.correlation, self.message)
    }

    /// The line that must be in the file before a message of a later run.
    pub(in crate::turn) fn place(&mut self) -> Option<UiMessage> {
        if self.placed || self.phase == RunPhase::WaitingForSlot {
            return None;
        }
        self.placed = true;
        Some(self.snapshot())
    }

    /// Calls the model again, with everything that happened since.
    pub(super) fn next_step(&mut self, ctx: &TurnContext<'_>) -> Vec<Effect> {
        if self.is_promotion() {
            return self.end_promotion(ctx);
        }
        if let Some(ended) = self.end_unraised(ctx) {
            return ended;
        }
        if self.steps >= ctx.max_steps(self.correlation())
            && self.message.parts.last() != Some(&Part::StepStart)
        {
            return self.fail(ErrorKind::TooManySteps, ctx);
        }
        let mut effects = Vec::new();
        let steered = std::mem::take(&mut self.steered) && self.placed;
        if steered || self.is_full() {
            let full = self.turn_page(ctx.thread(), ctx.now);
            effects.push(Effect::commit(vec![full], Durability::Written));
        }
        self.begin_step();
        effects.extend([Effect::CallModel, Effect::Publish]);
        effects
    }

    /// Handles the end of the model's text: the run ends, unless a message joined meanwhile.
    fn end_of_words(&mut self, voice: Voice, ctx: &TurnContext<'_>) -> Vec<Effect> {
        if !std::mem::take(&mut self.steered) {
            let mut effects = self.finish(RunStatus::Done, ctx);
            if let (Voice::Silent, Some(Effect::Commit { say, .. })) = (voice, effects.first_mut()) {
                say.clear();
            }
            return effects;
        }
        let page = self.turn_page(ctx.thread(), ctx.now);
        let text = self.with_footer(page.final_text(), Some(&page), ctx);
        let intent = Intent::AssistantText { text };
        let say = self.spoken(page.id.to_string(), intent).filter(|_| voice == Voice::Aloud);
        self.begin_step();
        let commit = Effect::Commit {
            messages: vec![page],
            say: say.into_iter().collect(),
            durability: Durability::Synced,
        };
        vec![commit, Effect::CallModel, Effect::Publish]
    }

    /// Whether it answers messages of a group.
    fn answers_group(&self, ctx: &TurnContext<'_>) -> bool {
        ctx.history.said_in(&self.correlation).any(|message| message.speaker().is_some())
    }

    /// Whether none of the messages that it answers names the agent.
    fn may_be_silent(&self, ctx: &TurnContext<'_>) -> bool {
        let mut said = ctx.history.said_in(&self.correlation).peekable();
        said.peek().is_some() && said.all(|message| message.mention() != MentionState::Named)
    }

    pub(super) fn finish(&mut self, status: RunStatus, ctx: &TurnContext<'_>) -> Vec<Effect> {
        self.end_texts();
        self.settle_all("The turn ended before this call finished.");
        self.message.metadata.status = Some(status);
        let error = self.message.parts.iter().find_map(|part| match part {
            Part::Error(record) => Some(Intent::Error {
                kind: record.kind,
                text: record.text.clone(),
                retryable: record.retryable,
            }),
            _ => None,
        });
        let report = self.task_report(ctx).filter(|_| error.is_none());
        let quiet = report.as_ref().is_some_and(|report| report.quiet);
        let speaks = error.is_none() && !quiet && !self.is_promotion() && self.is_to_be_spoken(ctx);
        let text = report.map_or_else(|| self.message.final_text(), |report| report.text);
        let intent = error.unwrap_or_else(|| {
            let text = self.with_footer(text.clone(), None, ctx);
            Intent::AssistantText { text }
        });
        let say = self.spoken(self.message.id.to_string(), intent).filter(|_| !quiet);
        let mut say: Vec<Spoken> = say.into_iter().collect();
        if speaks && !say.is_empty() {
            self.message.metadata.extra.insert(SPEECH.to_owned(), true.into());
            say.extend(self.spoken(format!("{}.speech", self.message.id), Intent::Speech { text }));
        }
        self.phase = RunPhase::Ended;
        vec![
            Effect::Commit { messages: vec![self.message.clone()], say, durability: Durability::Synced },
            Effect::ReleaseSlot,
            Effect::Finished(self.correlation.clone()),
        ]
    }

    /// What it reports, where a task started it.
    fn task_report(&self, ctx: &TurnContext<'_>) -> Option<TaskReport> {
        let quiet = ctx.history.scheduled(self.correlation())?.quiet;
        let earlier =
            ctx.history.answers_of(&self.correlation).filter(|message| message.id != self.message.id);
        let messages: Vec<&UiMessage> = earlier.chain([&self.message]).collect();
        Some(TaskReport::of(messages, quiet))
    }

    /// Whether its answer is spoken beside its text.
    fn is_to_be_spoken(&self, ctx: &TurnContext<'_>) -> bool {
        match ctx.rules().speech {
            SpeechMode::Off => false,
            SpeechMode::Always => !ctx.rules().capabilities.unattended,
            SpeechMode::Inbound => {
                let mut said = ctx.history.said_in(&self.correlation);
                said.any(|message| message.metadata.extra.contains_key(VOICE))
            }
        }
    }

    fn fail(&mut self, kind: ErrorKind, ctx: &TurnContext<'_>) -> Vec<Effect> {
        self.fail_saying(&Phrase::Error(kind), kind, None, ctx)
    }

    pub(super) fn fail_saying(
        &mut self,
        phrase: &Phrase,
        kind: ErrorKind,
        detail: Option<String>,
        ctx: &TurnContext<'_>,
    ) -> Vec<Effect> {
        let detail = detail.filter(|detail| !detail.trim().is_empty());
        let text = phrase.say(ctx.language());
        self.end_texts();
        let cancelled = self.calls.is_busy().then_some(Effect::CancelJobs);
        let record = ErrorRecord { kind, text, retryable: kind.retryable(), detail };
        self.message.parts.push(Part::Error(record));
        cancelled.into_iter().chain(self.finish(RunStatus::Failed, ctx)).collect()
    }

    fn empty_answer(&mut self, ctx: &TurnContext<'_>) -> Vec<Effect> {
        if self.empty_answers >= MAX_EMPTY || self.shown {
            return self.fail_saying(&Phrase::EmptyAnswer, ErrorKind::BadResponse, None, ctx);
        }
        self.empty_answers += 1;
        vec![Effect::CallModel]
    }

    /// Commits the message as it is now.
    pub(super) fn commit_snapshot(&mut self, durability: Durability) -> Effect {
        self.placed = true;
        Effect::commit(vec![self.snapshot()], durability)
    }

    /// Commits the message with what is to be sent, in order; each delivery id is derived from its source.
    pub(super) fn commit_saying(&mut self, intents: Vec<(String, Intent)>) -> Effect {
        self.placed = true;
        let say = intents.into_iter().filter_map(|(source, intent)| self.spoken(source, intent)).collect();
        Effect::Commit { messages: vec![self.snapshot()], say, durability: Durability::Synced }
    }

    /// A message to send in this run; none for an empty text.
    fn spoken(&self, source: String, intent: Intent) -> Option<Spoken> {
        if matches!(&intent, Intent::AssistantText { text } if text.trim().is_empty()) {
            return None;
        }
        let (correlation, reply_to) = (self.correlation.clone(), self.reply_to.clone());
        Some(Spoken { source, correlation, reply_to, intent })
    }

    /// An answer with what it used below it, where the settings want that. For people alone: the message is kept without.
    fn with_footer(&self, text: String, page: Option<&UiMessage>, ctx: &TurnContext<'_>) -> String {
        let footer = ctx.rules().footer;
        if footer == Footer::Off || text.trim().is_empty() {
            return text;
        }
        let own = page.unwrap_or(&self.message);
        // Earlier messages of a long answer are in the history already.
        let earlier = ctx.history.of_run(&self.correlation).filter(|message| message.id != own.id);
        let spent = earlier.chain([own]).fold(Spent::default(), add_usage);
        match spent.footer(footer, &ctx.rules().currency, ctx.language()).filter(|_| spent.input > 0) {
            Some(line) => format!("{text}\n\n*{line}*"),
            None => text,
        }
    }

    /// Sets the text of the step to that of the completion. Usually it was streamed completely and does not change.
    fn put_words(&mut self, completion: &Completion) {
        if self.step_words() != (completion.text.clone(), completion.reasoning.clone()) {
            self.forget_step();
            if !completion.reasoning.is_empty() {
                self.message.parts.push(Part::Reasoning(TextPart::done(completion.reasoning.clone())));
            }
            if !completion.text.is_empty() {
                self.message.parts.push(Part::text(completion.text.clone()));
            }
        }
        self.end_texts();
        // A call that was streamed but is not in the completion never happened.
        let start = self.step_start();
        let mut at = 0;
        self.message.parts.retain(|part| {
            at += 1;
            let dropped = at > start
                && matches!(part, Part::Tool(tool) if !completion.tool_calls.iter().any(|call| call.id == tool.call_id));
            !dropped
        });
    }

    fn grow_tool_input(&mut self, id: &ToolCallId, name: &str, more: &str) {
        if self.tool_mut(id).is_none() {
            self.end_texts();
            let state = ToolState::InputStreaming { input: None, raw_input: Some(String::new()) };
            self.message.parts.push(Part::Tool(Box::new(ToolPart::new(name, id.clone(), state))));
        }
        if let Some(ToolPart { state: ToolState::InputStreaming { raw_input: Some(raw), .. }, .. }) =
            self.tool_mut(id)
        {
            raw.push_str(more);
        }
    }
}

/// A notice that is shown and not stored.
pub(in crate::turn) const fn progress(text: String) -> Effect {
    Effect::Show(Intent::Progress { text, call_id: None })
}

/// Adds what the calls of a message used.
fn add_usage(sum: Spent, message: &UiMessage) -> Spent {
    let Some(usage) = message.metadata.extra.get("usage") else { return sum };
    let number = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    let flag = |key: &str| usage.get(key).and_then(Value::as_bool).unwrap_or(false);
    Spent {
        calls: sum.calls,
        input: sum.input.saturating_add(number("in")),
        cached: sum.cached.saturating_add(number("cached")),
        output: sum.output.saturating_add(number("out")),
        cost: sum.cost.saturating_add(number("cost")),
        about: sum.about || flag("estimated"),
        unpriced: sum.unpriced || flag("unpriced"),
    }
}
