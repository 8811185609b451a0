//! The usage ledger on disk: `logs/usage-<month>.jsonl`, one append-only file per month by the lines' own time in UTC.
//!
//! One thread writes. Lines that wait together are written together and synced once, if one of them asks for it. A torn
//! last line is ended before the next one, so that each line stands on its own.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::disk::refused;
use super::layout::{Layout, private_dir, private_file};
use super::lines::{JsonlReader, last_end};
use crate::domain::Timestamp;
use crate::fail_point::fail_point;
use crate::ports::{BoxFuture, LedgerMark, LedgerRead, LineVisitor, StoreError, UsageLedger};

/// Most lines in the queue.
const WAITING: usize = 4096;
const PREFIX: &str = "usage-";
const SUFFIX: &str = ".jsonl";

type Synced = oneshot::Sender<Result<(), StoreError>>;

enum LedgerJob {
    Line {
        month: String,
        line: String,
        synced: Option<Synced>,
    },
    Flush(oneshot::Sender<()>),
    /// Asks for the ends of all files, behind the lines before it.
    End(oneshot::Sender<Result<LedgerMark, StoreError>>),
}

/// The ledger of one project. Dropping it lets the writer finish its queue.
pub struct UsageLedgerFiles {
    dir: PathBuf,
    tasks: mpsc::Sender<LedgerJob>,
    /// The writer until the first line starts its thread: a command that only reads needs none.
    idle: Mutex<Option<(LedgerWriter, mpsc::Receiver<LedgerJob>)>>,
    syncs: Arc<AtomicU64>,
}

impl std::fmt::Debug for UsageLedgerFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UsageLedgerFiles").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl UsageLedgerFiles {
    /// The ledger under this `.ship` directory. Opens no file before the first line.
    pub fn new(ship_dir: &Path) -> Self {
        let (tasks, inbox) = mpsc::channel(WAITING);
        let dir = Layout::new(ship_dir).logs();
        let syncs = Arc::new(AtomicU64::new(0));
        let writer = LedgerWriter { dir: dir.clone(), current: None, syncs: syncs.clone() };
        Self { dir, tasks, idle: Mutex::new(Some((writer, inbox))), syncs }
    }

    /// Starts the writer's thread, once.
    fn start(&self) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((writer, inbox)) = idle else { return };
        let thread = std::thread::Builder::new().name("usage".to_owned());
        if let Err(error) = thread.spawn(move || writer.run(inbox)) {
            tracing::error!(%error, "usage writer not started");
        }
    }
}

impl UsageLedger for UsageLedgerFiles {
    fn append(&self, at: Timestamp, line: String) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.start();
            let (done, synced) = oneshot::channel();
            let task = LedgerJob::Line { month: month_of(at), line, synced: Some(done) };
            self.tasks.send(task).await.map_err(|_| StoreError::closed())?;
            synced.await.map_err(|_| StoreError::closed())?
        })
    }

    fn record(&self, at: Timestamp, line: String) {
        self.start();
        let task = LedgerJob::Line { month: month_of(at), line, synced: None };
        if self.tasks.try_send(task).is_err() {
            tracing::error!("usage line lost: the call's reservation counts in full");
        }
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.idle.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                return;
            }
            let (done, written) = oneshot::channel();
            if self.tasks.send(LedgerJob::Flush(done)).await.is_ok() {
                // A writer that has ended has written its queue.
                written.await.unwrap_or_default();
            }
        })
    }

    fn end(&self) -> BoxFuture<'_, Result<LedgerMark, StoreError>> {
        self.start();
        let (done, end) = oneshot::channel();
        // At once: the place in the queue is the place in the ledger.
        let asked = self.tasks.try_send(LedgerJob::End(done));
        Box::pin(async move {
            asked.map_err(|_| StoreError::closed())?;
            end.await.map_err(|_| StoreError::closed())?
        })
    }

    fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    fn read(
        &self,
        from: LedgerMark,
        visit: LineVisitor,
    ) -> BoxFuture<'_, Result<(LedgerMark, LedgerRead), StoreError>> {
        let dir = self.dir.clone();
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || read(&dir, from, visit));
            read.await.map_err(|_| StoreError::closed())?
        })
    }
}

fn read(
    dir: &Path,
    from: LedgerMark,
    mut visit: LineVisitor,
) -> Result<(LedgerMark, LedgerRead), StoreError> {
    let mut seen = LedgerRead::default();
    let LedgerMark { since, offsets } = from;
    // A month that is passed over gets lines when the clock is set back: those are read the next time.
    let mut mark = LedgerMark { since: String::new(), offsets };
    for month in months(dir)? {
        let path = dir.join(format!("{PREFIX}{month}{SUFFIX}"));
        let file = File::open(&path).map_err(|source| refused(&path, source))?;
        let length = file.metadata().map_err(|source| refused(&path, source))?.len();
        let offset = match mark.offsets.get(&month) {
            None if month < since => {
                let end = last_end(&file, length).map_err(|source| refused(&path, source))?;
                mark.offsets.insert(month, end);
                continue;
            }
            known => known.copied().unwrap_or(0),
        };
        // A file that is shorter than it was has been replaced.
        let offset = if offset > length { 0 } else { offset };
        let mut lines = JsonlReader::from(file, offset).map_err(|source| refused(&path, source))?;
        let end = mark.offsets.entry(month).or_default();
        *end = offset;
        while let Some((at, line)) = lines.next_line().map_err(|source| refused(&path, source))? {
            *end = at.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
            if line.trim_ascii().is_empty() {
                continue;
            }
            seen.lines = seen.lines.saturating_add(1);
            if !visit(line) {
                seen.unreadable = seen.unreadable.saturating_add(1);
            }
        }
    }
    Ok((mark, seen))
}

/// The ends of all files.
fn end(dir: &Path) -> Result<LedgerMark, StoreError> {
    let mut mark = LedgerMark::default();
    for month in months(dir)? {
        let path = dir.join(format!("{PREFIX}{month}{SUFFIX}"));
        let file = File::open(&path).map_err(|source| refused(&path, source))?;
        let length = file.metadata().map_err(|source| refused(&path, source))?.len();
        mark.offsets.insert(month, last_end(&file, length).map_err(|source| refused(&path, source))?);
    }
    Ok(mark)
}

/// The months that have a file, oldest first.
fn months(dir: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(refused(dir, source)),
    };
    let mut months = Vec::new();
    for entry in entries {
        let name = entry.map_err(|source| refused(dir, source))?.file_name();
        let month = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
        months.extend(month.filter(|month| month.len() == "2026-11".len()).map(str::to_owned));
    }
    months.sort();
    Ok(months)
}

/// The month of a time, in UTC.
fn month_of(at: Timestamp) -> String {
    at.rfc3339().chars().take("2026-11".len()).collect()
}

struct LedgerWriter {
    dir: PathBuf,
    current: Option<(String, File)>,
    syncs: Arc<AtomicU64>,
}

impl LedgerWriter {
    fn run(mut self, mut inbox: mpsc::Receiver<LedgerJob>) {
        let mut batch = Vec::new();
        while let Some(task) = inbox.blocking_recv() {
            batch.push(task);
            while let Ok(task) = inbox.try_recv() {
                batch.push(task);
            }
            self.take(std::mem::take(&mut batch));
        }
    }

    fn take(&mut self, batch: Vec<LedgerJob>) {
        let mut waiting: Vec<Synced> = Vec::new();
        let mut flushed = Vec::new();
        let mut failure: Option<String> = None;
        for task in batch {
            match task {
                LedgerJob::Line { month, line, synced } => {
                    if let Err(error) = self.write(&month, line) {
                        tracing::error!(%error, "usage line not written");
                        failure = Some(error.to_string());
                    }
                    waiting.extend(synced);
                }
                LedgerJob::Flush(done) => flushed.push(done),
                // The caller may be gone.
                LedgerJob::End(done) => drop(done.send(end(&self.dir))),
            }
        }
        if !waiting.is_empty() && failure.is_none() {
            failure = self.sync().err().map(|error| error.to_string());
        }
        for synced in waiting {
            let result = match &failure {
                None => Ok(()),
                Some(error) => Err(refused(&self.dir, io::Error::other(error.clone()))),
            };
            // The caller may be gone.
            drop(synced.send(result));
        }
        for done in flushed {
            done.send(()).unwrap_or_default();
        }
    }

    fn write(&mut self, month: &str, mut line: String) -> io::Result<()> {
        let mut current = match self.current.take() {
            Some(current) if current.0 == month => current,
            other => {
                // Lines that wait for the disk may be in the file that is left.
                if let Some((_, left)) = other {
                    self.syncs.fetch_add(1, Ordering::Relaxed);
                    left.sync_data()?;
                }
                (month.to_owned(), open(&self.dir, month)?)
            }
        };
        line.push('\n');
        let written = current.1.write_all(line.as_bytes());
        // After a failure a partial line may be there: opening the file again ends it.
        self.current = written.is_ok().then_some(current);
        fail_point("usage-line-written");
        written
    }

    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.current.as_ref().map_or(Ok(()), |(_, file)| file.sync_data())
    }
}

/// Opens the file of a month. A partial last line is ended, so that the next one begins on its own.
fn open(dir: &Path, month: &str) -> io::Result<File> {
    private_dir(dir)?;
    let path = dir.join(format!("{PREFIX}{month}{SUFFIX}"));
    let mut file = private_file().read(true).append(true).create(true).open(path)?;
    let length = file.metadata()?.len();
    if last_end(&file, length)? != length {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    async fn lines(ledger: &UsageLedgerFiles, from: LedgerMark) -> (Vec<String>, LedgerMark, LedgerRead) {
        let found = Arc::new(Mutex::new(Vec::new()));
        let sink = found.clone();
        let visit: LineVisitor = Box::new(move |line| {
            sink.lock().unwrap().push(String::from_utf8_lossy(line).trim().to_owned());
            line.starts_with(b"{")
        });
        let (mark, seen) = ledger.read(from, visit).await.unwrap();
        let lines = found.lock().unwrap().clone();
        (lines, mark, seen)
    }

    #[tokio::test]
    async fn lines_go_to_their_month_and_reading_goes_on_where_it_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = UsageLedgerFiles::new(dir.path());
        ledger.append(at("2026-10-31T23:59:59Z"), "{1}".into()).await.unwrap();
        ledger.record(at("2026-11-01T00:00:00Z"), "{2}".into());
        ledger.append(at("2026-11-02T00:00:00Z"), "{3}".into()).await.unwrap();
        let (all, mark, seen) = lines(&ledger, LedgerMark::default()).await;
        assert_eq!((all, seen.lines), (vec!["{1}".to_owned(), "{2}".into(), "{3}".into()], 3));
        assert_eq!(mark.offsets, [("2026-10".to_owned(), 4), ("2026-11".to_owned(), 8)].into());
        assert_eq!(mark, ledger.end().await.unwrap());
        ledger.append(at("2026-11-03T00:00:00Z"), "{4}".into()).await.unwrap();
        // The clock goes back.
        ledger.append(at("2026-10-31T23:00:00Z"), "{5}".into()).await.unwrap();
        assert_eq!(lines(&ledger, mark).await.0, ["{5}", "{4}"]);
        assert_eq!(lines(&ledger, LedgerMark::from_month("2026-11")).await.0, ["{2}", "{3}", "{4}"]);
    }

    #[test]
    fn a_batch_of_two_months_is_synced_in_both_files_before_it_is_acknowledged() {
        let dir = tempfile::tempdir().unwrap();
        let syncs = Arc::new(AtomicU64::new(0));
        let mut writer = LedgerWriter { dir: dir.path().join("logs"), current: None, syncs: syncs.clone() };
        let (mut batch, mut acknowledged) = (Vec::new(), Vec::new());
        for (month, count) in [("2026-10", 2), ("2026-11", 2)] {
            for _ in 0..count {
                let (done, synced) = oneshot::channel();
                batch.push(LedgerJob::Line { month: month.into(), line: "{}".into(), synced: Some(done) });
                acknowledged.push(synced);
            }
        }
        writer.take(batch);
        assert!(acknowledged.into_iter().all(|synced| synced.blocking_recv().unwrap().is_ok()));
        assert_eq!(syncs.load(Ordering::Relaxed), 2, "once for each file");
    }

    #[tokio::test]
    async fn a_torn_line_is_passed_over_and_the_next_stands_on_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let logs = dir.path().join("logs");
        private_dir(&logs).unwrap();
        let path = logs.join("usage-2026-11.jsonl");
        private_file().create(true).append(true).open(&path).unwrap().write_all(b"torn").unwrap();
        let ledger = UsageLedgerFiles::new(dir.path());
        assert_eq!(lines(&ledger, LedgerMark::default()).await.0, Vec::<String>::new(), "it has no end yet");
        ledger.append(at("2026-11-03T00:00:00Z"), "{1}".into()).await.unwrap();
        let (all, _, seen) = lines(&ledger, LedgerMark::default()).await;
        assert_eq!((all.len(), seen), (2, LedgerRead { lines: 2, unreadable: 1 }));
    }

    #[tokio::test]
    async fn a_disk_that_refuses_is_told_to_who_waits() {
        let dir = tempfile::tempdir().unwrap();
        // A file in place of the folder stops root as well.
        private_file().create(true).append(true).open(dir.path().join("logs")).unwrap();
        let ledger = UsageLedgerFiles::new(dir.path());
        assert!(ledger.append(at("2026-11-03T00:00:00Z"), "{1}".into()).await.is_err());
    }
}
