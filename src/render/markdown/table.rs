//! Tables for platforms without tables: aligned columns, bare cells, or one record after the other.

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr;

use super::flow::Flow;
use super::rich::{Mark, Rich};

/// Longest line of an aligned table.
const WIDEST: usize = 120;

/// Table layouts, widest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLayout {
    /// Columns of equal width; records, where the table is too wide for that.
    Aligned,
    /// Cells side by side without padding: never longer than the source.
    Compact,
    /// `header: value`, line by line.
    Records,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    /// The first row is the header.
    pub(super) rows: Vec<Vec<Rich>>,
}

impl Table {
    /// Lays out the table.
    pub(super) fn write(&self, layout: TableLayout, flow: &mut Flow) {
        let lines = match layout {
            TableLayout::Aligned => self.aligned(),
            TableLayout::Compact => Some(self.compact()),
            TableLayout::Records => None,
        };
        let Some(lines) = lines else { return self.records(flow) };
        if !lines.trim().is_empty() {
            let start = flow.settle_block();
            flow.rich.push(lines.trim_end());
            flow.rich.mark(start, Mark::Pre { language: None });
            self.links(flow);
        }
    }

    fn aligned(&self) -> Option<String> {
        let widths = self.widths();
        let total = widths.iter().sum::<usize>() + 3 * widths.len().saturating_sub(1);
        if total > WIDEST {
            return None;
        }
        let mut out = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            let height = row.iter().map(|cell| cell.text().split('\n').count()).max().unwrap_or(1);
            for line in 0..height {
                self.line(row, line, &widths, &mut out);
            }
            if index == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                out.push_str(&rule.join("-+-"));
                out.push('\n');
            }
        }
        Some(out)
    }

    /// The display width of each column.
    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![1; self.rows.iter().map(Vec::len).max().unwrap_or(0)];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.text().split('\n').map(UnicodeWidthStr::width).fold(*width, usize::max);
            }
        }
        widths
    }

    fn line(&self, row: &[Rich], line: usize, widths: &[usize], out: &mut String) {
        let mut text = String::new();
        for (column, width) in widths.iter().enumerate() {
            if column > 0 {
                text.push_str(" | ");
            }
            let cell = row.get(column).and_then(|cell| cell.text().split('\n').nth(line)).unwrap_or_default();
            let free = width.saturating_sub(cell.width());
            let before = match self.alignments.get(column) {
                Some(Alignment::Right) => free,
                Some(Alignment::Center) => free / 2,
                _ => 0,
            };
            text.extend(std::iter::repeat_n(' ', before));
            text.push_str(cell);
            text.extend(std::iter::repeat_n(' ', free - before));
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }

    fn compact(&self) -> String {
        let mut out = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            for (column, cell) in row.iter().enumerate() {
                if column > 0 {
                    out.push('|');
                }
                out.push_str(&cell.text().replace('\n', " "));
            }
            out.push_str(if index == 0 { "\n---\n" } else { "\n" });
        }
        out
    }

    fn records(&self, flow: &mut Flow) {
        let Some((head, rows)) = self.rows.split_first() else { return };
        let nothing = Rich::default();
        if rows.is_empty() {
            for name in head {
                flow.gap(1);
                flow.settle();
                flow.rich.append(name);
            }
        }
        for row in rows {
            flow.gap(2);
            for column in 0..head.len().max(row.len()) {
                let (name, value) =
                    (head.get(column).unwrap_or(&nothing), row.get(column).unwrap_or(&nothing));
                if name.is_empty() && value.is_empty() {
                    continue;
                }
                flow.gap(1);
                flow.settle();
                flow.rich.append(name);
                flow.rich.push(if name.is_empty() { "" } else { ": " });
                flow.rich.append(value);
            }
        }
    }

    /// Code cannot contain links, so those of the cells follow it.
    fn links(&self, flow: &mut Flow) {
        let mut first = true;
        for cell in self.rows.iter().flatten() {
            for span in cell.spans().iter().filter(|span| matches!(span.mark, Mark::Link { .. })) {
                if std::mem::take(&mut first) {
                    flow.gap(1);
                } else {
                    flow.write(" · ");
                }
                let start = flow.settle();
                flow.rich.push(cell.text().get(span.range.clone()).unwrap_or_default());
                flow.rich.mark(start, span.mark.clone());
            }
        }
    }
}
