//! Removes from the ledger what was forgotten.

use std::io;

use super::files::MemoryFiles;
use super::ledger::{LEDGER, StoredLine, for_each_line};
use crate::domain::{LedgerLine, MemoryItem, ScopeKey, items_of};

/// What is to vanish from the ledger: all texts of a scope, or those of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Erasure {
    pub(super) scope: ScopeKey,
    pub(super) id: Option<String>,
}

/// An erasure, and what the item said by and by.
struct Erased<'a> {
    of: &'a Erasure,
    texts: Vec<String>,
}

impl Erased<'_> {
    /// Whether a line has a text that must vanish: one of the item, or of another that says the same.
    fn covers(&self, line: &LedgerLine) -> bool {
        let Some(id) = self.of.id.as_deref() else { return true };
        let mut parts = [&line.before, &line.after].into_iter().flatten();
        line.id.as_deref() == Some(id) || parts.any(|part| self.is_told_in(part, line.id.is_none(), id))
    }

    /// Whether a text is, or a part of a file has, an item that must vanish.
    fn is_told_in(&self, part: &str, is_file: bool, id: &str) -> bool {
        let is_it = |item: &MemoryItem| item.handle() == id || self.texts.iter().any(|text| item.says(text));
        if is_file {
            return items_of(part).iter().any(is_it);
        }
        is_it(&MemoryItem { text: part.to_owned(), ..Default::default() })
    }

    fn learn(&mut self, line: &LedgerLine) {
        let Some(id) = self.of.id.as_deref().filter(|_| line.scope == self.of.scope) else { return };
        for part in [&line.before, &line.after].into_iter().flatten() {
            match &line.id {
                Some(own) if own == id => self.texts.push(part.clone()),
                Some(_) => {}
                None => self.texts.extend(
                    items_of(part).into_iter().filter(|item| item.handle() == id).map(|item| item.text),
                ),
            }
        }
        self.texts.sort();
        self.texts.dedup();
    }
}

/// Removes texts from the ledger, and marks the lines that forget them as complete. Doing it again changes nothing.
pub(super) fn erase(files: &impl MemoryFiles, wanted: &[Erasure]) -> io::Result<()> {
    let mut erased: Vec<Erased<'_>> = wanted.iter().map(|of| Erased { of, texts: Vec::new() }).collect();
    for_each_line(files, 0, |raw| {
        if let Ok(StoredLine::Change(line)) = serde_json::from_slice(raw) {
            erased.iter_mut().for_each(|one| one.learn(&line));
        }
    })?;
    let (mut out, mut changed) = (Vec::new(), false);
    for_each_line(files, 0, |raw| {
        let new = match serde_json::from_slice(raw) {
            Ok(StoredLine::Change(line)) => {
                without_texts(*line, &erased).map(|line| serde_json::to_vec(&line))
            }
            Ok(StoredLine::Distilled(_)) => None,
            // Part of a line that was cut off counts for nothing, and may have the text.
            Err(_) => {
                let text = String::from_utf8_lossy(raw);
                let told = erased.iter().any(|one| text.contains(&one.of.scope.to_string()));
                told.then(|| Ok(Vec::new()))
            }
        };
        match new {
            Some(new) => {
                changed = true;
                out.extend(new.unwrap_or_default());
            }
            None => out.extend_from_slice(raw),
        }
        out.push(b'\n');
    })?;
    if changed { files.replace(LEDGER, &out) } else { Ok(()) }
}

/// The line without what must vanish; nothing where it has nothing of it.
fn without_texts(mut line: LedgerLine, erased: &[Erased<'_>]) -> Option<LedgerLine> {
    let here = |one: &&Erased<'_>| one.of.scope == line.scope;
    let covered = erased.iter().filter(here).any(|one| one.covers(&line));
    let named = |one: &Erased<'_>| one.of.id.is_none() || one.of.id == line.id;
    let completed = line.is_unfinished_forget() && erased.iter().filter(here).any(named);
    let has_text = line.before.is_some() || line.after.is_some();
    if !(completed || (covered && has_text)) {
        return None;
    }
    if covered {
        (line.before, line.after) = (None, None);
    }
    if completed {
        line.erased = Some(true);
    }
    Some(line)
}
