//! Aligned tables for a terminal, also for Chinese text. Pure.

use unicode_width::UnicodeWidthStr;

use super::terminal::{Surface, pad};

/// A table with its head, a line for each row.
pub(super) fn table<const N: usize>(
    surface: Surface,
    head: [&'static str; N],
    rows: &[[String; N]],
) -> String {
    let head = head.map(str::to_owned);
    let widest = |mut widths: [usize; N], cells: &[String; N]| {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = cell.width().max(*width);
        }
        widths
    };
    let widths = rows.iter().fold(widest([0; N], &head), widest);
    let line = |cells: &[String; N]| {
        let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| pad(cell, width)).collect();
        cells.join("  ").trim_end().to_owned()
    };
    let mut text = surface.dim(&line(&head)) + "\n";
    for row in rows {
        text.push_str(&line(row));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["G1".to_owned(), "中文".to_owned()], ["G12".to_owned(), String::new()]];
        assert_eq!(table(Surface::Stream, ["ID", "WHAT"], &rows), "ID   WHAT\nG1   中文\nG12\n");
    }
}
