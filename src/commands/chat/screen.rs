//! Puts an answer on the two outputs: words on the one for results, all else on the one for remarks.

use std::io::{self, Write};

use super::teller::Shown;
use crate::commands::terminal::{Surface, one_line};

/// The widest a remark is shown.
const REMARK_COLUMNS: usize = 100;

/// The two outputs, and where the cursor stands on them.
pub(super) struct Screen<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    out_surface: Surface,
    err_surface: Surface,
    at: Cursor,
}

/// Where the cursor stands behind the last words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    /// At the beginning of a line, with nothing above that belongs to the answer.
    Fresh,
    /// At the beginning of a line, below a remark.
    BelowRemark,
    /// At the beginning of a line, below words.
    BelowWords,
    /// Inside a line.
    InLine,
}

impl std::fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").field("at", &self.at).finish_non_exhaustive()
    }
}

impl<'a> Screen<'a> {
    /// A screen that writes to these.
    pub(super) fn new(
        (out, out_surface): (&'a mut dyn Write, Surface),
        (err, err_surface): (&'a mut dyn Write, Surface),
    ) -> Self {
        Self { out, err, out_surface, err_surface, at: Cursor::Fresh }
    }

    /// What results are shown on.
    pub(super) fn surface(&self) -> Surface {
        self.out_surface
    }

    /// Shows a piece of an answer.
    pub(super) fn show(&mut self, shown: &Shown) -> io::Result<()> {
        match shown {
            Shown::Words(words) | Shown::Reply(words) => self.words(words),
            Shown::Paragraph => self.paragraph(),
            Shown::Call(call) => self.remark(&format!("· {call}")),
            Shown::CallFailed(why) => self.remark(&format!("  ! {}", one_line(why, REMARK_COLUMNS))),
            Shown::File(url) => self.remark(&format!("· {}", one_line(url, REMARK_COLUMNS))),
            Shown::Progress(text) => self.remark(&format!("· {}", one_line(text, REMARK_COLUMNS))),
            Shown::Trouble(text) => self.trouble(text),
        }
    }

    fn words(&mut self, words: &str) -> io::Result<()> {
        let words = self.out_surface.clean(words);
        self.out.write_all(words.as_bytes())?;
        if !words.is_empty() {
            self.at = if words.ends_with('\n') { Cursor::BelowWords } else { Cursor::InLine };
        }
        self.out.flush()
    }

    fn paragraph(&mut self) -> io::Result<()> {
        match self.at {
            Cursor::Fresh | Cursor::BelowRemark => {}
            Cursor::BelowWords => self.out.write_all(b"\n")?,
            Cursor::InLine => self.out.write_all(b"\n\n")?,
        }
        self.at = Cursor::Fresh;
        Ok(())
    }

    /// A line beside the answer, of less weight.
    pub(super) fn remark(&mut self, text: &str) -> io::Result<()> {
        let line = self.err_surface.dim(&self.err_surface.clean(text));
        self.beside(&line)
    }

    /// A line about trouble.
    pub(super) fn trouble(&mut self, text: &str) -> io::Result<()> {
        let line = self.err_surface.alarm(&self.err_surface.clean(text));
        self.beside(&line)
    }

    fn beside(&mut self, line: &str) -> io::Result<()> {
        // Only where both outputs are one terminal does the one see what the other wrote.
        if self.out_surface.is_terminal() && self.err_surface.is_terminal() {
            self.end_line()?;
            self.at = Cursor::BelowRemark;
        }
        writeln!(self.err, "{line}")?;
        self.err.flush()
    }

    /// A line of the result's own, whatever stands before it.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        self.end_line()?;
        writeln!(self.out, "{text}")?;
        self.at = Cursor::Fresh;
        self.out.flush()
    }

    /// Ends the line that was begun, if one was.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        if self.at == Cursor::InLine {
            self.out.write_all(b"\n")?;
        }
        self.at = Cursor::Fresh;
        self.out.flush()
    }

    /// Writes as it is, for what a terminal itself must be told.
    pub(super) fn raw(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(out_surface: Surface, err_surface: Surface) -> (String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut screen = Screen::new((&mut out, out_surface), (&mut err, err_surface));
        for shown in [
            Shown::Words("Let me ".to_owned()),
            Shown::Words("look.".to_owned()),
            Shown::Call("read_file a".to_owned()),
            Shown::Paragraph,
            Shown::Words("There\u{1b}[2J.".to_owned()),
        ] {
            screen.show(&shown).unwrap();
        }
        screen.end_line().unwrap();
        (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn a_stream_gets_the_words_alone_as_they_are() {
        let (out, err) = shown(Surface::Stream, Surface::Stream);
        assert_eq!(out, "Let me look.\n\nThere\u{1b}[2J.\n");
        assert_eq!(err, "· read_file a\n");
    }

    #[test]
    fn on_a_terminal_each_remark_has_a_line_of_its_own() {
        let (out, err) = shown(Surface::Plain, Surface::Plain);
        assert_eq!(out, "Let me look.\nThere[2J.\n");
        assert_eq!(err, "· read_file a\n");
    }
}
