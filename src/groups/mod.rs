//! Several agents in one group: what is read from a room's log, who is named, and who answers. Pure.

mod bots;
mod claims;
mod fold;
mod gate;
mod naming;
mod reported;

pub use bots::{BotLimits, BotRefusal, QUIET_MS, may_answer_agent, stop_key, stops};
pub use claims::{BEST_SCORE, CLAIM_LAPSES_MS, CLAIM_WINDOW_MS, Winner, is_answered, winner};
pub use fold::fold_lines;
pub use gate::{GateInput, GateReply, GateRule, first_paragraph, gate_prompt, read_gate, rule_for};
pub use naming::{Names, bare_words, native_mentions};
pub use reported::{REPORTED_BY, changed_report, is_reported, reported_message};
