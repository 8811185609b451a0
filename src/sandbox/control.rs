//! The control socket between the daemon and the helpers, which is their standard input: the spec goes in, reports come
//! back.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use serde::{Deserialize, Serialize};

use super::spec::Spec;

/// Sent by the daemon when it ends a command on purpose.
pub(super) const END_REQUEST: &[u8] = b"q";

/// Largest spec.
const SPEC_BYTES: usize = 4 * 1024 * 1024;

/// One end of the control socket.
#[derive(Debug)]
pub(super) struct Control(UnixStream);

impl Control {
    /// The end that this helper was started with.
    pub(super) fn from_stdin() -> io::Result<Self> {
        Ok(Self(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?)))
    }

    /// A second handle of the same end.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Reads exactly one spec: the next helper reads its own copy from the same socket.
    pub(super) fn spec(&mut self) -> io::Result<Spec> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length)?;
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > SPEC_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the spec is too long"));
        }
        let mut json = vec![0; length];
        self.0.read_exact(&mut json)?;
        Ok(serde_json::from_slice(&json)?)
    }

    /// Sends a report. A write error is ignored: without a daemon no report is needed.
    pub(super) fn report(&mut self, report: &HelperReport) {
        if let Ok(mut line) = serde_json::to_vec(report) {
            line.push(b'\n');
            drop(self.0.write_all(&line));
        }
    }

    /// Whether the daemon has closed its end, or died. Call it after reading the spec: nothing else is sent.
    pub(super) fn is_hung_up(&mut self) -> bool {
        let looked = self.0.set_nonblocking(true).and_then(|()| self.0.read(&mut [0]));
        self.0.set_nonblocking(false).ok();
        !matches!(looked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Waits until the daemon closes its end, and returns how it did.
    pub(super) fn wait_for_hangup(&mut self) -> HangUp {
        loop {
            match self.0.read(&mut [0]) {
                Ok(1..) => return HangUp::Requested,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return HangUp::DaemonDied,
            }
        }
    }
}

/// How a daemon closes its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HangUp {
    /// It asks the command to end, and waits for it.
    Requested,
    /// It died. The next daemon asks people about the command's outcome, and they may run it again: it must not
    /// continue.
    DaemonDied,
}

/// A spec as it is sent: once for each helper.
pub(super) fn frames(spec: &Spec) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(spec)?;
    let length = u32::try_from(json.len()).ok().filter(|_| json.len() <= SPEC_BYTES);
    let length =
        length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command is too long"))?;
    let frame = [length.to_be_bytes().as_slice(), &json].concat();
    Ok(frame.repeat(2))
}

/// What a helper reports to the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "kebab-case")]
pub(super) enum HelperReport {
    /// The restrictions are in force; the command starts.
    Entered(Restrictions),
    Exited {
        code: i32,
    },
    Killed {
        signal: i32,
    },
    /// The command was not started.
    Failed {
        /// The reason.
        why: String,
    },
}

/// The restrictions in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Restrictions {
    /// The Landlock version; 0 without Landlock.
    pub(super) landlock: u8,
    /// What this kernel cannot restrict.
    pub(super) gaps: Vec<String>,
}
