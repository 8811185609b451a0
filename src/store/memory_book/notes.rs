//! Notes: `memory/notes/<scope>/<yyyy-mm>.md`. They are only searched, never injected, and have no limit.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;

use jiff::tz::TimeZone;

use super::files::MemoryFiles;
use crate::domain::{MemoryItem, ScopeKey, Timestamp, item_blocks, read_item};
use crate::ports::{Note, NotesAdded, NotesPage};

const ENDING: &str = ".md";

/// A month's file while notes are added to it.
#[derive(Debug, Default)]
struct Month {
    /// Its name in the folder.
    file: String,
    text: String,
    known: HashSet<Box<str>>,
    changed: bool,
}

/// Adds notes to the files of this folder, each to the one of its month, in their order. What is there already is left as
/// it is, and what was forgotten does not come back.
pub(super) fn add_notes(
    files: &impl MemoryFiles,
    folder: &str,
    notes: Vec<Note>,
    forgotten: &BTreeSet<String>,
) -> io::Result<NotesAdded> {
    let mut months: BTreeMap<String, Month> = BTreeMap::new();
    let mut done = NotesAdded::default();
    for note in notes {
        if forgotten.contains(&note.id) {
            done.forgotten = done.forgotten.saturating_add(1);
            continue;
        }
        let month = match months.entry(month_of(note.at)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Month::read(files, folder, note.at)?),
        };
        if month.add(note) {
            done.added = done.added.saturating_add(1);
        } else {
            done.known = done.known.saturating_add(1);
        }
    }
    for month in months.values().filter(|month| month.changed) {
        files.replace(&format!("{folder}/{}", month.file), month.text.as_bytes())?;
    }
    Ok(done)
}

impl Month {
    fn read(files: &impl MemoryFiles, folder: &str, at: Timestamp) -> io::Result<Self> {
        let mut month = Self::default();
        for file in month_files(at) {
            let name = format!("{folder}/{file}");
            let bytes =
                if files.facts(&name)?.is_some() { files.read(&name, 0, u64::MAX)? } else { Vec::new() };
            let text = String::from_utf8_lossy(&bytes);
            month.known.extend(item_blocks(&text).into_iter().map(Box::from));
            if let Ok(text) = String::from_utf8(bytes) {
                (month.file, month.text) = (file, text);
                break;
            }
        }
        Ok(month)
    }

    /// Adds a note behind the others, unless it is there.
    fn add(&mut self, note: Note) -> bool {
        let Note { id, at, author, text } = note;
        let item = MemoryItem {
            id: Some(id),
            at: Some(at.as_millis()),
            author: Some(author),
            text: text.replace('\r', ""),
        };
        let lines = item.to_lines();
        if self.known.contains(lines.as_str()) {
            return false;
        }
        append_lines(&mut self.text, &lines);
        self.known.insert(lines.into());
        self.changed = true;
        true
    }
}

/// Puts the lines of an item behind a text.
pub(super) fn append_lines(text: &mut String, lines: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(lines);
}

/// The text of a month's file, to be read.
pub(super) fn month_text(files: &impl MemoryFiles, name: &str) -> io::Result<String> {
    if files.facts(name)?.is_none() {
        return Ok(String::new());
    }
    Ok(String::from_utf8_lossy(&files.read(name, 0, u64::MAX)?).into_owned())
}

/// The months' files of a scope, oldest first.
pub(super) fn months(files: &impl MemoryFiles, scope: &ScopeKey) -> io::Result<Vec<String>> {
    let mut names = files.names(&scope.notes_folder())?;
    names.retain(|name| name.ends_with(ENDING) && !name.starts_with('.'));
    Ok(names)
}

/// The notes of a month, or of the newest one.
pub(super) fn page(files: &impl MemoryFiles, scope: &ScopeKey, month: Option<&str>) -> io::Result<NotesPage> {
    let months = months(files, scope)?;
    let at = match month {
        Some(month) => months.iter().position(|name| name.strip_suffix(ENDING) == Some(month)),
        None => months.len().checked_sub(1),
    };
    let Some((at, name)) = at.and_then(|at| Some((at, months.get(at)?))) else {
        return Ok(NotesPage::default());
    };
    let text = month_text(files, &format!("{}/{name}", scope.notes_folder()))?;
    let earlier = at.checked_sub(1).and_then(|at| months.get(at));
    Ok(NotesPage {
        month: name.strip_suffix(ENDING).map(str::to_owned),
        notes: item_blocks(&text).into_iter().map(read_item).collect(),
        earlier: earlier.and_then(|name| name.strip_suffix(ENDING)).map(str::to_owned),
    })
}

/// The month of a time, in UTC.
fn month_of(at: Timestamp) -> String {
    let time = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default().to_zoned(TimeZone::UTC);
    format!("{:04}-{:02}", time.year(), time.month())
}

/// The files for notes of the month of a time: the first that is text takes them. One that is not was made so by hand and
/// is never rewritten; the next has a number behind the month.
pub(super) fn month_files(at: Timestamp) -> impl Iterator<Item = String> {
    let month = month_of(at);
    let numbers = std::iter::once(String::new()).chain((2_u32..).map(|number| format!("-{number}")));
    numbers.map(move |number| format!("{month}{number}{ENDING}"))
}

#[cfg(test)]
mod tests {
    use super::super::HeldFiles;
    use super::*;

    fn note(id: &str, at: i64, author: &str, text: &str) -> Note {
        Note { id: id.into(), at: Timestamp::from_millis(at), author: author.into(), text: text.into() }
    }

    #[test]
    fn notes_keep_ids_and_order_and_can_be_added_again() {
        let (files, none) = (HeldFiles::default(), BTreeSet::new());
        let notes = || {
            vec![
                note("D1:1", 1_700_000_000_000, "Ann Lee", "first"),
                note("D1:2", 1_702_000_000_000, "小明", "第二"),
                note("3", 1_700_000_002_000, "Ann", "third\nline"),
            ]
        };
        assert_eq!(
            add_notes(&files, "n", notes(), &none).unwrap(),
            NotesAdded { added: 3, ..NotesAdded::default() }
        );
        let read = |name: &str| String::from_utf8(files.read(name, 0, 9999).unwrap()).unwrap();
        let november =
            "- first <!-- D1:1 1700000000000 Ann%20Lee -->\n- third\n  line <!-- 3 1700000002000 Ann -->\n";
        assert_eq!(read("n/2023-11.md"), november);
        assert_eq!(read("n/2023-12.md"), "- 第二 <!-- D1:2 1702000000000 小明 -->\n");
        assert_eq!(
            add_notes(&files, "n", notes(), &none).unwrap(),
            NotesAdded { known: 3, ..NotesAdded::default() }
        );
        assert_eq!(read("n/2023-11.md"), november);
    }

    #[test]
    fn a_file_that_was_written_by_hand_is_kept() {
        let files = HeldFiles::default();
        files.replace("n/1970-01.md", b"# Mine\n- own \xff words").unwrap();
        add_notes(&files, "n", vec![note("k", 1, "", "new")], &BTreeSet::new()).unwrap();
        assert_eq!(files.read("n/1970-01.md", 0, 999).unwrap(), b"# Mine\n- own \xff words");
        assert_eq!(files.read("n/1970-01-2.md", 0, 999).unwrap(), b"- new <!-- k 1 -->\n");
    }
}
