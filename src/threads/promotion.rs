//! Notes that go into core memory: which ones a person is asked about, the judgement of that call, and the write once it
//! is approved.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::actor::Actor;
use super::jobs::{Done, tool_panicked};
use super::runtime::Runtime;
use crate::distil::same_text;
use crate::domain::{
    ApprovalId, ApprovalState, ChangeRefusal, Decided, DistilMark, Language, LedgerLine, LedgerOp,
    MemoryChange, MemoryEdit, MemoryQuestion, MemoryScope, Origin, Provenance, Risk, ScopeKind, ThreadId,
    Tier, Timestamp, ToolCallId,
};
use crate::fail_point::fail_point;
use crate::policy::fingerprint::fingerprint;
use crate::policy::reply::chosen;
use crate::ports::{ChangeError, Judgement, LedgerRequest, MemoryBatch, Ruling, ToolFailure, ToolOutcome};
use crate::render::MemoryPhrase;
use crate::turn::{Event, PROMOTION, Proposal, ProposedItem};
use crate::uimessage::{Role, UiMessage};

/// Most items of one question.
const MOST_PROPOSED: usize = 12;
/// Most ledger lines that are searched for notes.
const LEDGER_LINES: usize = 200;

/// The question about what is learned from these messages; nothing where nobody is there who may answer. `private` says
/// whether only one person writes in the thread.
pub(super) fn question_about(
    runtime: &Runtime,
    messages: &[UiMessage],
    after: Option<Timestamp>,
    private: bool,
) -> Option<MemoryQuestion> {
    let said = |message: &&UiMessage| {
        message.role == Role::User && !message.metadata.command && !message.metadata.context
    };
    let person = messages.iter().rfind(said)?;
    let memory_scope = person.memory_scope()?;
    let shown = memory_scope.write().is_some_and(|key| private || !key.is_of_one_person());
    let asked = person.metadata.author_id.clone()?;
    let rights = &runtime.settings().approval_rules.rights;
    let owner = person.origin() == Origin::Owner && rights.owners;
    let may_answer = rights.requester || owner || rights.people.contains(&asked);
    let asks = shown && may_answer && person.origin().may_be_core();
    asks.then(|| MemoryQuestion { run: runtime.ids.correlation(), asked, memory_scope, after })
}

/// What a question proposes: notes of this thread and scope that are new since it was last distilled. `lines` are those
/// that were written just now.
pub(super) async fn proposal(
    runtime: &Runtime,
    thread: &ThreadId,
    question: &MemoryQuestion,
    lines: &[LedgerLine],
) -> Option<Proposal> {
    let scope = question.memory_scope.write()?.clone();
    let request = LedgerRequest { scope: Some(scope.clone()), before: None, limit: LEDGER_LINES };
    let page = runtime.memory.ledger(request).await.ok()?;
    let now: BTreeSet<u64> = lines.iter().map(|line| line.seq).collect();
    let is_new = |line: &&LedgerLine| {
        let later = now.contains(&line.seq) || question.after.is_none_or(|after| line.at > after);
        let added = line.tier == Tier::Notes && line.op == LedgerOp::Add;
        let unreviewed = !line.reviewed && line.origin == Origin::Auto;
        added && unreviewed && later && line.thread.as_ref() == Some(thread)
    };
    let core = runtime.memory.core(&scope).await.ok()?.items();
    let item = |line: &LedgerLine| {
        let text = line.after.clone()?;
        let known = core.iter().any(|item| same_text(&item.text, &text));
        let note = line.id.clone().unwrap_or_default();
        (!known).then(|| ProposedItem { note, text, from: line.from.clone() })
    };
    let mut items: Vec<ProposedItem> =
        page.lines.iter().filter(is_new).filter_map(item).take(MOST_PROPOSED).collect();
    items.reverse();
    let MemoryQuestion { run, memory_scope, asked, .. } = question.clone();
    (!items.is_empty()).then_some(Proposal { run, memory_scope, items, asked })
}

/// The judgement of a promotion: a person is always asked, and only for this once.
pub(super) fn judge_promotion(input: &Value, scope: &MemoryScope, language: Language) -> Judgement {
    let read = Proposal::read(input);
    let (count, file, diff) = read.map_or_else(Default::default, |(scope, items)| {
        let lines = items.iter().enumerate().map(|(at, item)| format!("+{}. {}\n", at + 1, item.text));
        (items.len(), format!(".ship/{}", scope.core_file()), lines.collect::<String>())
    });
    Judgement {
        ruling: if count == 0 { Ruling::Deny("there is nothing to keep".to_owned()) } else { Ruling::Ask },
        fingerprint: fingerprint(PROMOTION, input, "", scope, &[]),
        summary: MemoryPhrase::KeepThese(count).say(language),
        details: Some(MemoryPhrase::KeepDetails { file, diff }.say(language)),
        whole: None,
        risk: Risk::Low,
        scopes: vec![ScopeKind::Once],
        grants: Vec::new(),
    }
}

impl Actor {
    /// Asks what was proposed. The run has its id from the mark, so that it is asked once.
    pub(super) async fn propose(&mut self, proposal: Proposal) {
        fail_point("promotion-begun");
        self.feed(Event::Proposed(Box::new(proposal))).await;
        fail_point("promotion-placed");
    }

    /// A question that a crash, or the end of the daemon, kept from being asked.
    pub(super) async fn unasked_proposal(&self, mark: Option<&DistilMark>) -> Option<Proposal> {
        let question = mark?.question.as_ref()?;
        let own = question.memory_scope.write().is_some_and(|key| key.is_of_one_person());
        if own && self.conversation.private_with().is_none() {
            return None;
        }
        let asked = self.runtime.store.contains(&self.id, &Proposal::message(&question.run)).await;
        if asked.unwrap_or(true) {
            return None;
        }
        proposal(&self.runtime, &self.id, question, &[]).await
    }

    /// Writes what a person kept into core memory.
    pub(super) fn run_promotion(&mut self, call: ToolCallId) {
        let approval = self.conversation.approval_of(&call);
        let (runtime, thread, id) = (self.runtime.clone(), self.id.clone(), call.clone());
        let execution = self.execution(&call, PROMOTION);
        let job = async move {
            let outcome = match approval {
                Some(approval) => keep(&runtime, thread, approval).await,
                None => Err(ToolFailure::Refused("nobody approved it".to_owned())),
            };
            execution.end(&outcome);
            Done::Tool(id, outcome)
        };
        self.jobs.start_work(&self.span, job, tool_panicked(call));
    }
}

/// Adds the items of an approval that the person kept, and marks their notes as reviewed. Doing it again changes nothing.
async fn keep(runtime: &Runtime, thread: ThreadId, approval: ApprovalId) -> ToolOutcome {
    let failed = |why: &dyn std::fmt::Display| ToolFailure::Failed(why.to_string());
    let record = runtime.approvals.get(&approval).await.map_err(|error| failed(&error))?;
    let record = record.ok_or_else(|| failed(&"the approval is gone"))?;
    let (ApprovalState::Approved { decided, .. } | ApprovalState::Spent { decided, .. }) = record.state
    else {
        return Err(ToolFailure::Refused("nobody approved it".to_owned()));
    };
    let Decided { by, at, reason, .. } = decided;
    let (scope, items) = Proposal::read(&record.input).ok_or_else(|| failed(&"its items cannot be read"))?;
    let only = reason.as_deref().and_then(|reason| chosen(reason, items.len()));
    let mut kept: Vec<ProposedItem> = items
        .into_iter()
        .enumerate()
        .filter(|(index, _)| only.as_ref().is_none_or(|only| only.contains(&(index + 1))))
        .map(|(_, item)| item)
        .collect();
    let core = |item: &ProposedItem| MemoryChange {
        scope: scope.clone(),
        tier: Tier::Core,
        edit: MemoryEdit::Add { text: item.text.clone(), section: None },
        expected: None,
        provenance: Provenance {
            at,
            by: Some(by.clone()),
            via: Some(approval.to_string()),
            thread: Some(thread.clone()),
            from: item.from.clone(),
            origin: Origin::Auto,
            reviewed: true,
        },
    };
    // The notes come first: undo takes back what went into core memory.
    let changes = |kept: &[ProposedItem]| {
        let note = |item: &ProposedItem| {
            let edit = MemoryEdit::Replace { id: item.note.clone(), text: item.text.clone() };
            MemoryChange { tier: Tier::Notes, edit, ..core(item) }
        };
        kept.iter().map(note).chain(kept.iter().map(core)).collect()
    };
    let proposed = kept.len();
    let lines = loop {
        let batch = MemoryBatch { changes: changes(&kept), mark: None };
        match runtime.memory.apply_all(batch).await {
            Ok(lines) => break lines,
            // A note that was forgotten meanwhile does not come back.
            Err(ChangeError::Refused(ChangeRefusal::NoSuchItem(gone)))
                if kept.iter().any(|item| item.note == gone) =>
            {
                tracing::info!(note = gone, "forgotten note not kept");
                kept.retain(|item| item.note != gone);
            }
            Err(error) => return Err(failed(&error)),
        }
    };
    fail_point("promotion-applied");
    let added = lines.iter().filter(|line| line.tier == Tier::Core).count();
    let forgotten = proposed.saturating_sub(kept.len());
    Ok(json!({
        "kept": kept.len(), "added": added, "forgotten": forgotten, "file": format!(".ship/{}", scope.core_file()),
    }))
}
