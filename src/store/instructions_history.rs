//! Replaces the text of `Agent.md` for the operator, and keeps the last texts.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::replace_file;
use crate::domain::{AuthorId, Timestamp};
use crate::ports::{
    BoxFuture, Durability, EditableInstructions, InstructionsEditor, InstructionsVersion, InstructionsWrite,
    KeyValueStore, StoreError, StoreErrorKind,
};

/// How many earlier texts are kept.
const KEPT: usize = 20;
/// The largest text: all of it goes into every model call.
const MAX_BYTES: usize = 256 * 1024;
/// The mode of a file that was missing.
const MODE: u32 = 0o644;

/// The instructions file and its earlier texts.
#[derive(Debug)]
pub struct InstructionsHistory {
    path: PathBuf,
    versions: Arc<dyn KeyValueStore>,
    /// One change at a time.
    turn: Semaphore,
}

impl InstructionsHistory {
    /// The file at `path`; `versions` keeps one note for each earlier text.
    pub fn new(path: PathBuf, versions: Arc<dyn KeyValueStore>) -> Self {
        Self { path, versions, turn: Semaphore::new(1) }
    }

    async fn text(&self) -> Result<String, StoreError> {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            read => read.map_err(|source| failed(&path, source)),
        });
        read.await.map_err(|_| StoreError::closed())?
    }

    /// The earlier texts with their ids, newest first.
    async fn all(&self) -> Result<Vec<(String, Value)>, StoreError> {
        let mut all = self.versions.all().await?;
        all.sort_by(|(one, _), (other, _)| other.cmp(one));
        Ok(all)
    }

    /// Keeps a text that is replaced. The id sorts by time.
    async fn keep(&self, text: &str, by: &AuthorId, at: Timestamp) -> Result<(), StoreError> {
        let all = self.all().await?;
        if all.first().is_some_and(|(_, newest)| newest.get("text").is_some_and(|known| known == text)) {
            return Ok(());
        }
        let id = format!("v{:015}", at.as_millis());
        let version = json!({ "text": text, "at": at.rfc3339(), "by": by.as_str() });
        self.versions.put(&id, version, Durability::Synced).await?;
        for (old, _) in all.iter().skip(KEPT.saturating_sub(1)) {
            self.versions.remove(old).await?;
        }
        Ok(())
    }
}

impl InstructionsEditor for InstructionsHistory {
    fn read(&self) -> BoxFuture<'_, Result<EditableInstructions, StoreError>> {
        Box::pin(async move {
            let version = |(id, note): (String, Value)| {
                let text = |key: &str| note.get(key).and_then(Value::as_str).unwrap_or_default();
                InstructionsVersion {
                    replaced_at: text("at").to_owned(),
                    replaced_by: text("by").to_owned(),
                    characters: text("text").chars().count(),
                    id,
                }
            };
            let versions = self.all().await?.into_iter().map(version).collect();
            Ok(EditableInstructions { text: self.text().await?, versions })
        })
    }

    fn version<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async move {
            let note = self.versions.get(id).await?;
            Ok(note.and_then(|note| note.get("text")?.as_str().map(str::to_owned)))
        })
    }

    fn write<'a>(
        &'a self,
        text: String,
        before: &'a str,
        by: &'a AuthorId,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<InstructionsWrite, StoreError>> {
        Box::pin(async move {
            if text.trim().is_empty() {
                return Ok(InstructionsWrite::Empty);
            }
            if text.len() > MAX_BYTES {
                return Ok(InstructionsWrite::TooLong);
            }
            let _turn = self.turn.acquire().await.map_err(|_| StoreError::closed())?;
            let current = self.text().await?;
            if current != before {
                return Ok(InstructionsWrite::Conflict);
            }
            if current != text && !current.is_empty() {
                self.keep(&current, by, at).await?;
            }
            let path = self.path.clone();
            let written = tokio::task::spawn_blocking(move || {
                let path = path.canonicalize().unwrap_or(path);
                let mode = std::fs::metadata(&path).map_or(MODE, |old| old.permissions().mode() & 0o777);
                replace_file(&path, text.as_bytes(), mode).map_err(|source| failed(&path, source))
            });
            written.await.map_err(|_| StoreError::closed())??;
            Ok(InstructionsWrite::Written)
        })
    }
}

fn failed(path: &Path, source: std::io::Error) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, path.to_string_lossy(), source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::InMemoryNotes;

    #[tokio::test]
    async fn a_text_is_replaced_once_and_the_last_ones_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("Agent.md");
        replace_file(&path, b"text 0", 0o640).unwrap();
        let history = InstructionsHistory::new(path.clone(), Arc::new(InMemoryNotes::default()));
        let by: AuthorId = "web:user:operator".parse().unwrap();
        let at = |number: i64| Timestamp::from_millis(1_000 * number);
        for number in 1..=25 {
            let before = format!("text {}", number - 1);
            let written = history.write(format!("text {number}"), &before, &by, at(number)).await;
            assert_eq!(written.unwrap(), InstructionsWrite::Written);
        }
        assert_eq!(
            history.write("mine".into(), "text 3", &by, at(30)).await.unwrap(),
            InstructionsWrite::Conflict
        );
        assert_eq!(
            history.write(" \n".into(), "text 25", &by, at(30)).await.unwrap(),
            InstructionsWrite::Empty
        );
        let long = "x".repeat(MAX_BYTES + 1);
        assert_eq!(history.write(long, "text 25", &by, at(30)).await.unwrap(), InstructionsWrite::TooLong);
        let read = history.read().await.unwrap();
        assert_eq!((read.text.as_str(), read.versions.len()), ("text 25", KEPT));
        assert_eq!(read.versions[0].replaced_by, "web:user:operator");
        let newest = history.version(&read.versions[0].id).await.unwrap();
        assert_eq!(newest.as_deref(), Some("text 24"));
        assert_eq!(history.version("v1").await.unwrap(), None);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o640);
    }
}
