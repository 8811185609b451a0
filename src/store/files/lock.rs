//! One daemon per project: a lock that the kernel releases when its process ends.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::disk::refused;
use super::layout::{Layout, private_dir, private_file};
use crate::domain::Timestamp;
use crate::ports::StoreError;

/// A query of the holder takes a shared lock briefly, which must not look like a second daemon.
const PROBE_PATIENCE: Duration = Duration::from_millis(20);
/// A child process that a killed daemon was starting shares its lock until the child runs its own program.
const ENDED_HOLDER_PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// The holder of the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process id, once it is written.
    pub pid: Option<u32>,
    pub since: Option<Timestamp>,
}

/// Why a project's state could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another daemon has the lock.
    #[error("another daemon{} already serves this project: stop it first, or use the running one", named(.holder))]
    Held { path: PathBuf, holder: Holder },
    /// The files cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn named(holder: &Holder) -> String {
    holder.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

/// The right to write under one `.ship` directory. Released on drop, or by the kernel.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, or returns its holder.
    pub fn acquire(layout: &Layout) -> Result<Self, OpenError> {
        let path = layout.lock();
        let io = |source| refused(&path, source);
        private_dir(&layout.run()).map_err(io)?;
        let mut file =
            private_file().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        match patient_lock(&mut file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = read_holder(&mut file);
                return Err(OpenError::Held { path, holder });
            }
            Err(TryLockError::Error(source)) => return Err(io(source).into()),
        }
        write_holder(&mut file).map_err(io)?;
        Ok(Self { _file: file })
    }

    /// The current holder; `None` when no daemon runs. Writes nothing.
    pub fn holder(layout: &Layout) -> Option<Holder> {
        Self::look(layout).ok().flatten()
    }

    /// As [`Self::holder`], with an error where it cannot be determined.
    ///
    /// # Errors
    /// When the lock file exists and cannot be opened or queried.
    pub fn look(layout: &Layout) -> io::Result<Option<Holder>> {
        let mut file = match File::open(layout.lock()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        // A shared lock, released at once: only a daemon that starts at this moment can notice it.
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(read_holder(&mut file))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Takes the lock; retries while the holder may be a query or a process that has ended.
fn patient_lock(file: &mut File) -> Result<(), TryLockError> {
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {}
            done => return done,
        }
        let patience = if has_ended(&read_holder(file)) { ENDED_HOLDER_PATIENCE } else { PROBE_PATIENCE };
        if began.elapsed() >= patience {
            return Err(TryLockError::WouldBlock);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether the process that wrote its id into the lock file is gone.
fn has_ended(holder: &Holder) -> bool {
    let pid = holder.pid.and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

fn write_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(format!("{}\n", std::process::id()).as_bytes())
}

fn read_holder(file: &mut File) -> Holder {
    let mut text = String::new();
    let pid = file
        .rewind()
        .and_then(|()| file.read_to_string(&mut text))
        .ok()
        .and_then(|_| text.trim().parse().ok());
    let since = file.metadata().and_then(|facts| facts.modified()).ok();
    let since = since.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let since = since.and_then(|age| i64::try_from(age.as_millis()).ok()).map(Timestamp::from_millis);
    Holder { pid, since }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_daemon_is_told_the_process_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().join(".ship"));
        assert_eq!(Lock::holder(&layout), None);
        let first = Lock::acquire(&layout).unwrap();
        let Err(OpenError::Held { holder, .. }) = Lock::acquire(&layout) else {
            panic!("two daemons");
        };
        assert_eq!(holder.pid, Some(std::process::id()));
        assert!(holder.since.is_some());
        assert_eq!(Lock::holder(&layout), Some(holder));
        drop(first);
        assert_eq!(Lock::holder(&layout), None);
        Lock::acquire(&layout).unwrap();
    }

    #[test]
    fn a_child_of_a_killed_daemon_holds_the_lock_up_only_while_it_starts() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        private_dir(&layout.run()).unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let mut shared = private_file().create(true).append(true).open(layout.lock()).unwrap();
        shared.write_all(format!("{}\n", child.id()).as_bytes()).unwrap();
        shared.try_lock().unwrap();
        let starting = std::thread::spawn(move || {
            std::thread::sleep(PROBE_PATIENCE * 3);
            drop(shared);
        });
        Lock::acquire(&layout).unwrap();
        starting.join().unwrap();
    }

    #[test]
    fn a_lock_file_left_by_a_dead_process_does_not_hold() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        private_dir(&layout.run()).unwrap();
        private_file().create(true).append(true).open(layout.lock()).unwrap().write_all(b"1\n").unwrap();
        Lock::acquire(&layout).unwrap();
    }
}
