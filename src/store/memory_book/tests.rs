//! Changes of memory while the disk fails or the process dies: each is there completely or not at all.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{FileFacts, HeldFiles, MemoryBook, MemoryFiles};
use crate::domain::{
    LedgerOp, MemoryChange, MemoryEdit, Origin, Provenance, ScopeKey, Tier, Timestamp, items_of,
};
use crate::ports::{
    ChangeError, LedgerRequest, Memory, MemoryBatch, StoreError, StoreErrorKind, SystemClock,
};

const LEDGER: &str = "memory/ledger.jsonl";
const CORE: &str = "memory/project.md";
const NOTES: &str = "memory/notes/project/1970-01.md";

const BY_EDITOR: &[u8] = b"- saved meanwhile\n";

/// What happens to writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileFault {
    None,
    /// There is no room for files whose path contains this.
    FullFor(&'static str),
    /// There is no room to replace this file, ever or once.
    NoReplaceOf(&'static str),
    NoReplaceOnce(&'static str),
    /// The process dies at the write with this number: half of what it appends is there, and nothing after it.
    DiesAt(usize),
    /// Somebody saves this file with an editor while the ledger is written, once.
    SavedByEditor(&'static str),
}

/// Files whose writes fail.
#[derive(Clone, Debug)]
struct TroubledFiles {
    files: HeldFiles,
    trouble: FileFault,
    writes: Arc<AtomicUsize>,
}

impl TroubledFiles {
    /// Whether a write succeeds, and whether it is the one at which the process dies.
    fn write(&self, name: &str) -> Result<(), (io::Error, bool)> {
        if matches!(self.trouble, FileFault::NoReplaceOf(_) | FileFault::NoReplaceOnce(_)) {
            return Ok(());
        }
        let number = self.writes.fetch_add(1, Ordering::SeqCst);
        match self.trouble {
            FileFault::FullFor(part) if name.contains(part) => {
                Err((io::Error::from(io::ErrorKind::StorageFull), false))
            }
            FileFault::DiesAt(at) if number >= at => Err((io::Error::other("dead"), number == at)),
            _ => Ok(()),
        }
    }
}

impl MemoryFiles for TroubledFiles {
    type Guard = ();

    fn lock(&self) -> io::Result<()> {
        Ok(())
    }

    fn facts(&self, name: &str) -> io::Result<Option<FileFacts>> {
        self.files.facts(name)
    }

    fn read(&self, name: &str, offset: u64, most: u64) -> io::Result<Vec<u8>> {
        self.files.read(name, offset, most)
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let full = match self.trouble {
            FileFault::NoReplaceOf(full) => full == name,
            FileFault::NoReplaceOnce(full) => full == name && self.writes.fetch_add(1, Ordering::SeqCst) == 0,
            _ => false,
        };
        if full {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.write(name).map_err(|(error, _)| error)?;
        self.files.replace(name, bytes)
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if let FileFault::SavedByEditor(file) = self.trouble
            && self.writes.load(Ordering::SeqCst) == 0
        {
            self.files.replace(file, BY_EDITOR)?;
        }
        self.write(name).map_err(|(error, dies)| {
            if dies || error.kind() == io::ErrorKind::StorageFull {
                self.files.append(name, &bytes[..bytes.len() / 2]).unwrap();
            }
            error
        })?;
        self.files.append(name, bytes)
    }

    fn truncate(&self, name: &str, length: u64) -> io::Result<()> {
        match self.trouble {
            FileFault::DiesAt(_) => Err(io::Error::other("dead")),
            _ => self.files.truncate(name, length),
        }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.write(name).map_err(|(error, _)| error)?;
        self.files.remove(name)
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        self.files.names(folder)
    }

    fn error(&self, name: &str, source: io::Error) -> StoreError {
        let full = source.kind() == io::ErrorKind::StorageFull;
        let kind = if full { StoreErrorKind::Full } else { StoreErrorKind::Unavailable };
        StoreError::new(kind, name, source)
    }
}

fn book(files: &HeldFiles, trouble: FileFault) -> MemoryBook<TroubledFiles> {
    let files = TroubledFiles { files: files.clone(), trouble, writes: Arc::default() };
    MemoryBook::over(files, Arc::new(SystemClock))
}

fn change(tier: Tier, edit: MemoryEdit) -> MemoryChange {
    let provenance = Provenance {
        at: Timestamp::from_millis(1_000),
        by: "web:user:7".parse().ok(),
        via: None,
        thread: None,
        from: Vec::new(),
        origin: Origin::Owner,
        reviewed: true,
    };
    MemoryChange { scope: ScopeKey::Project, tier, edit, expected: None, provenance }
}

fn add(tier: Tier, text: &str) -> MemoryChange {
    change(tier, MemoryEdit::Add { text: text.to_owned(), section: None })
}

fn text(files: &HeldFiles, name: &str) -> String {
    String::from_utf8(files.read(name, 0, u64::MAX).unwrap()).unwrap()
}

/// Core memory and a note that were there before the trouble, and the id of the first core item.
async fn begun() -> (HeldFiles, String) {
    let files = HeldFiles::default();
    let memory = book(&files, FileFault::None);
    let line = memory.apply(add(Tier::Core, "old")).await.unwrap().unwrap();
    memory.apply(add(Tier::Notes, "old note")).await.unwrap();
    (files, line.id.unwrap())
}

fn batch(id: &str) -> MemoryBatch {
    let replace = MemoryEdit::Replace { id: id.to_owned(), text: "newer".to_owned() };
    let changes = vec![
        change(Tier::Core, replace),
        add(Tier::Core, "more"),
        add(Tier::Notes, "a note"),
        add(Tier::Notes, "another note"),
    ];
    MemoryBatch { changes, mark: None }
}

#[tokio::test]
async fn a_batch_that_is_cut_off_at_any_write_is_there_completely_or_not_at_all() {
    let mut whole = 0;
    for at in 0..4 {
        let (files, id) = begun().await;
        let done = book(&files, FileFault::DiesAt(at)).apply_all(batch(&id)).await;
        // The next process.
        let memory = book(&files, FileFault::None);
        let core = memory.core(&ScopeKey::Project).await.unwrap();
        let added = memory.apply(add(Tier::Core, "later")).await.unwrap();
        assert!(added.is_some());
        let notes: Vec<String> = items_of(&text(&files, NOTES)).into_iter().map(|item| item.text).collect();
        let told: Vec<String> = core.items().into_iter().map(|item| item.text).collect();
        if told == ["old"] {
            assert!(done.is_err(), "what was confirmed is there");
            assert_eq!(notes, ["old note"], "write {at}");
        } else {
            whole += 1;
            assert_eq!(told, ["newer", "more"], "write {at}");
            assert_eq!(notes, ["old note", "a note", "another note"], "write {at}");
        }
        let lines = memory.ledger(LedgerRequest { limit: 100, ..Default::default() }).await.unwrap();
        assert!(lines.lines.iter().all(|line| line.op != LedgerOp::Edit), "nothing counts as edited by hand");
        let undone = memory.undo(
            &ScopeKey::Project,
            change(Tier::Core, MemoryEdit::Write { text: String::new() }).provenance,
        );
        assert_eq!(undone.await.unwrap().line.undoes, added.map(|line| line.seq));
    }
    assert_eq!(whole, 3, "after the ledger line, the change is made whatever happens");
}

#[tokio::test]
async fn a_forgotten_item_is_forgotten_although_the_process_died_before_the_file_was_written() {
    let (files, id) = begun().await;
    let forget = change(Tier::Core, MemoryEdit::Forget { id });
    assert!(book(&files, FileFault::DiesAt(1)).apply(forget).await.is_err());
    assert_eq!(book(&files, FileFault::None).core(&ScopeKey::Project).await.unwrap().text, "");
    let (files, _) = begun().await;
    let by = add(Tier::Core, "x").provenance;
    assert!(book(&files, FileFault::DiesAt(1)).forget_all(&ScopeKey::Project, by).await.is_err());
    let memory = book(&files, FileFault::None);
    assert_eq!(memory.core(&ScopeKey::Project).await.unwrap().text, "");
    assert_eq!(memory.notes(&ScopeKey::Project, None).await.unwrap().notes, []);
    assert!(!text(&files, LEDGER).contains("old"), "{}", text(&files, LEDGER));
}

/// All that any file of memory says.
fn everything(files: &HeldFiles) -> String {
    [LEDGER, CORE, NOTES].map(|name| text(files, name)).join("\n")
}

#[tokio::test]
async fn what_is_forgotten_is_in_no_file_at_whichever_write_the_process_died() {
    for whole in [false, true] {
        for at in 0..5 {
            let (files, id) = begun().await;
            let memory = book(&files, FileFault::None);
            memory.apply(add(Tier::Core, "stays")).await.unwrap();
            let replace = MemoryEdit::Replace { id: id.clone(), text: "old corrected".to_owned() };
            memory.apply(change(Tier::Core, replace)).await.unwrap();
            let dying = book(&files, FileFault::DiesAt(at));
            let forget = MemoryEdit::Forget { id: id.clone() };
            let done = match whole {
                true => dying
                    .forget_all(&ScopeKey::Project, change(Tier::Core, forget).provenance)
                    .await
                    .map(drop),
                false => dying.apply(change(Tier::Core, forget)).await.map(drop),
            };
            // The next process completes it at its first access.
            let memory = book(&files, FileFault::None);
            let lines =
                memory.ledger(LedgerRequest { limit: 100, ..Default::default() }).await.unwrap().lines;
            let begun = lines.iter().any(|line| line.op == LedgerOp::Forget);
            assert!(begun || done.is_err(), "write {at}");
            let told = everything(&files);
            let stays = if whole { ["old", "stays"] } else { ["old corrected", "nothing else"] };
            for word in stays {
                assert!(!begun || !told.contains(word), "{word:?}, whole: {whole}, write {at}: {told}");
            }
            assert!(whole || told.contains("stays") && told.contains("old note"), "write {at}: {told}");
            assert!(begun || told.contains("old corrected"), "write {at}: {told}");
        }
    }
}

#[tokio::test]
async fn a_scope_without_core_memory_is_forgotten_completely_after_a_crash() {
    for at in 0..4 {
        let files = HeldFiles::default();
        book(&files, FileFault::None).apply(add(Tier::Notes, "old note")).await.unwrap();
        let by = add(Tier::Core, "x").provenance;
        let done = book(&files, FileFault::DiesAt(at)).forget_all(&ScopeKey::Project, by).await;
        let memory = book(&files, FileFault::None);
        let left = memory.notes(&ScopeKey::Project, None).await.unwrap().notes;
        assert_eq!(left.is_empty(), at > 0, "write {at}: {done:?}");
        assert_eq!(everything(&files).contains("old note"), at == 0, "write {at}");
        // What comes later is not taken for a part of it.
        memory.apply(add(Tier::Notes, "new note")).await.unwrap();
        files.replace(CORE, b"- by hand\n").unwrap();
        let again = book(&files, FileFault::None);
        assert_eq!(again.core(&ScopeKey::Project).await.unwrap().text, "- by hand\n");
        assert!(everything(&files).contains("new note"));
    }
    let (files, _) = begun().await;
    let memory = book(&files, FileFault::None);
    memory.forget_all(&ScopeKey::Project, add(Tier::Core, "x").provenance).await.unwrap();
    files.replace(CORE, b"- by hand\n").unwrap();
    files.replace(NOTES, b"- imported <!-- n1 1 -->\n").unwrap();
    let again = book(&files, FileFault::None);
    assert_eq!(again.core(&ScopeKey::Project).await.unwrap().text, "- by hand\n");
    assert_eq!(again.notes(&ScopeKey::Project, None).await.unwrap().notes.len(), 1);
}

#[tokio::test]
async fn texts_that_a_full_disk_kept_in_the_ledger_are_removed_as_soon_as_there_is_room() {
    let (files, id) = begun().await;
    // The line that forgets still fits; the ledger without the text does not.
    let full = book(&files, FileFault::NoReplaceOf(LEDGER));
    let forget = change(Tier::Core, MemoryEdit::Forget { id: id.clone() });
    match full.apply(forget).await {
        Err(ChangeError::Store(error)) => assert_eq!(error.kind(), StoreErrorKind::Full),
        other => panic!("{other:?}"),
    }
    assert!(text(&files, LEDGER).contains("\"old\""));
    assert!(full.apply(add(Tier::Core, "more")).await.is_err(), "nothing else is changed before");
    let memory = book(&files, FileFault::None);
    memory.apply(add(Tier::Core, "more")).await.unwrap();
    assert!(!text(&files, LEDGER).contains("\"old\""), "{}", text(&files, LEDGER));
    // Also by the process that had no room, as soon as anything reads.
    let (files, id) = begun().await;
    let full = TroubledFiles {
        files: files.clone(),
        trouble: FileFault::NoReplaceOnce(LEDGER),
        writes: Arc::default(),
    };
    let memory = MemoryBook::over(full, Arc::new(SystemClock));
    assert!(memory.apply(change(Tier::Core, MemoryEdit::Forget { id })).await.is_err());
    assert_eq!(memory.core(&ScopeKey::Project).await.unwrap().text, "");
    assert!(!text(&files, LEDGER).contains("\"old\""), "{}", text(&files, LEDGER));
}

#[tokio::test]
async fn a_ledger_that_was_rewritten_is_read_anew_although_it_has_grown() {
    let (files, id) = begun().await;
    let memory = book(&files, FileFault::None);
    memory.core(&ScopeKey::Project).await.unwrap();
    // Another process forgets and then writes more than there was. The number of the file is the same.
    let other = HeldFiles::default();
    for name in [LEDGER, CORE, NOTES] {
        other.replace(name, text(&files, name).as_bytes()).unwrap();
    }
    let elsewhere = book(&other, FileFault::None);
    elsewhere.apply(change(Tier::Core, MemoryEdit::Forget { id })).await.unwrap();
    for number in 0..9 {
        elsewhere
            .apply(add(Tier::Core, &format!("much more than was there before, number {number}")))
            .await
            .unwrap();
    }
    for name in [LEDGER, CORE] {
        files.rewrite(name, text(&other, name).as_bytes());
    }
    assert_eq!(memory.core(&ScopeKey::Project).await.unwrap().items().len(), 9);
    memory.apply(add(Tier::Core, "and this")).await.unwrap();
    let lines = memory.ledger(LedgerRequest { limit: 100, ..Default::default() }).await.unwrap().lines;
    let mut numbers: Vec<u64> = lines.iter().map(|line| line.seq).collect();
    numbers.dedup();
    assert_eq!(numbers.len(), lines.len(), "each line has a number of its own: {numbers:?}");
    assert!(lines.iter().all(|line| line.op != LedgerOp::Edit), "nothing counts as edited by hand");
}

#[tokio::test]
async fn without_room_nothing_is_changed_and_the_next_change_succeeds() {
    for part in ["ledger", "project.md", "notes"] {
        let (files, id) = begun().await;
        let before = [LEDGER, CORE, NOTES].map(|name| text(&files, name));
        let full = book(&files, FileFault::FullFor(part));
        for _ in 0..2 {
            match full.apply_all(batch(&id)).await {
                Err(ChangeError::Store(error)) => assert_eq!(error.kind(), StoreErrorKind::Full),
                other => panic!("{other:?}"),
            }
            assert_eq!([LEDGER, CORE, NOTES].map(|name| text(&files, name)), before, "{part}");
        }
        assert_eq!(book(&files, FileFault::None).apply_all(batch(&id)).await.unwrap().len(), 4, "{part}");
    }
}

#[tokio::test]
async fn a_file_that_was_edited_by_hand_is_noted_and_kept() {
    let (files, _) = begun().await;
    files.replace(CORE, b"- by hand\n").unwrap();
    let memory = book(&files, FileFault::None);
    for _ in 0..2 {
        assert_eq!(memory.core(&ScopeKey::Project).await.unwrap().text, "- by hand\n");
    }
    files.replace(CORE, b"- by hand\n- twice\n").unwrap();
    memory.apply(add(Tier::Core, "by the agent")).await.unwrap();
    assert!(text(&files, CORE).starts_with("- by hand\n- twice\n- by the agent <!-- k"));
    let lines = memory.ledger(LedgerRequest { limit: 100, ..Default::default() }).await.unwrap().lines;
    let told: Vec<(LedgerOp, bool)> = lines.iter().map(|line| (line.op, line.is_hand_edit())).collect();
    let by_hand = (LedgerOp::Edit, true);
    assert_eq!(
        told,
        [(LedgerOp::Add, false), by_hand, by_hand, (LedgerOp::Add, false), (LedgerOp::Add, false)]
    );
}

/// The changes in the ledger, newest first: what was done, whether by hand, and by what.
async fn told(memory: &impl Memory) -> Vec<(LedgerOp, bool, Option<String>)> {
    let lines = memory.ledger(LedgerRequest { limit: 100, ..Default::default() }).await.unwrap().lines;
    lines.into_iter().map(|line| (line.op, line.is_hand_edit(), line.via)).collect()
}

#[tokio::test]
async fn notes_that_were_edited_or_removed_by_hand_are_noted_once_at_the_next_read() {
    let (files, _) = begun().await;
    let memory = book(&files, FileFault::None);
    let (added, by_hand) = ((LedgerOp::Add, false, None), (LedgerOp::Edit, true, None));
    let mut expected = vec![added.clone(), added.clone()];
    assert_eq!(told(&memory).await, expected);
    for content in [&b"- old note, corrected\n- and one more\n"[..], b"- old \xff note\n"] {
        files.replace(NOTES, content).unwrap();
        for _ in 0..2 {
            assert!(!memory.notes(&ScopeKey::Project, None).await.unwrap().notes.is_empty());
        }
        expected.insert(0, by_hand.clone());
        assert_eq!(told(&memory).await, expected);
        assert_eq!(told(&book(&files, FileFault::None)).await, expected, "another process agrees");
    }
    files.remove(NOTES).unwrap();
    expected.insert(0, by_hand.clone());
    assert_eq!(told(&memory).await, expected);

    // An import is no edit by hand, and what was edited before it still is.
    let note = |id: &str| crate::ports::Note {
        id: id.to_owned(),
        at: Timestamp::from_millis(1),
        author: "Ann".to_owned(),
        text: id.to_owned(),
    };
    files.replace(NOTES, b"- mine\n").unwrap();
    for _ in 0..2 {
        memory.add_notes(&ScopeKey::Project, vec![note("n1"), note("n2")]).await.unwrap();
    }
    expected.splice(0..0, [(LedgerOp::Edit, false, Some("import".to_owned())), by_hand]);
    assert_eq!(told(&memory).await, expected);
    assert!(text(&files, NOTES).starts_with("- mine\n- n1 <!-- n1 1 Ann -->\n"));
    // Undo takes back what a person did, not what an editor or an import did.
    let provenance = add(Tier::Core, "").provenance;
    let undone = memory.undo(&ScopeKey::Project, provenance).await;
    assert!(undone.is_err_and(|error| error.to_string().contains("changed")), "its file was edited since");
}

#[tokio::test]
async fn what_an_editor_saves_during_a_change_is_kept() {
    for (tier, file) in [(Tier::Core, CORE), (Tier::Notes, NOTES)] {
        let (files, _) = begun().await;
        let memory = book(&files, FileFault::SavedByEditor(file));
        memory.apply(add(tier, "by the agent")).await.unwrap();
        let kept = text(&files, file);
        assert!(kept.starts_with("- saved meanwhile\n- by the agent <!-- k"), "{kept}");
        let lines: Vec<(LedgerOp, bool)> =
            told(&memory).await.into_iter().map(|(op, by_hand, _)| (op, by_hand)).collect();
        assert_eq!(lines[..2], [(LedgerOp::Add, false), (LedgerOp::Edit, true)], "{tier:?}");
    }
}

#[tokio::test]
async fn torn_and_foreign_lines_of_the_ledger_are_skipped_and_counted() {
    let (files, _) = begun().await;
    files.append(LEDGER, b"{\"seq\": 3, \"op\": \"add\", \"scope\": \"nobody\"}\n{\"seq\": 4, \"sc").unwrap();
    let memory = book(&files, FileFault::None);
    assert!(memory.core(&ScopeKey::Project).await.unwrap().text.contains("old"));
    memory.apply(add(Tier::Core, "new")).await.unwrap();
    let page = memory.ledger(LedgerRequest { limit: 100, ..Default::default() }).await.unwrap();
    assert_eq!((page.lines.len(), page.damaged), (3, 2));
    let again = book(&files, FileFault::None);
    again.apply(add(Tier::Core, "newest")).await.unwrap();
    assert_eq!(again.core(&ScopeKey::Project).await.unwrap().items().len(), 3);
}
