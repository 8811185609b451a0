//! Notes: `.ship/memory/notes/<scope>/<yyyy-mm>.md`. They are only searched, never injected, and have no limit.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;

use jiff::tz::TimeZone;

use super::atomic::replace_file;
use super::layout::{private_dir, private_file};
use super::lines::fnv;
use super::memory_items::{Item, item_blocks};
use crate::domain::Timestamp;
use crate::ports::{Note, NotesAdded};

/// A month's file while notes are added to it.
#[derive(Debug, Default)]
struct Month {
    text: String,
    known: HashSet<u64>,
    changed: bool,
}

/// Adds notes to the files of this folder, each to the one of its month, in their order. What is there already is left as
/// it is.
pub(super) fn add_notes(folder: &Path, lock: &Path, notes: Vec<Note>) -> io::Result<NotesAdded> {
    private_dir(folder)?;
    let _lock = hold(lock)?;
    let mut months: BTreeMap<String, Month> = BTreeMap::new();
    let mut done = NotesAdded::default();
    for note in notes {
        let name = month_file(note.at);
        let month = match months.entry(name) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let month = Month::read(&folder.join(entry.key()))?;
                entry.insert(month)
            }
        };
        if month.add(note) {
            done.added = done.added.saturating_add(1);
        } else {
            done.known = done.known.saturating_add(1);
        }
    }
    for (name, month) in months.iter().filter(|(_, month)| month.changed) {
        replace_file(&folder.join(name), month.text.as_bytes(), 0o600)?;
    }
    Ok(done)
}

impl Month {
    fn read(path: &Path) -> io::Result<Self> {
        let text = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            // Notes that are not UTF-8 were made so by hand; the bytes that are not text cannot be kept.
            read => String::from_utf8_lossy(&read?).into_owned(),
        };
        let known = item_blocks(&text).into_iter().map(|block| fnv(block.as_bytes())).collect();
        Ok(Self { text, known, changed: false })
    }

    /// Adds a note behind the others, unless it is there.
    fn add(&mut self, note: Note) -> bool {
        let Note { id, at, author, text } = note;
        let item = Item {
            id: Some(id),
            at: Some(at.as_millis()),
            author: Some(author),
            text: text.replace('\r', ""),
        };
        let lines = item.to_lines();
        if !self.known.insert(fnv(lines.as_bytes())) {
            return false;
        }
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(&lines);
        self.changed = true;
        true
    }
}

/// The file of the month of a time, in UTC.
fn month_file(at: Timestamp) -> String {
    let time = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default().to_zoned(TimeZone::UTC);
    format!("{:04}-{:02}.md", time.year(), time.month())
}

/// Holds the lock of the memory files, which other processes honour, until it is dropped.
fn hold(path: &Path) -> io::Result<File> {
    let file = private_file().read(true).write(true).create(true).truncate(false).open(path)?;
    file.lock()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(id: &str, at: i64, author: &str, text: &str) -> Note {
        Note { id: id.into(), at: Timestamp::from_millis(at), author: author.into(), text: text.into() }
    }

    #[test]
    fn notes_keep_ids_and_order_and_can_be_added_again() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, lock) = (dir.path().join("notes/project"), dir.path().join(".lock"));
        let notes = || {
            vec![
                note("D1:1", 1_700_000_000_000, "Ann Lee", "first"),
                note("D1:2", 1_702_000_000_000, "小明", "第二"),
                note("3", 1_700_000_002_000, "Ann", "third\r\nline"),
            ]
        };
        assert_eq!(add_notes(&folder, &lock, notes()).unwrap(), NotesAdded { added: 3, known: 0 });
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let november =
            "- first <!-- D1:1 1700000000000 Ann%20Lee -->\n- third\n  line <!-- 3 1700000002000 Ann -->\n";
        assert_eq!(read("2023-11.md"), november);
        assert_eq!(read("2023-12.md"), "- 第二 <!-- D1:2 1702000000000 小明 -->\n");
        assert_eq!(add_notes(&folder, &lock, notes()).unwrap(), NotesAdded { added: 0, known: 3 });
        assert_eq!(read("2023-11.md"), november);
    }

    #[test]
    fn a_file_that_was_written_by_hand_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1970-01.md");
        replace_file(&path, b"# Mine\n- own \xff words", 0o600).unwrap();
        add_notes(dir.path(), &dir.path().join(".lock"), vec![note("k", 1, "", "new")]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "# Mine\n- own \u{fffd} words\n- new <!-- k 1 -->\n");
    }
}
