//! The actor's part in spend caps: one question per cap over all threads, what the others wait for, and the grant that
//! an approval makes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::Instant;

use super::actor::Actor;
use super::jobs::{Done, tool_panicked};
use super::runtime::Runtime;
use crate::domain::{
    Approval, ApprovalId, ApprovalKind, ApprovalState, CapKey, CapScope, CapUnit, Currency, Language,
    OnLimit, RAISE_CALL, Risk, Scope, ScopeKind, Shortage, ThreadId, ToolCallId,
};
use crate::fail_point::fail_point;
use crate::policy::fingerprint::fingerprint;
use crate::ports::{ApprovalStore, Judgement, Raise, Ruling, StoreError, ToolFailure, ToolOutcome};
use crate::render::{self, BudgetPhrase};
use crate::turn::{CapQuestion, Event, OverBudget};

/// A thread that waits for another one's question looks at the caps again after this long: a day or a month may have
/// ended, or the thread that was about to ask may be gone.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// A thread that has not asked, or not raised the cap, by then has given up.
const ASKING: Duration = Duration::from_secs(60);
/// Owners who refused to raise a cap are not asked again for this long.
const REFUSED_FOR: Duration = Duration::from_secs(3600);

/// A question about a cap.
#[derive(Debug)]
struct Asked {
    thread: ThreadId,
    /// `None` until it is stored.
    approval: Option<ApprovalId>,
    since: Instant,
}

/// Which thread asks about which cap. Lost in a restart; then the pending approvals tell.
#[derive(Debug)]
pub struct CapQuestions {
    /// `None` until the pending approvals were read.
    asked: Mutex<Option<HashMap<CapKey, Asked>>>,
    /// When owners refused to raise a cap. Lost in a restart.
    refused: Mutex<HashMap<CapKey, Instant>>,
    /// One permit: who looks at the questions and then changes them is alone.
    alone: Semaphore,
    /// Counts questions that were settled.
    settled: watch::Sender<u64>,
}

/// Who asks about a cap.
#[derive(Debug)]
enum Claim {
    Own,
    OtherThread(Option<Box<Approval>>),
    /// An owner has refused to raise it a short while ago.
    Refused,
}

impl Default for CapQuestions {
    fn default() -> Self {
        Self {
            asked: Mutex::default(),
            refused: Mutex::default(),
            alone: Semaphore::new(1),
            settled: watch::Sender::new(0),
        }
    }
}

impl CapQuestions {
    fn asked(&self) -> MutexGuard<'_, Option<HashMap<CapKey, Asked>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn alone(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.alone.acquire().await.ok()
    }

    /// Makes a thread the one that asks about a cap, unless another one does.
    async fn claim(
        &self,
        approvals: &dyn ApprovalStore,
        key: &CapKey,
        thread: &ThreadId,
    ) -> Result<Claim, StoreError> {
        let _alone = self.alone().await;
        {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            refused.retain(|_, at| at.elapsed() < REFUSED_FOR);
            if refused.contains_key(key) {
                return Ok(Claim::Refused);
            }
        }
        if self.asked().is_none() {
            let pending = approvals.pending().await?.into_iter();
            let open = pending.filter_map(|approval| {
                let key = key_of(&approval)?;
                let since = Instant::now();
                Some((key, Asked { thread: approval.thread, approval: Some(approval.id), since }))
            });
            *self.asked() = Some(open.collect());
        }
        let other = self.asked().as_ref().and_then(|known| {
            let other = known.get(key).filter(|other| other.thread != *thread)?;
            Some((other.approval.clone(), other.since.elapsed() < ASKING))
        });
        if let Some((approval, fresh)) = other {
            let approval = match &approval {
                Some(id) => approvals.get(id).await?,
                None => None,
            };
            let open = match approval.as_ref().map(|approval| &approval.state) {
                Some(ApprovalState::Pending) => true,
                // About to be asked, or about to be raised.
                None | Some(ApprovalState::Approved { .. } | ApprovalState::Spent { .. }) => fresh,
                Some(
                    ApprovalState::Denied { .. }
                    | ApprovalState::Expired { .. }
                    | ApprovalState::Cancelled { .. },
                ) => false,
            };
            if open {
                return Ok(Claim::OtherThread(approval.map(Box::new)));
            }
        }
        let own = Asked { thread: thread.clone(), approval: None, since: Instant::now() };
        if let Some(known) = self.asked().as_mut() {
            known.insert(key.clone(), own);
        }
        Ok(Claim::Own)
    }

    /// Follows the record of a question.
    async fn saved(&self, approval: &Approval) {
        let Some(key) = key_of(approval) else { return };
        let _alone = self.alone().await;
        let settled = match approval.state {
            ApprovalState::Pending | ApprovalState::Approved { .. } | ApprovalState::Spent { .. } => {
                let (thread, since) = (approval.thread.clone(), Instant::now());
                let asked = Asked { thread, approval: Some(approval.id.clone()), since };
                if let Some(known) = self.asked().as_mut() {
                    known.insert(key, asked);
                }
                false
            }
            ApprovalState::Denied { .. }
            | ApprovalState::Expired { .. }
            | ApprovalState::Cancelled { .. } => {
                if let Some(known) = self.asked().as_mut() {
                    known.remove(&key);
                }
                if matches!(approval.state, ApprovalState::Denied { .. }) {
                    let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
                    refused.insert(key, Instant::now());
                }
                true
            }
        };
        if settled {
            self.settled.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// The question about a cap is done with.
    async fn done(&self, key: &CapKey) {
        let _alone = self.alone().await;
        if let Some(known) = self.asked().as_mut() {
            known.remove(key);
        }
        self.settled.send_modify(|count| *count = count.wrapping_add(1));
    }
}

fn key_of(approval: &Approval) -> Option<CapKey> {
    let question = (approval.kind == ApprovalKind::Budget).then(|| CapQuestion::read(&approval.input))??;
    Some(question.cap.key)
}

/// The judgement of a call that asks for a raise: owners are always asked.
pub(super) fn judge_raise(
    input: &Value,
    (thread, author): (&ThreadId, &str),
    language: Language,
) -> Judgement {
    let question = CapQuestion::read(input);
    let ruling = match &question {
        Some(_) => Ruling::Ask,
        None => Ruling::Deny("it names no cap".to_owned()),
    };
    let summary = question.map(|CapQuestion { cap, needed, currency, .. }| {
        render::shortage(&Shortage::Cap { state: cap, needed, currency }, language)
    });
    Judgement {
        ruling,
        fingerprint: fingerprint(RAISE_CALL, input, "", &Default::default(), &[]),
        summary: summary.unwrap_or_default(),
        details: Some(
            BudgetPhrase::Details { thread: thread.to_string(), author: author.to_owned() }.say(language),
        ),
        whole: None,
        risk: Risk::Medium,
        scopes: ScopeKind::RAISES.to_vec(),
        grants: Vec::new(),
    }
}

impl Actor {
    /// The next model call does not fit into a cap: the run asks, waits for the question of another thread, or ends.
    pub(super) async fn over_budget(&mut self, shortage: Box<Shortage>) {
        // Before the question is looked up: it may be settled at any moment.
        let news = (self.runtime.budget.changes(), self.runtime.cap_questions.settled.subscribe());
        let what = match self.at_the_cap(shortage).await {
            Ok(what) => what,
            Err(error) => return self.storage_failed(&error),
        };
        self.joined_question = None;
        if let OverBudget::Join(approval) = &what {
            self.wait_for_answer(approval.as_ref().map(|approval| approval.id.clone()), news);
            self.joined_question = approval.clone();
        }
        self.upcoming.push_back(Event::OverBudget(Box::new(what)));
    }

    async fn at_the_cap(&self, shortage: Box<Shortage>) -> Result<OverBudget, StoreError> {
        let asks = self.runtime.budget.rules().on_limit == OnLimit::Ask;
        // A scheduled run that has done nothing yet is skipped: its next time comes.
        let skipped = self.conversation.is_scheduled() && self.conversation.steps() <= 1;
        let Shortage::Cap { state, needed, currency } = shortage.as_ref() else {
            return Ok(OverBudget::End(shortage));
        };
        if !asks || skipped || state.key.scope == CapScope::HelpersDay {
            return Ok(OverBudget::End(shortage));
        }
        let approvals = self.runtime.approvals.as_ref();
        match self.runtime.cap_questions.claim(approvals, &state.key, &self.id).await? {
            Claim::OtherThread(approval) => Ok(OverBudget::Join(approval)),
            Claim::Refused => Ok(OverBudget::End(shortage)),
            Claim::Own => {
                let (cap, needed, currency) = (state.clone(), *needed, currency.clone());
                let ask_in = self.chats_of_owners().await;
                Ok(OverBudget::Ask(CapQuestion { cap, needed, currency, ask_in }))
            }
        }
    }

    /// The direct chats of the owners that are known.
    async fn chats_of_owners(&self) -> Vec<ThreadId> {
        let mut chats = Vec::new();
        for owner in self.runtime.owners.current() {
            let chat = self.runtime.direct_chats.of(owner).await;
            chats.extend(chat.filter(|chat| *chat != self.id && !chats.contains(chat)));
        }
        chats
    }

    /// Waits until another thread's question is settled, a cap was changed, or it is time to look again.
    fn wait_for_answer(
        &mut self,
        question: Option<ApprovalId>,
        (mut changes, mut settled): (watch::Receiver<u64>, watch::Receiver<u64>),
    ) {
        let runtime = self.runtime.clone();
        let job = async move {
            // Without a sender there is nothing to wait for but the time.
            tokio::select! {
                Ok(()) = changes.changed() => {}
                Ok(()) = settled.changed() => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
            let record = match &question {
                Some(id) => runtime.approvals.get(id).await.ok().flatten(),
                None => None,
            };
            Done::CapAnswered(record.map(Box::new))
        };
        self.jobs.start_work(&self.span, job, Done::CapAnswered(None));
    }

    /// Another thread's question was settled, or it is time to look again.
    pub(super) fn cap_answered(&mut self, question: Option<&Approval>) {
        if !self.conversation.waits_for_budget() {
            return;
        }
        let denied = question.filter(|approval| matches!(approval.state, ApprovalState::Denied { .. }));
        let event = match denied.and_then(|approval| CapQuestion::read(&approval.input)) {
            Some(CapQuestion { cap, needed, currency, .. }) => {
                let shortage = Shortage::Cap { state: cap, needed, currency };
                Event::OverBudget(Box::new(OverBudget::End(Box::new(shortage))))
            }
            None => Event::BudgetChanged,
        };
        self.upcoming.push_back(event);
    }

    pub(super) async fn save_approval(&self, approval: Approval) -> Result<(), StoreError> {
        self.runtime.approvals.save(approval.clone()).await?;
        self.runtime.cap_questions.saved(&approval).await;
        Ok(())
    }

    /// Raises a cap as owners approved it.
    pub(super) fn run_raise(&mut self, call: ToolCallId) {
        let approval = self.conversation.approval_of(&call);
        let (runtime, id) = (self.runtime.clone(), call.clone());
        let execution = self.execution(&call, RAISE_CALL);
        let job = async move {
            let outcome = match approval {
                Some(approval) => raise(&runtime, approval).await,
                None => Err(ToolFailure::Refused("nobody approved it".to_owned())),
            };
            execution.end(&outcome);
            Done::Tool(id, outcome)
        };
        self.jobs.start_work(&self.span, job, tool_panicked(call));
    }
}

async fn raise(runtime: &Runtime, approval: ApprovalId) -> ToolOutcome {
    let failed = |why: &dyn std::fmt::Display| ToolFailure::Failed(why.to_string());
    let record = runtime.approvals.get(&approval).await.map_err(|error| failed(&error))?;
    let record = record.ok_or_else(|| failed(&"the approval is gone"))?;
    let (ApprovalState::Approved { decided, scope } | ApprovalState::Spent { decided, scope }) = record.state
    else {
        return Err(ToolFailure::Refused("nobody approved it".to_owned()));
    };
    let question = CapQuestion::read(&record.input).ok_or_else(|| failed(&"its cap cannot be read"))?;
    let key = question.cap.key.clone();
    let add = added(scope, key.unit, &question.currency);
    let until = match add {
        Some(_) => question.cap.ends,
        None => runtime.budget.end_of(CapScope::Day),
    };
    let raise = Raise { id: approval.to_string(), key: key.clone(), add, until, by: decided.by };
    fail_point("budget-raise");
    let raised = runtime.budget.raise(raise).await;
    runtime.cap_questions.done(&key).await;
    fail_point("budget-raised");
    let grant = raised.map_err(|error| failed(&error))?;
    Ok(json!({ "grant": format!("B{}", grant.number), "until": grant.until.rfc3339() }))
}

/// By how much a decision raises a cap: units of the currency, or millions of tokens. `None` lifts it.
fn added(scope: Scope, unit: CapUnit, currency: &Currency) -> Option<u64> {
    let units: u64 = match scope {
        Scope::Midnight => return None,
        Scope::PlusFive => 5_000_000,
        _ => 1_000_000,
    };
    Some(match unit {
        CapUnit::Money => currency.to_dollars(units),
        CapUnit::Tokens => units,
    })
}
