//! Completes changes: those that a crash, or a full disk, has cut off between their ledger line and their file, and what
//! forgetting has to remove everywhere.

use std::collections::BTreeMap;
use std::io;

use super::book::Book;
use super::erasure::{Erasure, erase};
use super::files::MemoryFiles;
use super::ledger::{LEDGER, LedgerState};
use super::notes::{append_lines, months};
use crate::domain::{
    LedgerLine, LedgerOp, MemoryEdit, MemoryItem, ScopeKey, Tier, edit_core, item_blocks, items_of,
    read_item, replace_block,
};
use crate::fail_point::fail_point;

impl<F: MemoryFiles> Book<F> {
    /// Makes the changes that a crash, or a full disk, has cut off, where there are any.
    pub(super) fn complete_changes(&self) {
        let mut state = self.state();
        let done = state.refresh(&self.files).and_then(|()| match state.is_settled() {
            true => Ok(()),
            false => self.files.lock().and_then(|_lock| self.catch_up(&mut state)),
        });
        if let Err(error) = done {
            tracing::error!(%error, file = LEDGER, "memory changes not completed");
        }
    }

    /// Reads the newest lines of the ledger, and makes the changes that a crash has cut off. The lock must be held.
    pub(super) fn catch_up(&self, state: &mut LedgerState) -> io::Result<()> {
        state.refresh(&self.files)?;
        if state.settled {
            return Ok(());
        }
        let batch = state.newest_batch().to_vec();
        let mut by_file: BTreeMap<String, Vec<&LedgerLine>> = BTreeMap::new();
        for line in &batch {
            by_file.entry(file_of(line)).or_default().push(line);
        }
        for (name, lines) in by_file {
            self.complete(&name, &lines)?;
        }
        self.erase(state, &batch)
    }

    /// Makes the changes of these lines that the file does not have yet. A file that was edited by hand since is left as it
    /// is, but for what was to be forgotten.
    fn complete(&self, name: &str, lines: &[&LedgerLine]) -> io::Result<()> {
        let bytes = match self.files.facts(name)? {
            Some(_) => self.files.read(name, 0, u64::MAX)?,
            None => Vec::new(),
        };
        let digest = self.digest_of(&bytes);
        let is = |version: &Option<String>| version.as_deref() == Some(digest.as_str());
        if let Some(line) = lines.iter().find(|line| line.op == LedgerOp::Forget && line.id.is_none()) {
            // A line of an older version is completed only where the file is as it was before.
            let cut_off = line.is_unfinished_forget() || (line.erased.is_none() && is(&line.base));
            return if cut_off { self.remove_files(&line.scope) } else { Ok(()) };
        }
        let done = lines.last().is_some_and(|line| is(&line.digest));
        let missing: Vec<&LedgerLine> = match lines.iter().position(|line| is(&line.base)) {
            _ if done => Vec::new(),
            Some(from) => lines.iter().skip(from).copied().collect(),
            None => lines.iter().filter(|line| line.is_unfinished_forget()).copied().collect(),
        };
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        let mut changed = false;
        for line in missing {
            match redone(&text, line) {
                Some(new) => (text, changed) = (new, true),
                None => tracing::warn!(seq = line.seq, file = name, "ledger line cannot be made again"),
            }
        }
        if changed {
            tracing::warn!(file = name, "memory changes completed after a crash");
            self.files.replace(name, text.as_bytes())?;
        }
        Ok(())
    }

    pub(super) fn remove_files(&self, scope: &ScopeKey) -> io::Result<()> {
        self.files.remove(&scope.core_file())?;
        fail_point("memory-core-removed");
        for name in months(&self.files, scope)? {
            self.files.remove(&format!("{}/{name}", scope.notes_folder()))?;
        }
        Ok(())
    }

    /// Removes from the ledger what these lines forget. With it, all changes are complete.
    pub(super) fn erase(&self, state: &mut LedgerState, lines: &[LedgerLine]) -> io::Result<()> {
        let unfinished = lines.iter().filter(|line| line.is_unfinished_forget());
        let erasures: Vec<Erasure> =
            unfinished.map(|line| Erasure { scope: line.scope.clone(), id: line.id.clone() }).collect();
        if !erasures.is_empty() {
            fail_point("memory-files");
            erase(&self.files, &erasures)?;
        }
        state.refresh(&self.files)?;
        state.settled = true;
        Ok(())
    }
}

/// The file that a line changes.
fn file_of(line: &LedgerLine) -> String {
    match (&line.file, line.tier) {
        (Some(file), Tier::Notes) => format!("{}/{file}", line.scope.notes_folder()),
        _ => line.scope.core_file(),
    }
}

/// The text after the change of a ledger line; `None` where it does not fit.
fn redone(text: &str, line: &LedgerLine) -> Option<String> {
    let own = |item: &MemoryItem| item.handle() == line.id.as_deref().unwrap_or_default();
    let was = |item: &MemoryItem| line.before.as_ref() == Some(&item.text);
    let items = items_of(text);
    let found = || items.iter().find(|item| own(item)).or_else(|| items.iter().find(|item| was(item)));
    if line.tier == Tier::Notes {
        let blocks = item_blocks(text).into_iter().map(|block| (block, read_item(block)));
        let found = blocks.into_iter().find(|(_, item)| own(item));
        return match (line.op, found) {
            (LedgerOp::Add, None) => {
                let mut text = text.to_owned();
                let item = MemoryItem {
                    id: line.id.clone(),
                    at: Some(line.at.as_millis()),
                    author: line.by.as_ref().map(ToString::to_string),
                    text: line.after.clone()?,
                };
                append_lines(&mut text, &item.to_lines());
                Some(text)
            }
            (LedgerOp::Replace, Some((block, item))) => {
                let item = MemoryItem { text: line.after.clone()?, ..item };
                Some(replace_block(text, block, &item.to_lines()))
            }
            (LedgerOp::Forget, Some((block, _))) => Some(replace_block(text, block, "")),
            _ => None,
        };
    }
    let edit = match line.op {
        LedgerOp::Add => MemoryEdit::Add { text: line.after.clone()?, section: line.section.clone() },
        LedgerOp::Replace if line.id.is_some() => {
            MemoryEdit::Replace { id: found()?.handle(), text: line.after.clone()? }
        }
        LedgerOp::Replace => {
            MemoryEdit::ReplaceSection { section: line.section.clone()?, text: line.after.clone()? }
        }
        LedgerOp::Forget => MemoryEdit::Forget { id: found()?.handle() },
        LedgerOp::Edit => MemoryEdit::Write { text: line.after.clone()? },
    };
    let id = line.id.clone().unwrap_or_default();
    edit_core(text, &edit, &mut || id.clone()).ok().flatten().map(|edited| edited.text)
}
