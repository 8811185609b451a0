//! What may come between a person and an answer: Ctrl-C, and the end of the process or its terminal.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::signals::{Signals, StopSignal};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interruption {
    /// Ctrl-C: stop what is going on.
    Stop,
    /// End: somebody asked the process to, or the terminal is gone.
    Leave,
}

/// The signals of this process, as a conversation takes them.
#[derive(Debug)]
pub(super) struct Interruptions {
    signals: Signals,
    /// A daemon outlives its terminal; a conversation does not.
    hangup: Signal,
}

impl Interruptions {
    /// Begins to listen. Needs a runtime.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self { signals: Signals::listen()?, hangup: signal(SignalKind::hangup())? })
    }

    /// The next one. Dropping the future loses none.
    pub(super) async fn next(&mut self) -> Interruption {
        tokio::select! {
            biased;
            Some(()) = self.hangup.recv() => Interruption::Leave,
            signal = self.signals.next() => match signal {
                StopSignal::Interrupt => Interruption::Stop,
                StopSignal::Terminate => Interruption::Leave,
            },
        }
    }
}
