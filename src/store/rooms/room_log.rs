//! A room's log: lines are appended by one process at a time, and the newest are read from the end.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::folder::segments;
use crate::domain::{LINE_VERSION, RoomLine, Timestamp, Via};
use crate::ports::LineFilter;
use crate::store::files::{private_dir, private_file};

/// How long a lock of another process is waited for, and how often it is tried. Shorter than the caller waits: a job
/// that was given up neither keeps its thread nor writes later.
const LOCK_WITHIN: Duration = Duration::from_millis(500);
const TRY_EVERY: Duration = Duration::from_millis(2);
/// How much is read from a segment at a time.
const BLOCK: u64 = 64 * 1024;
/// Longest line that is read; a longer one was written by another program.
const MAX_LINE: usize = 16 * 1024;
/// Most bytes of a log that are searched.
const MAX_READ: u64 = 64 * 1024 * 1024;
/// What only the lines of agents have, as they are written.
const OF_AGENTS: &[u8] = b"\"via\":\"outbound\"";

/// Opens the segment of a day for appending, and locks it against other processes. The lock ends with the file.
pub(super) fn open_locked(dir: &Path, segment: &Path) -> io::Result<File> {
    let open = || private_file().read(true).append(true).create(true).open(segment);
    let file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            private_dir(dir)?;
            open()?
        }
        file => file?,
    };
    locked(|| file.try_lock())?;
    Ok(file)
}

/// Tries to lock a file until it succeeds or the time is over.
fn locked(try_lock: impl Fn() -> Result<(), TryLockError>) -> io::Result<()> {
    let deadline = Instant::now() + LOCK_WITHIN;
    loop {
        match try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process keeps the lock"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(TRY_EVERY),
        }
    }
}

/// Appends a line by one call. A torn line before it is closed, so that it spoils no other.
pub(super) fn append_line(file: &mut File, line: &[u8]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(line.len() + 2);
    if !ends_in_newline(file)? {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line);
    bytes.push(b'\n');
    file.write_all(&bytes)
}

fn ends_in_newline(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == [b'\n'])
}

/// The newest lines in the order of the log. Lines that cannot be read are left out.
pub(super) fn newest(
    dir: &Path,
    most: usize,
    since: Timestamp,
    which: LineFilter,
) -> io::Result<Vec<RoomLine>> {
    let mut lines = Vec::new();
    let mut left = MAX_READ;
    let oldest = since.day();
    for segment in segments(dir)?.iter().rev() {
        let day = segment.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if lines.len() >= most || day < oldest || left == 0 {
            break;
        }
        read_back(segment, &mut lines, most, which, &mut left)?;
    }
    lines.retain(|line: &RoomLine| line.at >= since);
    lines.reverse();
    Ok(lines)
}

/// Adds lines of a segment, newest first, until there are enough.
fn read_back(
    segment: &Path,
    lines: &mut Vec<RoomLine>,
    most: usize,
    which: LineFilter,
    left: &mut u64,
) -> io::Result<()> {
    let mut file = match File::open(segment) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    // Waits for a line that is being written. What stands by then stays: it is read without the lock.
    locked(|| file.try_lock_shared())?;
    let mut start = file.metadata()?.len();
    file.unlock()?;
    let mut rest: Vec<u8> = Vec::new();
    while start > 0 && lines.len() < most && *left > 0 {
        let from = start.saturating_sub(BLOCK);
        *left = left.saturating_sub(start - from);
        let mut block = vec![0; usize::try_from(start - from).unwrap_or(0)];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut block)?;
        block.append(&mut rest);
        start = from;
        let mut pieces: Vec<&[u8]> = block.split(|byte| *byte == b'\n').collect();
        // The first piece may have begun before the block.
        let first = if start > 0 { Some(pieces.remove(0).to_vec()) } else { None };
        for piece in pieces.into_iter().rev() {
            if lines.len() < most {
                lines.extend(parse(piece, which));
            }
        }
        rest = first.unwrap_or_default();
        if rest.len() > MAX_LINE * 2 {
            // No line of this format: only its end can matter.
            rest.truncate(0);
        }
    }
    Ok(())
}

/// A line; `None` where it is torn, too long, of a later version, or something else.
fn parse(bytes: &[u8], which: LineFilter) -> Option<RoomLine> {
    if bytes.is_empty() || bytes.len() > MAX_LINE {
        return None;
    }
    if which == LineFilter::OfAgents && !bytes.windows(OF_AGENTS.len()).any(|part| part == OF_AGENTS) {
        return None;
    }
    let line: RoomLine = serde_json::from_slice(bytes).ok()?;
    let wanted = which == LineFilter::All || line.via == Via::Outbound;
    (line.v == LINE_VERSION && wanted).then_some(line)
}
