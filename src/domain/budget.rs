//! Spend caps: what they limit, how much is left of them, and the grants that raise them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AuthorId, Timestamp, rfc3339};

/// The name of the call that asks owners to raise a cap. No tool has it, and a model is not shown it.
pub const RAISE_CALL: &str = "budget_raise";

/// What happens at a cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnLimit {
    /// The turn waits, and the owners are asked whether it may go on.
    #[default]
    Ask,
    /// The turn ends with what it has.
    Stop,
    /// Cheaper models are called: the entries of llm.fallbacks with "budget": true. Where they do not fit either, the
    /// turn ends.
    Fallback,
}

/// What happens to a call whose price is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnknownPrice {
    /// Only caps of tokens limit it.
    #[default]
    Tokens,
    /// It is not made.
    Deny,
}

/// What a cap limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapScope {
    Turn,
    ThreadDay,
    UserDay,
    TaskDay,
    /// The work of the agent's own, which has a share of the day.
    HelpersDay,
    Day,
    Month,
}

impl CapScope {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::ThreadDay => "thread-day",
            Self::UserDay => "user-day",
            Self::TaskDay => "task-day",
            Self::HelpersDay => "helpers-day",
            Self::Day => "day",
            Self::Month => "month",
        }
    }
}

/// What a cap counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CapUnit {
    /// Millionths of a US dollar.
    Money,
    Tokens,
}

impl CapUnit {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Money => "money",
            Self::Tokens => "tokens",
        }
    }
}

/// One cap: what it limits, in which unit, and for which turn, thread, person or task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapKey {
    pub scope: CapScope,
    pub unit: CapUnit,
    /// `None` for the whole project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Arc<str>>,
}

/// A cap and how much of it is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapState {
    #[serde(flatten)]
    pub key: CapKey,
    /// With what was granted; `None` where a grant lifts the cap.
    pub limit: Option<u64>,
    pub used: u64,
    /// The most that calls in flight may use.
    pub reserved: u64,
    /// When it begins anew.
    #[serde(with = "rfc3339")]
    pub ends: Timestamp,
}

impl CapState {
    /// What may still be used; `None` where there is no limit.
    pub fn left(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_sub(self.used).saturating_sub(self.reserved))
    }
}

/// The currency in which amounts are written and shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Currency {
    pub name: String,
    /// Millionths of its unit for one US dollar.
    pub per_dollar: u64,
}

impl Default for Currency {
    fn default() -> Self {
        Self { name: "USD".to_owned(), per_dollar: 1_000_000 }
    }
}

impl Currency {
    /// Millionths of a US dollar for so many millionths of its unit.
    pub fn to_dollars(&self, amount: u64) -> u64 {
        scaled(amount, 1_000_000, self.per_dollar)
    }

    /// An amount in millionths of a US dollar for people: two digits, more for small amounts.
    pub fn show(&self, micros: u64) -> String {
        let amount = scaled(micros, self.per_dollar, 1_000_000);
        if amount == 0 || amount >= 10_000 {
            let cents = amount.saturating_add(5_000) / 10_000;
            return format!("{}.{:02}", cents / 100, cents % 100);
        }
        format!("0.{amount:06}").trim_end_matches('0').to_owned()
    }
}

fn scaled(amount: u64, times: u64, by: u64) -> u64 {
    let product = u128::from(amount).saturating_mul(u128::from(times));
    u64::try_from(product / u128::from(by.max(1))).unwrap_or(u64::MAX)
}

/// Caps in one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    pub turn: Option<u64>,
    pub thread_day: Option<u64>,
    pub user_day: Option<u64>,
    pub task_day: Option<u64>,
    pub day: Option<u64>,
    pub month: Option<u64>,
}

impl Caps {
    pub const NONE: Self =
        Self { turn: None, thread_day: None, user_day: None, task_day: None, day: None, month: None };

    pub fn is_empty(&self) -> bool {
        *self == Self::NONE
    }
}

/// The caps of a project, and what happens at them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetRules {
    /// In millionths of a US dollar.
    pub money: Caps,
    pub tokens: Caps,
    /// Thousandths of a cap after which owners are told, ascending.
    pub warn_at: Vec<u64>,
    /// What warns owners once a day where the day has no cap, in millionths of a US dollar.
    pub notable_day: u64,
    /// The same for calls whose price is unknown, in tokens.
    pub notable_unpriced: u64,
    /// Tokens that the calls of a turn may use whose price is unknown.
    pub unpriced_turn: Option<u64>,
    pub on_limit: OnLimit,
    pub unknown_price: UnknownPrice,
    /// Whether owners have no caps per turn, thread and person.
    pub owners_exempt: bool,
    /// Further people without these caps.
    pub exempt: BTreeSet<AuthorId>,
    /// Thousandths of the day's cap that the work of the agent's own may use.
    pub helpers_share: u64,
    pub currency: Currency,
}

/// No caps at all: for commands and tests.
impl Default for BudgetRules {
    fn default() -> Self {
        Self {
            money: Caps::NONE,
            tokens: Caps::NONE,
            warn_at: Vec::new(),
            notable_day: u64::MAX,
            notable_unpriced: u64::MAX,
            unpriced_turn: None,
            on_limit: OnLimit::Ask,
            unknown_price: UnknownPrice::Tokens,
            owners_exempt: false,
            exempt: BTreeSet::new(),
            helpers_share: 1_000,
            currency: Currency::default(),
        }
    }
}

/// Why a call may not be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Shortage {
    /// An owner has stopped all calls.
    Stopped,
    /// The price of this model is unknown, and such calls are not made.
    #[serde(rename_all = "camelCase")]
    UnknownPrice { model: String },
    /// A cap has no room for it.
    #[serde(rename_all = "camelCase")]
    Cap {
        state: CapState,
        /// The most that the call may use.
        needed: u64,
        currency: Currency,
    },
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("an owner has stopped all model calls"),
            Self::UnknownPrice { model } => write!(f, "the price of {model} is unknown"),
            Self::Cap { state, needed, .. } => {
                let (limit, used) =
                    (state.limit.unwrap_or(u64::MAX), state.used.saturating_add(state.reserved));
                let (scope, unit) = (state.key.scope.as_str(), state.key.unit.as_str());
                write!(f, "spend cap {scope} ({unit}): {used} of {limit} used or reserved, {needed} needed")
            }
        }
    }
}

/// What owners are told of when calls end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsageEvent {
    /// A provider refuses calls because the account there is empty.
    AccountEmpty { provider: Arc<str> },
    /// A cheaper model answered because the first choice did not fit into a cap.
    StoodIn { model: Arc<str> },
}

/// A raised cap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetGrant {
    /// That of the approval, so that one approval raises a cap once.
    pub id: String,
    /// The number people see: `B1`.
    pub number: u32,
    #[serde(with = "rfc3339")]
    pub at: Timestamp,
    #[serde(flatten)]
    pub key: CapKey,
    /// How much more may be used; `None` lifts the cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add: Option<u64>,
    /// The first moment at which it no longer holds.
    #[serde(with = "rfc3339")]
    pub until: Timestamp,
    pub by: AuthorId,
}

/// A line of the usage ledger about caps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "t")]
pub enum BudgetLine {
    /// A cap was raised.
    Grant(BudgetGrant),
    /// A grant was revoked.
    Revoke {
        id: String,
        #[serde(with = "rfc3339")]
        at: Timestamp,
        by: AuthorId,
    },
    /// Owners were told of something that they are told once.
    Notice {
        key: String,
        #[serde(with = "rfc3339")]
        at: Timestamp,
    },
    /// All calls were stopped, or may be made again.
    Switch {
        stopped: bool,
        #[serde(with = "rfc3339")]
        at: Timestamp,
        by: AuthorId,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_in_the_currency_of_the_settings() {
        let yuan = Currency { name: "CNY".to_owned(), per_dollar: 7_200_000 };
        assert_eq!(Currency::default().show(4_970_000), "4.97");
        assert_eq!(Currency::default().show(1_234), "0.001234");
        for (micros, text) in
            [(0, "0.00"), (1, "0.000001"), (1_200, "0.0012"), (10_000, "0.01"), (1_234_567, "1.23")]
        {
            assert_eq!(Currency::default().show(micros), text);
        }
        assert_eq!(yuan.show(1_000_000), "7.20");
        assert_eq!(yuan.to_dollars(36_000_000), 5_000_000);
    }

    #[test]
    fn a_line_about_caps_comes_back() {
        let key = CapKey { scope: CapScope::ThreadDay, unit: CapUnit::Money, of: Some("web:chat:a".into()) };
        let grant = BudgetGrant {
            id: "apr_1".to_owned(),
            number: 1,
            at: Timestamp::from_millis(0),
            key,
            add: Some(5),
            until: Timestamp::from_millis(1_000),
            by: "web:user:ann".parse().unwrap(),
        };
        let line = serde_json::to_string(&BudgetLine::Grant(grant.clone())).unwrap();
        assert!(line.contains("\"t\":\"grant\"") && line.contains("\"scope\":\"thread-day\""), "{line}");
        assert_eq!(serde_json::from_str::<BudgetLine>(&line).unwrap(), BudgetLine::Grant(grant));
    }
}
