//! Performs the effects that the state machine returns.

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::actor::{Actor, ModelWait, outcome_of};
use super::call_audit::CallAudit;
use super::compaction::scaled;
use super::count;
use super::jobs::{Done, model_panicked, tool_panicked};
use super::models::ThreadModel;
use super::redaction::redact_outcome;
use super::relevance::has_undecided;
use crate::domain::Class;
use crate::domain::{
    AttachmentKind, Capabilities, CorrelationId, Delivery, DeliveryId, ErrorKind, Intent, Language, Origin,
    OutboundIntent, Payer, Permit, Purpose, RAISE_CALL, StoredFile, ToolCallId,
};
use crate::fail_point::fail_point;
use crate::ports::{
    Account, AuditEvent, AuditLine, Change, Commit, Durability, Fallback, ModelError, OutboxEntry,
    OutboxLine, StoreError, ToolBox, ToolContext, ToolFailure, Work,
};
use crate::render::{Phrase, lower};
use crate::telemetry::turn_span;
use crate::turn::{
    BuiltPrompt, Effect, Event, Facts, MEMORY_UPSERT, PROMOTION, Spoken, build_prompt, stated_limit,
};
use crate::uimessage::UiMessage;

/// An answer of more messages than this is sent as a file.
const MOST_MESSAGES: usize = 12;

/// Most deltas of a model call that may be queued for the actor.
const DELTA_BACKLOG: usize = 64;

impl Actor {
    /// Passes one event to the state machine and performs the effects. When a write fails, the effects after it are
    /// skipped.
    pub(super) async fn feed(&mut self, event: Event) {
        let runtime = self.runtime.clone();
        let now = runtime.clock.now();
        let version = runtime.settings.version();
        if std::mem::replace(&mut self.settings_version, version) != version {
            self.conversation.use_rules(runtime.rules(&self.id));
        }
        let before = self.conversation.current().cloned();
        let effects = self.conversation.step(event, now, &mut || runtime.ids.correlation());
        self.follow_run(before.as_ref());
        for effect in effects {
            if let Err(error) = self.perform(effect).await {
                self.storage_failed(&error);
                break;
            }
        }
    }

    /// Sets the log span to the run in flight.
    fn follow_run(&mut self, before: Option<&CorrelationId>) {
        let current = self.conversation.current();
        if current == before {
            return;
        }
        self.span = match current {
            Some(correlation) => {
                self.runtime.metrics.turns_started.count();
                turn_span(correlation, &self.id)
            }
            None => tracing::Span::none(),
        };
    }

    async fn perform(&mut self, effect: Effect) -> Result<(), StoreError> {
        match effect {
            Effect::Commit { messages, say, durability } => self.commit(messages, say, durability).await?,
            Effect::Answer(ticket, acceptance) => {
                count::acceptance(&self.runtime.metrics, &acceptance);
                if let Some(reply) = self.tickets.remove(&ticket) {
                    // The caller may be gone; the event stays accepted.
                    drop(reply.send(acceptance));
                }
            }
            Effect::AcquireSlot => self.acquire_slot(),
            Effect::ReleaseSlot => self.slot = None,
            Effect::CallModel => self.call_model().await,
            Effect::Compact { reason, focus } => self.compact(reason, focus).await,
            Effect::Judge { call, name, input } => self.judge(call, name, input),
            Effect::KeepFile { file, text } => self.runtime.files.keep(&file, text.into_bytes()).await?,
            Effect::SaveApproval(approval) => self.save_approval(*approval).await?,
            Effect::Grant(approval, scope) => self.grant(*approval, scope).await,
            Effect::ReadReply { message, words } => self.read_reply(message, words),
            Effect::Audit(line) => self.runtime.audit.record(*line),
            Effect::Parked(correlation) => self.parked(&correlation),
            Effect::Moved { message, to } => self.waiters.follow(&message, &to),
            Effect::RunTool { call, name, arguments, class } => self.run_tool(call, &name, arguments, class),
            Effect::CancelJobs => {
                self.jobs.cancel_work();
                self.compaction.work_cancelled();
                self.model_wait = None;
                self.deltas = None;
            }
            Effect::Publish => self.stale = true,
            Effect::Drafted => self.drafted = true,
            Effect::Show(intent) => self.show(intent),
            Effect::DecideElsewhere(event) => self.decide_elsewhere(*event).await,
            Effect::Finished(correlation) => self.finished(&correlation),
        }
        Ok(())
    }

    pub(super) async fn commit(
        &mut self,
        messages: Vec<UiMessage>,
        say: Vec<Spoken>,
        durability: Durability,
    ) -> Result<(), StoreError> {
        let mut hand_overs = self.hand_overs(&messages, &say);
        let mut entries = self.entries(say).await?;
        entries.append(&mut hand_overs);
        if has_undecided(&messages) {
            self.gate.note(self.runtime.groups.settings().settle);
        }
        let busy = !self.conversation.is_idle()
            || !entries.is_empty()
            || self.deliveries.outstanding() > 0
            || self.gate.is_pending();
        // The first one is attempted at once: the same write tells the store, so that it costs nothing.
        let first = entries.first().filter(|_| self.deliveries.are_idle()).map(|entry| entry.id.clone());
        let begins = first.map(|id| OutboxLine::Attempted { id, at: self.runtime.clock.now() });
        let recorded = begins.is_some();
        let commit = Commit {
            thread: self.id.clone(),
            messages: messages.clone(),
            outbox: entries.iter().cloned().map(OutboxLine::Entry).chain(begins).collect(),
            durability,
            work: if busy { Work::Open } else { Work::Settled },
        };
        self.runtime.store.commit(commit).await?;
        if !messages.is_empty() {
            self.runtime.follower.changed(&self.id);
        }
        self.tell_room(&messages).await;
        for record in messages.iter().filter_map(UiMessage::checkpoint) {
            fail_point("checkpoint-committed");
            count::checkpoint(&self.runtime.metrics, record.by);
        }
        self.deliveries.push(entries);
        if recorded {
            self.deliveries.record();
        }
        self.note_deliveries();
        self.publisher.tell(messages);
        Ok(())
    }

    /// The outbox entries for messages, split to the platform's limits; none where clients read the thread themselves.
    async fn entries(&self, say: Vec<Spoken>) -> Result<Vec<OutboxEntry>, StoreError> {
        let capabilities = self.runtime.capabilities(self.id.platform());
        if capabilities.delivery == Delivery::Pull {
            return Ok(Vec::new());
        }
        let at = self.runtime.clock.now();
        let entry = |spoken: &Spoken, index: usize, intent: Intent| OutboxEntry {
            id: DeliveryId::new(&spoken.source, index),
            at,
            intent: self.addressed(&spoken.correlation, spoken.reply_to.clone(), intent),
            on_behalf_of: None,
        };
        let mut entries = Vec::new();
        for spoken in &say {
            let mut parts = lower(&spoken.intent, &capabilities);
            if parts.len() > most_messages(&capabilities)
                && let Intent::AssistantText { text } = &spoken.intent
            {
                parts = self.with_file(&spoken.source, text, parts).await?;
            }
            let parts = parts.into_iter().enumerate();
            entries.extend(parts.map(|(index, intent)| entry(spoken, index, intent)));
        }
        Ok(entries)
    }

    /// An answer of too many messages: its beginning as a message, and the whole text as a file.
    async fn with_file(
        &self,
        source: &str,
        text: &str,
        parts: Vec<Intent>,
    ) -> Result<Vec<Intent>, StoreError> {
        let language = Language::of(text);
        let file = StoredFile::new(self.id.clone(), &format!("{source}-"), "answer.md");
        self.runtime.files.keep(&file, text.as_bytes().to_vec()).await?;
        let beginning = parts.into_iter().next();
        let whole = Intent::Attachment {
            file,
            name: "answer.md".to_owned(),
            media_type: "text/markdown".to_owned(),
            kind: AttachmentKind::File,
            caption: Some(Phrase::RestInFile.say(self.runtime.settings().language.unwrap_or(language))),
        };
        Ok(beginning.into_iter().chain([whole]).collect())
    }

    fn addressed(
        &self,
        correlation: &CorrelationId,
        reply_to: Option<String>,
        intent: Intent,
    ) -> OutboundIntent {
        OutboundIntent { thread_id: self.id.clone(), correlation_id: correlation.clone(), reply_to, intent }
    }

    fn acquire_slot(&mut self) {
        let slots = self.runtime.slots.clone();
        if let Ok(permit) = slots.clone().try_acquire_owned() {
            self.slot = Some(permit);
            self.upcoming.push_back(Event::SlotGranted);
            return;
        }
        let wait = async move { Done::Entry(slots.acquire_owned().await.ok()) };
        self.jobs.start_work(&self.span, wait, Done::Entry(None));
    }

    /// The prompt that a model would be sent now.
    pub(super) async fn prepare(&mut self) -> BuiltPrompt {
        let runtime = self.runtime.clone();
        let memory = self.remembered().await;
        let instructions = runtime.agent.instructions.current().await;
        if instructions.changed {
            runtime.changes.announce(Change::Instructions);
            let text = Phrase::InstructionsChanged.say(self.conversation.language());
            self.notice(Intent::Progress { text, call_id: None });
        }
        let project = runtime.agent.project.file_name().map(|name| name.to_string_lossy().into_owned());
        let ThreadModel { model, context_tokens, .. } = self.thread_model().await;
        self.conversation.note_token_ratio(runtime.tokens.ratio(model.name()).await);
        let others = self.others_here().await;
        let facts = Facts {
            others: &others,
            agent_md: &instructions.text,
            name: &runtime.agent.name,
            project: project.as_deref().unwrap_or_default(),
            thread: &self.id,
            now: runtime.clock.now(),
            memory: &memory,
            context_tokens: runtime.tokens.window(model.name(), context_tokens),
        };
        let built = build_prompt(&self.conversation, &facts, self.tools().specs());
        self.compaction.last_percent = built.percent();
        built
    }

    pub(super) async fn call_model(&mut self) {
        if self.recall_first() {
            return;
        }
        let built = self.prepare().await;
        if self.compact_before_call(&built) {
            return;
        }
        let BuiltPrompt { mut prompt, tokens: estimate, .. } = built;
        let input = scaled(estimate, self.conversation.token_ratio());
        let account = self.account(self.purpose());
        prompt.account = Some(Account { input: u64::try_from(input).ok(), ..account });
        let runtime = self.runtime.clone();
        let (live, deltas) = mpsc::channel(DELTA_BACKLOG);
        self.deltas = Some(deltas);
        self.model_wait = Some(ModelWait::from_now());
        self.runtime.metrics.model_calls.count();
        let ThreadModel { model, deadline, .. } = self.thread_model().await;
        let thread = self.id.clone();
        let (run, author) = (self.conversation.current().cloned(), self.conversation.requester());
        let call = async move {
            tracing::debug!(estimate, "model call started");
            let result = tokio::time::timeout(deadline, model.complete(prompt, live)).await;
            let result = result.unwrap_or_else(|_| {
                let detail = format!("no answer within {} s", deadline.as_secs());
                Err(ModelError { kind: ErrorKind::Timeout, detail, retry_after: None, shortage: None })
            });
            match &result {
                Ok(completion) => {
                    let counted = completion.usage.filter(|usage| !usage.estimated);
                    match (&completion.fallback, counted) {
                        (None, Some(usage)) => {
                            runtime.tokens.learn(model.name(), estimate, usage.input).await
                        }
                        (Some(fallback), _) => runtime.audit.record(AuditLine {
                            thread: Some(thread),
                            correlation: run,
                            author,
                            reason: Some(fallback_reason(model.name(), fallback)),
                            ..AuditLine::new(AuditEvent::ModelFallback, runtime.clock.now())
                        }),
                        (None, None) => {}
                    }
                    tracing::info!(calls = completion.tool_calls.len(), usage = ?completion.usage, fallback = ?completion.fallback, "model answered")
                }
                Err(error) => {
                    if let Some(limit) =
                        stated_limit(&error.detail).filter(|_| error.kind == ErrorKind::ContextLength)
                    {
                        runtime.tokens.set_context_limit(model.name(), limit);
                    }
                    tracing::warn!(kind = ?error.kind, detail = %error.detail, "model failed");
                }
            }
            Done::Model(result)
        };
        self.jobs.start_work(&self.span, call, model_panicked());
    }

    /// The tools of the run in flight.
    pub(super) fn tools(&self) -> ToolBox {
        self.runtime.tools_of(&self.id, self.conversation.is_scheduled())
    }

    /// The model that answers the run in flight.
    async fn thread_model(&self) -> ThreadModel {
        let task = self.conversation.task_model();
        self.runtime.models.of(&self.id, task.as_deref()).await
    }

    /// For whom the run in flight calls a model.
    pub(super) fn account(&self, purpose: Purpose) -> Account {
        let payer = self.runtime.payer(&self.id, purpose);
        let payer = Payer {
            turn: self.conversation.current().cloned(),
            step: self.conversation.steps(),
            author: self.conversation.requester(),
            owner: self.conversation.origin() == Origin::Owner,
            task: self.conversation.task().or(payer.task),
            max_cost: self.conversation.task_max_cost(),
            ..payer
        };
        Account::new(self.runtime.meter.clone(), payer)
    }

    fn purpose(&self) -> Purpose {
        let unattended = self.runtime.capabilities(self.id.platform()).unattended;
        if unattended || self.conversation.is_scheduled() { Purpose::Task } else { Purpose::Turn }
    }

    fn run_tool(&mut self, call: ToolCallId, name: &str, arguments: Value, class: Class) {
        if name == PROMOTION {
            return self.run_promotion(call);
        }
        if name == RAISE_CALL {
            return self.run_raise(call);
        }
        let Some(tool) = self.tools().get(name).map(|(_, tool)| tool.clone()) else {
            let failure = ToolFailure::Failed(format!("there is no tool named {name:?}"));
            self.upcoming.push_back(Event::ToolEnded { call, outcome: Err(failure) });
            return;
        };
        let Some(correlation) = self.conversation.current().cloned() else { return };
        let cancel = CancellationToken::new();
        let (progress, passing) = self.progress.of(&call);
        let approval = self.conversation.approval_of(&call);
        // Without a person who has seen the call, its words may be those of a web page.
        let unseen = name == MEMORY_UPSERT && approval.is_none() && self.conversation.has_tool_output();
        let origin = if unseen { Origin::Tool } else { self.conversation.origin() };
        let context = ToolContext {
            project: self.runtime.agent.project.clone(),
            thread: self.id.clone(),
            correlation,
            call: call.clone(),
            permit: Permit::of(class),
            history: self.runtime.store.clone(),
            search: self.scoped_search(),
            memory: self.runtime.memory.clone(),
            tasks: self.runtime.task_book.clone(),
            files: self.runtime.files.clone(),
            scope: self.conversation.memory_scope(),
            origin,
            requester: self.conversation.requester(),
            unattended: self.conversation.is_scheduled(),
            language: self.conversation.language(),
            asked_in: self.conversation.run_messages().map(|message| message.id.clone()).collect(),
            approval,
            threads: self.threads.open(),
            progress: Some(progress),
            clock: self.runtime.clock.clone(),
            cancel: cancel.clone(),
        };
        self.runtime.metrics.tool_calls.count();
        let deadline = self.runtime.limits.tool_deadline;
        let (id, name) = (call.clone(), name.to_owned());
        let execution = self.execution(&call, &name);
        let redactor = self.runtime.redactor.clone().only_known();
        let job = async move {
            // Dropping the job must also cancel work that the tool has moved to other tasks or threads.
            let _cancel_when_dropped = cancel.drop_guard();
            let work = passing.during(tool.call(arguments, context));
            let outcome = tokio::time::timeout(deadline, work).await;
            let outcome = outcome.unwrap_or(Err(ToolFailure::TimedOut(deadline.as_secs())));
            // Redacted before any of it is stored or shown.
            let outcome = redact_outcome(&redactor, outcome);
            execution.end(&outcome);
            match &outcome {
                Ok(_) => tracing::info!(tool = name, call = %id, "tool ran"),
                Err(failure) => tracing::info!(tool = name, call = %id, %failure, "tool failed"),
            }
            Done::Tool(id, outcome)
        };
        self.jobs.start_work(&self.span, job, tool_panicked(call));
    }

    /// The audit line of a call that begins.
    pub(super) fn execution(&mut self, call: &ToolCallId, tool: &str) -> CallAudit {
        let now = self.runtime.clock.now();
        let line = AuditLine {
            thread: Some(self.id.clone()),
            correlation: self.conversation.current().cloned(),
            author: self.conversation.requester(),
            tool: Some(tool.to_owned()),
            tool_call: Some(call.clone()),
            fingerprint: self.fingerprints.remove(call),
            ..AuditLine::new(AuditEvent::Execution, now)
        };
        CallAudit::begin(self.runtime.audit.clone(), self.runtime.clock.clone(), line)
    }

    pub(super) fn show(&self, intent: Intent) {
        if let (Some(adapter), Some(run)) =
            (self.runtime.adapters.get(self.id.platform()), self.conversation.current())
        {
            let reply_to = self.conversation.replies_to().map(str::to_owned);
            adapter.show(self.addressed(run, reply_to, intent.clone()));
        }
        self.notice(intent);
    }

    fn finished(&mut self, correlation: &CorrelationId) {
        let of_run = self.conversation.messages_of(correlation);
        let outcome = outcome_of(of_run);
        if self.conversation.current().is_none() {
            self.fingerprints.clear();
        }
        count::turn_end(&self.runtime.metrics, outcome.status);
        tracing::info!(correlationId = %correlation, thread = %self.id, status = ?outcome.status, "turn finished");
        self.waiters.tell(correlation, &outcome);
        self.compaction.due = true;
        self.learning.due = true;
        self.titles.due = true;
        // A delivery of this run replaces the draft. Without one (the run was stopped, or its answer is empty) the
        // adapter must be told to remove the draft.
        if !self.deliveries.are_of(correlation)
            && let Some(adapter) = self.runtime.adapters.get(self.id.platform())
        {
            adapter.over(&self.id, correlation);
        }
    }
}

/// Which model answered in place of another one, and why.
fn fallback_reason(first: &str, fallback: &Fallback) -> String {
    let kind = serde_json::to_value(fallback.reason).unwrap_or_default();
    format!("{first} → {}: {}", fallback.model, kind.as_str().unwrap_or_default())
}

/// Most messages of one answer. Where the platform limits the number of replies, one is reserved for a notice.
fn most_messages(capabilities: &Capabilities) -> usize {
    if !capabilities.files {
        return usize::MAX;
    }
    let allowed = capabilities.replies_per_message.and_then(|count| usize::try_from(count).ok());
    allowed.map_or(MOST_MESSAGES, |count| count.saturating_sub(1).clamp(1, MOST_MESSAGES))
}
