//! The signals that stop the daemon, as futures: the first asks it to finish, the second to stop at once.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that asks the process to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGINT, Ctrl-C.
    Interrupt,
    /// SIGTERM: a service manager, or `kill`.
    Terminate,
}

/// The process's signal streams. From their creation on, the signals no longer end the process by themselves.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    /// Registers the signal handlers. Needs a runtime.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The next stop request: the first means "finish", the second "at once". Dropping the future loses no signal.
    /// SIGHUP is ignored: the daemon outlives its terminal.
    pub async fn next(&mut self) -> StopSignal {
        loop {
            tokio::select! {
                Some(()) = self.interrupt.recv() => return StopSignal::Interrupt,
                Some(()) = self.terminate.recv() => return StopSignal::Terminate,
                Some(()) = self.hangup.recv() => tracing::info!("hangup ignored"),
                // The streams end only with the runtime, and this future with it.
                else => std::future::pending().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    #[tokio::test]
    async fn each_request_to_end_is_heard_and_a_hangup_is_none() {
        let mut signals = Signals::listen().unwrap();
        let raise = |signal| kill_process(getpid(), signal).unwrap();
        raise(Signal::HUP);
        raise(Signal::TERM);
        assert_eq!(signals.next().await, StopSignal::Terminate);
        raise(Signal::INT);
        assert_eq!(signals.next().await, StopSignal::Interrupt);
    }
}
