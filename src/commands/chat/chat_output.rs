//! Prints an answer: its text to the standard output, all else to the standard error.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use jiff::tz::TimeZone;

use super::question::ShownQuestion;
use super::question_text;
use super::remark::Remark;
use super::transcript_printer::Shown;
use crate::commands::result_line::result_line;
use crate::commands::terminal::{Surface, one_line, sanitized};
use crate::domain::Language;

/// The widest a remark is shown.
const REMARK_COLUMNS: usize = 100;

/// Precedes every line of a question, so that nothing in it can pass for output of the chat.
const BAR: &str = "│ ";

/// The two streams, and the position of the cursor.
pub(super) struct ChatOutput<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    out_surface: Surface,
    err_surface: Surface,
    language: Language,
    at: LineState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineState {
    /// At the beginning of a line, with nothing of the answer above.
    Fresh,
    /// At the beginning of a line, below a remark.
    BelowRemark,
    /// At the beginning of a line, below words.
    BelowWords,
    InLine,
}

impl std::fmt::Debug for ChatOutput<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatOutput").field("at", &self.at).finish_non_exhaustive()
    }
}

impl<'a> ChatOutput<'a> {
    pub(super) fn new(
        (out, out_surface): (&'a mut dyn Write, Surface),
        (err, err_surface): (&'a mut dyn Write, Surface),
        language: Language,
    ) -> Self {
        Self { out, err, out_surface, err_surface, language, at: LineState::Fresh }
    }

    pub(super) fn surface(&self) -> Surface {
        self.out_surface
    }

    pub(super) fn show(&mut self, shown: &Shown) -> io::Result<()> {
        match shown {
            Shown::Words(words) => self.words(words),
            Shown::Reply(reply) => self.reply(reply),
            Shown::Paragraph => self.paragraph(),
            Shown::Call(call) => self.remark(&format!("· {call}")),
            Shown::CallFailed(why) => self.remark(&format!("  ! {}", one_line(why, REMARK_COLUMNS))),
            Shown::Result(output) => self.remark(&format!("  = {}", result_line(output, self.language))),
            Shown::Question(question) => self.question(question),
            Shown::Settled(settled) => self.remark(&Remark::Settled(settled).say(self.language)),
            Shown::File(url) => self.remark(&format!("· {}", one_line(url, REMARK_COLUMNS))),
            Shown::Progress(text) => self.remark(&format!("· {}", one_line(text, REMARK_COLUMNS))),
            Shown::Error(text) => self.error(text),
        }
    }

    /// Renders to a string, for printing above a prompt.
    pub(super) fn render(&self, shown: &[Shown]) -> io::Result<String> {
        let buffer = Buffer::default();
        let (mut out, mut err) = (buffer.clone(), buffer.clone());
        let mut output =
            ChatOutput::new((&mut out, self.out_surface), (&mut err, self.err_surface), self.language);
        shown.iter().try_for_each(|shown| output.show(shown))?;
        output.end_line()?;
        Ok(String::from_utf8_lossy(&buffer.0.borrow()).into_owned())
    }

    fn question(&mut self, question: &ShownQuestion) -> io::Result<()> {
        let lines = question_text::lines(question, &TimeZone::system(), self.language);
        for (index, line) in lines.iter().enumerate() {
            let line = if index == 0 { self.err_surface.strong(line) } else { line.clone() };
            self.beside(&format!("{}{line}", self.err_surface.dim(BAR)))?;
        }
        Ok(())
    }

    fn words(&mut self, words: &str) -> io::Result<()> {
        let words = sanitized(words);
        self.out.write_all(words.as_bytes())?;
        if !words.is_empty() {
            self.at = if words.ends_with('\n') { LineState::BelowWords } else { LineState::InLine };
        }
        self.out.flush()
    }

    /// A reply of the daemon, on lines of its own.
    fn reply(&mut self, reply: &str) -> io::Result<()> {
        self.paragraph()?;
        self.words(reply)?;
        if self.at == LineState::InLine {
            self.words("\n")?;
        }
        Ok(())
    }

    fn paragraph(&mut self) -> io::Result<()> {
        match self.at {
            LineState::Fresh | LineState::BelowRemark => {}
            LineState::BelowWords => self.out.write_all(b"\n")?,
            LineState::InLine => self.out.write_all(b"\n\n")?,
        }
        self.at = LineState::Fresh;
        Ok(())
    }

    /// A dimmed line on the standard error.
    pub(super) fn remark(&mut self, text: &str) -> io::Result<()> {
        let line = self.err_surface.dim(&sanitized(text));
        self.beside(&line)
    }

    pub(super) fn error(&mut self, text: &str) -> io::Result<()> {
        let line = self.err_surface.alarm(&sanitized(text));
        self.beside(&line)
    }

    fn beside(&mut self, line: &str) -> io::Result<()> {
        // Both streams share a cursor only where both are the terminal.
        if self.out_surface.is_terminal() && self.err_surface.is_terminal() {
            self.end_line()?;
            self.at = LineState::BelowRemark;
        }
        writeln!(self.err, "{line}")?;
        self.err.flush()
    }

    /// A whole line on the standard output.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        self.end_line()?;
        writeln!(self.out, "{text}")?;
        self.at = LineState::Fresh;
        self.out.flush()
    }

    /// Ends an unfinished line.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        if self.at == LineState::InLine {
            self.out.write_all(b"\n")?;
        }
        self.at = LineState::Fresh;
        self.out.flush()
    }

    /// Writes as it is, for control sequences.
    pub(super) fn raw(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

/// The buffer of both streams in `render`.
#[derive(Clone, Debug, Default)]
struct Buffer(Rc<RefCell<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(out_surface: Surface, err_surface: Surface) -> (String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut output = ChatOutput::new((&mut out, out_surface), (&mut err, err_surface), Language::En);
        for shown in [
            Shown::Words("Let me ".to_owned()),
            Shown::Words("look.".to_owned()),
            Shown::Call("read_file a".to_owned()),
            Shown::Paragraph,
            Shown::Words("There\u{1b}[2J.".to_owned()),
        ] {
            output.show(&shown).unwrap();
        }
        output.end_line().unwrap();
        (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn a_stream_gets_the_words_alone_without_escape_sequences() {
        let (out, err) = shown(Surface::Stream, Surface::Stream);
        assert_eq!(out, "Let me look.\n\nThere\\u{1b}[2J.\n");
        assert_eq!(err, "· read_file a\n");
    }

    #[test]
    fn a_reply_has_lines_of_its_own() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut output =
            ChatOutput::new((&mut out, Surface::Stream), (&mut err, Surface::Stream), Language::En);
        for shown in [
            Shown::Words("Half an".to_owned()),
            Shown::Reply("A1: approved.".to_owned()),
            Shown::Words("Done.".to_owned()),
        ] {
            output.show(&shown).unwrap();
        }
        output.end_line().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "Half an\n\nA1: approved.\nDone.\n");
    }

    #[test]
    fn on_a_terminal_each_remark_has_a_line_of_its_own() {
        let (out, err) = shown(Surface::Plain, Surface::Plain);
        assert_eq!(out, "Let me look.\nThere\\u{1b}[2J.\n");
        assert_eq!(err, "· read_file a\n");
    }
}
