//! Memory and tasks: `.ship/memory/project.md`, `.ship/memory/users/<author>.md`, `.ship/tasks/*.md`. People may edit
//! these files; each is read again whenever it is needed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::atomic::replace_file;
use super::disk::on_disk;
use super::layout::{Layout, private_dir};
use super::memory_notes::add_notes;
use crate::domain::{MemoryScope, Remembered, ScopeKey, TaskNote};
use crate::ports::{BoxFuture, Memory, Note, NotesAdded, StoreError};

/// Most bytes read of a file: all of it goes into each prompt.
const MOST_BYTES: u64 = 16 * 1024;
/// Held by the process that writes memory.
const LOCK: &str = ".lock";
/// Most tasks in a list.
const MOST_TASKS: usize = 100;
/// How much of a file is searched for a title.
const TITLE_BYTES: u64 = 4 * 1024;

/// The memory of one project.
#[derive(Clone, Debug)]
pub struct FileMemory {
    layout: Layout,
    /// Held while writing.
    turn: Arc<Mutex<()>>,
}

impl FileMemory {
    /// The memory under this `.ship` directory. Opens nothing.
    pub fn new(ship_dir: impl Into<PathBuf>) -> Self {
        Self { layout: Layout::new(ship_dir), turn: Arc::default() }
    }

    fn path(&self, scope: &MemoryScope) -> PathBuf {
        self.layout.root().join(scope.file())
    }
}

impl Memory for FileMemory {
    fn recall(&self, scope: &MemoryScope) -> BoxFuture<'_, Result<Option<Remembered>, StoreError>> {
        let path = self.path(scope);
        Box::pin(on_disk(path, read))
    }

    fn remember(
        &self,
        scope: &MemoryScope,
        before: Option<&str>,
        text: &str,
    ) -> BoxFuture<'_, Result<bool, StoreError>> {
        let (turn, before, text) = (self.turn.clone(), before.map(str::to_owned), text.to_owned());
        Box::pin(on_disk(self.path(scope), move |path| {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            if read(path)?.map(|found| found.text) != before {
                return Ok(false);
            }
            private_dir(path.parent().unwrap_or(path))?;
            replace_file(path, text.as_bytes(), 0o600)?;
            Ok(true)
        }))
    }

    fn add_notes(&self, scope: &ScopeKey, notes: Vec<Note>) -> BoxFuture<'_, Result<NotesAdded, StoreError>> {
        let lock = self.layout.memory().join(LOCK);
        Box::pin(on_disk(self.layout.root().join(scope.notes_folder()), move |folder| {
            add_notes(folder, &lock, notes)
        }))
    }

    fn tasks(&self) -> BoxFuture<'_, Result<Vec<TaskNote>, StoreError>> {
        Box::pin(on_disk(self.layout.tasks(), tasks_in))
    }
}

fn read(path: &Path) -> io::Result<Option<Remembered>> {
    let Some((text, cut)) = begin(path, MOST_BYTES)? else { return Ok(None) };
    Ok(Some(Remembered { text: text.trim().to_owned(), cut }).filter(|found| !found.text.is_empty()))
}

fn tasks_in(folder: &Path) -> io::Result<Vec<TaskNote>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|ending| ending == "md") && path.is_file());
    files.sort();
    files.truncate(MOST_TASKS);
    let note = |path: PathBuf| {
        let text = begin(&path, TITLE_BYTES)?.map(|(text, _)| text).unwrap_or_default();
        let name = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let title = heading(&text).unwrap_or_else(|| name(path.file_stem()));
        Ok(TaskNote { file: name(path.file_name()), title })
    };
    files.into_iter().map(note).collect()
}

/// The first heading of a text.
fn heading(text: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix('#'));
    lines
        .map(|line| line.trim_matches(|c: char| c == '#' || c.is_whitespace()).to_owned())
        .find(|line| !line.is_empty())
}

/// The beginning of a file, and whether there is more; `None` where there is no file.
fn begin(path: &Path, most: u64) -> io::Result<Option<(String, bool)>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    let cut = bytes.len() as u64 > most;
    if cut {
        // A partial line could have another meaning than the whole.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(bytes.len() - 1, |at| at + 1);
        bytes.truncate(end);
    }
    Ok(Some((String::from_utf8_lossy(&bytes).into_owned(), cut)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(id: &str) -> MemoryScope {
        MemoryScope::Person(id.parse().unwrap())
    }

    #[tokio::test]
    async fn what_is_remembered_is_there_for_whom_it_is_and_for_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let memory = FileMemory::new(dir.path());
        let ann = person("telegram:user:7");
        assert_eq!(memory.recall(&MemoryScope::Project).await.unwrap(), None);
        assert!(memory.remember(&ann, None, "likes tea\n").await.unwrap());
        assert!(!memory.remember(&ann, None, "likes milk\n").await.unwrap(), "it was changed meanwhile");
        assert!(memory.remember(&MemoryScope::Project, None, "ship on Fridays\n").await.unwrap());
        let found = async |scope| memory.recall(&scope).await.unwrap().map(|found| found.text);
        assert_eq!(found(ann).await.as_deref(), Some("likes tea"));
        assert_eq!(found(MemoryScope::Project).await.as_deref(), Some("ship on Fridays"));
        assert_eq!(found(person("telegram:user:8")).await, None);
        assert!(dir.path().join("memory/users/telegram%3Auser%3A7.md").is_file());
        let long = person(&format!("web:user:{}", "%E5%BC%A0".repeat(80)));
        assert!(memory.remember(&long, None, "has a long name\n").await.unwrap());
        assert_eq!(found(long).await.as_deref(), Some("has a long name"));
    }

    #[tokio::test]
    async fn a_long_file_is_cut_between_lines_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let memory = FileMemory::new(dir.path());
        let line = "记住这一行\n";
        assert!(memory.remember(&MemoryScope::Project, None, &line.repeat(2000)).await.unwrap());
        let found = memory.recall(&MemoryScope::Project).await.unwrap().unwrap();
        assert!(found.cut && found.text.len() as u64 <= MOST_BYTES);
        assert!(found.text.lines().all(|found| found == line.trim()), "no half line");
        let now = async || memory.recall(&MemoryScope::Project).await.unwrap().map(|found| found.text);
        assert!(
            memory
                .remember(&MemoryScope::Project, now().await.as_deref(), &"x".repeat(20_000))
                .await
                .unwrap()
        );
        assert!(memory.recall(&MemoryScope::Project).await.unwrap().unwrap().cut);
        assert!(memory.remember(&MemoryScope::Project, now().await.as_deref(), " \n").await.unwrap());
        assert_eq!(memory.recall(&MemoryScope::Project).await.unwrap(), None, "blanks are nothing");
    }

    #[tokio::test]
    async fn tasks_go_by_their_first_heading_or_their_name() {
        let dir = tempfile::tempdir().unwrap();
        let memory = FileMemory::new(dir.path());
        assert_eq!(memory.tasks().await.unwrap(), []);
        for (name, text) in [
            ("b.md", "words\n## Water the plants ##\n# Later"),
            ("a.md", "no heading"),
            ("c.txt", "# Not a task"),
        ] {
            let folder = dir.path().join("tasks");
            private_dir(&folder).unwrap();
            replace_file(&folder.join(name), text.as_bytes(), 0o600).unwrap();
        }
        let tasks = memory.tasks().await.unwrap();
        let told: Vec<_> = tasks.iter().map(|task| (task.file.as_str(), task.title.as_str())).collect();
        assert_eq!(told, [("a.md", "a"), ("b.md", "Water the plants")]);
    }
}
