//! The audit trail on disk: `logs/audit-<date>.jsonl`, a file a day by the lines' own time in UTC, only ever appended
//! to.
//!
//! One thread writes; whoever has a line hands it over and goes on. A line that finds no place, or that the disk does
//! not take, is counted, and the trail itself says how many are missing. Each line is one write, so that several
//! processes can append to the same file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::disk::refused;
use super::layout::{Layout, private_dir, private_file};
use super::lines::last_end;
use crate::domain::Timestamp;
use crate::ports::{Audit, AuditEvent, AuditLine, StoreError};

/// How many lines may wait for the disk.
const WAITING: usize = 4096;

/// Takes secrets out of a line.
pub type Redaction = Box<dyn Fn(&str) -> String + Send>;

enum Task {
    Line(Box<AuditLine>),
    Flush(oneshot::Sender<()>),
}

/// The trail of one project. Dropping it lets the writer finish what it was given.
#[derive(Debug)]
pub struct AuditLog {
    tasks: mpsc::Sender<Task>,
    lost: Arc<AtomicU64>,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Line(_) => "Line",
            Self::Flush(_) => "Flush",
        })
    }
}

impl AuditLog {
    /// Starts the writer. Touches no file before the first line.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(ship_dir: &Path, redact: Redaction) -> Result<Self, StoreError> {
        let (tasks, mut inbox) = mpsc::channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let dir = Layout::new(ship_dir).logs();
        let mut writer = Writer { dir: dir.clone(), redact, lost: lost.clone(), today: None, failing: false };
        let work = move || {
            while let Some(task) = inbox.blocking_recv() {
                match task {
                    Task::Line(line) => writer.take(&line),
                    Task::Flush(done) => {
                        writer.settle();
                        // Whoever asked may have run out of patience.
                        done.send(()).unwrap_or_default();
                    }
                }
            }
            writer.settle();
        };
        let thread = std::thread::Builder::new().name("audit".to_owned());
        thread.spawn(work).map_err(|source| refused(&dir, source))?;
        Ok(Self { tasks, lost })
    }

    /// Waits until every line that was taken is on the disk.
    pub async fn flush(&self) {
        let (done, settled) = oneshot::channel();
        if self.tasks.send(Task::Flush(done)).await.is_ok() {
            // A writer that is gone has written what it had.
            settled.await.unwrap_or_default();
        }
    }
}

impl Audit for AuditLog {
    fn record(&self, line: AuditLine) {
        if self.tasks.try_send(Task::Line(Box::new(line))).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The file of a day.
struct Today {
    date: String,
    file: File,
}

struct Writer {
    dir: PathBuf,
    redact: Redaction,
    lost: Arc<AtomicU64>,
    today: Option<Today>,
    /// Whether the last write failed; only the first of a row is told.
    failing: bool,
}

impl Writer {
    fn take(&mut self, line: &AuditLine) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        let written = if lost > 0 { self.tell_lost(lost, line.at) } else { Ok(()) };
        // The gap and the line go together: either both are there, or both are counted.
        match written.and_then(|()| self.write(line)) {
            Ok(()) => self.failing = false,
            Err(error) => {
                self.lost.fetch_add(lost + 1, Ordering::Relaxed);
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::error!(%error, "the audit trail cannot be written: lines are being lost");
                }
            }
        }
    }

    fn tell_lost(&mut self, lost: u64, at: Timestamp) -> io::Result<()> {
        tracing::warn!(lost, "audit lines were lost");
        let reason = Some(format!("{lost} lines could not be written before this one"));
        self.write(&AuditLine { reason, ..AuditLine::new(AuditEvent::LinesLost, at) })
    }

    fn write(&mut self, line: &AuditLine) -> io::Result<()> {
        let date = date_of(line.at);
        let mut today = match self.today.take() {
            Some(today) if today.date == date => today,
            earlier => {
                if let Some(earlier) = earlier {
                    earlier.file.sync_data()?;
                }
                Today { file: open(&self.dir, &date)?, date }
            }
        };
        let mut text = (self.redact)(&serde_json::to_string(line).map_err(io::Error::other)?);
        text.push('\n');
        let written = today.file.write_all(text.as_bytes());
        // After a failure half a line may be there: opening the file anew ends it.
        self.today = written.is_ok().then_some(today);
        written
    }

    fn settle(&mut self) {
        if let Some(today) = &self.today
            && let Err(error) = today.file.sync_data()
        {
            tracing::warn!(%error, "the audit trail may not survive a loss of power");
        }
    }
}

/// Opens the file of a day. A line that was torn is ended, so that the next begins on its own.
fn open(dir: &Path, date: &str) -> io::Result<File> {
    private_dir(dir)?;
    let mut file = private_file().read(true).append(true).create(true).open(file_of(dir, date))?;
    let length = file.metadata()?.len();
    if last_end(&file, length)? != length {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

fn file_of(dir: &Path, date: &str) -> PathBuf {
    dir.join(format!("audit-{date}.jsonl"))
}

/// The day of a moment, in UTC.
fn date_of(at: Timestamp) -> String {
    at.rfc3339().chars().take_while(|letter| *letter != 'T').collect()
}

/// The audit files of a project from the day of `since` on, oldest first.
pub fn audit_files(ship_dir: &Path, since: Option<Timestamp>) -> Result<Vec<PathBuf>, StoreError> {
    let dir = Layout::new(ship_dir).logs();
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(refused(&dir, source)),
    };
    let first = since.map(|since| file_of(&dir, &date_of(since)));
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|source| refused(&dir, source))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let ours = name.starts_with("audit-") && name.ends_with(".jsonl");
        if ours && first.as_ref().is_none_or(|first| path >= *first) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::Value;

    use super::*;

    const DAY: i64 = 24 * 3600 * 1000;

    fn line(at: i64, reason: &str) -> AuditLine {
        AuditLine {
            reason: Some(reason.to_owned()),
            ..AuditLine::new(AuditEvent::Decision, Timestamp::from_millis(at))
        }
    }

    fn log(dir: &Path) -> AuditLog {
        AuditLog::start(dir, Box::new(|text| text.replace("hunter2", "[redacted]"))).unwrap()
    }

    fn read(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    #[tokio::test]
    async fn lines_go_to_the_file_of_their_own_day_in_order_and_without_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(dir.path());
        for (at, reason) in [(0, "one"), (DAY - 1, "the key is hunter2"), (DAY, "three"), (DAY + 1, "four")] {
            log.record(line(at, reason));
        }
        log.flush().await;
        let files = audit_files(dir.path(), None).unwrap();
        let names: Vec<_> = files.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["audit-1970-01-01.jsonl", "audit-1970-01-02.jsonl"]);
        let reasons = |path: &Path| read(path).iter().map(|line| line["reason"].clone()).collect::<Vec<_>>();
        assert_eq!(reasons(&files[0]), ["one", "the key is [redacted]"]);
        assert_eq!(reasons(&files[1]), ["three", "four"]);
        assert_eq!(std::fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
        let later = audit_files(dir.path(), Some(Timestamp::from_millis(DAY + 5))).unwrap();
        assert_eq!(later, [files[1].clone()]);
    }

    #[tokio::test]
    async fn a_torn_line_is_ended_and_the_next_stands_on_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let logs = dir.path().join("logs");
        private_dir(&logs).unwrap();
        let path = logs.join("audit-1970-01-01.jsonl");
        private_file().create(true).append(true).open(&path).unwrap().write_all(b"{\"at\":\"19").unwrap();
        let log = log(dir.path());
        log.record(line(1, "after the crash"));
        log.flush().await;
        assert_eq!(read(&path).len(), 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
    }

    #[tokio::test]
    async fn what_could_not_be_written_is_counted_and_the_trail_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let logs = dir.path().join("logs");
        // A file where the folder should be stops root as well as anybody else.
        private_file().create(true).append(true).open(&logs).unwrap();
        let log = log(dir.path());
        for number in 0..3 {
            log.record(line(number, "lost"));
        }
        log.flush().await;
        std::fs::remove_file(&logs).unwrap();
        log.record(line(5, "kept"));
        log.flush().await;
        let lines = read(&logs.join("audit-1970-01-01.jsonl"));
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0]["event"], "lines-lost");
        assert!(lines[0]["reason"].as_str().unwrap().starts_with("3 lines"), "{lines:?}");
        assert_eq!(lines[1]["reason"], "kept");
    }

    #[tokio::test]
    async fn two_writers_of_one_file_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (log(dir.path()), log(dir.path()));
        for number in 0..500 {
            one.record(line(number, "one"));
            other.record(line(number, "other"));
        }
        tokio::join!(one.flush(), other.flush());
        let files = audit_files(dir.path(), None).unwrap();
        assert_eq!(read(&files[0]).len(), 1000);
    }
}
