//! Tells owners, once each, when much of a cap per day or month is used.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::direct_chats::{OwnerNotice, tell_owners};
use crate::domain::{CapScope, CapUnit, Language, Owners, Payer, ThreadId, UsageEvent};
use crate::ports::{Budget, Clock, DirectChats, Ids, ThreadsHandle};
use crate::render::BudgetPhrase;

/// Owners hear of an empty account once in so many milliseconds.
const HOUR_MS: i64 = 60 * 60 * 1_000;

/// Watches what is spent.
#[derive(Debug)]
pub struct BudgetWatch {
    pub budget: Arc<dyn Budget>,
    pub threads: ThreadsHandle,
    pub direct: Arc<dyn DirectChats>,
    pub ids: Arc<dyn Ids>,
    pub clock: Arc<dyn Clock>,
    pub owners: Owners,
    pub language: Language,
    /// The thread in whose name owners are told; it has no messages of its own.
    pub from: ThreadId,
}

impl BudgetWatch {
    /// Runs until `stop` or until the meter is gone.
    pub async fn run(self, stop: CancellationToken) {
        let mut spending = self.budget.spending();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                counted = spending.changed() => if counted.is_err() { return },
            }
            for (key, phrase) in self.due() {
                match self.budget.notice(key).await {
                    Ok(true) => self.tell(&phrase.say(self.language)).await,
                    Ok(false) => {}
                    Err(error) => {
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            "budget notice not recorded"
                        );
                    }
                }
            }
        }
    }

    /// What owners are to be told now, if they were not told before.
    fn due(&self) -> Vec<(String, BudgetPhrase)> {
        let rules = self.budget.rules();
        let caps = self.budget.remaining(&Payer::default());
        let mut due = Vec::new();
        for state in &caps {
            let Some(limit) = state.limit.filter(|limit| *limit > 0) else { continue };
            let share = u128::from(state.used) * 1_000 / u128::from(limit);
            // The highest share that is reached, so that a jump is told once.
            let reached = rules.warn_at.iter().rev().find(|wanted| share >= u128::from(**wanted));
            if let Some(wanted) = reached {
                let (scope, unit) = (state.key.scope.as_str(), state.key.unit.as_str());
                let key = format!("warn:{scope}:{unit}:{wanted}:{}", state.ends.rfc3339());
                let percent = u64::try_from(share / 10).unwrap_or(u64::MAX);
                let currency = rules.currency.clone();
                due.push((key, BudgetPhrase::Warning { state: state.clone(), percent, currency }));
            }
        }
        let capped =
            |unit| caps.iter().any(|state| state.key.scope == CapScope::Day && state.key.unit == unit);
        let spent = self.budget.spent_today();
        if spent >= rules.notable_day && !capped(CapUnit::Money) {
            let key = format!("notable:{}", self.budget.end_of(CapScope::Day).rfc3339());
            due.push((key, BudgetPhrase::NotableDay { spent, currency: rules.currency.clone() }));
        }
        for event in self.budget.take_events() {
            due.push(match event {
                UsageEvent::AccountEmpty { provider } => {
                    let hour = self.clock.now().as_millis() / HOUR_MS;
                    (
                        format!("empty:{provider}:{hour}"),
                        BudgetPhrase::AccountEmpty { provider: provider.to_string() },
                    )
                }
                UsageEvent::StoodIn { model } => {
                    let key = format!("stood-in:{model}:{}", self.budget.end_of(CapScope::Day).rfc3339());
                    (key, BudgetPhrase::StoodIn { model: model.to_string() })
                }
            });
        }
        let unpriced = self.budget.unpriced_today();
        if unpriced >= rules.notable_unpriced && !capped(CapUnit::Tokens) {
            let key = format!("unpriced:{}", self.budget.end_of(CapScope::Day).rfc3339());
            due.push((key, BudgetPhrase::NotableUnpriced { tokens: unpriced }));
        }
        due
    }

    async fn tell(&self, text: &str) {
        let notice = OwnerNotice {
            from: self.from.clone(),
            correlation: self.ids.correlation(),
            name: "budget",
            text: text.to_owned(),
        };
        tell_owners(&self.threads, self.direct.as_ref(), &self.owners, notice).await;
    }
}
