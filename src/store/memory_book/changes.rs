//! Changes of memory: planned on the current files, entered into the ledger, then made.

use std::io;

use super::book::Book;
use super::files::MemoryFiles;
use super::ledger::{self, DistilLine, LEDGER, LedgerState, StoredLine};
use super::notes::{month_text, months};
use super::planning::{Plan, PlannedFile, line_of, nothing};
use crate::domain::{
    ChangeRefusal, LedgerLine, LedgerOp, MemoryChange, MemoryEdit, MemoryItem, Provenance, ScopeKey, Tier,
    item_blocks, items_of,
};
use crate::fail_point::fail_point;
use crate::ports::{ChangeError, MemoryBatch, Undone};

/// How often a change is planned anew because a file was saved with an editor meanwhile.
const TRIES: usize = 3;

impl<F: MemoryFiles> Book<F> {
    /// Makes the changes. They are planned anew where an editor saved one of the files before it was written.
    pub(super) fn apply_all(&self, batch: MemoryBatch) -> Result<Vec<LedgerLine>, ChangeError> {
        for _ in 1..TRIES {
            match self.try_apply_all(batch.clone()) {
                Err(ChangeError::Refused(ChangeRefusal::Changed)) => {}
                done => return done,
            }
        }
        self.try_apply_all(batch)
    }

    fn try_apply_all(&self, batch: MemoryBatch) -> Result<Vec<LedgerLine>, ChangeError> {
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
            if let Err(error) = self.replace_unedited(name, file) {
                for (name, file) in changed.iter().take(number) {
                    if let Err(error) = self.files.replace(name, &file.old) {
                        tracing::error!(%error, file = name.as_str(), "memory file not restored");
                    }
                }
                state.take_back(&self.files, length);
                return Err(error);
            }
        }
        self.erase(state, &lines).map_err(failed)?;
        Ok(lines)
    }

    /// Writes a planned file, unless an editor saved it since it was read.
    fn replace_unedited(&self, name: &str, file: &PlannedFile) -> Result<(), ChangeError> {
        let failed = |error| self.files.error(name, error);
        if self.files.facts(name).map_err(failed)? != file.facts {
            return Err(ChangeRefusal::Changed.into());
        }
        Ok(self.files.replace(name, file.text.as_bytes()).map_err(failed)?)
    }
}
