//! The table that is printed: aligned for the eye, and Markdown for the README.

use std::fmt;

/// Rows of four cells under a head.
#[derive(Debug)]
pub(crate) struct Table {
    head: [&'static str; 4],
    rows: Vec<[String; 4]>,
}

impl Table {
    /// Nothing but a head.
    pub(crate) fn new(head: [&'static str; 4]) -> Self {
        Self { head, rows: Vec::new() }
    }

    /// A figure with a target.
    pub(crate) fn target(&mut self, figure: &str, target: &str, measured: &str, met: bool) {
        self.push(figure, target, measured, if met { "yes" } else { "**no**" });
    }

    /// A figure with a target that was not measured this time.
    pub(crate) fn skipped(&mut self, figure: &str, target: &str, how: &str) {
        self.push(figure, target, how, "");
    }

    /// A figure without a target, such as one that explains another.
    pub(crate) fn plain(&mut self, figure: &str, measured: &str) {
        self.push(figure, "", measured, "");
    }

    pub(crate) fn push(&mut self, figure: &str, target: &str, third: &str, fourth: &str) {
        self.rows.push([figure, target, third, fourth].map(str::to_owned));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = self.head.map(str::to_owned);
        let mut widths = [0; 4];
        for row in self.rows.iter().chain([&head]) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        let line = |f: &mut fmt::Formatter<'_>, row: &[String; 4]| {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!(" {cell:width$} "));
            writeln!(f, "|{}|", cells.collect::<Vec<_>>().join("|"))
        };
        line(f, &head)?;
        line(f, &widths.map(|width| "-".repeat(width)))?;
        self.rows.iter().try_for_each(|row| line(f, row))
    }
}
