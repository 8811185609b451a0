//! Advances a run: begins it, processes the model's output, and ends it.

use crate::domain::{Delivery, ErrorKind, Intent, Language, Timestamp, ToolCallId};
use crate::ports::{Completion, Durability, ModelDelta, ModelError};
use crate::render::Phrase;
use crate::turn::effect::Spoken;
use crate::turn::runs::run::{Phase, Run};
use crate::turn::{Conversation, Effect};
use crate::uimessage::{CheckpointReason, ErrorRecord, Part, RunStatus, TextPart, ToolPart, ToolState};

/// How often a prompt that the server finds too long is retried with half the window.
const MAX_SHRINKS: u32 = 2;
/// Longest error detail of a provider that is kept, in characters.
const MAX_DETAIL: usize = 600;
/// How often an empty answer is requested again.
const MAX_EMPTY: u32 = 1;

impl Conversation {
    /// Starts the run that has waited longest.
    pub(in crate::turn) fn start_next(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        if self.run.is_some() || self.stopping {
            return;
        }
        let Some(waiting) = self.waiting.pop_front() else { return };
        let last = waiting.messages.last();
        let reply_to = self
            .history
            .iter()
            .find(|message| Some(&message.id) == last)
            .and_then(|m| m.metadata.message_id.clone());
        self.run = Some(Run::new(&self.thread, waiting.correlation, reply_to, now));
        out.push(Effect::AcquireSlot);
    }

    pub(in crate::turn) fn slot_granted(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        let Some(run) = self.run.as_mut().filter(|run| run.phase == Phase::WaitingForSlot) else {
            out.push(Effect::ReleaseSlot);
            return;
        };
        out.push(Effect::Show(Intent::Typing));
        if run.open_calls().is_empty() {
            self.next_step(now, out);
        } else {
            run.phase = Phase::Acting;
            self.run_tools(now, out);
        }
        out.push(Effect::Publish);
    }

    pub(in crate::turn) fn show_delta(&mut self, delta: ModelDelta, out: &mut Vec<Effect>) {
        // Only an error is shown as text, so the language is determined only then.
        let language =
            if matches!(delta, ModelDelta::Retrying { .. }) { self.language() } else { Language::default() };
        let sends_drafts =
            self.rules.capabilities.delivery == Delivery::Push && self.rules.capabilities.streaming;
        let Some(run) = self.run.as_mut().filter(|run| run.phase == Phase::Thinking) else { return };
        match delta {
            ModelDelta::Retrying { kind, next_model } => {
                if !std::mem::replace(&mut run.retry_shown, true) {
                    let phrase = match next_model {
                        Some(model) => Phrase::Switching { kind, model },
                        None => Phrase::Retrying(kind),
                    };
                    let text = phrase.say(language);
                    out.push(Effect::Show(Intent::Progress { text, call_id: None }));
                }
                return;
            }
            ModelDelta::Text(more) => {
                run.grow(false, &more);
                if sends_drafts {
                    out.push(Effect::Drafted);
                }
            }
            ModelDelta::Reasoning(more) => run.grow(true, &more),
            ModelDelta::ToolInput(more) => grow_tool_input(run, &more.id, &more.name, &more.arguments),
            ModelDelta::StartOver => run.forget_step(),
        }
        run.shown = true;
        out.push(Effect::Publish);
    }

    pub(in crate::turn) fn model_answered(
        &mut self,
        completion: Completion,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        let Some(run) = self.run.as_mut().filter(|run| run.phase == Phase::Thinking) else { return };
        if let Some(usage) = completion.usage {
            run.note_usage(usage);
        }
        if completion.tool_calls.is_empty() && completion.text.trim().is_empty() {
            return self.empty_answer(now, out);
        }
        put_words(run, &completion);
        if completion.tool_calls.is_empty() {
            if completion.truncated {
                let text = Phrase::Truncated.say(self.language());
                out.push(Effect::Show(Intent::Progress { text, call_id: None }));
            }
            return self.end_of_words(now, out);
        }
        run.phase = Phase::Acting;
        for call in completion.tool_calls {
            if let Err(kind) = self.take_call(call) {
                return self.fail(kind, now, out);
            }
        }
        self.run_tools(now, out);
        out.push(Effect::Publish);
    }

    pub(in crate::turn) fn model_failed(
        &mut self,
        error: &ModelError,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        let may_compact = self.may_compact();
        let Some(run) = self.run.as_mut().filter(|run| run.phase == Phase::Thinking) else { return };
        if error.kind == ErrorKind::ContextLength && run.shrunk < MAX_SHRINKS {
            run.forget_step();
            if may_compact {
                self.note_compacting();
                out.push(Effect::Compact { reason: CheckpointReason::Overflow, focus: None });
            } else {
                run.shrunk += 1;
                out.push(Effect::CallModel);
            }
            return;
        }
        // A partial answer is never stored as the answer.
        run.forget_step();
        let detail: String = error.detail.chars().take(MAX_DETAIL).collect();
        self.fail_saying(&Phrase::Error(error.kind), error.kind, Some(detail), now, out);
    }

    /// Calls the model again, with everything that happened since.
    pub(in crate::turn) fn next_step(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        let max_steps = self.rules.max_steps;
        let thread = self.thread.clone();
        let Some(run) = self.run.as_mut() else { return };
        if run.steps >= max_steps && run.message.parts.last() != Some(&Part::StepStart) {
            return self.fail(ErrorKind::TooManySteps, now, out);
        }
        let steered = std::mem::take(&mut run.steered) && run.placed;
        if steered || run.is_full() {
            let full = run.turn_page(&thread, now);
            let commit = self.commit(vec![full], Durability::Written);
            out.push(commit);
        }
        if let Some(run) = &mut self.run {
            run.begin_step();
        }
        out.push(Effect::CallModel);
        out.push(Effect::Publish);
    }

    /// Handles the end of the model's text: the run ends, unless a message joined meanwhile.
    fn end_of_words(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        let thread = self.thread.clone();
        let Some(run) = self.run.as_mut() else { return };
        if !std::mem::take(&mut run.steered) {
            return self.finish(RunStatus::Done, now, out);
        }
        let page = run.turn_page(&thread, now);
        let say = spoken(run, &page.id, Intent::AssistantText { text: page.final_text() });
        run.begin_step();
        self.remember(&page);
        out.push(Effect::Commit { messages: vec![page], say, durability: Durability::Synced });
        out.push(Effect::CallModel);
        out.push(Effect::Publish);
    }

    fn finish(&mut self, status: RunStatus, now: Timestamp, out: &mut Vec<Effect>) {
        let Some(mut run) = self.run.take() else { return };
        run.end_texts();
        run.settle_all("The turn ended before this call finished.");
        run.message.metadata.status = Some(status);
        let error = run.message.parts.iter().find_map(|part| match part {
            Part::Error(record) => Some(Intent::Error {
                kind: record.kind,
                text: record.text.clone(),
                retryable: record.retryable,
            }),
            _ => None,
        });
        let intent = error.unwrap_or_else(|| Intent::AssistantText { text: run.message.final_text() });
        let say = spoken(&run, &run.message.id, intent);
        self.remember(&run.message);
        out.push(Effect::Commit { messages: vec![run.message], say, durability: Durability::Synced });
        out.push(Effect::ReleaseSlot);
        out.push(Effect::Finished(run.correlation));
        self.start_next(now, out);
        out.push(Effect::Publish);
    }

    pub(in crate::turn) fn fail(&mut self, kind: ErrorKind, now: Timestamp, out: &mut Vec<Effect>) {
        self.fail_saying(&Phrase::Error(kind), kind, None, now, out);
    }

    fn fail_saying(
        &mut self,
        phrase: &Phrase,
        kind: ErrorKind,
        detail: Option<String>,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        let detail = detail.filter(|detail| !detail.trim().is_empty());
        let text = phrase.say(self.language());
        let Some(run) = self.run.as_mut() else { return };
        run.end_texts();
        if run.ledger.is_busy() {
            out.push(Effect::CancelJobs);
        }
        let record = ErrorRecord { kind, text, retryable: kind.retryable(), detail };
        run.message.parts.push(Part::Error(record));
        self.finish(RunStatus::Failed, now, out);
    }

    fn empty_answer(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        let Some(run) = self.run.as_mut() else { return };
        if run.empty_answers >= MAX_EMPTY || run.shown {
            return self.fail_saying(&Phrase::EmptyAnswer, ErrorKind::BadResponse, None, now, out);
        }
        run.empty_answers += 1;
        out.push(Effect::CallModel);
    }

    pub(in crate::turn) fn commit_snapshot(&mut self, durability: Durability, out: &mut Vec<Effect>) {
        let Some(run) = self.run.as_mut() else { return };
        run.placed = true;
        let snapshot = run.snapshot();
        let commit = self.commit(vec![snapshot], durability);
        out.push(commit);
    }
}

/// The message to send for a run's answer; none for an empty text.
fn spoken(run: &Run, source: &crate::domain::MessageId, intent: Intent) -> Vec<Spoken> {
    if matches!(&intent, Intent::AssistantText { text } if text.trim().is_empty()) {
        return Vec::new();
    }
    let correlation = run.correlation.clone();
    vec![Spoken { source: source.to_string(), correlation, reply_to: run.reply_to.clone(), intent }]
}

/// Sets the text of the step to that of the completion. Usually it was streamed completely and does not change.
fn put_words(run: &mut Run, completion: &Completion) {
    if run.step_words() != (completion.text.clone(), completion.reasoning.clone()) {
        run.forget_step();
        if !completion.reasoning.is_empty() {
            run.message.parts.push(Part::Reasoning(TextPart::done(completion.reasoning.clone())));
        }
        if !completion.text.is_empty() {
            run.message.parts.push(Part::text(completion.text.clone()));
        }
    }
    run.end_texts();
    // A call that was streamed but is not in the completion never happened.
    let start = run.step_start();
    let mut at = 0;
    run.message.parts.retain(|part| {
        at += 1;
        let dropped = at > start
            && matches!(part, Part::Tool(tool) if !completion.tool_calls.iter().any(|call| call.id == tool.call_id));
        !dropped
    });
}

fn grow_tool_input(run: &mut Run, id: &ToolCallId, name: &str, more: &str) {
    if run.tool_mut(id).is_none() {
        run.end_texts();
        let state = ToolState::InputStreaming { input: None, raw_input: Some(String::new()) };
        run.message.parts.push(Part::Tool(Box::new(ToolPart::new(name, id.clone(), state))));
    }
    if let Some(ToolPart { state: ToolState::InputStreaming { raw_input: Some(raw), .. }, .. }) =
        run.tool_mut(id)
    {
        raw.push_str(more);
    }
}
