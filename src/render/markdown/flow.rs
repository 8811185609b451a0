//! Where words go on the page: the empty lines between blocks, the indentation and the marks of list items. It
//! knows nothing of Markdown.

use super::rich::Rich;

/// Deeper levels are shown at this one: a narrow screen has no room for more.
const DEEPEST: usize = 8;

/// A page that is being written.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) rich: Rich,
    /// Line breaks owed before the next words.
    gap: usize,
    /// What the next words are led by, and the level it stands on.
    lead: String,
    lead_level: usize,
    /// How deep in lists the page is.
    pub(super) level: usize,
    fresh: bool,
}

impl Flow {
    pub(super) fn new() -> Self {
        Self { rich: Rich::default(), gap: 0, lead: String::new(), lead_level: 0, level: 0, fresh: true }
    }

    /// At least so many line breaks before the next words. What is led by a mark stays beside it.
    pub(super) fn gap(&mut self, lines: usize) {
        if self.lead.is_empty() {
            self.gap = self.gap.max(lines);
        }
    }

    /// One more line break before the next words; never more than one empty line.
    pub(super) fn line_break(&mut self) {
        self.gap = (self.gap + 1).min(2);
    }

    /// The next words are led by this.
    pub(super) fn lead(&mut self, lead: &str) {
        if self.lead.is_empty() {
            self.lead_level = self.level;
        }
        self.lead.push_str(lead);
    }

    /// Takes back the last mark, if no words followed it yet.
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

    /// Where the next words will stand.
    pub(super) fn settle(&mut self) -> usize {
        self.break_lines();
        if std::mem::take(&mut self.fresh) {
            let level = if self.lead.is_empty() { self.level } else { self.lead_level.saturating_sub(1) };
            self.rich.push(&"  ".repeat(level.min(DEEPEST)));
        }
        self.rich.push(&std::mem::take(&mut self.lead));
        self.rich.len()
    }

    /// Writes the mark that is owed, if there is one.
    pub(super) fn flush_lead(&mut self) {
        if !self.lead.is_empty() {
            self.settle();
        }
    }

    /// Gives a mark that is owed a line of its own.
    pub(super) fn break_lead(&mut self) {
        if !self.lead.is_empty() {
            self.settle();
            self.gap = 1;
        }
    }

    /// Where a block that is not indented will stand; a mark before it keeps a line of its own.
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
