//! The port of the spend caps: what is left of them, grants that raise them, and the switch that stops all calls.

use tokio::sync::watch;

use super::{BoxFuture, NoMeter, StoreError};
use crate::domain::{
    AuthorId, BudgetGrant, BudgetRules, CapKey, CapScope, CapState, CorrelationId, Payer, Timestamp,
    UsageEvent,
};

/// A cap that is to be raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raise {
    /// That of the approval: the same raise twice is one grant.
    pub id: String,
    pub key: CapKey,
    /// How much more may be used; `None` lifts the cap.
    pub add: Option<u64>,
    /// The first moment at which it no longer holds.
    pub until: Timestamp,
    pub by: AuthorId,
}

/// The caps of a project. A change is durable before its future is ready.
pub trait Budget: Send + Sync + std::fmt::Debug {
    fn rules(&self) -> &BudgetRules;

    /// Waits until the sums are read.
    fn ready(&self) -> BoxFuture<'_, ()>;

    /// The caps that apply to a payer; those of the project alone for [`Payer::default`].
    fn remaining(&self, payer: &Payer) -> Vec<CapState>;

    /// What a run has cost so far, in millionths of a US dollar; `None` where nothing with a price was called.
    fn spent_by(&self, run: &CorrelationId) -> Option<u64>;

    /// What was spent today, in millionths of a US dollar.
    fn spent_today(&self) -> u64;

    /// The tokens that models without a price used today.
    fn unpriced_today(&self) -> u64;

    /// What happened since this was asked last.
    fn take_events(&self) -> Vec<UsageEvent>;

    /// When a cap begins anew, as of now.
    fn end_of(&self, scope: CapScope) -> Timestamp;

    /// Raises a cap. Raising it again with the same id changes nothing.
    fn raise(&self, raise: Raise) -> BoxFuture<'_, Result<BudgetGrant, StoreError>>;

    /// The grants that hold, oldest first.
    fn grants(&self) -> BoxFuture<'_, Vec<BudgetGrant>>;

    /// Revokes a grant: it does not hold for the next call. `None` where there is none.
    fn revoke(&self, number: u32, by: AuthorId) -> BoxFuture<'_, Result<Option<BudgetGrant>, StoreError>>;

    /// Stops all calls, or lets them be made again.
    fn switch(&self, stopped: bool, by: AuthorId) -> BoxFuture<'_, Result<(), StoreError>>;

    fn is_stopped(&self) -> bool;

    /// Changes whenever a cap was raised or lowered, and when the switch was used.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Changes whenever a call was counted.
    fn spending(&self) -> watch::Receiver<u64>;

    /// Records that owners are told of something; `false` where they were told before.
    fn notice(&self, key: String) -> BoxFuture<'_, Result<bool, StoreError>>;
}

/// No caps.
impl Budget for NoMeter {
    fn rules(&self) -> &BudgetRules {
        static NONE: std::sync::LazyLock<BudgetRules> = std::sync::LazyLock::new(BudgetRules::default);
        &NONE
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn remaining(&self, _: &Payer) -> Vec<CapState> {
        Vec::new()
    }

    fn spent_by(&self, _: &CorrelationId) -> Option<u64> {
        None
    }

    fn spent_today(&self) -> u64 {
        0
    }

    fn unpriced_today(&self) -> u64 {
        0
    }

    fn take_events(&self) -> Vec<UsageEvent> {
        Vec::new()
    }

    fn end_of(&self, _: CapScope) -> Timestamp {
        Timestamp::default()
    }

    fn raise(&self, raise: Raise) -> BoxFuture<'_, Result<BudgetGrant, StoreError>> {
        let Raise { id, key, add, until, by } = raise;
        let grant = BudgetGrant { id, number: 1, at: Timestamp::default(), key, add, until, by };
        Box::pin(async move { Ok(grant) })
    }

    fn grants(&self) -> BoxFuture<'_, Vec<BudgetGrant>> {
        Box::pin(async { Vec::new() })
    }

    fn revoke(&self, _: u32, _: AuthorId) -> BoxFuture<'_, Result<Option<BudgetGrant>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn switch(&self, _: bool, _: AuthorId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn is_stopped(&self) -> bool {
        false
    }

    fn changes(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }

    fn spending(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }

    fn notice(&self, _: String) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async { Ok(false) })
    }
}
