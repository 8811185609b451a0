//! Lines of a file. Only the byte 0x0A ends a line; text without it is no line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

const CHUNK: usize = 64 * 1024;

/// Reads complete lines from an offset on, one at a time.
#[derive(Debug)]
pub(super) struct JsonlReader {
    file: BufReader<File>,
    offset: u64,
    line: Vec<u8>,
}

impl JsonlReader {
    /// Begins at `offset`, which must be the start of a line.
    pub(super) fn from(mut file: File, offset: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(offset))?;
        Ok(Self { file: BufReader::with_capacity(CHUNK, file), offset, line: Vec::new() })
    }

    /// The next line with its offset and its line end; `None` at the end of the file or at an incomplete last line.
    pub(super) fn next_line(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        self.line.clear();
        self.file.read_until(b'\n', &mut self.line)?;
        if self.line.last() != Some(&b'\n') {
            return Ok(None);
        }
        let at = self.offset;
        self.offset = at.saturating_add(length(&self.line));
        Ok(Some((at, &self.line)))
    }
}

/// The end of the last complete line of the first `length` bytes.
pub(super) fn last_end(file: &File, length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut buffer = [0; 4096];
    while end > 0 {
        let start = end.saturating_sub(4096);
        let take = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
        let chunk = buffer.get_mut(..take).unwrap_or_default();
        // The common case costs one byte: a file with a complete last line.
        if end == length {
            let mut last = [0];
            file.read_exact_at(&mut last, end.saturating_sub(1))?;
            if last == *b"\n" {
                return Ok(length);
            }
        }
        file.read_exact_at(chunk, start)?;
        if let Some(at) = chunk.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start.saturating_add(to_u64(at)).saturating_add(1));
        }
        end = start;
    }
    Ok(0)
}

/// Splits bytes at 0x0A; an incomplete last line is left out.
pub(super) fn ended_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"))
}

pub(super) fn length(bytes: &[u8]) -> u64 {
    to_u64(bytes.len())
}

pub(super) fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// FNV-1a, 64 bits: stable over versions and machines, which the standard library's hasher does not guarantee.
pub(super) fn fnv(bytes: &[u8]) -> u64 {
    fnv_of(0xcbf2_9ce4_8422_2325, bytes)
}

fn fnv_of(begin: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(begin, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The same digest of a text that is read in parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fnv(u64);

impl Fnv {
    pub(super) fn new() -> Self {
        Self(fnv(b""))
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0 = fnv_of(self.0, bytes);
    }

    pub(super) const fn value(self) -> i64 {
        self.0.cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file
    }

    #[test]
    fn an_unended_line_is_no_line() {
        let mut reader = JsonlReader::from(file(b"a\n\xe2\x80\xa8b\nrest"), 0).unwrap();
        assert_eq!(reader.next_line().unwrap(), Some((0, &b"a\n"[..])));
        assert_eq!(reader.next_line().unwrap(), Some((2, "\u{2028}b\n".as_bytes())));
        assert_eq!(reader.next_line().unwrap(), None);
        assert_eq!(ended_lines(b"a\n\nrest").collect::<Vec<_>>(), [&b"a"[..], b""]);
    }

    #[test]
    fn the_last_end_is_found_over_any_distance() {
        let long = [b"line\n".to_vec(), vec![b'x'; 10_000]].concat();
        for (content, expected) in [
            (&b""[..], 0),
            (b"a", 0),
            (b"a\n", 2),
            (b"a\nb", 2),
            (b"a\nb\n", 4),
            (&long, 5),
            (&vec![b'x'; 9000], 0),
        ] {
            assert_eq!(last_end(&file(content), length(content)).unwrap(), expected);
        }
    }
}
