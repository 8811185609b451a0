//! The `budget` section of `ship.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::{Footer, OnLimit, UnknownPrice};

/// The `budget` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BudgetFile {
    /// The currency of all amounts of this section.
    #[schemars(length(min = 1, max = 8))]
    pub currency: String,
    /// How much of the currency one US dollar is. The built-in prices are in US dollars. Needed with any other currency.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub per_dollar: Option<f64>,
    /// What the project may spend on a day. Left out: no limit.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub day: Option<f64>,
    /// What the project may spend in a calendar month. Left out: no limit.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub month: Option<f64>,
    /// What one turn may spend. Left out: 2 US dollars where this section sets no cap at all, else no limit. The turn may then
    /// use 2,000,000 tokens of models whose price is unknown.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub per_turn: Option<f64>,
    /// What one conversation may spend on a day.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub per_thread_day: Option<f64>,
    /// What the turns of one person may spend on a day.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub per_user_day: Option<f64>,
    /// What the runs of one scheduled task may spend on a day.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub per_task_day: Option<f64>,
    /// The same caps in tokens, input and output together.
    pub tokens: TokenCapsFile,
    /// Shares of the caps per day and month after which owners are told, once each.
    #[schemars(inner(range(min = 0, max = 1)))]
    pub warn_at: Vec<f64>,
    /// What happens when a call does not fit.
    pub on_limit: OnLimit,
    /// The time zone of days and months, such as Asia/Shanghai. Left out: that of the whole file.
    #[schemars(extend("format" = "time-zone"))]
    pub timezone: Option<String>,
    /// Calls of models whose price is unknown: tokens (only the caps of tokens hold) or deny (they are not made).
    pub unknown_price: UnknownPrice,
    /// Prices by the model's name, before those of the built-in table; "*" is for all others.
    pub prices: BTreeMap<String, PriceFile>,
    /// Who has no caps per turn, conversation and person: owners, or ids such as telegram:user:123456.
    #[schemars(extend("items" = serde_json::json!({ "type": "string", "format": "exempt" })))]
    pub exempt: Vec<String>,
    /// What stands below each answer about what it used.
    pub footer: Footer,
    /// The share of the day's cap that the agent's own chores may use: summaries, notes, vectors for the search.
    #[schemars(range(min = 0, max = 1))]
    pub helpers_share: f64,
}

impl Default for BudgetFile {
    fn default() -> Self {
        Self {
            currency: "USD".to_owned(),
            per_dollar: None,
            day: None,
            month: None,
            per_turn: None,
            per_thread_day: None,
            per_user_day: None,
            per_task_day: None,
            tokens: TokenCapsFile::default(),
            warn_at: vec![0.8],
            on_limit: OnLimit::default(),
            timezone: None,
            unknown_price: UnknownPrice::default(),
            prices: BTreeMap::new(),
            exempt: Vec::new(),
            footer: Footer::default(),
            helpers_share: 0.2,
        }
    }
}

/// The `budget.tokens` section.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TokenCapsFile {
    /// What the project may use on a day.
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub day: Option<u64>,
    /// What the project may use in a calendar month.
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub month: Option<u64>,
    /// What one turn may use.
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub per_turn: Option<u64>,
    /// What one conversation may use on a day.
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub per_thread_day: Option<u64>,
    /// What the turns of one person may use on a day.
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub per_user_day: Option<u64>,
    /// What the runs of one scheduled task may use on a day.
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub per_task_day: Option<u64>,
}

/// A price: for a million tokens each, unless said otherwise.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PriceFile {
    /// The currency of this price: that of the section, or USD. Left out: that of the section.
    #[schemars(length(min = 1, max = 8))]
    pub currency: Option<String>,
    /// Tokens of the prompt.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub input: f64,
    /// Tokens of the answer.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub output: f64,
    /// Tokens of the prompt that come from the provider's cache. Left out: as input.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub cached_input: Option<f64>,
    /// Tokens of the prompt that are written to the provider's cache. Left out: as input.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub cache_write: Option<f64>,
    /// One call, beside its tokens.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub per_call: f64,
    /// A million characters that are spoken.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub characters: f64,
    /// An hour of sound that is turned into text.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub hour: f64,
}
