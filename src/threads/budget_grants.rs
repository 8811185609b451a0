//! Grants that raise spend caps, listed and revoked with the others.

use std::sync::Arc;

use crate::domain::{
    Approval, BudgetGrant, GrantNumber, GrantSummary, Language, RAISE_CALL, Reach, Scope, Timestamp,
};
use crate::policy::grants::{Grant, GrantProposal};
use crate::ports::{BoxFuture, Budget, Grants, Revoker, StoreError};
use crate::render::budget_grant;

/// The grants of calls together with those of spend caps.
#[derive(Debug)]
pub struct AllGrants {
    calls: Arc<dyn Grants>,
    budget: Arc<dyn Budget>,
    language: Language,
}

impl AllGrants {
    pub fn new(calls: Arc<dyn Grants>, budget: Arc<dyn Budget>, language: Language) -> Self {
        Self { calls, budget, language }
    }

    fn summary(&self, grant: &BudgetGrant) -> GrantSummary {
        GrantSummary {
            number: GrantNumber::of_budget(grant.number),
            tool: RAISE_CALL.to_owned(),
            commands: Vec::new(),
            reach: Reach::Cap { until: grant.until },
            requested_by: None,
            by: Some(grant.by.clone()),
            at: grant.at.rfc3339(),
            summary: budget_grant(grant, &self.budget.rules().currency, self.language),
        }
    }
}

impl Grants for AllGrants {
    fn all(&self) -> BoxFuture<'_, Result<Vec<Grant>, StoreError>> {
        self.calls.all()
    }

    fn add(
        &self,
        approval: Approval,
        scope: Scope,
        proposal: GrantProposal,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<GrantNumber, StoreError>> {
        self.calls.add(approval, scope, proposal, now)
    }

    fn list(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<GrantSummary>, StoreError>> {
        Box::pin(async move {
            let mut grants = self.calls.list(now).await?;
            grants.extend(self.budget.grants().await.iter().map(|grant| self.summary(grant)));
            Ok(grants)
        })
    }

    fn revoke(
        &self,
        number: GrantNumber,
        by: Revoker,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<GrantSummary>, StoreError>> {
        Box::pin(async move {
            match number.budget() {
                None => self.calls.revoke(number, by, now).await,
                Some(number) => {
                    let gone = self.budget.revoke(number, by.author).await?;
                    Ok(gone.map(|grant| self.summary(&grant)))
                }
            }
        })
    }
}
