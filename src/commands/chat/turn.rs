//! One question and its answer, along the line.

use std::io;
use std::sync::Arc;

use super::interruptions::{Interruption, Interruptions};
use super::line::{Heard, Line, LineError, Taken};
use super::screen::Screen;
use super::teller::{Shown, Teller};
use super::words::Word;
use crate::domain::{CorrelationId, Language};

/// How many messages back a run is looked for when something was missed.
const RUN_MESSAGES: usize = 200;

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
    /// How it ended.
    pub(super) end: TurnEnd,
    /// What was taken, if it was.
    pub(super) taken: Option<Taken>,
    /// What was heard.
    pub(super) teller: Teller,
}

/// How a turn is watched.
#[derive(Debug)]
pub(super) struct Watch<'s, 'o> {
    /// Where it is shown; nothing means that only its outcome is wanted.
    pub(super) screen: Option<&'s mut Screen<'o>>,
    /// What may come in between.
    pub(super) interruptions: &'s mut Interruptions,
    /// The language of our own words.
    pub(super) language: Language,
}

impl Watch<'_, '_> {
    /// Says something and watches what becomes of it.
    pub(super) async fn say(&mut self, line: &mut Line, text: &str) -> io::Result<Turn> {
        let mut teller = Teller::default();
        let taken = match line.say(text).await {
            Ok(taken) => taken,
            Err(error) => {
                self.complain(&error)?;
                let end = end_of(&error);
                return Ok(Turn { end, taken: None, teller });
            }
        };
        teller.follow(taken.correlation.clone());
        let end = self.follow(line, &mut teller).await?;
        Ok(Turn { end, taken: Some(taken), teller })
    }

    /// Watches a run that is going on already.
    pub(super) async fn catch_up(&mut self, line: &mut Line, run: CorrelationId) -> io::Result<TurnEnd> {
        let mut teller = Teller::default();
        teller.follow(run);
        self.read_again(line, &mut teller).await?;
        self.follow(line, &mut teller).await
    }

    async fn follow(&mut self, line: &mut Line, teller: &mut Teller) -> io::Result<TurnEnd> {
        let mut stopping = false;
        while !teller.is_over() {
            tokio::select! {
                biased;
                interruption = self.interruptions.next() => match interruption {
                    Interruption::Stop if !stopping => {
                        stopping = true;
                        self.remark(&Word::Stopping)?;
                        match line.say(STOP).await {
                            Ok(taken) => teller.follow(taken.correlation),
                            Err(error) => {
                                self.complain(&error)?;
                                return Ok(end_of(&error));
                            }
                        }
                    }
                    Interruption::Stop | Interruption::Leave => return Ok(TurnEnd::Left),
                },
                heard = line.next() => match heard {
                    Heard::Gone => return Ok(TurnEnd::Gone),
                    Heard::Reload => self.read_again(line, teller).await?,
                    Heard::Trouble(text) => {
                        self.show(&[Shown::Trouble(text)])?;
                        return Ok(TurnEnd::Refused);
                    }
                    heard => self.show(&teller.hear(heard))?,
                },
            }
            if teller.asks() {
                self.remark(&Word::Asks)?;
                return Ok(TurnEnd::Asks);
            }
        }
        Ok(TurnEnd::Over)
    }

    /// Something was missed; the thread itself tells it.
    async fn read_again(&mut self, line: &Line, teller: &mut Teller) -> io::Result<()> {
        for message in line.recent(RUN_MESSAGES).await.unwrap_or_default() {
            self.show(&teller.hear(Heard::Written(Arc::new(message))))?;
        }
        Ok(())
    }

    fn show(&mut self, shown: &[Shown]) -> io::Result<()> {
        let Some(screen) = &mut self.screen else { return Ok(()) };
        shown.iter().try_for_each(|shown| screen.show(shown))
    }

    fn remark(&mut self, word: &Word<'_>) -> io::Result<()> {
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
