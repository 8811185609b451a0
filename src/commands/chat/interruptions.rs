//! Signals during a chat: Ctrl-C, and the end of the process or its terminal.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::signals::{Signals, StopSignal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interruption {
    /// Ctrl-C: stop the running turn.
    Stop,
    /// SIGTERM, or the terminal has gone.
    Leave,
}

#[derive(Debug)]
pub(super) struct Interruptions {
    signals: Signals,
    /// SIGHUP ends a chat; a daemon ignores it.
    hangup: Signal,
}

impl Interruptions {
    /// Installs the handlers. Needs a Tokio runtime.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self { signals: Signals::listen()?, hangup: signal(SignalKind::hangup())? })
    }

    /// The next signal. Dropping the future loses none.
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
