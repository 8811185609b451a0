//! A program that is measured from the outside.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What the kernel counts in where it tells programs of time, on every machine it runs on today.
const TICKS_PER_SECOND: u64 = 100;

/// A running program. It is killed when it goes away.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts it and discards its output.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { child: command.spawn().unwrap() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn assert_alive(&mut self) {
        assert!(self.child.try_wait().unwrap().is_none(), "the program ended by itself");
    }

    /// SIGTERM, and the end.
    pub(crate) fn stop(mut self) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success(), "the program did not end well");
    }

    /// The time it has had on processors so far, with that of its children that have ended.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        // The name before it may hold anything, a bracket and spaces too.
        let (_, rest) = stat.rsplit_once(") ").unwrap();
        let ticks = rest.split(' ').skip(11).take(4).map(|field| field.parse::<u64>().unwrap()).sum::<u64>();
        Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
