//! Lays out text: empty lines between blocks, indentation, and list markers. It
//! does not know Markdown.

use super::rich::Rich;

/// Deepest indentation; deeper levels are shown at this one.
const DEEPEST: usize = 8;

/// The text that is being laid out.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) rich: Rich,
    /// Pending line breaks before the next text.
    gap: usize,
    /// The pending list marker and its level.
    lead: String,
    lead_level: usize,
    /// The nesting depth of lists.
    pub(super) level: usize,
    fresh: bool,
}

impl Flow {
    pub(super) fn new() -> Self {
        Self { rich: Rich::default(), gap: 0, lead: String::new(), lead_level: 0, level: 0, fresh: true }
    }

    /// Requests at least this many line breaks before the next text. Text after a list marker stays beside it.
    pub(super) fn gap(&mut self, lines: usize) {
        if self.lead.is_empty() {
            self.gap = self.gap.max(lines);
        }
    }

    /// Requests one more line break; never more than one empty line.
    pub(super) fn line_break(&mut self) {
        self.gap = (self.gap + 1).min(2);
    }

    /// Sets the marker of the next text.
    pub(super) fn lead(&mut self, lead: &str) {
        if self.lead.is_empty() {
            self.lead_level = self.level;
        }
        self.lead.push_str(lead);
    }

    /// Removes the last marker, if no text followed it.
    pub(super) fn retract(&mut self, lead: &str) {
        let kept = self.lead.strip_suffix(lead).unwrap_or(&self.lead).len();
        self.lead.truncate(kept);
    }

    pub(super) fn write(&mut self, text: &str) {
        if !text.is_empty() {
            self.settle();
            self.rich.push(text);
        }
    }

    /// The offset of the next text.
    pub(super) fn settle(&mut self) -> usize {
        self.break_lines();
        if std::mem::take(&mut self.fresh) {
            let level = if self.lead.is_empty() { self.level } else { self.lead_level.saturating_sub(1) };
            self.rich.push(&"  ".repeat(level.min(DEEPEST)));
        }
        self.rich.push(&std::mem::take(&mut self.lead));
        self.rich.len()
    }

    /// Writes the pending marker.
    pub(super) fn flush_lead(&mut self) {
        if !self.lead.is_empty() {
            self.settle();
        }
    }

    /// Writes the pending marker on a line of its own.
    pub(super) fn break_lead(&mut self) {
        if !self.lead.is_empty() {
            self.settle();
            self.gap = 1;
        }
    }

    /// The offset of an unindented block; a marker before it gets a line of its own.
    pub(super) fn settle_block(&mut self) -> usize {
        self.break_lead();
        self.break_lines();
        self.fresh = false;
        self.rich.len()
    }

    fn break_lines(&mut self) {
        let lines = std::mem::take(&mut self.gap);
        if lines > 0 && !self.rich.is_empty() {
            self.rich.push(&"\n".repeat(lines));
            self.fresh = true;
        }
    }
}
