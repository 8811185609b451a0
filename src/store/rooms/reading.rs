//! Reads the newest lines of a room's log, from its end.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::appending::locked;
use super::folder::segments;
use crate::domain::{LINE_VERSION, RoomLine, Timestamp, Via};
use crate::ports::LineFilter;

/// How much is read from a segment at a time.
const BLOCK: u64 = 64 * 1024;
/// Longest line that is read; a longer one was written by another program.
const MAX_LINE: usize = 16 * 1024;
/// Most bytes of a log that are searched.
const MAX_READ: u64 = 64 * 1024 * 1024;
/// What only the lines of agents have, as they are written.
const OF_AGENTS: &[u8] = b"\"via\":\"outbound\"";

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
