//! Line input. Reading blocks, so it has a thread of its own, which ends with the process.

use std::io::{self, BufRead};
use std::path::PathBuf;
use std::sync::mpsc as blocking;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{ColorMode, Config, Editor, ExternalPrinter};
use tokio::sync::mpsc;

use crate::store::make_private;

/// Most lines in the history file.
const HISTORY: usize = 1000;

/// The result of reading a line.
#[derive(Debug)]
pub(super) enum Typed {
    Line(String),
    /// Ctrl-C: the line is discarded.
    Cleared,
    /// Ctrl-D, or the end of the terminal.
    Left,
}

/// Options of the line editor.
#[derive(Debug)]
pub(super) struct PromptStyle {
    /// The prompt without colours.
    pub(super) prompt: String,
    /// The prompt with its colours, of the same width.
    pub(super) painted: String,
    pub(super) history: PathBuf,
    /// Whether the terminal has no cursor control (`TERM=dumb`).
    pub(super) dumb: bool,
}

/// Prints above the line that is being typed.
type Printer = Box<dyn ExternalPrinter + Send>;

/// Reads typed lines. Restores the terminal settings on drop, also in the middle of a line.
pub(super) struct Keyboard {
    asked: blocking::Sender<()>,
    lines: mpsc::Receiver<Typed>,
    before: Option<Termios>,
    printer: Option<Printer>,
}

impl std::fmt::Debug for Keyboard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyboard").finish_non_exhaustive()
    }
}

impl Keyboard {
    pub(super) fn open(style: PromptStyle) -> io::Result<Self> {
        let before = tcgetattr(io::stdin()).ok();
        let (asked, questions) = blocking::channel();
        let (answers, lines) = mpsc::channel(1);
        let mut typist = LineEditor::new(style)?;
        let printer = typist.printer();
        let read = move || {
            while questions.recv().is_ok() && answers.blocking_send(typist.read()).is_ok() {}
        };
        std::thread::Builder::new().name("keyboard".to_owned()).spawn(read)?;
        Ok(Self { asked, lines, before, printer })
    }

    /// Starts reading a line.
    pub(super) fn ask(&self) {
        // If the thread has ended, `next` reports it.
        let _ended = self.asked.send(()).is_err();
    }

    /// The line that is being read. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Typed {
        self.lines.recv().await.unwrap_or(Typed::Left)
    }

    /// Prints lines above the prompt and its typed text. Returns whether the terminal can do that.
    pub(super) fn print_above(&mut self, lines: &str) -> bool {
        self.printer.as_mut().is_some_and(|printer| printer.print(lines.to_owned()).is_ok())
    }

    /// Restores the terminal settings.
    pub(super) fn release(&self) {
        if let Some(before) = &self.before {
            // A terminal that has gone needs no restoring.
            let _gone = tcsetattr(io::stdin(), OptionalActions::Drain, before).is_err();
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.release();
    }
}

/// Reads lines on its own thread.
enum LineEditor {
    Skilled {
        editor: Box<Editor<(), FileHistory>>,
        style: PromptStyle,
    },
    /// For terminals without cursor control.
    Plain,
}

impl LineEditor {
    fn new(style: PromptStyle) -> io::Result<Self> {
        if style.dumb {
            return Ok(Self::Plain);
        }
        let config = Config::builder().max_history_size(HISTORY).map_err(io::Error::other)?;
        // The caller decides whether the prompt has colours.
        let config = config.history_ignore_space(true).color_mode(ColorMode::Forced).build();
        let mut editor = Editor::with_config(config).map_err(io::Error::other)?;
        // An empty helper: without one rustyline shows no coloured prompt.
        editor.set_helper(Some(()));
        // A history file that cannot be used is not an error.
        if make_private(&style.history).is_ok() {
            drop(editor.load_history(&style.history));
        }
        Ok(Self::Skilled { editor: Box::new(editor), style })
    }

    fn printer(&mut self) -> Option<Printer> {
        match self {
            Self::Skilled { editor, .. } => Some(Box::new(editor.create_external_printer().ok()?)),
            Self::Plain => None,
        }
    }

    fn read(&mut self) -> Typed {
        match self {
            Self::Skilled { editor, style } => {
                match editor.readline(&(style.prompt.as_str(), style.painted.as_str())) {
                    Ok(line) => {
                        drop(editor.add_history_entry(line.as_str()));
                        drop(editor.append_history(&style.history));
                        Typed::Line(line)
                    }
                    Err(ReadlineError::Interrupted) => Typed::Cleared,
                    Err(_) => Typed::Left,
                }
            }
            Self::Plain => {
                let mut line = String::new();
                match io::stdin().lock().read_line(&mut line) {
                    Ok(0) | Err(_) => Typed::Left,
                    Ok(_) => Typed::Line(line),
                }
            }
        }
    }
}
