//! The audit trail on disk: `logs/audit-<date>.jsonl`, one append-only file per day by the lines' own time in UTC.
//!
//! One thread writes; callers queue a line and continue. A line that does not fit into the queue, or that cannot be
//! written, is counted, and the trail records how many are missing. Each line is one write, so that several processes
//! can append to the same file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::disk::refused;
use super::layout::{Layout, private_dir, private_file};
use super::lines::last_end;
use crate::domain::Timestamp;
use crate::ports::{
    Audit, AuditEvent, AuditLine, AuditLines, AuditQuery, BoxFuture, Redaction, StoreError, StoredAuditLine,
};

/// Most lines in the queue.
const WAITING: usize = 4096;

enum AuditTask {
    Line(Box<AuditLine>),
    Flush(oneshot::Sender<()>),
}

/// The trail of one project. Dropping it lets the writer finish its queue.
pub struct AuditLog {
    dir: PathBuf,
    tasks: mpsc::Sender<AuditTask>,
    /// The writer until the first line starts its thread: a command that only reads needs none.
    idle: Mutex<Option<(AuditWriter, mpsc::Receiver<AuditTask>)>>,
    redact: Arc<OnceLock<Redaction>>,
    lost: Arc<AtomicU64>,
}

impl std::fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditLog").field("dir", &self.dir).field("lost", &self.lost).finish_non_exhaustive()
    }
}

impl AuditLog {
    /// The trail under this `.ship` directory. Opens no file before the first line.
    pub fn new(ship_dir: &Path) -> Self {
        let (tasks, inbox) = mpsc::channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let redact = Arc::new(OnceLock::new());
        let dir = Layout::new(ship_dir).logs();
        let writer = AuditWriter {
            dir: dir.clone(),
            redact: Arc::clone(&redact),
            lost: Arc::clone(&lost),
            today: None,
            failing: false,
        };
        Self { dir, tasks, idle: Mutex::new(Some((writer, inbox))), redact, lost }
    }

    /// Starts the writer's thread, once. If that fails, every line is counted as lost.
    fn start(&self) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((writer, inbox)) = idle else { return };
        let thread = std::thread::Builder::new().name("audit".to_owned());
        if let Err(error) = thread.spawn(move || writer.run(inbox)) {
            tracing::error!(%error, "audit writer not started; lines are lost");
        }
    }
}

impl Audit for AuditLog {
    fn record(&self, line: AuditLine) {
        self.start();
        if self.tasks.try_send(AuditTask::Line(Box::new(line))).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn redact_with(&self, redact: Redaction) {
        if self.redact.set(redact).is_err() {
            tracing::debug!("audit redaction was set before");
        }
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.idle.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                return;
            }
            let (done, settled) = oneshot::channel();
            if self.tasks.send(AuditTask::Flush(done)).await.is_ok() {
                // A writer that has ended has written its queue.
                settled.await.unwrap_or_default();
            }
        })
    }

    fn read(&self, query: AuditQuery) -> BoxFuture<'_, Result<AuditLines, StoreError>> {
        let dir = self.dir.clone();
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || read(&dir, &query));
            read.await.map_err(|_| StoreError::closed())?
        })
    }
}

/// The newest lines that match, from the newest file back.
fn read(dir: &Path, query: &AuditQuery) -> Result<AuditLines, StoreError> {
    let mut found = VecDeque::new();
    let (mut unreadable, mut skipped) = (0, 0);
    for path in audit_files(dir, query.since)?.iter().rev() {
        if found.len() >= query.limit {
            break;
        }
        let bytes = std::fs::read(path).map_err(|source| refused(path, source))?;
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        // The newest lines of a file first, so that only lines in the result are kept.
        for line in lines.rev() {
            match serde_json::from_slice::<Value>(line) {
                Ok(facts) if facts.is_object() => {
                    if found.len() >= query.limit || !query.fits(&facts) {
                        continue;
                    }
                    if skipped < query.skip {
                        skipped += 1;
                    } else {
                        let text = String::from_utf8_lossy(line).into_owned();
                        found.push_front(StoredAuditLine { text, facts });
                    }
                }
                Ok(_) | Err(_) => unreadable += 1,
            }
        }
    }
    Ok(AuditLines { lines: found.into(), unreadable })
}

/// The file of the current day.
struct Today {
    date: String,
    file: File,
}

struct AuditWriter {
    dir: PathBuf,
    redact: Arc<OnceLock<Redaction>>,
    lost: Arc<AtomicU64>,
    today: Option<Today>,
    /// Whether the last write failed; only the first failure in a row is logged.
    failing: bool,
}

impl AuditWriter {
    fn run(mut self, mut inbox: mpsc::Receiver<AuditTask>) {
        while let Some(task) = inbox.blocking_recv() {
            match task {
                AuditTask::Line(line) => self.take(&line),
                AuditTask::Flush(done) => {
                    self.settle();
                    // The caller may have timed out.
                    done.send(()).unwrap_or_default();
                }
            }
        }
        self.settle();
    }

    fn take(&mut self, line: &AuditLine) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        let written = if lost > 0 { self.tell_lost(lost, line.at) } else { Ok(()) };
        // The gap and the line belong together: both are written, or both are counted.
        match written.and_then(|()| self.write(line)) {
            Ok(()) => self.failing = false,
            Err(error) => {
                self.lost.fetch_add(lost + 1, Ordering::Relaxed);
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::error!(%error, "audit write failed; lines are lost");
                }
            }
        }
    }

    fn tell_lost(&mut self, lost: u64, at: Timestamp) -> io::Result<()> {
        tracing::warn!(lost, "audit lines lost");
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
        let mut text = serde_json::to_string(line).map_err(io::Error::other)?;
        if let Some(redact) = self.redact.get() {
            text = redact(&text);
        }
        text.push('\n');
        let written = today.file.write_all(text.as_bytes());
        // After a failure a partial line may be there: opening the file again ends it.
        self.today = written.is_ok().then_some(today);
        written
    }

    fn settle(&mut self) {
        if let Some(today) = &self.today
            && let Err(error) = today.file.sync_data()
        {
            tracing::warn!(%error, "audit sync failed");
        }
    }
}

/// Opens the file of a day. A partial last line is ended, so that the next one begins on its own.
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

/// The day of a time, in UTC.
fn date_of(at: Timestamp) -> String {
    at.rfc3339().chars().take_while(|letter| *letter != 'T').collect()
}

/// The audit files in a folder from the day of `since` on, oldest first.
fn audit_files(dir: &Path, since: Option<Timestamp>) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(refused(dir, source)),
    };
    let first = since.map(|since| file_of(dir, &date_of(since)));
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|source| refused(dir, source))?.path();
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

    use super::*;

    const DAY: i64 = 24 * 3600 * 1000;

    fn line(at: i64, reason: &str) -> AuditLine {
        AuditLine {
            reason: Some(reason.to_owned()),
            ..AuditLine::new(AuditEvent::Decision, Timestamp::from_millis(at))
        }
    }

    fn log(dir: &Path) -> AuditLog {
        let log = AuditLog::new(dir);
        log.redact_with(Box::new(|text| text.replace("hunter2", "[redacted]")));
        log
    }

    fn lines_in(path: &Path) -> Vec<Value> {
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
        let files = audit_files(&dir.path().join("logs"), None).unwrap();
        let names: Vec<_> = files.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["audit-1970-01-01.jsonl", "audit-1970-01-02.jsonl"]);
        let reasons =
            |path: &Path| lines_in(path).iter().map(|line| line["reason"].clone()).collect::<Vec<_>>();
        assert_eq!(reasons(&files[0]), ["one", "the key is [redacted]"]);
        assert_eq!(reasons(&files[1]), ["three", "four"]);
        assert_eq!(std::fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
        let later = audit_files(&dir.path().join("logs"), Some(Timestamp::from_millis(DAY + 5))).unwrap();
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
        assert_eq!(lines_in(&path).len(), 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
    }

    #[tokio::test]
    async fn what_could_not_be_written_is_counted_and_the_trail_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let logs = dir.path().join("logs");
        // A file in place of the folder stops root as well.
        private_file().create(true).append(true).open(&logs).unwrap();
        let log = log(dir.path());
        for number in 0..3 {
            log.record(line(number, "lost"));
        }
        log.flush().await;
        std::fs::remove_file(&logs).unwrap();
        log.record(line(5, "kept"));
        log.flush().await;
        let lines = lines_in(&logs.join("audit-1970-01-01.jsonl"));
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
        let files = audit_files(&dir.path().join("logs"), None).unwrap();
        assert_eq!(lines_in(&files[0]).len(), 1000);
    }
}
