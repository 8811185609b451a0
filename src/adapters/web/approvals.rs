//! Approvals over HTTP: listing them, and deciding them as the operator.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::body::JsonBody;
use super::login::Caller;
use super::problem::Problem;
use super::server::Web;
use crate::domain::{
    Answer, Approval, ApprovalFile, ApprovalId, ApprovalKind, ApprovalNumber, ApprovalState, Decision,
    IngressKind, Scope,
};
use crate::ports::{AuditEvent, AuditLine, AuditOutcome};

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Filter {
    /// `pending`, `decided`, `approved`, `denied`, `expired`, `cancelled` or `spent`.
    state: Option<String>,
    /// All of them unless given.
    limit: Option<usize>,
    /// Only those with a smaller number: the `nextBefore` of the page before, such as `A12`.
    before: Option<String>,
}

const FILTERS: [&str; 7] = ["pending", "decided", "approved", "denied", "expired", "cancelled", "spent"];

impl Filter {
    fn check(&self) -> Result<(), Problem> {
        match self.state.as_deref() {
            Some(state) if !FILTERS.contains(&state) => {
                let text = format!("there is no state `{state}`");
                Err(Problem::bad(text).hint(format!("known states: {}", FILTERS.join(", "))))
            }
            _ => Ok(()),
        }
    }

    fn wants(&self, approval: &Approval) -> bool {
        match self.state.as_deref() {
            None => true,
            Some("decided") => approval.state != ApprovalState::Pending,
            Some(state) => approval.state.name() == state,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApprovalList {
    approvals: Vec<ApprovalFile>,
    /// The `before` of the next page, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_before: Option<String>,
}

/// The approvals, newest first; with `?state=` only those in that state, or all that are `decided`; with `?limit=` at
/// most that many, before the number `?before=`.
pub(super) async fn list(
    State(web): State<Arc<Web>>,
    filter: Result<Query<Filter>, QueryRejection>,
) -> Result<Json<ApprovalList>, Problem> {
    let Query(filter) = filter.map_err(|_| Problem::bad("limit must be a number"))?;
    filter.check()?;
    let book = &web.parts.approvals;
    let pending = filter.state.as_deref() == Some("pending");
    let approvals = if pending { book.pending().await? } else { book.list().await? };
    let before = filter.before.as_deref().map(|before| {
        let bad = || Problem::bad("before must be the number of an approval, such as A12");
        ApprovalNumber::typed(before).ok_or_else(bad)
    });
    let before = before.transpose()?;
    let mut wanted = approvals
        .iter()
        .filter(|approval| filter.wants(approval) && before.is_none_or(|before| approval.number < before));
    let limit = filter.limit.unwrap_or(usize::MAX);
    let shown: Vec<&Approval> = wanted.by_ref().take(limit).collect();
    let more = wanted.next().is_some();
    let next_before = shown.last().filter(|_| more).map(|last| last.number.to_string());
    let approvals = shown.into_iter().map(ApprovalFile::from).collect();
    Ok(Json(ApprovalList { approvals, next_before }))
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DecisionWord {
    Approve,
    Deny,
    Rerun,
    Skip,
    Done,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum ScopeWord {
    Whole(Scope),
    Name(String),
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct DecisionBody {
    decision: DecisionWord,
    scope: Option<ScopeWord>,
    reason: Option<String>,
    /// The client of the token holder: `console` or `cli`.
    via: Option<String>,
}

/// The clients that may name themselves; any other is plain HTTP.
fn via(named: Option<&str>, caller: Caller) -> &'static str {
    match (named, caller) {
        (Some("console"), _) => "console",
        (Some("cli"), _) => "cli",
        (_, caller) => caller.via(),
    }
}

/// Decides an approval, by its id or its number. The token holder is the operator and may decide any approval.
pub(super) async fn decide(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    JsonBody(body): JsonBody<DecisionBody>,
) -> Result<Json<ApprovalFile>, Problem> {
    let approval = web.called(&id).await?.ok_or_else(|| Problem::not_found("approval"))?;
    let id = approval.id.clone();
    let via = via(body.via.as_deref(), caller);
    if approval.state != ApprovalState::Pending {
        web.tell_too_late(&approval, via);
        return Err(Problem::new(StatusCode::CONFLICT, settled(&approval)));
    }
    let answer = answer(&approval, body.decision, body.scope)?;
    let decision =
        Decision { approval: id.clone(), answer, reason: body.reason, via: via.to_owned(), operator: true };
    let author = web.operator(&"web".parse()?)?;
    match web.submit(&approval.thread, author, web.fresh_message()?, IngressKind::Decision(decision)).await {
        Ok(_) => {}
        // The approval was decided meanwhile: the response names the approver.
        Err(problem) if problem.status == StatusCode::CONFLICT => {
            let now = web.parts.approvals.get(&id).await?.unwrap_or(approval);
            return Err(Problem::new(StatusCode::CONFLICT, settled(&now)));
        }
        Err(problem) => return Err(problem),
    }
    let now = web.parts.approvals.get(&id).await?.unwrap_or(approval);
    Ok(Json(ApprovalFile::from(&now)))
}

fn answer(approval: &Approval, word: DecisionWord, scope: Option<ScopeWord>) -> Result<Answer, Problem> {
    let scope = match scope {
        None => Scope::Once,
        Some(ScopeWord::Whole(scope)) => scope,
        Some(ScopeWord::Name(name)) => serde_json::from_value(json!({ "type": name })).map_err(|_| {
            Problem::bad(
                "scope must be once, thread, shape, project, {\"type\":\"minutes\",\"minutes\":10}, or for a spend cap \
                 plus-one, plus-five or midnight",
            )
        })?,
    };
    match (word, approval.kind) {
        (DecisionWord::Approve | DecisionWord::Rerun, _) => Ok(Answer::Approve(scope)),
        (DecisionWord::Deny | DecisionWord::Skip, _) => Ok(Answer::Deny),
        (DecisionWord::Done, ApprovalKind::UnknownOutcome) => Ok(Answer::Done),
        (DecisionWord::Done, ApprovalKind::Tool | ApprovalKind::Budget) => {
            Err(Problem::bad("done answers only a call that a restart cut off"))
        }
    }
}

fn settled(approval: &Approval) -> String {
    let number = approval.number;
    match &approval.state {
        ApprovalState::Pending => format!("{number} waits for a decision"),
        ApprovalState::Approved { decided, .. } | ApprovalState::Spent { decided, .. } => {
            format!("{number} was approved by {} at {}", decided.by, decided.at.rfc3339())
        }
        ApprovalState::Denied { decided } => {
            format!("{number} was denied by {} at {}", decided.by, decided.at.rfc3339())
        }
        ApprovalState::Expired { at } => format!("{number} expired at {}", at.rfc3339()),
        ApprovalState::Cancelled { reason, .. } => format!("{number} was withdrawn: {reason}"),
    }
}

/// The approval part of an AI SDK message.
#[derive(Debug, Deserialize)]
pub(super) struct AnsweredPart {
    state: Option<String>,
    approval: Option<AnsweredApproval>,
}

#[derive(Debug, Deserialize)]
struct AnsweredApproval {
    id: String,
    approved: Option<bool>,
    reason: Option<String>,
}

impl AnsweredPart {
    /// Whether it holds a decision.
    pub(super) fn is_answered(&self) -> bool {
        self.state.as_deref() == Some("approval-responded")
    }
}

impl Web {
    /// The approval with this id, or with the number that people see.
    async fn called(&self, name: &str) -> Result<Option<Approval>, Problem> {
        if let Some(number) = ApprovalNumber::typed(name) {
            let approvals = self.parts.approvals.list().await?;
            return Ok(approvals.into_iter().find(|approval| approval.number == number));
        }
        let Ok(id) = name.parse() else { return Ok(None) };
        Ok(self.parts.approvals.get(&id).await?)
    }

    /// Audits a decision that came after the approval was settled. One that reaches the thread is audited there.
    fn tell_too_late(&self, approval: &Approval, via: &str) {
        self.parts.audit.record(AuditLine {
            author: "web".parse().ok().and_then(|web| self.operator(&web).ok()).map(|author| author.id),
            outcome: Some(AuditOutcome::Refused),
            via: Some(via.to_owned()),
            reason: Some(settled(approval)),
            ..AuditLine::about(AuditEvent::Decision, approval, self.clock.now())
        });
    }

    /// Submits the decisions in a client's copy of an assistant message. The rest of the copy is not trusted. Decisions
    /// of settled approvals are ignored.
    pub(super) async fn hand_in_answers(&self, parts: Vec<AnsweredPart>) -> Result<usize, Problem> {
        let mut counted = 0;
        for part in parts.into_iter().filter(AnsweredPart::is_answered) {
            let Some(AnsweredApproval { id, approved: Some(approved), reason }) = part.approval else {
                continue;
            };
            let Ok(id) = id.parse::<ApprovalId>() else { continue };
            let Some(approval) = self.parts.approvals.get(&id).await? else { continue };
            let answer = if approved { Answer::Approve(Scope::Once) } else { Answer::Deny };
            let decision = Decision { approval: id, answer, reason, via: "http".to_owned(), operator: true };
            let author = self.operator(&"web".parse()?)?;
            let taken = self
                .submit(&approval.thread, author, self.fresh_message()?, IngressKind::Decision(decision))
                .await;
            match taken {
                Ok(_) => counted += 1,
                Err(problem) if problem.status == StatusCode::CONFLICT => {}
                Err(problem) => return Err(problem),
            }
        }
        Ok(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_names_the_surface_it_came_through() {
        for (named, caller, expected) in [
            (None, Caller::Session, "console"),
            (None, Caller::Token, "http"),
            (Some("cli"), Caller::Token, "cli"),
            (Some("console"), Caller::Token, "console"),
            (Some("telegram"), Caller::Token, "http"),
            (Some("telegram"), Caller::Session, "console"),
        ] {
            assert_eq!(via(named, caller), expected, "{named:?} {caller:?}");
        }
    }
}
