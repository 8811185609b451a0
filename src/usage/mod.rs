//! What calls of models cost: the servers' counts in normal form, prices, sums, and the meter that records them.
//!
//! `shapes` reads what servers send, `prices` knows what tokens cost, `sums` adds up, `book` holds what was spent and
//! what is reserved, `caps` says what still fits, `report` groups the ledger and `range` reads the time that is asked
//! for. Those are pure. `meter` implements the port over a ledger: `loading` reads the sums at a start, `admission` reserves
//! calls, `settling` ends them and `services` records what needs no reservation. `raising` implements the port of the caps,
//! and `told` says what was spent.

mod admission;
mod book;
mod caps;
mod loading;
mod meter;
mod price_table;
mod prices;
mod proved;
mod raising;
mod range;
mod report;
mod services;
mod settling;
mod shapes;
mod sums;
#[cfg(test)]
mod tests;
mod told;

pub use book::Book;
pub use caps::caps_of;
pub use meter::{MeterParts, UsageMeter};
pub use price_table::PRICES_AS_OF;
pub use prices::{PriceList, cost_of, cost_of_speech, default_price};
pub use range::{BadTime, TimeRange};
pub use report::{Dimension, Report, ReportRow, Reporter, UnknownDimension, read_entry};
pub use shapes::{Dialect, host_of, is_local, micros, usage_of};
pub use sums::Sums;
pub use told::{UsageReport, read_reports};
