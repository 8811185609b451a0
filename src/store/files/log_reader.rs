//! Reads the daemon's log backwards, a bounded part at a time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::disk::refused;
use super::layout::Layout;
use crate::ports::{BoxFuture, DaemonLog, LogPage, LogQuery, StoreError};

/// How much of a file is read at once; a longer line is left out.
const BLOCK: u64 = 256 * 1024;
/// Most bytes that one query searches.
const MOST_SEARCHED: u64 = 8 * 1024 * 1024;

/// The log of a project's daemon: `logs/daemon.<date>.jsonl`.
#[derive(Clone, Debug)]
pub struct LogFiles {
    folder: PathBuf,
}

impl LogFiles {
    /// The log under this `.ship` directory. Opens nothing.
    pub fn new(ship_dir: &Path) -> Self {
        Self { folder: Layout::new(ship_dir).logs() }
    }
}

impl DaemonLog for LogFiles {
    fn read(&self, query: LogQuery) -> BoxFuture<'_, Result<LogPage, StoreError>> {
        let folder = self.folder.clone();
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || {
                read(&folder, &query).map_err(|source| refused(&folder, source))
            });
            read.await.map_err(|_| StoreError::closed())?
        })
    }
}

/// The names of the log files, newest first.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with("daemon.") && name.ends_with(".jsonl") {
            names.push(name);
        }
    }
    names.sort_unstable_by(|one, other| other.cmp(one));
    Ok(names)
}

fn read(folder: &Path, query: &LogQuery) -> io::Result<LogPage> {
    let mut page = LogPage::default();
    // A position that is no longer there begins with the next older file.
    let from = query.before.as_deref().and_then(|position| {
        let (name, offset) = position.split_once('@')?;
        Some((name.to_owned(), offset.parse::<u64>().ok()?))
    });
    let mut left = MOST_SEARCHED;
    for name in names(folder)? {
        if from.as_ref().is_some_and(|(first, _)| name > *first) {
            continue;
        }
        let file = File::open(folder.join(&name))?;
        let length = file.metadata()?.len();
        let mut end = match &from {
            Some((first, offset)) if *first == name => length.min(*offset),
            _ => length,
        };
        while end > 0 {
            if left == 0 || page.lines.len() >= query.limit {
                page.next = Some(format!("{name}@{end}"));
                return Ok(page);
            }
            let block = TailBlock::before(&file, end)?;
            left = left.saturating_sub(block.bytes.len() as u64);
            end = block.collect(query, &mut page);
        }
    }
    Ok(page)
}

/// A part of a file.
struct TailBlock {
    start: u64,
    bytes: Vec<u8>,
}

impl TailBlock {
    /// The part that ends at an offset.
    fn before(file: &File, end: u64) -> io::Result<Self> {
        let start = end.saturating_sub(BLOCK);
        let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).unwrap_or_default()];
        file.read_exact_at(&mut bytes, start)?;
        Ok(Self { start, bytes })
    }

    /// Adds matching lines to the page, newest first. Returns the offset up to which the file is still to be searched.
    fn collect(&self, query: &LogQuery, page: &mut LogPage) -> u64 {
        let begun = if self.start == 0 {
            Some(0)
        } else {
            self.bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1)
        };
        let Some(begun) = begun.filter(|at| *at < self.bytes.len()) else { return self.start };
        let mut end = self.bytes.len();
        while end > begun {
            if page.lines.len() >= query.limit {
                return self.start.saturating_add(end as u64);
            }
            // Without the end of this line itself.
            let inside = self.bytes.get(begun..end.saturating_sub(1)).unwrap_or_default();
            let start = inside.iter().rposition(|byte| *byte == b'\n').map_or(begun, |at| begun + at + 1);
            let line = String::from_utf8_lossy(self.bytes.get(start..end).unwrap_or_default());
            let line = line.trim();
            if let Ok(facts) = serde_json::from_str::<Value>(line)
                && query.fits(line, &facts)
            {
                page.lines.push(facts);
            }
            end = start;
        }
        self.start.saturating_add(begun as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::ports::LogLevel;

    fn write(folder: &Path, name: &str, lines: &[Value]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        File::create(folder.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn line(number: usize, level: &str, padding: usize) -> Value {
        json!({ "timestamp": "2026-11-16T12:00:00Z", "level": level, "message": number, "pad": "x".repeat(padding) })
    }

    /// All pages of a query, as the numbers of their lines.
    fn all(folder: &Path, mut query: LogQuery) -> Vec<u64> {
        let mut numbers = Vec::new();
        loop {
            let page = read(folder, &query).unwrap();
            assert!(page.lines.len() <= query.limit);
            numbers.extend(page.lines.iter().map(|line| line["message"].as_u64().unwrap()));
            match page.next {
                Some(next) => query.before = Some(next),
                None => return numbers,
            }
        }
    }

    #[test]
    fn pages_go_back_over_files_and_long_searches() {
        let dir = tempfile::tempdir().unwrap();
        let numbered = |from: usize, to: usize| {
            (from..to).map(|n| line(n, if n == 3 { "WARN" } else { "INFO" }, 200_000))
        };
        write(dir.path(), "daemon.2026-11-15.jsonl", &numbered(0, 50).collect::<Vec<_>>());
        write(dir.path(), "daemon.2026-11-16.jsonl", &numbered(50, 60).collect::<Vec<_>>());
        write(dir.path(), "audit-2026-11-16.jsonl", &[line(99, "ERROR", 0)]);
        let query = |limit| LogQuery { limit, ..LogQuery::default() };
        assert_eq!(all(dir.path(), query(7)), (0..60).rev().collect::<Vec<_>>());
        let warnings = LogQuery { level: Some(LogLevel::Warn), ..query(7) };
        // The warning is further back than one query searches.
        assert_eq!(read(dir.path(), &warnings).unwrap().lines.len(), 0);
        assert_eq!(all(dir.path(), warnings), [3]);
    }

    #[test]
    fn a_folder_without_a_log_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        let query = LogQuery { limit: 5, ..LogQuery::default() };
        assert_eq!(read(&dir.path().join("logs"), &query).unwrap(), LogPage::default());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_line_is_on_one_page(paddings in prop::collection::vec(0_usize..90_000, 0..12), limit in 1_usize..5) {
            let dir = tempfile::tempdir().unwrap();
            let lines: Vec<Value> = paddings.iter().enumerate().map(|(n, pad)| line(n, "INFO", *pad)).collect();
            write(dir.path(), "daemon.2026-11-15.jsonl", &lines);
            let expected: Vec<u64> = (0..lines.len() as u64).rev().collect();
            prop_assert_eq!(all(dir.path(), LogQuery { limit, ..LogQuery::default() }), expected);
        }
    }
}
