//! Changes of memory: planned on the current files, entered into the ledger, then made.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::book::{Book, CoreRead};
use super::files::MemoryFiles;
use super::ledger::{self, DistilLine, Erasure, LEDGER, LedgerState, StoredLine};
use super::notes::{append_lines, month_file, month_text, months};
use crate::domain::{
    ChangeRefusal, EditedText, LedgerLine, LedgerOp, MemoryChange, MemoryEdit, MemoryItem, Origin,
    Provenance, ScopeKey, Tier, edit_core, item_blocks, item_text, items_of, read_item, replace_block,
};
use crate::fail_point::fail_point;
use crate::ports::{ChangeError, MemoryBatch, Undone};

/// A file while changes to it are planned.
#[derive(Debug)]
struct PlannedFile {
    /// Its content on the disk.
    old: Vec<u8>,
    text: String,
    digest: String,
    changed: bool,
}

/// Changes before they are made.
#[derive(Debug)]
struct Plan {
    first: u64,
    lines: Vec<LedgerLine>,
    files: BTreeMap<String, PlannedFile>,
}

impl Plan {
    const fn new(first: u64) -> Self {
        Self { first, lines: Vec::new(), files: BTreeMap::new() }
    }

    fn next_seq(&self) -> u64 {
        self.first.saturating_add(self.lines.len() as u64)
    }
}

impl<F: MemoryFiles> Book<F> {
    pub(super) fn apply_all(&self, batch: MemoryBatch) -> Result<Vec<LedgerLine>, ChangeError> {
        let mut state = self.state();
        let _lock = self.files.lock().map_err(|error| self.files.error(LEDGER, error))?;
        self.catch_up(&mut state).map_err(|error| self.files.error(LEDGER, error))?;
        let mut plan = Plan::new(state.next_seq());
        let mut own = Vec::new();
        for change in batch.changes {
            if let Some(seq) = self.plan(&state, &mut plan, change, None)? {
                own.push(seq);
            }
        }
        let mark = batch.mark.map(|mark| {
            let (seq, batch) = (plan.next_seq(), plan.first);
            StoredLine::Distilled(Box::new(DistilLine {
                seq,
                op: ledger::Distil::Distil,
                mark,
                batch,
                last: seq,
            }))
        });
        let lines = self.make(&mut state, plan, mark)?;
        Ok(lines.into_iter().filter(|line| own.contains(&line.seq)).collect())
    }

    pub(super) fn undo(&self, scope: &ScopeKey, provenance: Provenance) -> Result<Undone, ChangeError> {
        let mut state = self.state();
        let failed = |error| self.files.error(LEDGER, error);
        let _lock = self.files.lock().map_err(failed)?;
        self.catch_up(&mut state).map_err(failed)?;
        let last = ledger::newest_to_undo(&self.files, scope).map_err(failed)?;
        let last = last.ok_or(ChangeRefusal::NothingToUndo)?;
        let edit = self.inverse(&last)?;
        let mut plan = Plan::new(state.next_seq());
        let change = MemoryChange { scope: scope.clone(), tier: last.tier, edit, expected: None, provenance };
        let seq = self.plan(&state, &mut plan, change, Some(last.seq))?;
        let lines = self.make(&mut state, plan, None)?;
        let line = lines.into_iter().find(|line| Some(line.seq) == seq);
        let line = line.ok_or(ChangeRefusal::NothingToUndo)?;
        Ok(Undone { line, taken_back: last })
    }

    /// The change that takes another back, if what it wrote is still there.
    fn inverse(&self, line: &LedgerLine) -> Result<MemoryEdit, ChangeError> {
        let failed = |error| self.files.error(&line.scope.core_file(), error);
        let items = match line.tier {
            Tier::Core => items_of(&self.read_core(&line.scope).map_err(failed)?.file.text),
            Tier::Notes => self.find_note(&line.scope, line.id.as_deref()).map_err(failed)?,
        };
        let found = items.iter().find(|item| item.id.is_some() && item.id == line.id);
        let unchanged = found.is_some_and(|item| Some(&item.text) == line.after.as_ref());
        match (line.op, &line.id, &line.before) {
            (LedgerOp::Forget, ..) => Err(ChangeRefusal::Forgotten.into()),
            (LedgerOp::Add | LedgerOp::Replace, Some(_), _) if !unchanged => {
                Err(ChangeRefusal::Changed.into())
            }
            (LedgerOp::Add, Some(id), _) => Ok(MemoryEdit::Forget { id: id.clone() }),
            (LedgerOp::Replace, Some(id), Some(before)) => {
                Ok(MemoryEdit::Replace { id: id.clone(), text: before.clone() })
            }
            (LedgerOp::Replace, None, Some(before)) => match &line.section {
                Some(section) => {
                    Ok(MemoryEdit::ReplaceSection { section: section.clone(), text: before.clone() })
                }
                None => Err(ChangeRefusal::NothingToUndo.into()),
            },
            (LedgerOp::Edit, _, Some(before)) => {
                let now = self.read_core(&line.scope).map_err(failed)?.file.digest;
                if line.digest.as_ref() == Some(&now) {
                    Ok(MemoryEdit::Write { text: before.clone() })
                } else {
                    Err(ChangeRefusal::Changed.into())
                }
            }
            (LedgerOp::Add | LedgerOp::Replace | LedgerOp::Edit, ..) => Err(ChangeRefusal::Forgotten.into()),
        }
    }

    /// The note with this id.
    fn find_note(&self, scope: &ScopeKey, id: Option<&str>) -> io::Result<Vec<MemoryItem>> {
        for name in months(&self.files, scope)?.iter().rev() {
            let text = month_text(&self.files, &format!("{}/{name}", scope.notes_folder()))?;
            let found = items_of(&text).into_iter().find(|item| item.id.as_deref() == id && id.is_some());
            if let Some(item) = found {
                return Ok(vec![item]);
            }
        }
        Ok(Vec::new())
    }

    pub(super) fn forget_all(&self, scope: &ScopeKey, provenance: Provenance) -> Result<usize, ChangeError> {
        let mut state = self.state();
        let failed = |error| self.files.error(LEDGER, error);
        let _lock = self.files.lock().map_err(failed)?;
        self.catch_up(&mut state).map_err(failed)?;
        let core = self.read_core(scope).map_err(failed)?;
        let mut count = items_of(&core.file.text).len();
        for name in months(&self.files, scope).map_err(failed)? {
            let text =
                month_text(&self.files, &format!("{}/{name}", scope.notes_folder())).map_err(failed)?;
            count = count.saturating_add(item_blocks(&text).len());
        }
        let seq = state.next_seq();
        let change = MemoryChange {
            scope: scope.clone(),
            tier: Tier::Core,
            edit: MemoryEdit::Write { text: String::new() },
            expected: None,
            provenance,
        };
        let mut line = line_of(&change, &nothing(LedgerOp::Forget), seq, seq);
        (line.base, line.digest) = (Some(core.file.digest), Some(self.digest_of_empty()));
        state.append(&self.files, &[StoredLine::Change(Box::new(line.clone()))]).map_err(failed)?;
        fail_point("memory-ledger");
        self.remove_files(scope).map_err(failed)?;
        self.erase(&mut state, &[line]).map_err(failed)?;
        Ok(count)
    }

    fn remove_files(&self, scope: &ScopeKey) -> io::Result<()> {
        self.files.remove(&scope.core_file())?;
        fail_point("memory-core-removed");
        for name in months(&self.files, scope)? {
            self.files.remove(&format!("{}/{name}", scope.notes_folder()))?;
        }
        Ok(())
    }

    /// Removes from the ledger what these lines forget. With it, all changes are complete.
    fn erase(&self, state: &mut LedgerState, lines: &[LedgerLine]) -> io::Result<()> {
        let unfinished = lines.iter().filter(|line| line.is_unfinished_forget());
        let erasures: Vec<Erasure> =
            unfinished.map(|line| Erasure { scope: line.scope.clone(), id: line.id.clone() }).collect();
        if !erasures.is_empty() {
            fail_point("memory-files");
            ledger::erase(&self.files, &erasures)?;
        }
        state.refresh(&self.files)?;
        state.settled = true;
        Ok(())
    }

    /// Plans a change behind those already planned. Returns the number of its ledger line.
    fn plan(
        &self,
        state: &LedgerState,
        plan: &mut Plan,
        change: MemoryChange,
        undoes: Option<u64>,
    ) -> Result<Option<u64>, ChangeError> {
        let removes = matches!(change.edit, MemoryEdit::Forget { .. });
        if change.tier == Tier::Core && !change.provenance.origin.may_be_core() && !removes {
            return Err(ChangeRefusal::NotTrusted.into());
        }
        let (name, edited) = match change.tier {
            Tier::Core => {
                let name = change.scope.core_file();
                self.plan_core(state, plan, &change)?;
                let file = plan.files.get(&name).ok_or(ChangeRefusal::Changed)?;
                let mut fresh = self.fresh_ids(&change, plan.next_seq(), items_of(&file.text));
                (name, edit_core(&file.text, &change.edit, &mut fresh)?)
            }
            Tier::Notes => self.plan_note(plan, &change)?,
        };
        let Some(edited) = edited else { return Ok(None) };
        let seq = plan.next_seq();
        let mut line = line_of(&change, &edited, seq, plan.first);
        line.undoes = undoes;
        if change.tier == Tier::Notes {
            line.file = name.rsplit('/').next().map(str::to_owned);
        }
        let Some(file) = plan.files.get_mut(&name) else { return Ok(None) };
        line.base = Some(file.digest.clone());
        file.digest = self.digest_of(edited.text.as_bytes());
        line.digest = Some(file.digest.clone());
        file.text = edited.text;
        file.changed = true;
        plan.lines.push(line);
        Ok(Some(seq))
    }

    /// Takes the core file of a change into the plan, noting where it was edited by hand.
    fn plan_core(
        &self,
        state: &LedgerState,
        plan: &mut Plan,
        change: &MemoryChange,
    ) -> Result<(), ChangeError> {
        let name = change.scope.core_file();
        if !plan.files.contains_key(&name) {
            let CoreRead { file, bytes } =
                self.read_core(&change.scope).map_err(|error| self.files.error(&name, error))?;
            if !file.is_text {
                return Err(ChangeRefusal::NotText.into());
            }
            if file.cut {
                return Err(ChangeRefusal::TooLong.into());
            }
            if self.was_edited_by_hand(state, &change.scope, &file.digest) {
                let seq = plan.next_seq();
                plan.lines.push(hand_edit(
                    &change.scope,
                    &file.digest,
                    change.provenance.at,
                    seq,
                    plan.first,
                ));
            }
            let planned = PlannedFile { old: bytes, text: file.text, digest: file.digest, changed: false };
            plan.files.insert(name.clone(), planned);
        }
        let current = plan.files.get(&name).map(|file| file.digest.as_str());
        if change.expected.as_deref().is_some_and(|expected| Some(expected) != current) {
            return Err(ChangeRefusal::Changed.into());
        }
        Ok(())
    }

    /// Plans a change of notes: the file, and its text after the change.
    fn plan_note(
        &self,
        plan: &mut Plan,
        change: &MemoryChange,
    ) -> Result<(String, Option<EditedText>), ChangeError> {
        let folder = change.scope.notes_folder();
        let failed = |error| self.files.error(&folder, error);
        let on_disk = months(&self.files, &change.scope).map_err(failed)?;
        let mut names: BTreeSet<String> =
            on_disk.into_iter().map(|name| format!("{folder}/{name}")).collect();
        names.extend(plan.files.keys().filter(|name| name.starts_with(&format!("{folder}/"))).cloned());
        let wanted = match &change.edit {
            MemoryEdit::Add { text, .. } => (None, Some(item_text(text)?)),
            MemoryEdit::Replace { id, .. } | MemoryEdit::Forget { id } => (Some(id.as_str()), None),
            MemoryEdit::ReplaceSection { .. } | MemoryEdit::Write { .. } => {
                return Err(ChangeRefusal::NotForNotes.into());
            }
        };
        let is_it = |item: &MemoryItem| match &wanted {
            (Some(id), _) => item.handle() == *id,
            (None, Some(text)) => item.says(text),
            (None, None) => false,
        };
        for name in names.iter().rev() {
            self.plan_month(plan, name).map_err(failed)?;
            let text = plan.files.get(name).map(|file| file.text.clone()).unwrap_or_default();
            let found = item_blocks(&text).into_iter().map(|block| (block, read_item(block)));
            let Some((block, item)) = found.into_iter().find(|(_, item)| is_it(item)) else { continue };
            return Ok((name.clone(), changed_note(&text, block, item, change)?));
        }
        let MemoryEdit::Add { .. } = &change.edit else {
            let id = wanted.0.unwrap_or_default().chars().take(40).collect();
            return Err(ChangeRefusal::NoSuchItem(id).into());
        };
        let name = format!("{folder}/{}", month_file(change.provenance.at));
        self.plan_month(plan, &name).map_err(failed)?;
        let mut text = plan.files.get(&name).map(|file| file.text.clone()).unwrap_or_default();
        let new = wanted.1.unwrap_or_default();
        let item = MemoryItem {
            id: Some(self.fresh_ids(change, plan.next_seq(), items_of(&text))()),
            at: Some(change.provenance.at.as_millis()),
            author: change.provenance.by.as_ref().map(ToString::to_string),
            text: new.clone(),
        };
        append_lines(&mut text, &item.to_lines());
        let edited = EditedText { text, id: item.id, after: Some(new), ..nothing(LedgerOp::Add) };
        Ok((name, Some(edited)))
    }

    fn plan_month(&self, plan: &mut Plan, name: &str) -> io::Result<()> {
        if !plan.files.contains_key(name) {
            let text = month_text(&self.files, name)?;
            let old = text.clone().into_bytes();
            let digest = self.digest_of(&old);
            plan.files.insert(name.to_owned(), PlannedFile { old, text, digest, changed: false });
        }
        Ok(())
    }

    /// Enters the planned lines into the ledger and writes the files. After an error nothing has changed.
    fn make(
        &self,
        state: &mut LedgerState,
        plan: Plan,
        mark: Option<StoredLine>,
    ) -> Result<Vec<LedgerLine>, ChangeError> {
        let Plan { mut lines, files, first } = plan;
        let count = lines.len().saturating_add(usize::from(mark.is_some()));
        for line in &mut lines {
            line.last = first.saturating_add(count.saturating_sub(1) as u64);
        }
        let stored: Vec<StoredLine> =
            lines.iter().cloned().map(|line| StoredLine::Change(Box::new(line))).chain(mark).collect();
        if stored.is_empty() {
            return Ok(lines);
        }
        let failed = |error| self.files.error(LEDGER, error);
        let length = self.files.facts(LEDGER).map_err(failed)?.unwrap_or_default().length;
        state.append(&self.files, &stored).map_err(failed)?;
        fail_point("memory-ledger");
        let changed: Vec<(&String, &PlannedFile)> = files.iter().filter(|(_, file)| file.changed).collect();
        for (number, (name, file)) in changed.iter().enumerate() {
            if let Err(error) = self.files.replace(name, file.text.as_bytes()) {
                for (name, file) in changed.iter().take(number) {
                    if let Err(error) = self.files.replace(name, &file.old) {
                        tracing::error!(%error, file = name.as_str(), "memory file not restored");
                    }
                }
                state.take_back(&self.files, length);
                return Err(self.files.error(name, error).into());
            }
        }
        self.erase(state, &lines).map_err(failed)?;
        Ok(lines)
    }

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

/// A note after its change.
fn changed_note(
    text: &str,
    block: &str,
    item: MemoryItem,
    change: &MemoryChange,
) -> Result<Option<EditedText>, ChangeRefusal> {
    let id = Some(item.handle());
    let at = Some(change.provenance.at.as_millis());
    let (op, new) = match &change.edit {
        // The same text again makes no second note: the first gets a newer date.
        MemoryEdit::Add { .. } if item.at >= at => return Ok(None),
        MemoryEdit::Add { .. } => (LedgerOp::Replace, Some(item.text.clone())),
        MemoryEdit::Replace { text, .. } => (LedgerOp::Replace, Some(item_text(text)?)),
        _ => (LedgerOp::Forget, None),
    };
    let lines = new.as_ref().map(|text| {
        MemoryItem { id: id.clone(), at, author: item.author.clone(), text: text.clone() }.to_lines()
    });
    Ok(Some(EditedText {
        text: replace_block(text, block, lines.as_deref().unwrap_or_default()),
        id,
        before: Some(item.text),
        after: new,
        ..nothing(op)
    }))
}

const fn nothing(op: LedgerOp) -> EditedText {
    EditedText { text: String::new(), op, id: None, section: None, before: None, after: None }
}

fn line_of(change: &MemoryChange, edited: &EditedText, seq: u64, batch: u64) -> LedgerLine {
    let Provenance { at, by, via, thread, from, origin, reviewed } = change.provenance.clone();
    LedgerLine {
        seq,
        id: edited.id.clone(),
        scope: change.scope.clone(),
        tier: change.tier,
        op: edited.op,
        section: edited.section.clone(),
        // What is forgotten is not written down once more.
        before: edited.before.clone().filter(|_| edited.op != LedgerOp::Forget),
        after: edited.after.clone(),
        at,
        by,
        via,
        thread,
        from,
        origin,
        reviewed,
        undoes: None,
        batch,
        last: seq,
        file: None,
        base: None,
        digest: None,
        erased: (edited.op == LedgerOp::Forget).then_some(false),
    }
}

/// The line that notes a file which was edited by hand.
pub(super) fn hand_edit(
    scope: &ScopeKey,
    digest: &str,
    at: crate::domain::Timestamp,
    seq: u64,
    batch: u64,
) -> LedgerLine {
    let provenance = Provenance {
        at,
        by: None,
        via: None,
        thread: None,
        from: Vec::new(),
        origin: Origin::Owner,
        reviewed: true,
    };
    let change = MemoryChange {
        scope: scope.clone(),
        tier: Tier::Core,
        edit: MemoryEdit::Write { text: String::new() },
        expected: None,
        provenance,
    };
    LedgerLine { digest: Some(digest.to_owned()), ..line_of(&change, &nothing(LedgerOp::Edit), seq, batch) }
}
