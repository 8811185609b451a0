//! The full output of commands in files for people: the model gets an excerpt.

use std::io;
use std::path::{Path, PathBuf};

use tokio::fs::{DirBuilder, File, OpenOptions, remove_file};
use tokio::io::AsyncWriteExt;

use super::kept_outputs::{PREFIX, SUFFIX, prune};
use super::layout::Layout;
use crate::domain::ToolCallId;
use crate::ports::{BoxFuture, ToolOutput, ToolOutputs};

/// Largest file; further output is dropped.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The folder, relative to the project.
const FOLDER: &str = ".ship/logs";

/// The full outputs of one project's calls: `logs/tool-<call>.log`.
#[derive(Clone, Debug)]
pub struct ToolOutputFiles {
    folder: PathBuf,
}

impl ToolOutputFiles {
    /// The outputs under this `.ship` directory. Opens nothing.
    pub fn new(ship_dir: &Path) -> Self {
        Self { folder: Layout::new(ship_dir).logs() }
    }
}

impl ToolOutputs for ToolOutputFiles {
    fn begin(&self, call: &ToolCallId) -> Box<dyn ToolOutput> {
        let name = format!("{PREFIX}{}", call.plain_name());
        Box::new(FullOutput { folder: self.folder.clone(), name, state: OutputState::Fresh, written: 0 })
    }
}

/// The file of one call, created with the first text.
#[derive(Debug)]
struct FullOutput {
    folder: PathBuf,
    name: String,
    state: OutputState,
    written: u64,
}

#[derive(Debug)]
enum OutputState {
    Fresh,
    Open(File, PathBuf),
    /// Writing has failed; the command continues.
    Broken,
}

impl FullOutput {
    async fn try_write(&mut self, text: &str) -> io::Result<()> {
        if matches!(self.state, OutputState::Fresh) {
            let (file, path) = self.create().await?;
            self.state = OutputState::Open(file, path);
        }
        match &mut self.state {
            OutputState::Open(file, _) => file.write_all(text.as_bytes()).await,
            OutputState::Fresh | OutputState::Broken => Ok(()),
        }
    }

    /// Creates the file with a unique name: model servers choose the ids of calls, and some count from one in every
    /// conversation.
    async fn create(&self) -> io::Result<(File, PathBuf)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).await?;
        let mut number = 1;
        loop {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let path = self.folder.join(format!("{}{suffix}{SUFFIX}", self.name));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).await {
                Ok(file) => return Ok((file, path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 10_000 => number += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

impl ToolOutput for FullOutput {
    fn write<'a>(&'a mut self, text: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if text.is_empty() || self.written >= FILE_BYTES {
                return;
            }
            self.written += text.len() as u64;
            if let Err(error) = self.try_write(text).await {
                tracing::warn!(%error, file = self.name, "tool output not written");
                self.state = OutputState::Broken;
            }
        })
    }

    fn close(self: Box<Self>, needed: bool) -> BoxFuture<'static, Option<String>> {
        Box::pin(async move {
            let OutputState::Open(mut file, path) = self.state else { return None };
            if let Err(error) = file.flush().await {
                tracing::warn!(%error, file = %path.display(), "tool output not written");
            }
            if needed {
                let folder = self.folder;
                // Not awaited; an interruption loses nothing.
                drop(tokio::task::spawn_blocking(move || prune(&folder)));
                return Some(format!("{FOLDER}/{}", path.file_name()?.to_string_lossy()));
            }
            if let Err(error) = remove_file(&path).await {
                tracing::warn!(%error, file = %path.display(), "unneeded tool output not removed");
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_needed_stays_what_is_not_goes_and_nothing_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let outputs = ToolOutputFiles::new(dir.path());
        let call: ToolCallId = "../call 1".parse().unwrap();
        for (needed, expected) in [
            (true, Some(".ship/logs/tool-___call_1.log")),
            (false, None),
            (true, Some(".ship/logs/tool-___call_1-2.log")),
        ] {
            let mut full = outputs.begin(&call);
            full.write("words").await;
            assert_eq!(full.close(needed).await.as_deref(), expected);
        }
        assert_eq!(std::fs::read_dir(dir.path().join("logs")).unwrap().count(), 2);
        assert_eq!(outputs.begin(&call).close(true).await, None);
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_made_is_no_reason_to_fail() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut full = ToolOutputFiles::new(file.path()).begin(&"c".parse().unwrap());
        full.write("words").await;
        assert_eq!(full.close(true).await, None);
    }
}
