//! Reads the output of a command as it arrives, and keeps excerpts.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::clean::Cleaner;
use super::excerpt::Excerpt;
use super::settings::Redact;
use crate::ports::{Progress, ToolOutput};

/// The size of the excerpts; together they fit into a tool's output limit.
const STDOUT_BYTES: usize = 16 * 1024;
const STDERR_BYTES: usize = 8 * 1024;

const CHUNK_BYTES: usize = 64 * 1024;
const PROGRESS_EVERY: Duration = Duration::from_secs(1);
const LINE_CHARS: usize = 200;

/// The output of a command.
#[derive(Debug)]
pub(super) struct CommandTranscript {
    pub(super) stdout: Excerpt,
    pub(super) stderr: Excerpt,
    clean_stdout: Cleaner,
    clean_stderr: Cleaner,
    full: Box<dyn ToolOutput>,
    bytes: u64,
    progress: Option<mpsc::Sender<Progress>>,
    told: Instant,
}

impl CommandTranscript {
    pub(super) fn new(
        redact: &Redact,
        full: Box<dyn ToolOutput>,
        progress: Option<mpsc::Sender<Progress>>,
    ) -> Self {
        Self {
            stdout: Excerpt::new(STDOUT_BYTES),
            stderr: Excerpt::new(STDERR_BYTES),
            clean_stdout: Cleaner::new(redact.clone()),
            clean_stderr: Cleaner::new(redact.clone()),
            full,
            bytes: 0,
            progress,
            told: Instant::now(),
        }
    }

    /// Reads until both streams are closed. When it is dropped, what was read until then is kept.
    pub(super) async fn record(
        &mut self,
        mut stdout: impl AsyncRead + Unpin,
        mut stderr: impl AsyncRead + Unpin,
    ) {
        let (mut out, mut err) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
        let (mut out_open, mut err_open) = (true, true);
        while out_open || err_open {
            tokio::select! {
                read = stdout.read(&mut out), if out_open => {
                    let chunk = read.ok().and_then(|length| out.get(..length)).unwrap_or_default();
                    out_open = !chunk.is_empty();
                    let text = self.clean_stdout.feed(chunk);
                    self.stdout.push(&text);
                    self.heard(chunk.len(), &text).await;
                }
                read = stderr.read(&mut err), if err_open => {
                    let chunk = read.ok().and_then(|length| err.get(..length)).unwrap_or_default();
                    err_open = !chunk.is_empty();
                    let text = self.clean_stderr.feed(chunk);
                    self.stderr.push(&text);
                    self.heard(chunk.len(), &text).await;
                }
            }
        }
    }

    async fn heard(&mut self, bytes: usize, text: &str) {
        if bytes == 0 {
            return;
        }
        self.bytes += bytes as u64;
        self.full.write(text).await;
        let Some(progress) = self.progress.as_ref().filter(|_| self.told.elapsed() >= PROGRESS_EVERY) else {
            return;
        };
        self.told = Instant::now();
        let line =
            self.clean_stdout.last_line().or_else(|| self.clean_stderr.last_line()).unwrap_or_default();
        let last_line = line.chars().take(LINE_CHARS).collect();
        // Progress is best effort: a full queue drops it.
        drop(progress.try_send(Progress { bytes: self.bytes, last_line }));
    }

    /// Adds the text that was held back and closes the file; returns its path where the excerpts are incomplete.
    pub(super) async fn finish(mut self) -> CommandOutput {
        let (stdout, stderr) = (self.clean_stdout.finish(), self.clean_stderr.finish());
        self.stdout.push(&stdout);
        self.stderr.push(&stderr);
        self.full.write(&stdout).await;
        self.full.write(&stderr).await;
        let truncated = self.stdout.is_cut() || self.stderr.is_cut();
        CommandOutput {
            stdout: self.stdout.text(),
            stderr: self.stderr.text(),
            truncated,
            full: self.full.close(truncated).await,
        }
    }
}

/// The output for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandOutput {
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Whether something was omitted.
    pub(super) truncated: bool,
    /// The path of the complete output.
    pub(super) full: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::ToolOutputs as _;
    use crate::store::ToolOutputFiles;
    use crate::tools::testing::Project;

    fn transcript(project: &Project, progress: Option<mpsc::Sender<Progress>>) -> CommandTranscript {
        let full = ToolOutputFiles::new(&project.path(".ship")).begin(&"c1".parse().unwrap());
        CommandTranscript::new(&Redact::new(|text| text.replace("hunter2", "[redacted]")), full, progress)
    }

    #[tokio::test]
    async fn little_is_told_whole_and_leaves_no_file() {
        let project = Project::new();
        let mut transcript = transcript(&project, None);
        transcript.record(&b"out hunter2\n"[..], &b"err\n"[..]).await;
        let said = transcript.finish().await;
        let expected = CommandOutput {
            stdout: "out [redacted]\n".into(),
            stderr: "err\n".into(),
            truncated: false,
            full: None,
        };
        assert_eq!(said, expected);
        assert_eq!(std::fs::read_dir(project.path(".ship/logs")).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn much_is_told_by_its_ends_and_kept_whole_without_its_secrets() {
        let project = Project::new();
        let mut transcript = transcript(&project, None);
        let text = format!("first\n{}last\n", "hunter2 and more words\n".repeat(20_000));
        transcript.record(text.as_bytes(), &b"err\n"[..]).await;
        let said = transcript.finish().await;
        assert!(said.truncated && said.stdout.starts_with("first\n") && said.stdout.ends_with("last\n"));
        assert!(said.stdout.len() < 2 * STDOUT_BYTES + 100 && said.stdout.contains("bytes left out"));
        let full = std::fs::read_to_string(project.path(&said.full.unwrap())).unwrap();
        assert!(full.len() > 400_000 && !full.contains("hunter2") && full.contains("last\n"));
    }

    #[tokio::test(start_paused = true)]
    async fn progress_is_told_now_and_then_and_never_waited_for() {
        let project = Project::new();
        let (sender, mut receiver) = mpsc::channel(1);
        let mut transcript = transcript(&project, Some(sender));
        for _ in 0..3 {
            tokio::time::advance(PROGRESS_EVERY).await;
            transcript.record(&b"compiling\n"[..], &b""[..]).await;
        }
        let progress = receiver.recv().await.unwrap();
        assert_eq!((progress.bytes, progress.last_line.as_str()), (10, "compiling"));
        drop(transcript);
        assert_eq!(receiver.recv().await, None);
    }
}
