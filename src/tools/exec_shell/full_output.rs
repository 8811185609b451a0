//! Everything a command says, in a file for people: the model is shown an excerpt.

use std::io;
use std::path::{Path, PathBuf};

use tokio::fs::{DirBuilder, File, OpenOptions, remove_file};
use tokio::io::AsyncWriteExt;

use super::kept_outputs::{PREFIX, SUFFIX, prune};
use crate::domain::ToolCallId;

/// More than this is not kept.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Where the files are, below the project.
const FOLDER: &str = ".ship/logs";

/// The file of one call, made when there is something to write.
#[derive(Debug)]
pub(super) struct FullOutput {
    folder: PathBuf,
    name: String,
    state: State,
    written: u64,
}

#[derive(Debug)]
enum State {
    Fresh,
    Open(File, PathBuf),
    /// It cannot be written; the command matters more.
    Broken,
}

impl FullOutput {
    /// The file of this call.
    pub(super) fn new(project: &Path, call: &ToolCallId) -> Self {
        let name = format!("{PREFIX}{}", plain_name(call.as_str()));
        Self { folder: project.join(FOLDER), name, state: State::Fresh, written: 0 }
    }

    /// Adds text, as long as there is room.
    pub(super) async fn write(&mut self, text: &str) {
        if text.is_empty() || self.written >= FILE_BYTES {
            return;
        }
        self.written += text.len() as u64;
        if let Err(error) = self.try_write(text).await {
            tracing::warn!(%error, file = self.name, "full output of a tool cannot be written");
            self.state = State::Broken;
        }
    }

    async fn try_write(&mut self, text: &str) -> io::Result<()> {
        if matches!(self.state, State::Fresh) {
            let (file, path) = self.create().await?;
            self.state = State::Open(file, path);
        }
        match &mut self.state {
            State::Open(file, _) => file.write_all(text.as_bytes()).await,
            State::Fresh | State::Broken => Ok(()),
        }
    }

    /// Model servers choose the ids of calls, and some count from one in every conversation.
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

    /// Closes the file; where it is not `needed` it goes away. Gives its path, relative to the project.
    pub(super) async fn close(self, needed: bool) -> Option<String> {
        let State::Open(mut file, path) = self.state else { return None };
        if let Err(error) = file.flush().await {
            tracing::warn!(%error, file = %path.display(), "full output of a tool cannot be written");
        }
        if needed {
            let folder = self.folder;
            // Runs detached: an interrupted pruning is done by the next one.
            drop(tokio::task::spawn_blocking(move || prune(&folder)));
            return Some(format!("{FOLDER}/{}", path.file_name()?.to_string_lossy()));
        }
        if let Err(error) = remove_file(&path).await {
            tracing::warn!(%error, file = %path.display(), "a file that is not needed cannot be removed");
        }
        None
    }
}

/// An id as part of a file name.
pub(super) fn plain_name(id: &str) -> String {
    let plain =
        |letter: char| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '_' };
    id.chars().take(80).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Project;

    #[tokio::test]
    async fn what_is_needed_stays_what_is_not_goes_and_nothing_is_overwritten() {
        let project = Project::new();
        let call: ToolCallId = "../call 1".parse().unwrap();
        for (needed, expected) in [
            (true, Some(".ship/logs/tool-___call_1.log")),
            (false, None),
            (true, Some(".ship/logs/tool-___call_1-2.log")),
        ] {
            let mut full = FullOutput::new(project.root(), &call);
            full.write("words").await;
            assert_eq!(full.close(needed).await.as_deref(), expected);
        }
        assert_eq!(std::fs::read_dir(project.path(".ship/logs")).unwrap().count(), 2);
        assert_eq!(FullOutput::new(project.root(), &call).close(true).await, None);
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_made_is_no_reason_to_fail() {
        let project = Project::new();
        project.file(".ship", "a file in the way");
        let mut full = FullOutput::new(project.root(), &"c".parse().unwrap());
        full.write("words").await;
        assert_eq!(full.close(true).await, None);
    }
}
