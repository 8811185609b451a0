//! Task files: `.ship/tasks/*.md`, and `.ship/tasks/done/` for tasks that are over. People edit them by hand; a watch on
//! the folder reports changes.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::atomic::{replace_file, sync_dir};
use super::disk::on_disk;
use super::layout::{Layout, private_dir};
use super::lines::fnv;
use crate::ports::{BoxFuture, StoreError, TaskFileEntry, TaskFiles};

/// Most bytes read of a file: enough to see that it is too large.
const MOST_BYTES: u64 = 64 * 1024 + 1;
const EXTENSION: &str = "md";
const DONE: &str = "done";

/// The task files under one `.ship` directory.
#[derive(Clone, Debug)]
pub struct FileTasks {
    folder: PathBuf,
    /// Held while writing.
    writing: Arc<Mutex<()>>,
    watch: Arc<watch::FolderWatch>,
}

impl FileTasks {
    /// The task files under this `.ship` directory. Opens nothing.
    pub fn new(ship_dir: &Path) -> Self {
        let folder = Layout::new(ship_dir).tasks();
        Self { watch: Arc::new(watch::FolderWatch::new(&folder)), folder, writing: Arc::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{EXTENSION}"))
    }

    /// Runs a file operation on a blocking thread, beside no other write.
    async fn alone<T: Send + 'static>(
        &self,
        path: PathBuf,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let writing = self.writing.clone();
        let alone = move |path: &Path| {
            let _writing = writing.lock().unwrap_or_else(PoisonError::into_inner);
            work(path)
        };
        on_disk(path, alone).await
    }
}

impl TaskFiles for FileTasks {
    fn list(&self) -> BoxFuture<'_, Result<Vec<TaskFileEntry>, StoreError>> {
        Box::pin(on_disk(self.folder.clone(), list))
    }

    fn read(&self, name: &str) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        Box::pin(on_disk(self.path(name), read))
    }

    fn write(
        &self,
        name: &str,
        before: Option<Vec<u8>>,
        content: Vec<u8>,
    ) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(self.alone(self.path(name), move |path| {
            if read(path)? != before {
                return Ok(false);
            }
            private_dir(path.parent().unwrap_or(path))?;
            replace_file(path, &content, 0o600)?;
            Ok(true)
        }))
    }

    fn remove(&self, name: &str, before: Vec<u8>) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(self.alone(self.path(name), move |path| {
            if read(path)? != Some(before) {
                return Ok(false);
            }
            std::fs::remove_file(path)?;
            sync_dir(path.parent().unwrap_or(path))?;
            Ok(true)
        }))
    }

    fn set_aside(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>> {
        let done = self.folder.join(DONE);
        Box::pin(self.alone(self.path(name), move |path| {
            private_dir(&done)?;
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { return Ok(()) };
            let mut free = (1..).map(|number| match number {
                1 => done.join(format!("{name}.{EXTENSION}")),
                _ => done.join(format!("{name}-{number}.{EXTENSION}")),
            });
            match free.find(|free| !free.exists()) {
                Some(free) => std::fs::rename(path, free),
                None => Ok(()),
            }
        }))
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.watch.changed())
    }
}

fn list(folder: &Path) -> io::Result<Vec<TaskFileEntry>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        // A name that is not UTF-8 is listed too, so that it can be shown as a mistake.
        let name = path.file_stem().map(|name| name.to_string_lossy()).unwrap_or_default();
        if name.starts_with('.') || path.extension().is_none_or(|ending| ending != EXTENSION) {
            continue;
        }
        // A file may be gone by now.
        let Ok(about) = std::fs::metadata(&path) else { continue };
        if !about.is_file() {
            continue;
        }
        let version = format!("{} {} {} {}", about.ino(), about.len(), about.mtime(), about.mtime_nsec());
        files.push(TaskFileEntry { name: name.into_owned(), version: fnv(version.as_bytes()) });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(target_os = "linux")]
mod watch {
    //! Reports changes of a folder by inotify: nothing runs while nothing changes. While the folder is gone, its parent is
    //! watched.

    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
    use std::time::Duration;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use tokio::sync::Notify;

    use super::private_dir;

    /// How often a folder that cannot be watched is reported as changed.
    const UNWATCHED: Duration = Duration::from_secs(30);

    #[derive(Debug)]
    pub(super) struct FolderWatch {
        folder: PathBuf,
        changed: Arc<Notify>,
        watch: OnceLock<Option<Watch>>,
    }

    impl FolderWatch {
        pub(super) fn new(folder: &Path) -> Self {
            Self { folder: folder.to_owned(), changed: Arc::default(), watch: OnceLock::new() }
        }

        /// The first call starts the watch and is ready at once.
        pub(super) async fn changed(&self) {
            let mut first = false;
            let watch = self.watch.get_or_init(|| {
                first = true;
                let watch = Watch::start(&self.folder, self.changed.clone());
                watch.inspect_err(|error| tracing::warn!(%error, "task folder cannot be watched")).ok()
            });
            match watch {
                _ if first => {}
                Some(Watch(reporter)) if !reporter.watched().ended => self.changed.notified().await,
                _ => tokio::time::sleep(UNWATCHED).await,
            }
        }
    }

    /// A watch with the thread that reads its events. The kernel ends the thread's wait when the watch is removed.
    #[derive(Debug)]
    struct Watch(Arc<TaskFileReporter>);

    #[derive(Debug)]
    struct TaskFileReporter {
        folder: PathBuf,
        events: OwnedFd,
        changed: Arc<Notify>,
        watched: Mutex<Watched>,
    }

    #[derive(Debug)]
    struct Watched {
        descriptor: i32,
        /// The parent is watched, because the folder is gone.
        parent: bool,
        /// Nothing is watched any more.
        ended: bool,
    }

    impl Watch {
        fn start(folder: &Path, changed: Arc<Notify>) -> io::Result<Self> {
            private_dir(folder)?;
            let events = inotify::init(CreateFlags::CLOEXEC)?;
            let descriptor = add_folder(&events, folder)?;
            let watched = Mutex::new(Watched { descriptor, parent: false, ended: false });
            let reporter = Arc::new(TaskFileReporter { folder: folder.to_owned(), events, changed, watched });
            let reports = reporter.clone();
            std::thread::Builder::new().name("task-files".to_owned()).spawn(move || reports.run())?;
            Ok(Self(reporter))
        }
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            let mut watched = self.0.watched();
            watched.ended = true;
            self.0.remove(watched.descriptor);
        }
    }

    fn add_folder(events: &OwnedFd, folder: &Path) -> rustix::io::Result<i32> {
        let flags = WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE
            | WatchFlags::ATTRIB
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        inotify::add_watch(events, folder, flags)
    }

    impl TaskFileReporter {
        fn watched(&self) -> MutexGuard<'_, Watched> {
            self.watched.lock().unwrap_or_else(PoisonError::into_inner)
        }

        fn remove(&self, descriptor: i32) {
            if let Err(error) = inotify::remove_watch(&self.events, descriptor) {
                tracing::debug!(%error, "task folder watch was gone");
            }
        }

        fn run(&self) {
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut reader = Reader::new(&self.events, &mut buffer);
            loop {
                let (descriptor, kind) = match reader.next() {
                    Ok(event) => (event.wd(), event.events()),
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(error) => {
                        tracing::warn!(%error, "task folder watch ended");
                        self.watched().ended = true;
                        self.changed.notify_one();
                        return;
                    }
                };
                if !self.take(descriptor, kind) {
                    return;
                }
            }
        }

        /// Handles an event. Returns whether there is something to watch.
        fn take(&self, descriptor: i32, kind: ReadFlags) -> bool {
            let mut watched = self.watched();
            if descriptor != watched.descriptor {
                return !watched.ended;
            }
            if kind.contains(ReadFlags::IGNORED) {
                // The folder, or its parent, is gone; or the watch was dropped.
                if !watched.ended {
                    self.watch_again(&mut watched);
                }
            } else if kind.contains(ReadFlags::MOVE_SELF) {
                // Leads to the event above.
                self.remove(descriptor);
                return true;
            } else if watched.parent {
                match add_folder(&self.events, &self.folder) {
                    Ok(folder) => {
                        self.remove(descriptor);
                        (watched.descriptor, watched.parent) = (folder, false);
                    }
                    // Something else in the parent.
                    Err(_) => return true,
                }
            }
            self.changed.notify_one();
            !watched.ended
        }

        fn watch_again(&self, watched: &mut Watched) {
            let add_parent = || {
                let parent = self.folder.parent().unwrap_or(&self.folder);
                inotify::add_watch(&self.events, parent, WatchFlags::CREATE | WatchFlags::MOVED_TO)
            };
            // The parent first: the folder may be made in between.
            let parent = add_parent();
            match (add_folder(&self.events, &self.folder), parent) {
                (Ok(folder), parent) => {
                    if let Ok(parent) = parent {
                        self.remove(parent);
                    }
                    (watched.descriptor, watched.parent) = (folder, false);
                }
                (Err(_), Ok(parent)) => (watched.descriptor, watched.parent) = (parent, true),
                (Err(error), Err(_)) => {
                    tracing::warn!(%error, "task folder cannot be watched");
                    watched.ended = true;
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod watch {
    //! Reports a possible change every few seconds.

    use std::path::Path;
    use std::time::Duration;

    const INTERVAL: Duration = Duration::from_secs(5);

    #[derive(Debug)]
    pub(super) struct FolderWatch;

    impl FolderWatch {
        pub(super) fn new(_: &Path) -> Self {
            Self
        }

        pub(super) async fn changed(&self) {
            tokio::time::sleep(INTERVAL).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_file_is_changed_only_by_who_knows_what_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let tasks = FileTasks::new(dir.path());
        assert_eq!(tasks.list().await.unwrap(), []);
        assert!(tasks.write("a", None, b"one".to_vec()).await.unwrap());
        assert!(!tasks.write("a", None, b"two".to_vec()).await.unwrap());
        let first = tasks.list().await.unwrap();
        assert!(tasks.write("a", Some(b"one".to_vec()), b"three".to_vec()).await.unwrap());
        assert_eq!(tasks.read("a").await.unwrap().as_deref(), Some(&b"three"[..]));
        let second = tasks.list().await.unwrap();
        assert_eq!((first[0].name.as_str(), second.len()), ("a", 1));
        assert_ne!(first[0].version, second[0].version);
        assert!(!tasks.remove("a", b"one".to_vec()).await.unwrap());
        assert!(tasks.remove("a", b"three".to_vec()).await.unwrap());
        assert_eq!(tasks.read("a").await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_is_no_task_or_is_set_aside_is_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        let tasks = FileTasks::new(dir.path());
        for name in ["b", "a"] {
            assert!(tasks.write(name, None, b"x".to_vec()).await.unwrap());
        }
        let folder = dir.path().join("tasks");
        replace_file(&folder.join("notes.txt"), b"x", 0o600).unwrap();
        replace_file(&folder.join(".hidden.md"), b"x", 0o600).unwrap();
        std::fs::create_dir(folder.join("folder.md")).unwrap();
        tasks.set_aside("b").await.unwrap();
        let names: Vec<_> = tasks.list().await.unwrap().into_iter().map(|file| file.name).collect();
        assert_eq!(names, ["a"]);
        assert!(folder.join("done/b.md").is_file());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_change_by_hand_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let tasks = FileTasks::new(dir.path());
        tasks.changed().await;
        let edited =
            File::create(dir.path().join("tasks/a.md")).and_then(|mut file| file.write_all(b"by hand"));
        edited.unwrap();
        tokio::time::timeout(Duration::from_secs(10), tasks.changed()).await.expect("noticed");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_folder_that_was_deleted_or_moved_away_is_watched_again() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("tasks");
        let tasks = FileTasks::new(dir.path());
        tasks.changed().await;
        let noticed = async || {
            let changed = tokio::time::timeout(Duration::from_secs(10), tasks.changed());
            changed.await.expect("noticed");
        };
        for round in 0..4 {
            match round % 2 {
                0 => std::fs::remove_dir_all(&folder).unwrap(),
                _ => std::fs::rename(&folder, dir.path().join(format!("away{round}"))).unwrap(),
            }
            noticed().await;
            assert_eq!(tasks.list().await.unwrap(), []);
            assert!(!folder.exists(), "it is not made again by itself");
            std::fs::create_dir(&folder).unwrap();
            while tasks.list().await.unwrap().is_empty() {
                replace_file(&folder.join("a.md"), b"x", 0o600).unwrap();
                noticed().await;
            }
        }
    }

    #[tokio::test]
    async fn a_task_that_is_set_aside_replaces_no_earlier_one() {
        let dir = tempfile::tempdir().unwrap();
        let tasks = FileTasks::new(dir.path());
        for content in ["one", "two", "three"] {
            assert!(tasks.write("a", None, content.as_bytes().to_vec()).await.unwrap());
            tasks.set_aside("a").await.unwrap();
        }
        for (name, content) in [("a.md", "one"), ("a-2.md", "two"), ("a-3.md", "three")] {
            assert_eq!(std::fs::read_to_string(dir.path().join("tasks/done").join(name)).unwrap(), content);
        }
    }
}
