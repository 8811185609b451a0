//! What owners do with the caps: grants, their end, and the switch that stops all calls.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use tokio::sync::watch;

use super::UsageMeter;
use super::caps::caps_of;
use crate::domain::{
    AuthorId, BudgetGrant, BudgetLine, BudgetRules, CapScope, CapState, CorrelationId, Payer, Timestamp,
    UsageEvent,
};
use crate::ports::{BoxFuture, Budget, Raise, StoreError};

impl UsageMeter {
    /// Writes a line about caps, then lets it hold.
    async fn write(&self, at: Timestamp, line: BudgetLine) -> Result<(), StoreError> {
        let text = serde_json::to_string(&line).unwrap_or_default();
        self.parts().ledger.append(at, text).await?;
        self.book().take_line(line);
        Ok(())
    }

    fn holds(&self, grant: &BudgetGrant) -> bool {
        self.now() < grant.until
    }
}

impl Budget for UsageMeter {
    fn rules(&self) -> &BudgetRules {
        &self.parts().rules
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        // Without the sums there is nothing to wait for: the next call reads again.
        Box::pin(async move { self.load().await.unwrap_or_default() })
    }

    fn remaining(&self, payer: &Payer) -> Vec<CapState> {
        let caps = caps_of(self.rules(), payer);
        let (book, now) = (self.book(), self.now());
        caps.iter().map(|cap| book.state_of(cap, now)).collect()
    }

    fn spent_by(&self, run: &CorrelationId) -> Option<u64> {
        let book = self.book();
        book.turn(run.as_str()).filter(|sums| sums.calls > sums.unknown_price).map(|sums| sums.cost)
    }

    fn spent_today(&self) -> u64 {
        let book = self.book();
        book.day(book.day_of(self.now())).map_or(0, |day| day.all.cost)
    }

    fn unpriced_today(&self) -> u64 {
        let book = self.book();
        book.day(book.day_of(self.now())).map_or(0, |day| day.all.unpriced_tokens)
    }

    fn take_events(&self) -> Vec<UsageEvent> {
        let mut events = self.0.events.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *events).into_iter().collect()
    }

    fn end_of(&self, scope: CapScope) -> Timestamp {
        self.book().end_of(scope, self.now())
    }

    fn raise(&self, raise: Raise) -> BoxFuture<'_, Result<BudgetGrant, StoreError>> {
        Box::pin(async move {
            self.load().await?;
            // One at a time, so that the same raise is found by the second one, and numbers are given once.
            let _turn = self.lock_grants().await;
            let known: Vec<BudgetGrant> = self.book().grants().cloned().collect();
            if let Some(grant) = known.iter().find(|grant| grant.id == raise.id) {
                return Ok(grant.clone());
            }
            let last = known.iter().map(|grant| grant.number).max().unwrap_or(0);
            let Raise { id, key, add, until, by } = raise;
            let at = self.now();
            let grant = BudgetGrant { id, number: last.saturating_add(1), at, key, add, until, by };
            self.write(at, BudgetLine::Grant(grant.clone())).await?;
            self.changed();
            Ok(grant)
        })
    }

    fn grants(&self) -> BoxFuture<'_, Vec<BudgetGrant>> {
        Box::pin(async move {
            self.ready().await;
            let known: Vec<BudgetGrant> = self.book().grants().cloned().collect();
            known.into_iter().filter(|grant| self.holds(grant)).collect()
        })
    }

    fn revoke(&self, number: u32, by: AuthorId) -> BoxFuture<'_, Result<Option<BudgetGrant>, StoreError>> {
        Box::pin(async move {
            self.load().await?;
            let holding = self.grants().await;
            let _turn = self.lock_grants().await;
            let Some(grant) = holding.into_iter().find(|grant| grant.number == number) else {
                return Ok(None);
            };
            let at = self.now();
            self.write(at, BudgetLine::Revoke { id: grant.id.clone(), at, by }).await?;
            self.changed();
            Ok(Some(grant))
        })
    }

    fn switch(&self, stopped: bool, by: AuthorId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let loaded = self.load().await;
            // Calls stop even where the line cannot be written.
            if stopped {
                self.stopped().store(true, Ordering::Release);
            }
            loaded?;
            let _turn = self.lock_grants().await;
            let at = self.now();
            self.write(at, BudgetLine::Switch { stopped, at, by }).await?;
            self.stopped().store(stopped, Ordering::Release);
            self.changed();
            Ok(())
        })
    }

    fn is_stopped(&self) -> bool {
        self.stopped().load(Ordering::Acquire)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.change_counter().subscribe()
    }

    fn spending(&self) -> watch::Receiver<u64> {
        self.spending_counter().subscribe()
    }

    fn notice(&self, key: String) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            self.load().await?;
            let _turn = self.lock_grants().await;
            if self.book().was_told(&key) {
                return Ok(false);
            }
            let at = self.now();
            self.write(at, BudgetLine::Notice { key, at }).await?;
            Ok(true)
        })
    }
}
