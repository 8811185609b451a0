//! One message, one answer, and the end: for scripts and quick questions.

use std::io;
use std::sync::Arc;

use serde_json::{Value, json};

use super::chat_context::ChatContext;
use super::chat_output::ChatOutput;
use super::interruptions::Interruptions;
use super::line::{Line, Taken};
use super::remark::Remark;
use super::transcript_printer::TranscriptPrinter;
use super::turn::{RUN_MESSAGES, Turn, TurnEnd, Until, Watch};
use crate::adapters::web::answer;
use crate::cli::{Exit, Output};
use crate::config::Settings;
use crate::domain::{Approval, CommandInvocation, Language};
use crate::ports::RunOutcome;
use crate::store::State;
use crate::uimessage::RunStatus;

/// One message and where it is said.
#[derive(Debug)]
pub(super) struct Once<'s, 'o> {
    pub(super) settings: &'s Settings,
    pub(super) place: ChatContext<'s>,
    pub(super) output: Output,
    pub(super) screen: &'s mut ChatOutput<'o>,
    pub(super) interruptions: &'s mut Interruptions,
}

impl Once<'_, '_> {
    /// Says `text` and shows the answer. A request for approval ends it, and so does one that waits already.
    pub(super) async fn run(&mut self, line: &mut Line, text: &str) -> io::Result<Exit> {
        let mut teller = TranscriptPrinter::default();
        for message in line.recent(RUN_MESSAGES).await.unwrap_or_default() {
            teller.note(&Arc::new(message));
        }
        let language = self.language();
        let mut watch = Watch {
            screen: (!self.output.json).then_some(&mut *self.screen),
            interruptions: &mut *self.interruptions,
            teller: &mut teller,
            until: Until::Parked,
            language,
        };
        let Turn { end, taken } = watch.say(line, text).await?;
        self.screen.end_line()?;
        match end {
            TurnEnd::Gone => self.screen.trouble(&Remark::GoneInTurn.say(language))?,
            TurnEnd::Left => self.screen.remark(&Remark::Left(&self.place.chat_command()).say(language))?,
            TurnEnd::Over | TurnEnd::Asks | TurnEnd::Refused => {}
        }
        // Words that were to decide and did not leave the question open; a command does not care.
        let undecided = end == TurnEnd::Over
            && !teller.questions().is_empty()
            && CommandInvocation::parse(text).is_none();
        let asks = end == TurnEnd::Asks || undecided;
        if asks && !self.output.json {
            self.tell_how_to_answer(&mut teller, taken.as_ref())?;
        }
        let outcome = teller.outcome();
        let well = end == TurnEnd::Over && !asks && outcome.status == Some(RunStatus::Done);
        if let (true, Some(taken)) = (self.output.json, taken) {
            let data = self.data(taken, outcome, asks).await?;
            self.screen.line(&serde_json::to_string_pretty(&data)?)?;
        }
        Ok(if well { Exit::Ok } else { Exit::Failed })
    }

    const fn language(&self) -> Language {
        self.settings.operator_language
    }

    fn tell_how_to_answer(
        &mut self,
        teller: &mut TranscriptPrinter,
        taken: Option<&Taken>,
    ) -> io::Result<()> {
        for question in teller.new_questions() {
            self.screen.show(&question)?;
        }
        let language = self.language();
        if taken.is_some_and(|taken| teller.is_queued(&taken.correlation)) {
            let names: Vec<String> = teller.questions().iter().map(|question| question.name()).collect();
            self.screen.remark(&Remark::Queued { names: names.join(", ") }.say(language))?;
        }
        for line in self.place.how_to_answer(teller.questions(), language) {
            self.screen.remark(&line)?;
        }
        Ok(())
    }

    /// The answer for programs.
    async fn data(&self, taken: Taken, outcome: RunOutcome, asks: bool) -> io::Result<Value> {
        let approvals = if asks { self.pending().await? } else { Vec::new() };
        let outcome = RunOutcome { approvals, ..outcome };
        let thread = self.place.thread.clone();
        let answer = answer(thread, taken.message, Some(taken.correlation), &outcome);
        let mut data = serde_json::to_value(&answer)?;
        if asks && let Some(fields) = data.as_object_mut() {
            fields.insert("success".to_owned(), json!(false));
            fields.insert("status".to_owned(), json!("awaiting-approval"));
        }
        Ok(data)
    }

    /// The requests that wait in this thread, oldest first. They are on the disk before anybody is asked.
    async fn pending(&self) -> io::Result<Vec<Approval>> {
        let state = State::files_beside_daemon(&self.settings.state);
        let all = state.approvals.list().await.map_err(io::Error::other)?;
        let here = |approval: &Approval| approval.is_pending() && approval.thread == *self.place.thread;
        let mut pending: Vec<Approval> = all.into_iter().filter(here).collect();
        pending.sort_by_key(|approval| approval.number);
        Ok(pending)
    }
}
