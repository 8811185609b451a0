//! A conversation at a terminal: a prompt, a line, an answer, and again.
//!
//! While requests for approval wait, the prompt stays and every line is sent to the daemon: it decides, or is queued and
//! answered with how to decide. Events of the thread are printed above the prompt meanwhile.

use std::io;
use std::sync::Arc;

use super::chat_context::ChatContext;
use super::chat_output::ChatOutput;
use super::connection::{Connection, ThreadEvent};
use super::interruptions::{Interruption, Interruptions};
use super::keyboard::{Keyboard, PromptStyle, Typed};
use super::remark::Remark;
use super::transcript_printer::{Shown, TranscriptPrinter};
use super::turn::{RUN_MESSAGES, TurnEnd, TurnWatcher, Until};
use crate::cli::Exit;
use crate::commands::terminal::{clip, is_dumb, one_line, sanitized};
use crate::config::{Env, Settings};
use crate::domain::{CorrelationId, Language};
use crate::render::Phrase;
use crate::store::Layout;
use crate::uimessage::{Part, Role, UiMessage};

/// How many earlier messages are shown.
const EARLIER: usize = 6;
/// How much of each.
const EARLIER_LINES: usize = 3;
const EARLIER_COLUMNS: usize = 100;

/// The widest the agent's name is in the prompt.
const PROMPT_COLUMNS: usize = 30;

/// Ends bracketed paste, which the prompt had begun, and goes to the next line.
const PASTE_OFF_AND_DOWN: &str = "\u{1b}[?2004l\n";

enum PromptResult {
    Line(String),
    End(Exit),
}

enum PromptInput {
    Typed(Typed),
    ThreadEvent(ThreadEvent),
    Interruption(Interruption),
}

#[derive(Debug)]
pub(super) struct Session<'s, 'o> {
    pub(super) settings: &'s Settings,
    pub(super) env: &'s Env,
    pub(super) context: ChatContext<'s>,
    pub(super) output: &'s mut ChatOutput<'o>,
    pub(super) interruptions: &'s mut Interruptions,
    pub(super) printer: TranscriptPrinter,
    /// What arrived during the prompt and is not printed yet, because its last line is incomplete.
    pub(super) held: Vec<Shown>,
}

impl<'o> Session<'_, 'o> {
    /// Runs until the person leaves or the daemon has ended.
    pub(super) async fn run(&mut self, connection: &mut Connection) -> io::Result<Exit> {
        let recent = connection.recent(RUN_MESSAGES).await.unwrap_or_default();
        let open = connection.unfinished(&recent);
        self.greet(connection, &recent, &open)?;
        if !open.is_empty() {
            let end = self.watch().catch_up(connection, open).await?;
            if let Some(exit) = self.after_turn(end)? {
                return Ok(exit);
            }
        }
        let mut keyboard = Keyboard::open(self.style())?;
        loop {
            let text = match self.prompt(connection, &mut keyboard).await? {
                PromptResult::Line(text) => text,
                PromptResult::End(exit) => return Ok(exit),
            };
            self.print_held()?;
            match text.trim() {
                "" => {}
                "/quit" | "/exit" => {
                    self.print_how_to_answer()?;
                    return Ok(Exit::Ok);
                }
                words => {
                    if let Some(exit) = self.say(connection, words).await? {
                        return Ok(exit);
                    }
                }
            }
        }
    }

    /// Sends a line and shows the answer.
    async fn say(&mut self, connection: &mut Connection, words: &str) -> io::Result<Option<Exit>> {
        self.printer.forget_ended();
        let turn = self.watch().say(connection, words).await?;
        let queued = turn.sent.is_some_and(|sent| self.printer.is_queued(&sent.correlation));
        if turn.end == TurnEnd::AwaitsApproval && queued {
            let reminder = Phrase::Reminder(self.printer.numbers());
            self.output.remark(&reminder.say(self.language()))?;
        }
        self.after_turn(turn.end)
    }

    const fn language(&self) -> Language {
        self.settings.operator_language
    }

    const fn watch(&mut self) -> TurnWatcher<'_, 'o> {
        let language = self.language();
        TurnWatcher {
            output: Some(&mut *self.output),
            interruptions: &mut *self.interruptions,
            printer: &mut self.printer,
            until: Until::Asked,
            language,
        }
    }

    fn greet(
        &mut self,
        connection: &Connection,
        recent: &[UiMessage],
        open: &[CorrelationId],
    ) -> io::Result<()> {
        let (surface, language) = (self.output.surface(), self.language());
        let location = match connection.daemon_address() {
            Some(address) => Remark::InDaemon(address),
            None => Remark::InProcess,
        };
        let facts = format!(" · {} · {}", self.context.thread, location.say(language));
        let name = surface.strong(&sanitized(&self.settings.name));
        self.output.line(&format!("{name}{}", surface.dim(&facts)))?;
        self.output.line(&surface.dim(&Remark::Hint.say(language)))?;
        self.output.line("")?;
        let recent = recent.get(recent.len().saturating_sub(EARLIER)..).unwrap_or_default();
        let lines = earlier(recent, open);
        for line in &lines {
            self.output.line(&surface.dim(&sanitized(line)))?;
        }
        if !lines.is_empty() {
            self.output.line("")?;
        }
        Ok(())
    }

    fn style(&self) -> PromptStyle {
        let prompt = format!("{} › ", one_line(&self.settings.name, PROMPT_COLUMNS));
        PromptStyle {
            painted: self.output.surface().strong(&prompt),
            prompt,
            history: Layout::new(&self.settings.state).chat_history(),
            dumb: is_dumb(self.env),
        }
    }

    /// Reads a line. Events of the followed runs are printed above the prompt meanwhile.
    async fn prompt(
        &mut self,
        connection: &mut Connection,
        keyboard: &mut Keyboard,
    ) -> io::Result<PromptResult> {
        let mut warned = false;
        loop {
            if is_dumb(self.env) {
                self.output.raw(&self.style().prompt)?;
            }
            keyboard.ask();
            let typed = loop {
                let came = tokio::select! {
                    biased;
                    interruption = self.interruptions.next() => PromptInput::Interruption(interruption),
                    typed = keyboard.next() => PromptInput::Typed(typed),
                    event = connection.next() => PromptInput::ThreadEvent(event),
                };
                match came {
                    PromptInput::Typed(typed) => break typed,
                    // Where the prompt cannot read Ctrl-C itself, it comes as a signal.
                    PromptInput::Interruption(Interruption::Stop) => {
                        if self.interrupt_leaves(&mut warned)? {
                            self.leave_prompt(keyboard)?;
                            self.print_how_to_answer()?;
                            return Ok(PromptResult::End(Exit::Ok));
                        }
                    }
                    PromptInput::Interruption(Interruption::Leave) => {
                        self.leave_prompt(keyboard)?;
                        return Ok(PromptResult::End(Exit::Ok));
                    }
                    PromptInput::ThreadEvent(ThreadEvent::Disconnected) => {
                        self.leave_prompt(keyboard)?;
                        self.output.error(&Remark::Gone.say(self.language()))?;
                        return Ok(PromptResult::End(Exit::Failed));
                    }
                    PromptInput::ThreadEvent(event) => {
                        self.event_at_prompt(event, connection, keyboard).await?
                    }
                }
            };
            match typed {
                Typed::Line(text) => return Ok(PromptResult::Line(text)),
                Typed::Cleared if !self.interrupt_leaves(&mut warned)? => {}
                Typed::Cleared | Typed::Left => {
                    self.print_how_to_answer()?;
                    return Ok(PromptResult::End(Exit::Ok));
                }
            }
        }
    }

    /// Handles a Ctrl-C at the prompt: says what to do instead. Returns whether it leaves, which a second one does while
    /// a question waits.
    fn interrupt_leaves(&mut self, warned: &mut bool) -> io::Result<bool> {
        let language = self.language();
        let questions = self.printer.questions();
        let Some(first) = questions.first() else {
            self.output.remark(&Remark::HowToLeave.say(language))?;
            return Ok(false);
        };
        if std::mem::replace(warned, true) {
            return Ok(true);
        }
        let names: Vec<String> = questions.iter().map(|question| question.name()).collect();
        let replies = first.replies(language).join(", ");
        self.output.remark(&Remark::DecideFirst { names: names.join(", "), replies }.say(language))?;
        Ok(false)
    }

    async fn event_at_prompt(
        &mut self,
        event: ThreadEvent,
        connection: &Connection,
        keyboard: &mut Keyboard,
    ) -> io::Result<()> {
        if event != ThreadEvent::Reload {
            return self.show_at_prompt(event, keyboard);
        }
        for message in connection.recent(RUN_MESSAGES).await.unwrap_or_default() {
            self.show_at_prompt(ThreadEvent::Written(Arc::new(message)), keyboard)?;
        }
        Ok(())
    }

    fn show_at_prompt(&mut self, event: ThreadEvent, keyboard: &mut Keyboard) -> io::Result<()> {
        let shown = self.printer.event(event);
        let questions = self.printer.new_questions();
        self.held.extend(shown.into_iter().chain(questions));
        let grows = matches!(self.held.last(), None | Some(Shown::Words(_) | Shown::Paragraph));
        if grows && !self.printer.is_over() {
            return Ok(());
        }
        let text = self.output.render(&std::mem::take(&mut self.held))?;
        if text.is_empty() || keyboard.print_above(&text) {
            return Ok(());
        }
        self.output.raw(&format!("\n{text}{}", self.style().prompt))
    }

    /// Prints the rest of what arrived during the prompt.
    fn print_held(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        held.iter().try_for_each(|shown| self.output.show(shown))
    }

    /// Prints how the open questions can be answered after the chat.
    fn print_how_to_answer(&mut self) -> io::Result<()> {
        for line in self.context.how_to_answer(self.printer.questions(), self.language()) {
            self.output.remark(&line)?;
        }
        Ok(())
    }

    /// Restores the terminal, also in the middle of a typed line.
    fn leave_prompt(&mut self, keyboard: &Keyboard) -> io::Result<()> {
        keyboard.release();
        self.output.raw(if is_dumb(self.env) { "\n" } else { PASTE_OFF_AND_DOWN })
    }

    /// Prints what follows a turn; returns the exit code if the conversation ends.
    fn after_turn(&mut self, end: TurnEnd) -> io::Result<Option<Exit>> {
        self.output.end_line()?;
        match end {
            TurnEnd::Ended | TurnEnd::AwaitsApproval | TurnEnd::Refused => {
                self.output.line("")?;
                Ok(None)
            }
            TurnEnd::Disconnected => {
                self.output.error(&Remark::GoneInTurn.say(self.language()))?;
                Ok(Some(Exit::Failed))
            }
            TurnEnd::Left => {
                let chat = self.context.chat_command();
                self.output.remark(&Remark::Left(&chat).say(self.language()))?;
                Ok(Some(Exit::Ok))
            }
        }
    }
}

/// The newest part of the conversation, shortened: after the last `/new`, and without answers that are still being
/// written, which the printer shows.
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
    use crate::uimessage::unfinished_runs;

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
