//! One message and what comes of it, along the line.

use std::io;
use std::sync::Arc;

use super::chat_output::ChatOutput;
use super::interruptions::{Interruption, Interruptions};
use super::line::{Line, LineError, Taken, ThreadEvent};
use super::remark::Remark;
use super::transcript_printer::{Shown, TranscriptPrinter};
use crate::domain::{CorrelationId, Language};

/// How many messages back a run is looked for when something was missed.
pub(super) const RUN_MESSAGES: usize = 200;

/// Stops the turn, said as a person would.
const STOP: &str = "/stop";

/// How a turn ended for whoever watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnEnd {
    /// The run is over, well or not.
    Over,
    /// It waits for somebody's decision.
    Asks,
    /// The words were not taken, or the run cannot go on for now.
    Refused,
    /// The agent has ended.
    Gone,
    /// Whoever watched has left.
    Left,
}

/// A turn that was watched to its end.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) end: TurnEnd,
    /// What was taken, if it was.
    pub(super) taken: Option<Taken>,
}

/// When a question ends the watching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// As soon as it is asked: somebody at the keyboard can answer at once.
    Asked,
    /// When nothing goes on without an answer.
    Parked,
}

/// How a turn is watched.
#[derive(Debug)]
pub(super) struct Watch<'s, 'o> {
    /// Where it is shown; nothing means that only its outcome is wanted.
    pub(super) screen: Option<&'s mut ChatOutput<'o>>,
    /// What may come in between.
    pub(super) interruptions: &'s mut Interruptions,
    /// The runs that are followed.
    pub(super) teller: &'s mut TranscriptPrinter,
    pub(super) until: Until,
    /// The language of our own words.
    pub(super) language: Language,
}

impl Watch<'_, '_> {
    /// Says something and watches what becomes of it, and of the runs that it lets go on.
    pub(super) async fn say(&mut self, line: &mut Line, text: &str) -> io::Result<Turn> {
        let taken = match line.say(text).await {
            Ok(taken) => taken,
            Err(error) => {
                self.complain(&error)?;
                return Ok(Turn { end: end_of(&error), taken: None });
            }
        };
        self.teller.follow(taken.correlation.clone());
        let end = self.follow(line, Some(&taken.correlation)).await?;
        Ok(Turn { end, taken: Some(taken) })
    }

    /// Watches runs that are going on already.
    pub(super) async fn catch_up(
        &mut self,
        line: &mut Line,
        runs: Vec<CorrelationId>,
    ) -> io::Result<TurnEnd> {
        for run in runs {
            self.teller.follow(run);
        }
        self.read_again(line).await?;
        if self.rest(None).is_none() {
            self.remark(&Remark::StillRunning)?;
        }
        self.follow(line, None).await
    }

    async fn follow(&mut self, line: &mut Line, own: Option<&CorrelationId>) -> io::Result<TurnEnd> {
        let mut stopping = false;
        // Decisions that were made by the words themselves are told by the reply to them.
        let mut settled = Vec::new();
        loop {
            if own.is_some_and(|own| self.teller.is_queued(own)) {
                self.show(&std::mem::take(&mut settled))?;
            }
            if let Some(end) = self.rest(own) {
                let questions = self.teller.new_questions();
                self.show(&questions)?;
                return Ok(end);
            }
            tokio::select! {
                biased;
                interruption = self.interruptions.next() => match interruption {
                    // A stop would withdraw the question.
                    Interruption::Stop if !self.teller.questions().is_empty() => return Ok(TurnEnd::Asks),
                    Interruption::Stop if !stopping => {
                        stopping = true;
                        self.remark(&Remark::Stopping)?;
                        match line.say(STOP).await {
                            Ok(taken) => self.teller.follow(taken.correlation),
                            Err(error) => {
                                self.complain(&error)?;
                                return Ok(end_of(&error));
                            }
                        }
                    }
                    Interruption::Stop | Interruption::Leave => return Ok(TurnEnd::Left),
                },
                heard = line.next() => match heard {
                    ThreadEvent::Gone => return Ok(TurnEnd::Gone),
                    ThreadEvent::Reload => self.read_again(line).await?,
                    ThreadEvent::Trouble(text) => {
                        self.show(&[Shown::Trouble(text)])?;
                        return Ok(TurnEnd::Refused);
                    }
                    heard => {
                        let shown = self.teller.hear(heard);
                        let (decided, shown): (Vec<Shown>, Vec<Shown>) =
                            shown.into_iter().partition(|shown| matches!(shown, Shown::Settled(_)));
                        settled.extend(decided);
                        self.show(&shown)?;
                    }
                },
            }
        }
    }

    /// How the watching ends, where it does now. Words whose message was not heard yet may decide a question that is
    /// open so far.
    fn rest(&self, own: Option<&CorrelationId>) -> Option<TurnEnd> {
        if self.teller.is_over() {
            return Some(TurnEnd::Over);
        }
        let taken_in = own.is_none_or(|own| self.teller.has_heard(own));
        let asks = match self.until {
            Until::Asked => !self.teller.questions().is_empty(),
            Until::Parked => self.teller.is_parked(),
        };
        (taken_in && asks).then_some(TurnEnd::Asks)
    }

    /// Something was missed; the thread itself tells it.
    async fn read_again(&mut self, line: &Line) -> io::Result<()> {
        for message in line.recent(RUN_MESSAGES).await.unwrap_or_default() {
            let shown = self.teller.hear(ThreadEvent::Written(Arc::new(message)));
            self.show(&shown)?;
        }
        Ok(())
    }

    fn show(&mut self, shown: &[Shown]) -> io::Result<()> {
        let Some(screen) = &mut self.screen else { return Ok(()) };
        shown.iter().try_for_each(|shown| screen.show(shown))
    }

    fn remark(&mut self, word: &Remark<'_>) -> io::Result<()> {
        let Some(screen) = &mut self.screen else { return Ok(()) };
        screen.remark(&word.say(self.language))
    }

    fn complain(&mut self, error: &LineError) -> io::Result<()> {
        match error {
            LineError::Refused(why) => self.show(&[Shown::Trouble(why.clone())]),
            // Whoever asked tells that the agent is gone.
            LineError::Broken(_) => Ok(()),
        }
    }
}

const fn end_of(error: &LineError) -> TurnEnd {
    match error {
        LineError::Refused(_) => TurnEnd::Refused,
        LineError::Broken(_) => TurnEnd::Gone,
    }
}
