//! One message, one answer, and the end: for scripts and quick questions.

use std::io;
use std::sync::Arc;

use serde_json::{Value, json};

use super::chat_context::ChatContext;
use super::chat_output::ChatOutput;
use super::connection::{Connection, SentMessage};
use super::interruptions::Interruptions;
use super::remark::Remark;
use super::transcript_printer::TranscriptPrinter;
use super::turn::{RUN_MESSAGES, TurnEnd, TurnWatcher, Until, WatchedTurn};
use crate::adapters::web::answer;
use crate::cli::Exit;
use crate::domain::{Approval, CommandInvocation, Language};
use crate::ports::RunOutcome;
use crate::uimessage::RunStatus;

/// One message and its context.
#[derive(Debug)]
pub(super) struct Once<'s, 'o> {
    pub(super) language: Language,
    pub(super) context: ChatContext<'s>,
    /// Whether the answer is printed as JSON.
    pub(super) json: bool,
    pub(super) output: &'s mut ChatOutput<'o>,
    pub(super) interruptions: &'s mut Interruptions,
}

impl Once<'_, '_> {
    /// Sends `text` and shows the answer. Ends at a request for approval, also at one that waits already.
    pub(super) async fn run(&mut self, connection: &mut Connection, text: &str) -> io::Result<Exit> {
        let mut printer = TranscriptPrinter::default();
        for message in connection.recent(RUN_MESSAGES).await.unwrap_or_default() {
            printer.note(&Arc::new(message));
        }
        let language = self.language;
        let mut watch = TurnWatcher {
            output: (!self.json).then_some(&mut *self.output),
            interruptions: &mut *self.interruptions,
            printer: &mut printer,
            until: Until::Parked,
            language,
        };
        let WatchedTurn { end, sent } = watch.say(connection, text).await?;
        self.output.end_line()?;
        match end {
            TurnEnd::Disconnected => self.output.error(&Remark::GoneInTurn.say(language))?,
            TurnEnd::Left => self.output.remark(&Remark::Left(&self.context.chat_command()).say(language))?,
            TurnEnd::Ended | TurnEnd::AwaitsApproval | TurnEnd::Refused => {}
        }
        // A reply that was meant to decide and did not leaves the question open; a command has nothing to do with it.
        let undecided = end == TurnEnd::Ended
            && !printer.questions().is_empty()
            && CommandInvocation::parse(text).is_none();
        let asks = end == TurnEnd::AwaitsApproval || undecided;
        if asks && !self.json {
            self.tell_how_to_answer(&mut printer, sent.as_ref())?;
        }
        let outcome = printer.outcome();
        let well = end == TurnEnd::Ended && !asks && outcome.status == Some(RunStatus::Done);
        if let (true, Some(sent)) = (self.json, sent) {
            let data = self.data(connection, sent, outcome, asks).await?;
            self.output.line(&serde_json::to_string_pretty(&data)?)?;
        }
        Ok(if well { Exit::Ok } else { Exit::Failed })
    }

    fn tell_how_to_answer(
        &mut self,
        printer: &mut TranscriptPrinter,
        sent: Option<&SentMessage>,
    ) -> io::Result<()> {
        for question in printer.new_questions() {
            self.output.show(&question)?;
        }
        let language = self.language;
        if sent.is_some_and(|sent| printer.is_queued(&sent.correlation)) {
            let names: Vec<String> = printer.questions().iter().map(|question| question.name()).collect();
            self.output.remark(&Remark::Queued { names: names.join(", ") }.say(language))?;
        }
        for line in self.context.how_to_answer(printer.questions(), language) {
            self.output.remark(&line)?;
        }
        Ok(())
    }

    /// The answer as JSON, in the form of `POST /api/execute`.
    async fn data(
        &self,
        connection: &Connection,
        sent: SentMessage,
        outcome: RunOutcome,
        asks: bool,
    ) -> io::Result<Value> {
        let approvals = if asks { self.pending(connection).await? } else { Vec::new() };
        let outcome = RunOutcome { approvals, ..outcome };
        let thread = self.context.thread.clone();
        let answer = answer(thread, sent.id, Some(sent.correlation), &outcome);
        let mut data = serde_json::to_value(&answer)?;
        if asks && let Some(fields) = data.as_object_mut() {
            fields.insert("success".to_owned(), json!(false));
            fields.insert("status".to_owned(), json!("awaiting-approval"));
        }
        Ok(data)
    }

    /// The pending approvals of this thread, oldest first.
    async fn pending(&self, connection: &Connection) -> io::Result<Vec<Approval>> {
        let all = connection.pending_approvals().await.map_err(io::Error::other)?;
        let here = |approval: &Approval| approval.thread == *self.context.thread;
        let mut pending: Vec<Approval> = all.into_iter().filter(here).collect();
        pending.sort_by_key(|approval| approval.number);
        Ok(pending)
    }
}
