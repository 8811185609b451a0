//! Reads the newest lines of a room's log, from its end.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::folder::segments;
use crate::domain::{LINE_VERSION, RoomLine, Timestamp};

/// How much is read from a segment at a time.
const BLOCK: u64 = 64 * 1024;
/// Longest line that is read; a longer one was written by another program.
const MAX_LINE: usize = 16 * 1024;

/// The newest lines in the order of the log. Lines that cannot be read are left out.
pub(super) fn newest(dir: &Path, most: usize, since: Timestamp) -> io::Result<Vec<RoomLine>> {
    let mut lines = Vec::new();
    let oldest = since.day();
    for segment in segments(dir)?.iter().rev() {
        let day = segment.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if lines.len() >= most || day < oldest {
            break;
        }
        read_back(segment, &mut lines, most)?;
    }
    lines.retain(|line: &RoomLine| line.at >= since);
    lines.reverse();
    Ok(lines)
}

/// Adds lines of a segment, newest first, until there are enough.
fn read_back(segment: &Path, lines: &mut Vec<RoomLine>, most: usize) -> io::Result<()> {
    let mut file = match File::open(segment) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    // Waits for a line that is being written.
    file.lock_shared()?;
    let mut start = file.metadata()?.len();
    let mut rest: Vec<u8> = Vec::new();
    while start > 0 && lines.len() < most {
        let from = start.saturating_sub(BLOCK);
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
                lines.extend(parse(piece));
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
fn parse(bytes: &[u8]) -> Option<RoomLine> {
    if bytes.is_empty() || bytes.len() > MAX_LINE {
        return None;
    }
    let line: RoomLine = serde_json::from_slice(bytes).ok()?;
    (line.v == LINE_VERSION).then_some(line)
}
