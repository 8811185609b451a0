//! Reads lines of a file of any size, in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use tokio_util::sync::CancellationToken;

use super::open::OpenedPath;
use super::sniff::{SAMPLE_BYTES, binary_kind};

/// The content of a file: lines of text, or a binary kind.
#[derive(Debug)]
pub(super) enum LineContent {
    Text(TextLineReader<Chain<Cursor<Vec<u8>>, File>>),
    /// A binary file, with the name of its kind.
    Binary(&'static str),
}

impl LineContent {
    /// Detects the content from the beginning of a file.
    pub(super) fn of(opened: OpenedPath, cancel: CancellationToken) -> io::Result<Self> {
        let mut file = opened.file;
        let mut sample = Vec::with_capacity(SAMPLE_BYTES);
        file.by_ref().take(SAMPLE_BYTES as u64).read_to_end(&mut sample)?;
        if let Some(kind) = binary_kind(&sample) {
            return Ok(Self::Binary(kind));
        }
        Ok(Self::Text(TextLineReader::new(Cursor::new(sample).chain(file), cancel)))
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextLine<'a> {
    /// From 1.
    pub(super) number: u64,
    /// Its bytes with the line feed, up to the wanted length.
    pub(super) bytes: &'a [u8],
    /// Whether the line is longer than wanted.
    pub(super) cut: bool,
}

/// Reads lines, keeping at most the wanted length of each.
#[derive(Debug)]
pub(super) struct TextLineReader<R> {
    reader: BufReader<R>,
    cancel: CancellationToken,
    line: Vec<u8>,
    number: u64,
}

impl<R: Read> TextLineReader<R> {
    /// Reads lines from `reader`; reading fails once `cancel` is cancelled.
    pub(super) fn new(reader: R, cancel: CancellationToken) -> Self {
        Self { reader: BufReader::with_capacity(64 * 1024, reader), cancel, line: Vec::new(), number: 0 }
    }

    /// The next line, with at most `wanted` bytes of it.
    pub(super) fn next(&mut self, wanted: usize) -> io::Result<Option<TextLine<'_>>> {
        self.line.clear();
        let mut cut = false;
        let mut any = false;
        loop {
            if self.cancel.is_cancelled() {
                return Err(io::Error::other("stopped"));
            }
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            any = true;
            let end = chunk.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let length = end.unwrap_or(chunk.len());
            let room = wanted.saturating_sub(self.line.len());
            self.line.extend(chunk.iter().take(length.min(room)));
            cut |= length > room;
            self.reader.consume(length);
            if end.is_some() {
                break;
            }
        }
        if !any {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(TextLine { number: self.number, bytes: &self.line, cut }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], wanted: usize) -> Vec<(u64, Vec<u8>, bool)> {
        let mut lines = TextLineReader::new(text, CancellationToken::new());
        let mut all = Vec::new();
        while let Some(line) = lines.next(wanted).unwrap() {
            all.push((line.number, line.bytes.to_vec(), line.cut));
        }
        all
    }

    #[test]
    fn lines_are_counted_and_cut_to_what_is_wanted() {
        assert_eq!(lines(b"", 9), vec![]);
        assert_eq!(lines(b"\n", 9), vec![(1, b"\n".to_vec(), false)]);
        assert_eq!(
            lines(b"one\ntwo and more\n\nlast", 4),
            vec![
                (1, b"one\n".to_vec(), false),
                (2, b"two ".to_vec(), true),
                (3, b"\n".to_vec(), false),
                (4, b"last".to_vec(), false),
            ]
        );
    }

    #[test]
    fn an_endless_line_takes_no_memory() {
        let mut lines = TextLineReader::new(io::repeat(b'x').take(50_000_000), CancellationToken::new());
        let line = lines.next(10).unwrap().unwrap();
        assert_eq!((line.bytes.len(), line.cut), (10, true));
        assert!(lines.line.capacity() < 1_000);
    }

    #[test]
    fn reading_ends_when_it_is_cancelled() {
        let cancel = CancellationToken::new();
        let mut lines = TextLineReader::new(io::repeat(b'x'), cancel.clone());
        cancel.cancel();
        assert!(lines.next(10).is_err());
    }
}
