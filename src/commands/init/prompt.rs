//! Questions at a terminal: lines, hidden lines, choices by number.

use std::io::{self, BufRead, IsTerminal as _, Read as _, StdinLock, Write};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use super::InitError;
use crate::domain::Language;
use crate::phrases::start as words;

/// The longest hidden line.
const MAX_HIDDEN: usize = 8192;

/// Where answers are typed.
pub(crate) trait Terminal {
    /// The next line; `None` at the end of the input.
    fn line(&mut self) -> io::Result<Option<String>>;

    /// Asks for a line that is not shown while it is typed, also where it is typed before the question is read.
    fn hidden_line(&mut self, question: &str, out: &mut dyn Write) -> io::Result<Option<String>>;
}

/// The terminal of this process.
#[derive(Debug)]
pub(crate) struct StdinTerminal {
    input: StdinLock<'static>,
}

impl StdinTerminal {
    /// `None` where the standard input is no terminal.
    pub(crate) fn open() -> Option<Self> {
        let input = io::stdin().lock();
        input.is_terminal().then_some(Self { input })
    }
}

impl Terminal for StdinTerminal {
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        Ok((self.input.read_line(&mut line)? > 0).then_some(line))
    }

    fn hidden_line(&mut self, question: &str, out: &mut dyn Write) -> io::Result<Option<String>> {
        let _restored_on_drop = Hidden::begin(&self.input)?;
        write!(out, "{question}: ")?;
        out.flush()?;
        let mut line: Vec<u8> = Vec::new();
        loop {
            let mut byte = [0];
            if self.input.read(&mut byte)? == 0 {
                return Ok(None);
            }
            match byte {
                [b'\r' | b'\n'] => break,
                // Ctrl-C: signals are off, so that the terminal is restored first.
                [3] => return Err(io::ErrorKind::Interrupted.into()),
                [4] if line.is_empty() => return Ok(None),
                [8 | 127] => drop(line.pop()),
                [21] => line.clear(),
                [byte] if line.len() < MAX_HIDDEN => line.push(byte),
                [_] => {}
            }
        }
        Ok(Some(String::from_utf8_lossy(&line).into_owned()))
    }
}

/// A terminal that shows nothing of what is typed, until it is dropped.
struct Hidden {
    before: Termios,
}

impl Hidden {
    fn begin(input: &StdinLock<'_>) -> io::Result<Self> {
        let before = tcgetattr(input)?;
        let mut quiet = before.clone();
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(input, OptionalActions::Now, &quiet)?;
        Ok(Self { before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _restored = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

pub(super) struct TerminalPrompt<'a> {
    pub(super) input: &'a mut dyn Terminal,
    pub(super) out: &'a mut dyn Write,
    pub(super) language: Language,
}

impl TerminalPrompt<'_> {
    pub(super) fn say(&mut self, text: &str) -> Result<(), InitError> {
        writeln!(self.out, "{text}").map_err(InitError::Output)
    }

    /// Asks until the answer can be used. An empty one means the default.
    pub(super) fn ask<T>(
        &mut self,
        question: &str,
        default: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, InitError> {
        loop {
            if default.is_empty() {
                write!(self.out, "{question}: ").map_err(InitError::Output)?;
            } else {
                write!(self.out, "{question} [{default}]: ").map_err(InitError::Output)?;
            }
            self.out.flush().map_err(InitError::Output)?;
            let line = self.input.line().map_err(InitError::Input)?.ok_or(InitError::InputEnded)?;
            let answer = line.trim();
            match read(if answer.is_empty() { default } else { answer }) {
                Ok(value) => return Ok(value),
                Err(why) => self.say(&format!("  {why}"))?,
            }
        }
    }

    /// Asks for a secret; `None` where the person only presses Enter.
    pub(super) fn ask_hidden(&mut self, question: &str) -> Result<Option<String>, InitError> {
        let line = self.input.hidden_line(question, self.out).map_err(InitError::Input)?;
        let line = line.ok_or(InitError::InputEnded)?;
        self.say("")?;
        Ok(Some(line.trim().to_owned()).filter(|line| !line.is_empty()))
    }

    /// Asks for one of these, by its number or its name; anything else is for `other`. The names are what the program
    /// calls them, the titles what is shown.
    pub(super) fn choose<T>(
        &mut self,
        question: &str,
        items: &[(&str, &str)],
        default: usize,
        other: impl Fn(&str) -> Result<T, String>,
        chosen: impl Fn(usize) -> T,
    ) -> Result<T, InitError> {
        self.say(question)?;
        for (number, (_, title)) in (1..).zip(items) {
            self.say(&format!("  {number:>2}  {title}"))?;
        }
        let ask = words::ask_number(self.language);
        self.ask(ask, &default.saturating_add(1).to_string(), |answer| {
            let by_number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let by_name = || items.iter().position(|(name, _)| name.eq_ignore_ascii_case(answer));
            match by_number.filter(|index| *index < items.len()).or_else(by_name) {
                Some(index) => Ok(chosen(index)),
                None => other(answer),
            }
        })
    }

    /// Asks for a yes; anything else is a no.
    pub(super) fn confirm(&mut self, question: &str) -> Result<bool, InitError> {
        self.ask(question, "y/N", |answer| Ok(matches!(answer, "y" | "Y" | "yes" | "是" | "好")))
    }
}
