//! Sends one message and follows the runs that answer it.

use std::io;
use std::sync::Arc;

use super::chat_output::ChatOutput;
use super::connection::{Connection, SentMessage, ThreadEvent};
use super::interruptions::{Interruption, Interruptions};
use super::remark::Remark;
use super::transcript_printer::{Shown, TranscriptPrinter};
use crate::commands::daemon_client::DaemonError;
use crate::domain::{CorrelationId, Language};
use crate::uimessage::{Part, ToolState};

/// How many messages are read again when events were missed.
pub(super) const RUN_MESSAGES: usize = 200;

const STOP: &str = "/stop";

/// Why the watching of a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnEnd {
    /// The run ended, with or without success.
    Ended,
    AwaitsApproval,
    /// The message was refused, or the run cannot continue for now.
    Refused,
    /// The daemon has ended.
    Disconnected,
    /// The person left.
    Left,
}

#[derive(Debug)]
pub(super) struct WatchedTurn {
    pub(super) end: TurnEnd,
    /// The message, unless it was refused.
    pub(super) sent: Option<SentMessage>,
}

/// When a request for approval ends the watching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// As soon as it is made: a person at the keyboard can answer at once.
    Asked,
    /// When nothing continues without an answer.
    Parked,
}

#[derive(Debug)]
pub(super) struct TurnWatcher<'s, 'o> {
    /// `None` shows nothing: only the outcome is wanted.
    pub(super) output: Option<&'s mut ChatOutput<'o>>,
    pub(super) interruptions: &'s mut Interruptions,
    pub(super) printer: &'s mut TranscriptPrinter,
    pub(super) until: Until,
    pub(super) language: Language,
}

impl TurnWatcher<'_, '_> {
    /// Sends a message and follows its run, and the runs that it lets continue.
    pub(super) async fn say(&mut self, connection: &mut Connection, text: &str) -> io::Result<WatchedTurn> {
        let sent = match connection.send(text).await {
            Ok(sent) => sent,
            Err(error) => {
                self.complain(&error)?;
                return Ok(WatchedTurn { end: end_of(&error), sent: None });
            }
        };
        self.printer.follow(sent.correlation.clone());
        let end = self.follow(connection, Some(&sent.correlation)).await?;
        Ok(WatchedTurn { end, sent: Some(sent) })
    }

    /// Follows runs that began before the chat.
    pub(super) async fn catch_up(
        &mut self,
        connection: &mut Connection,
        runs: Vec<CorrelationId>,
    ) -> io::Result<TurnEnd> {
        for run in runs {
            self.printer.follow(run);
        }
        let recent = connection.recent(RUN_MESSAGES).await.unwrap_or_default();
        let asks = recent.iter().flat_map(|message| &message.parts).any(|part| {
            matches!(part, Part::Tool(tool) if matches!(tool.state, ToolState::ApprovalRequested { .. }))
        });
        if !asks {
            self.remark(&Remark::StillRunning)?;
        }
        self.read_again(connection).await?;
        self.follow(connection, None).await
    }

    async fn follow(
        &mut self,
        connection: &mut Connection,
        own: Option<&CorrelationId>,
    ) -> io::Result<TurnEnd> {
        let mut stopping = false;
        // A decision made by this message is shown by the reply to it.
        let mut settled = Vec::new();
        loop {
            if own.is_some_and(|own| self.printer.is_queued(own)) {
                self.show(&std::mem::take(&mut settled))?;
            }
            if let Some(end) = self.rest(own) {
                let questions = self.printer.new_questions();
                self.show(&questions)?;
                return Ok(end);
            }
            tokio::select! {
                biased;
                interruption = self.interruptions.next() => match interruption {
                    // A stop would withdraw the question.
                    Interruption::Stop if !self.printer.questions().is_empty() => return Ok(TurnEnd::AwaitsApproval),
                    Interruption::Stop if !stopping => {
                        stopping = true;
                        self.remark(&Remark::Stopping)?;
                        match connection.send(STOP).await {
                            Ok(sent) => self.printer.follow(sent.correlation),
                            Err(error) => {
                                self.complain(&error)?;
                                return Ok(end_of(&error));
                            }
                        }
                    }
                    Interruption::Stop | Interruption::Leave => return Ok(TurnEnd::Left),
                },
                event = connection.next() => match event {
                    ThreadEvent::Disconnected => return Ok(TurnEnd::Disconnected),
                    ThreadEvent::Reload => self.read_again(connection).await?,
                    ThreadEvent::Error(text) => {
                        self.show(&[Shown::Error(text)])?;
                        return Ok(TurnEnd::Refused);
                    }
                    event => {
                        let shown = self.printer.event(event);
                        let (decided, shown): (Vec<Shown>, Vec<Shown>) =
                            shown.into_iter().partition(|shown| matches!(shown, Shown::Settled(_)));
                        settled.extend(decided);
                        self.show(&shown)?;
                    }
                },
            }
        }
    }

    /// Why the watching ends now, if it does. As long as the sent message has not come back as an event, it may still
    /// decide an open question.
    fn rest(&self, own: Option<&CorrelationId>) -> Option<TurnEnd> {
        if self.printer.is_over() {
            return Some(TurnEnd::Ended);
        }
        let arrived = own.is_none_or(|own| self.printer.has_event_of(own));
        let asks = match self.until {
            Until::Asked => !self.printer.questions().is_empty(),
            Until::Parked => self.printer.is_parked(),
        };
        (arrived && asks).then_some(TurnEnd::AwaitsApproval)
    }

    /// Reads the thread after events were missed.
    async fn read_again(&mut self, connection: &Connection) -> io::Result<()> {
        for message in connection.recent(RUN_MESSAGES).await.unwrap_or_default() {
            let shown = self.printer.event(ThreadEvent::Written(Arc::new(message)));
            self.show(&shown)?;
        }
        Ok(())
    }

    fn show(&mut self, shown: &[Shown]) -> io::Result<()> {
        let Some(output) = &mut self.output else { return Ok(()) };
        shown.iter().try_for_each(|shown| output.show(shown))
    }

    fn remark(&mut self, word: &Remark<'_>) -> io::Result<()> {
        let Some(output) = &mut self.output else { return Ok(()) };
        output.remark(&word.say(self.language))
    }

    fn complain(&mut self, error: &DaemonError) -> io::Result<()> {
        match error {
            DaemonError::Refused(why) => self.show(&[Shown::Error(why.clone())]),
            // The caller reports the lost connection.
            DaemonError::NotRunning | DaemonError::Broken(_) => Ok(()),
        }
    }
}

const fn end_of(error: &DaemonError) -> TurnEnd {
    match error {
        DaemonError::Refused(_) => TurnEnd::Refused,
        DaemonError::NotRunning | DaemonError::Broken(_) => TurnEnd::Disconnected,
    }
}
