//! Two columns: the daemon's, which has targets, and the bare bot's, which has none.

use crate::bots::{BOTH, Kind};
use crate::table::Table;

/// The table, and which columns are wanted.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) table: Table,
    pub(crate) bare: bool,
}

impl Comparison {
    /// Measures both, one after the other, and adds a row. Beside the words stands whether the target is met.
    pub(crate) async fn both(
        &mut self,
        figure: &str,
        target: &str,
        measure: impl AsyncFn(Kind) -> (String, bool),
    ) {
        let mut cells = [String::new(), String::new()];
        for (cell, kind) in cells.iter_mut().zip(BOTH) {
            if kind == Kind::Shipagent || self.bare {
                let (words, met) = measure(kind).await;
                let missed = kind == Kind::Shipagent && !met;
                *cell = if missed { format!("{words} **(missed)**") } else { words };
            }
        }
        let [shipagent, bare] = cells;
        self.table.push(figure, target, &shipagent, &bare);
    }
}
