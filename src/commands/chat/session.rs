//! A conversation at a terminal: a prompt, a line, an answer, and again.

use std::io;

use super::interruptions::{Interruption, Interruptions};
use super::keyboard::{Keyboard, Style, Typed};
use super::line::{Heard, Line};
use super::screen::Screen;
use super::turn::{TurnEnd, Watch};
use super::words::Word;
use crate::cli::Exit;
use crate::commands::terminal::{clip, is_dumb, one_line};
use crate::config::{Env, Settings};
use crate::domain::{CorrelationId, Language, ThreadId};
use crate::store::Layout;
use crate::uimessage::{Part, Role, RunStatus, UiMessage};

/// How many earlier messages are shown.
const EARLIER: usize = 6;
/// How much of each.
const EARLIER_LINES: usize = 3;
const EARLIER_COLUMNS: usize = 100;

/// The widest the agent's name is in the prompt.
const PROMPT_COLUMNS: usize = 30;

/// Ends bracketed paste, which the prompt had begun, and goes to the next line.
const PASTE_OFF_AND_DOWN: &str = "\u{1b}[?2004l\n";

/// What came of a prompt.
enum Asked {
    Line(String),
    End(Exit),
}

/// What came first while the prompt stood.
enum Came {
    Typed(Typed),
    Heard(Heard),
    Interruption(Interruption),
}

/// A conversation.
#[derive(Debug)]
pub(super) struct Session<'s, 'o> {
    pub(super) settings: &'s Settings,
    pub(super) env: &'s Env,
    pub(super) thread: &'s ThreadId,
    pub(super) screen: &'s mut Screen<'o>,
    pub(super) interruptions: &'s mut Interruptions,
}

impl<'o> Session<'_, 'o> {
    /// Talks until whoever sits there leaves, or the agent has ended.
    pub(super) async fn run(&mut self, line: &mut Line) -> io::Result<Exit> {
        let recent = line.recent(EARLIER).await.unwrap_or_default();
        let open = unfinished(&recent);
        self.greet(line, &recent, open.as_ref())?;
        if let Some(run) = open {
            self.screen.remark(&Word::StillRunning.say(self.language()))?;
            let end = self.watch().catch_up(line, run).await?;
            if let Some(exit) = self.after(end)? {
                return Ok(exit);
            }
        }
        let mut keyboard = Keyboard::open(self.style())?;
        loop {
            let text = match self.prompt(line, &mut keyboard).await? {
                Asked::Line(text) => text,
                Asked::End(exit) => return Ok(exit),
            };
            match text.trim() {
                "" => {}
                "/quit" | "/exit" => return Ok(Exit::Ok),
                words => {
                    let turn = self.watch().say(line, words).await?;
                    if let Some(exit) = self.after(turn.end)? {
                        return Ok(exit);
                    }
                }
            }
        }
    }

    const fn language(&self) -> Language {
        self.settings.operator_language
    }

    const fn watch(&mut self) -> Watch<'_, 'o> {
        let language = self.language();
        Watch { screen: Some(&mut *self.screen), interruptions: &mut *self.interruptions, language }
    }

    fn greet(&mut self, line: &Line, recent: &[UiMessage], open: Option<&CorrelationId>) -> io::Result<()> {
        let (surface, language) = (self.screen.surface(), self.language());
        let place = match line.address() {
            Some(address) => Word::InDaemon(address),
            None => Word::InProcess,
        };
        let facts = format!(" · {} · {}", self.thread, place.say(language));
        let name = surface.strong(&surface.clean(&self.settings.name));
        self.screen.line(&format!("{name}{}", surface.dim(&facts)))?;
        self.screen.line(&surface.dim(&Word::Hint.say(language)))?;
        self.screen.line("")?;
        let lines = earlier(recent, open);
        for line in &lines {
            self.screen.line(&surface.dim(&surface.clean(line)))?;
        }
        if !lines.is_empty() {
            self.screen.line("")?;
        }
        Ok(())
    }

    fn style(&self) -> Style {
        let prompt = format!("{} › ", one_line(&self.settings.name, PROMPT_COLUMNS));
        Style {
            painted: self.screen.surface().strong(&prompt),
            prompt,
            history: Layout::new(&self.settings.state).run().join("chat_history"),
            dumb: is_dumb(self.env),
        }
    }

    /// Asks for a line. What happens in the thread meanwhile is in the thread; only its end matters here.
    async fn prompt(&mut self, line: &mut Line, keyboard: &mut Keyboard) -> io::Result<Asked> {
        let how_to_leave = Word::HowToLeave.say(self.language());
        loop {
            if is_dumb(self.env) {
                self.screen.raw(&self.style().prompt)?;
            }
            keyboard.ask();
            let typed = loop {
                let came = tokio::select! {
                    biased;
                    interruption = self.interruptions.next() => Came::Interruption(interruption),
                    typed = keyboard.next() => Came::Typed(typed),
                    heard = line.next() => Came::Heard(heard),
                };
                match came {
                    Came::Typed(typed) => break typed,
                    // Where the prompt cannot read Ctrl-C itself, it comes as a signal.
                    Came::Interruption(Interruption::Stop) => self.screen.remark(&how_to_leave)?,
                    Came::Interruption(Interruption::Leave) => {
                        self.leave_prompt(keyboard)?;
                        return Ok(Asked::End(Exit::Ok));
                    }
                    Came::Heard(Heard::Gone) => {
                        self.leave_prompt(keyboard)?;
                        self.screen.trouble(&Word::Gone.say(self.language()))?;
                        return Ok(Asked::End(Exit::Failed));
                    }
                    Came::Heard(_) => {}
                }
            };
            match typed {
                Typed::Line(text) => return Ok(Asked::Line(text)),
                Typed::Cleared => self.screen.remark(&how_to_leave)?,
                Typed::Left => return Ok(Asked::End(Exit::Ok)),
            }
        }
    }

    /// Takes the terminal back from a prompt that somebody may be typing at.
    fn leave_prompt(&mut self, keyboard: &Keyboard) -> io::Result<()> {
        keyboard.release();
        self.screen.raw(if is_dumb(self.env) { "\n" } else { PASTE_OFF_AND_DOWN })
    }

    /// What is left to say after a turn, and how the conversation ends, if it does.
    fn after(&mut self, end: TurnEnd) -> io::Result<Option<Exit>> {
        self.screen.end_line()?;
        match end {
            TurnEnd::Over | TurnEnd::Asks | TurnEnd::Refused => {
                self.screen.line("")?;
                Ok(None)
            }
            TurnEnd::Gone => {
                self.screen.trouble(&Word::GoneInTurn.say(self.language()))?;
                Ok(Some(Exit::Failed))
            }
            TurnEnd::Left => {
                self.screen.remark(&Word::Left.say(self.language()))?;
                Ok(Some(Exit::Ok))
            }
        }
    }
}

/// The run that is still open, if one is.
fn unfinished(recent: &[UiMessage]) -> Option<CorrelationId> {
    let run = &recent.last()?.metadata.correlation_id;
    let of_run = |message: &&UiMessage| message.metadata.correlation_id == *run;
    let ended = |message: &UiMessage| message.metadata.status.is_some_and(RunStatus::is_final);
    let overheard = |message: &UiMessage| message.metadata.context;
    let settled = recent.iter().filter(of_run).any(|message| ended(message) || overheard(message));
    (!settled).then(|| run.clone())
}

/// The newest part of the conversation, shortened. What lies before a `/new` is over, and what is still being
/// said is shown by whoever follows it.
fn earlier(recent: &[UiMessage], open: Option<&CorrelationId>) -> Vec<String> {
    let is_new = |message: &UiMessage| {
        message.parts.iter().any(|part| matches!(part, Part::Command(record) if record.is("new")))
    };
    let begin = recent.iter().rposition(is_new).map_or(0, |at| at + 1);
    let mut lines = Vec::new();
    for message in recent.iter().skip(begin) {
        let is_open = open == Some(&message.metadata.correlation_id) && message.role == Role::Assistant;
        let text = message.text();
        if is_open || text.trim().is_empty() {
            continue;
        }
        let mark = if message.role == Role::User { "› " } else { "" };
        let mut shown = text.lines().filter(|line| !line.trim().is_empty());
        lines.extend(shown.by_ref().take(EARLIER_LINES).enumerate().map(|(index, line)| {
            let mark = if index == 0 { mark } else { "" };
            clip(&format!("{mark}{line}"), EARLIER_COLUMNS)
        }));
        if shown.next().is_some() {
            lines.push("…".to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn message(role: &str, run: &str, status: Option<&str>, parts: Value) -> UiMessage {
        let mut metadata =
            json!({ "platform": "cli", "threadId": "cli:chat:t", "timestamp": 1, "correlationId": run });
        if let Some(status) = status {
            metadata["status"] = json!(status);
        }
        let id = format!("{role}_{run}");
        let message = json!({ "id": id, "role": role, "metadata": metadata, "parts": parts });
        serde_json::from_value(message).unwrap()
    }

    fn text(text: &str) -> Value {
        json!([{ "type": "text", "text": text }])
    }

    #[test]
    fn a_question_without_an_end_is_still_open() {
        let asked = message("user", "r1", None, text("hi"));
        let done = message("assistant", "r1", Some("done"), text("hello"));
        let half = message("assistant", "r2", Some("running"), text("hel"));
        assert_eq!(unfinished(&[]), None);
        assert_eq!(unfinished(std::slice::from_ref(&asked)), Some("r1".parse().unwrap()));
        assert_eq!(unfinished(&[asked.clone(), done.clone()]), None);
        // A message that joined a running turn stands behind the answer it is part of.
        assert_eq!(unfinished(&[done.clone(), asked]), None);
        assert_eq!(unfinished(&[done, half]), Some("r2".parse().unwrap()));
    }

    #[test]
    fn earlier_messages_are_short_and_begin_behind_the_last_new() {
        let data = json!({ "command": "/new", "author": "cli:user:operator", "reply": "A new conversation begins." });
        let recent = [
            message("user", "r1", None, text("before")),
            message("assistant", "r2", Some("done"), json!([{ "type": "data-command", "data": data }])),
            message("user", "r3", None, text("behind")),
            message("assistant", "r3", Some("done"), text("1\n\n2\n3\n4")),
            message("user", "r4", None, text("open")),
            message("assistant", "r4", Some("running"), text("half an ans")),
        ];
        let open = unfinished(&recent);
        assert_eq!(earlier(&recent, open.as_ref()), ["› behind", "1", "2", "3", "…", "› open"]);
    }
}
