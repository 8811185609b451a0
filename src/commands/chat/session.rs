//! A conversation at a terminal: a prompt, a line, an answer, and again.
//!
//! While requests for approval wait, the prompt stands and every line reaches the daemon: it decides, or is queued and
//! answered with how to decide. What happens in the thread meanwhile is printed above the prompt.

use std::io;
use std::sync::Arc;

use super::chat_context::ChatContext;
use super::chat_output::ChatOutput;
use super::interruptions::{Interruption, Interruptions};
use super::keyboard::{Keyboard, Style, Typed};
use super::line::{Line, ThreadEvent};
use super::remark::Remark;
use super::transcript_printer::{Shown, TranscriptPrinter};
use super::turn::{RUN_MESSAGES, TurnEnd, Until, Watch};
use crate::cli::Exit;
use crate::commands::terminal::{clip, harmless, is_dumb, one_line};
use crate::config::{Env, Settings};
use crate::domain::{CorrelationId, Language};
use crate::render::Phrase;
use crate::store::Layout;
use crate::uimessage::{Part, Role, UiMessage, unfinished_runs};

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
    ThreadEvent(ThreadEvent),
    Interruption(Interruption),
}

#[derive(Debug)]
pub(super) struct Session<'s, 'o> {
    pub(super) settings: &'s Settings,
    pub(super) env: &'s Env,
    pub(super) place: ChatContext<'s>,
    pub(super) screen: &'s mut ChatOutput<'o>,
    pub(super) interruptions: &'s mut Interruptions,
    pub(super) teller: TranscriptPrinter,
    /// What was heard at the prompt and is not printed yet, because a line of it is not whole.
    pub(super) held: Vec<Shown>,
}

impl<'o> Session<'_, 'o> {
    /// Talks until the person leaves or the agent has ended.
    pub(super) async fn run(&mut self, line: &mut Line) -> io::Result<Exit> {
        let recent = line.recent(RUN_MESSAGES).await.unwrap_or_default();
        let open = unfinished_runs(&recent);
        self.greet(line, &recent, &open)?;
        if !open.is_empty() {
            let end = self.watch().catch_up(line, open).await?;
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
            self.print_held()?;
            match text.trim() {
                "" => {}
                "/quit" | "/exit" => {
                    self.tell_what_stays_open()?;
                    return Ok(Exit::Ok);
                }
                words => {
                    if let Some(exit) = self.say(line, words).await? {
                        return Ok(exit);
                    }
                }
            }
        }
    }

    /// Says a line and shows what comes of it.
    async fn say(&mut self, line: &mut Line, words: &str) -> io::Result<Option<Exit>> {
        self.teller.forget_ended();
        let turn = self.watch().say(line, words).await?;
        let queued = turn.taken.is_some_and(|taken| self.teller.is_queued(&taken.correlation));
        if turn.end == TurnEnd::Asks && queued {
            let reminder = Phrase::Reminder(self.teller.numbers());
            self.screen.remark(&reminder.say(self.language()))?;
        }
        self.after(turn.end)
    }

    const fn language(&self) -> Language {
        self.settings.operator_language
    }

    const fn watch(&mut self) -> Watch<'_, 'o> {
        let language = self.language();
        Watch {
            screen: Some(&mut *self.screen),
            interruptions: &mut *self.interruptions,
            teller: &mut self.teller,
            until: Until::Asked,
            language,
        }
    }

    fn greet(&mut self, line: &Line, recent: &[UiMessage], open: &[CorrelationId]) -> io::Result<()> {
        let (surface, language) = (self.screen.surface(), self.language());
        let place = match line.address() {
            Some(address) => Remark::InDaemon(address),
            None => Remark::InProcess,
        };
        let facts = format!(" · {} · {}", self.place.thread, place.say(language));
        let name = surface.strong(&harmless(&self.settings.name));
        self.screen.line(&format!("{name}{}", surface.dim(&facts)))?;
        self.screen.line(&surface.dim(&Remark::Hint.say(language)))?;
        self.screen.line("")?;
        let recent = recent.get(recent.len().saturating_sub(EARLIER)..).unwrap_or_default();
        let lines = earlier(recent, open);
        for line in &lines {
            self.screen.line(&surface.dim(&harmless(line)))?;
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
            history: Layout::new(&self.settings.state).chat_history(),
            dumb: is_dumb(self.env),
        }
    }

    /// Asks for a line. What happens in the followed runs meanwhile is printed above the prompt.
    async fn prompt(&mut self, line: &mut Line, keyboard: &mut Keyboard) -> io::Result<Asked> {
        let mut warned = false;
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
                    heard = line.next() => Came::ThreadEvent(heard),
                };
                match came {
                    Came::Typed(typed) => break typed,
                    // Where the prompt cannot read Ctrl-C itself, it comes as a signal.
                    Came::Interruption(Interruption::Stop) => {
                        if self.is_enough(&mut warned)? {
                            self.leave_prompt(keyboard)?;
                            self.tell_what_stays_open()?;
                            return Ok(Asked::End(Exit::Ok));
                        }
                    }
                    Came::Interruption(Interruption::Leave) => {
                        self.leave_prompt(keyboard)?;
                        return Ok(Asked::End(Exit::Ok));
                    }
                    Came::ThreadEvent(ThreadEvent::Gone) => {
                        self.leave_prompt(keyboard)?;
                        self.screen.trouble(&Remark::Gone.say(self.language()))?;
                        return Ok(Asked::End(Exit::Failed));
                    }
                    Came::ThreadEvent(heard) => self.hear_at_prompt(heard, line, keyboard).await?,
                }
            };
            match typed {
                Typed::Line(text) => return Ok(Asked::Line(text)),
                Typed::Cleared if !self.is_enough(&mut warned)? => {}
                Typed::Cleared | Typed::Left => {
                    self.tell_what_stays_open()?;
                    return Ok(Asked::End(Exit::Ok));
                }
            }
        }
    }

    /// Takes a Ctrl-C at the prompt, and says what to do instead. While a question waits, a second one in a row leaves.
    fn is_enough(&mut self, warned: &mut bool) -> io::Result<bool> {
        let language = self.language();
        let questions = self.teller.questions();
        let Some(first) = questions.first() else {
            self.screen.remark(&Remark::HowToLeave.say(language))?;
            return Ok(false);
        };
        if std::mem::replace(warned, true) {
            return Ok(true);
        }
        let names: Vec<String> = questions.iter().map(|question| question.name()).collect();
        let replies = first.replies(language).join(", ");
        self.screen.remark(&Remark::DecideFirst { names: names.join(", "), replies }.say(language))?;
        Ok(false)
    }

    async fn hear_at_prompt(
        &mut self,
        heard: ThreadEvent,
        line: &Line,
        keyboard: &mut Keyboard,
    ) -> io::Result<()> {
        if heard != ThreadEvent::Reload {
            return self.take_at_prompt(heard, keyboard);
        }
        for message in line.recent(RUN_MESSAGES).await.unwrap_or_default() {
            self.take_at_prompt(ThreadEvent::Written(Arc::new(message)), keyboard)?;
        }
        Ok(())
    }

    fn take_at_prompt(&mut self, heard: ThreadEvent, keyboard: &mut Keyboard) -> io::Result<()> {
        let shown = self.teller.hear(heard);
        let questions = self.teller.new_questions();
        self.held.extend(shown.into_iter().chain(questions));
        let grows = matches!(self.held.last(), None | Some(Shown::Words(_) | Shown::Paragraph));
        if grows && !self.teller.is_over() {
            return Ok(());
        }
        let text = self.screen.render(&std::mem::take(&mut self.held))?;
        if text.is_empty() || keyboard.print_above(&text) {
            return Ok(());
        }
        self.screen.raw(&format!("\n{text}{}", self.style().prompt))
    }

    /// Prints what is left of what was heard at the prompt.
    fn print_held(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        held.iter().try_for_each(|shown| self.screen.show(shown))
    }

    /// Says how the open questions can be answered when the chat has ended.
    fn tell_what_stays_open(&mut self) -> io::Result<()> {
        for line in self.place.how_to_answer(self.teller.questions(), self.language()) {
            self.screen.remark(&line)?;
        }
        Ok(())
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
                self.screen.trouble(&Remark::GoneInTurn.say(self.language()))?;
                Ok(Some(Exit::Failed))
            }
            TurnEnd::Left => {
                let chat = self.place.chat_command();
                self.screen.remark(&Remark::Left(&chat).say(self.language()))?;
                Ok(Some(Exit::Ok))
            }
        }
    }
}

/// The newest part of the conversation, shortened. What lies before a `/new` is over, and what is still being
/// said is shown by the teller.
fn earlier(recent: &[UiMessage], open: &[CorrelationId]) -> Vec<String> {
    let is_new = |message: &UiMessage| {
        message.parts.iter().any(|part| matches!(part, Part::Command(record) if record.is("new")))
    };
    let begin = recent.iter().rposition(is_new).map_or(0, |at| at + 1);
    let mut lines = Vec::new();
    for message in recent.iter().skip(begin) {
        let is_open = open.contains(&message.metadata.correlation_id) && message.role == Role::Assistant;
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
    fn earlier_messages_are_short_and_begin_behind_the_last_new() {
        let data = json!({ "command": "/new", "author": "cli:user:operator", "reply": "A new conversation begins." });
        let recent = [
            message("user", "r1", None, text("before")),
            message("assistant", "r1", Some("done"), text("before too")),
            message("assistant", "r2", Some("done"), json!([{ "type": "data-command", "data": data }])),
            message("user", "r3", None, text("behind")),
            message("assistant", "r3", Some("done"), text("1\n\n2\n3\n4")),
            message("user", "r4", None, text("open")),
            message("assistant", "r4", Some("running"), text("half an ans")),
        ];
        let open = unfinished_runs(&recent);
        assert_eq!(open, ["r4".parse().unwrap()]);
        assert_eq!(earlier(&recent, &open), ["› behind", "1", "2", "3", "…", "› open"]);
    }
}
