//! The actor's part in approvals: has calls judged, keeps the approval records, and expires questions.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;

use super::actor::{Actor, outcome_of};
use super::cap_questions::judge_raise;
use super::jobs::{Done, judge_panicked};
use super::promotion::judge_promotion;
use super::redaction::redact_judgement;
use crate::distil::{quotes_any, recalled_texts, unreviewed_texts};
use crate::domain::{
    Approval, ApprovalId, ApprovalState, CorrelationId, Effects, IngressEvent, Language, MessageId, Purpose,
    RAISE_CALL, Said, Scope, ScopeKey, ScopeKind, ThreadState, ToolCallId, items_of,
};
use crate::policy::reply::{INSTRUCTIONS, ModelHint, Named, decided_outright};
use crate::ports::{
    Acceptance, AuditLine, CallToJudge, Judgement, Prompt, Ruling, RunMessageSource, RunOutcome, StoreError,
};
use crate::render::MemoryPhrase;
use crate::turn::{ApprovalSlot, Event, MEMORY_UPSERT, PROMOTION};
use crate::uimessage::{Content, ModelMessage, Part, RunStatus, ToolState, UiMessage, unfinished_runs};

/// A reply that no model has classified by then is an ordinary message.
const READING_DEADLINE: Duration = Duration::from_secs(20);

/// A thread that has not taken a decision by then is stuck.
const PASSING_DEADLINE: Duration = Duration::from_secs(10);

/// Says something in a conversation.
const CHAT_SEND: &str = "chat_send";
/// Tools that only read what the agent itself keeps.
const MAY_QUOTE: [&str; 3] = ["memory_search", "chat_load_history", "current_time"];

impl Actor {
    /// Has a call judged in a separate task, because the judge may read files.
    pub(super) fn judge(&mut self, call: ToolCallId, tool: String, input: Value) {
        if tool == PROMOTION {
            let judgement =
                judge_promotion(&input, &self.conversation.memory_scope(), self.conversation.language());
            let judged = Done::Judged(call.clone(), Box::new(judgement));
            self.jobs.start_work(&self.span, async move { judged }, judge_panicked(call));
            return;
        }
        if tool == RAISE_CALL {
            let author = self.conversation.requester().map(|author| author.to_string()).unwrap_or_default();
            let judgement = judge_raise(&input, (&self.id, &author), self.conversation.language());
            let judged = Done::Judged(call.clone(), Box::new(judgement));
            self.jobs.start_work(&self.span, async move { judged }, judge_panicked(call));
            return;
        }
        let judge = self.runtime.settings().judge.clone();
        let notes = self.unreviewed_notes_for(&tool);
        let carried = self.recalled_texts_for(&tool, &input);
        let learned = tool == MEMORY_UPSERT && self.conversation.has_tool_output();
        let language = self.conversation.language();
        let to_judge = CallToJudge {
            thread: self.id.clone(),
            scope: self.conversation.memory_scope(),
            origin: self.conversation.origin(),
            requester: self.conversation.requester(),
            unattended: self.conversation.is_scheduled(),
            by_program: self.conversation.is_asked_by_program(),
            language: Some(language),
            tool,
            input,
        };
        let id = call.clone();
        let reasons = [
            (quotes_any(&to_judge.input, &notes), MemoryPhrase::QuotesNote),
            (quotes_any(&to_judge.input, &carried), MemoryPhrase::CarriesMemory),
            (learned && goes_into_core(&to_judge.input), MemoryPhrase::AfterToolOutput),
        ];
        let job = async move {
            let mut judgement = judge.judge(to_judge).await;
            for (_, reason) in reasons.into_iter().filter(|(applies, _)| *applies) {
                ask_all_the_same(&mut judgement, &reason, language);
            }
            Done::Judged(id, Box::new(judgement))
        };
        self.jobs.start_work(&self.span, job, judge_panicked(call));
    }

    /// The unreviewed notes that the model was shown and that a call must not quote unasked. A call that only searches or
    /// speaks in this thread may.
    fn unreviewed_notes_for(&self, tool: &str) -> Vec<String> {
        let effects = self.tools().get(tool).map(|(spec, _)| spec.effects);
        if effects == Some(Effects::Speaks) || MAY_QUOTE.contains(&tool) {
            return Vec::new();
        }
        unreviewed_texts(self.conversation.context())
    }

    /// What the model was told from memory and history, where a message goes to another conversation.
    fn recalled_texts_for(&self, tool: &str, input: &Value) -> Vec<String> {
        let target =
            input.get("thread").and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
        if tool != CHAT_SEND || target.is_none_or(|target| target == self.id.as_str()) {
            return Vec::new();
        }
        let mut texts = recalled_texts(self.conversation.context());
        let frozen = self.runtime.frozen.current(&self.id);
        let own = frozen.into_iter().filter(|(scope, _)| *scope != ScopeKey::Project);
        texts.extend(own.flat_map(|(_, text)| items_of(&text)).map(|item| item.text));
        texts
    }

    /// Handles a judgement: a call that needs approval gets an approval number.
    pub(super) async fn judged(
        &mut self,
        call: ToolCallId,
        mut judgement: Box<Judgement>,
    ) -> Result<(), StoreError> {
        redact_judgement(&self.runtime.redactor.clone().only_known(), &mut judgement);
        let slot = if self.conversation.needs_slot(&call, &judgement) {
            let number = self.runtime.approvals.next_number().await?;
            Some(ApprovalSlot { id: self.runtime.ids.approval(), number })
        } else {
            None
        };
        self.fingerprints.insert(call.clone(), judgement.fingerprint.clone());
        self.feed(Event::Judged { call, judgement, slot }).await;
        Ok(())
    }

    /// Stores a grant for calls like this one. The call itself is allowed even if storing fails.
    pub(super) async fn grant(&mut self, approval: Approval, scope: Scope) {
        let (id, now) = (approval.id.clone(), self.runtime.clock.now());
        match self.runtime.settings().judge.propose(&approval, scope, now).await {
            Some(proposal) => match self.runtime.grants.add(approval, scope, proposal, now).await {
                Ok(_) => return,
                Err(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, "storing a grant failed");
                }
            },
            None => tracing::warn!(approval = %id, "grant not added: the call can only be allowed once"),
        }
        self.upcoming.push_back(Event::NotGranted(id));
    }

    /// The approvals that the open calls of a thread refer to.
    pub(super) async fn approvals_of(&self, tail: &[UiMessage]) -> Result<Vec<Approval>, StoreError> {
        let ids =
            tail.iter().flat_map(|message| &message.parts).filter_map(open_approval).collect::<Vec<_>>();
        if !unfinished_runs(tail).is_empty() {
            self.withdraw_unasked(&ids).await?;
        }
        if ids.is_empty() { Ok(Vec::new()) } else { self.runtime.approvals.of_thread(&self.id, ids).await }
    }

    /// Withdraws approvals that no call refers to. An approval is stored before its question is asked; after a crash in
    /// between it can never be answered, and the call gets a new one.
    async fn withdraw_unasked(&self, asked: &[ApprovalId]) -> Result<(), StoreError> {
        let mut left = self.runtime.approvals.left_pending(&self.id).await?;
        left.extend(self.conversation.pending_approvals().into_iter().map(|approval| approval.id));
        left.retain(|id| !asked.contains(id));
        if left.is_empty() {
            return Ok(());
        }
        let unasked = self.runtime.approvals.of_thread(&self.id, left).await?;
        for approval in unasked.into_iter().filter(|approval| approval.state == ApprovalState::Pending) {
            let reason = "it was cut off before anybody was asked".to_owned();
            let state = ApprovalState::Cancelled { at: self.runtime.clock.now(), reason };
            let approval = Approval { state, ..approval };
            self.save_approval(approval.clone()).await?;
            if let Some(line) = AuditLine::settled(&approval) {
                self.runtime.audit.record(line);
            }
        }
        Ok(())
    }

    /// The approvals of this thread that a text decides by number or id although they are no longer pending.
    pub(super) async fn decided_again(&self, words: &str) -> Result<Vec<Approval>, StoreError> {
        let pending = self.conversation.pending_approvals();
        let (mut ids, mut numbers) = (Vec::new(), Vec::new());
        for named in decided_outright(words) {
            match named {
                Named::Id(id) => ids.push(id),
                Named::Number(number) => numbers.push(number),
            }
        }
        ids.retain(|id| pending.iter().all(|asked| asked.id != *id));
        numbers.retain(|number| pending.iter().all(|asked| asked.number != *number));
        let mut found = Vec::new();
        if !ids.is_empty() {
            found.extend(self.runtime.approvals.of_thread(&self.id, ids).await?);
        }
        if !numbers.is_empty() {
            found.extend(self.runtime.approvals.numbered(&self.id, numbers).await?);
        }
        Ok(found)
    }

    /// The approval that a message replies to although it is no longer pending, unless it is among `known`.
    pub(super) async fn replied_to(
        &self,
        said: &Said,
        known: &[Approval],
    ) -> Result<Option<Approval>, StoreError> {
        let question = self.conversation.quoted_question(said).cloned();
        let pending = self.conversation.pending_approvals();
        let new = |id: &ApprovalId| known.iter().chain(&pending).all(|one| one.id != *id);
        match question.filter(new) {
            Some(id) => Ok(self.runtime.approvals.of_thread(&self.id, vec![id]).await?.pop()),
            None => Ok(None),
        }
    }

    /// Has a model classify a reply. The prompt contains the reply only.
    pub(super) fn read_reply(&mut self, message: MessageId, words: String) {
        let runtime = self.runtime.clone();
        let prompt = Prompt {
            system: INSTRUCTIONS.to_owned(),
            messages: vec![ModelMessage::User { content: vec![Content::Text(words.clone())], name: None }],
            account: Some(self.account(Purpose::Reply)),
            ..Prompt::default()
        };
        let (live, deltas) = mpsc::channel(1);
        // No subscriber needs these deltas.
        drop(deltas);
        self.runtime.metrics.model_calls.count();
        self.waiters.reading(message.clone());
        let (id, shown) = (message.clone(), words.clone());
        let job = async move {
            let asked =
                tokio::time::timeout(READING_DEADLINE, runtime.helper.model.complete(prompt, live)).await;
            let hint = match asked {
                Ok(Ok(completion)) => ModelHint::parse(&completion.text),
                Ok(Err(error)) => {
                    tracing::info!(kind = ?error.kind, "reply classification failed");
                    None
                }
                Err(_) => None,
            };
            Done::ReplyRead { message: id, words: shown, hint }
        };
        self.jobs.start(job, Done::ReplyRead { message, words, hint: None });
    }

    /// The pending questions of other threads that were asked here, too.
    pub(super) async fn asked_here(&mut self) -> Result<Vec<Approval>, StoreError> {
        let approvals = self.runtime.approvals.clone();
        let ids = match self.asked_here.clone() {
            Some(ids) => ids,
            None => {
                let pending = approvals.pending().await?.into_iter();
                pending.filter(|asked| asked.asked_in.contains(&self.id)).map(|asked| asked.id).collect()
            }
        };
        let mut open = Vec::new();
        for id in &ids {
            open.extend(approvals.get(id).await?.filter(Approval::is_pending));
        }
        self.asked_here = Some(open.iter().map(|asked| asked.id.clone()).collect());
        Ok(open)
    }

    /// Remembers a question of another thread that is asked here.
    pub(super) fn note_asked_here(&mut self, source: &RunMessageSource) {
        if let (RunMessageSource::Question { approval, settled: false }, Some(known)) =
            (source, &mut self.asked_here)
        {
            known.push(approval.clone());
        }
    }

    /// Passes a decision on to the thread that asked.
    pub(super) async fn decide_elsewhere(&self, event: IngressEvent) {
        let thread = event.thread.clone();
        let passed = tokio::time::timeout(PASSING_DEADLINE, self.threads.open().deliver(event)).await;
        if !matches!(passed, Ok(Acceptance::Accepted { .. } | Acceptance::Duplicate { .. })) {
            tracing::warn!(%thread, ?passed, "decision not taken by the thread that asked");
        }
    }

    /// How long until the next approval expires; `None` while none is pending.
    pub(super) fn until_expiry(&self) -> Option<Duration> {
        let now = self.runtime.clock.now();
        self.conversation.next_expiry().map(|at| Duration::from_millis(at.millis_since(now)))
    }

    /// Tells the waiters of a run that it waits for an approval.
    pub(super) fn parked(&mut self, correlation: &CorrelationId) {
        let outcome = self.parked_outcome(correlation);
        self.waiters.tell(correlation, &outcome);
    }

    /// Ends the waits for messages that wait behind an approval of another run.
    pub(super) fn tell_held_back(&mut self) {
        if self.conversation.state() != ThreadState::AwaitingApproval || !self.waiters.has_held_back() {
            return;
        }
        let approvals = self.open_questions();
        let outcome = RunOutcome { status: Some(RunStatus::Running), approvals, ..RunOutcome::default() };
        self.waiters.tell_held_back(&outcome);
    }

    /// The outcome of a run that waits for an approval.
    pub(super) fn parked_outcome(&self, correlation: &CorrelationId) -> RunOutcome {
        let approvals = self.open_questions();
        RunOutcome { approvals, ..outcome_of(self.conversation.messages_of(correlation)) }
    }

    /// The questions that the run waits for; that of another thread where it waits for its answer.
    fn open_questions(&self) -> Vec<Approval> {
        let mut approvals = self.conversation.pending_approvals();
        let joined = self.joined_question.as_deref().filter(|_| self.conversation.waits_for_budget());
        approvals.extend(joined.cloned());
        approvals
    }
}

fn open_approval(part: &Part) -> Option<ApprovalId> {
    let Part::Tool(tool) = part else { return None };
    match &tool.state {
        ToolState::ApprovalRequested { approval, .. } => approval.id.parse().ok(),
        ToolState::ApprovalResponded { approval, .. } => approval.id.parse().ok(),
        _ => None,
    }
}

/// Whether a call of `memory_upsert` puts text into core memory.
fn goes_into_core(input: &Value) -> bool {
    let is = |key: &str, value: &str| input.get(key).and_then(Value::as_str).map(str::trim) == Some(value);
    !is("tier", "notes") && !is("action", "forget")
}

/// Has a person asked about a call that would be allowed, because of where its words come from.
fn ask_all_the_same(judgement: &mut Judgement, reason: &MemoryPhrase, language: Language) {
    if !matches!(judgement.ruling, Ruling::Allow(_) | Ruling::Ask) {
        return;
    }
    judgement.ruling = Ruling::Ask;
    judgement.scopes = vec![ScopeKind::Once];
    judgement.grants.clear();
    let reason = format!("- {}", reason.say(language));
    judgement.details = Some(match judgement.details.take() {
        Some(details) => format!("{reason}\n{details}"),
        None => reason,
    });
}
