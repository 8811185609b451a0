//! Plans changes of memory on the current files: the ledger lines, and each file's text after them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::book::{Book, CoreRead};
use super::files::{FileFacts, MemoryFiles};
use super::hand_edits::hand_edit;
use super::ledger::LedgerState;
use super::notes::{append_lines, month_files, months};
use crate::domain::{
    ChangeRefusal, CoreFile, EditedText, LedgerLine, LedgerOp, MemoryChange, MemoryEdit, MemoryItem,
    Provenance, Tier, edit_core, item_blocks, item_text, items_of, read_item, replace_block,
};
use crate::ports::ChangeError;

/// A file while changes to it are planned.
#[derive(Debug)]
pub(super) struct PlannedFile {
    /// The file on the disk, and its content.
    pub(super) facts: Option<FileFacts>,
    pub(super) old: Vec<u8>,
    pub(super) text: String,
    /// Whether it is UTF-8. What is not is never rewritten.
    pub(super) is_text: bool,
    pub(super) digest: String,
    pub(super) changed: bool,
}

/// Changes before they are made.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) first: u64,
    pub(super) lines: Vec<LedgerLine>,
    pub(super) files: BTreeMap<String, PlannedFile>,
}

impl Plan {
    pub(super) const fn new(first: u64) -> Self {
        Self { first, lines: Vec::new(), files: BTreeMap::new() }
    }

    pub(super) fn next_seq(&self) -> u64 {
        self.first.saturating_add(self.lines.len() as u64)
    }
}

impl<F: MemoryFiles> Book<F> {
    /// Plans a change behind those already planned. Returns the number of its ledger line.
    pub(super) fn plan(
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
            Tier::Notes => self.plan_note(state, plan, &change)?,
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
            let failed = |error| self.files.error(&name, error);
            let facts = self.files.facts(&name).map_err(failed)?;
            let CoreRead { file, bytes } = self.read_core(&change.scope).map_err(failed)?;
            if !file.is_text {
                return Err(ChangeRefusal::NotText.into());
            }
            if file.cut {
                return Err(ChangeRefusal::TooLong.into());
            }
            if self.was_edited_by_hand(state, &change.scope, &file.digest) {
                let seq = plan.next_seq();
                let (scope, at) = (&change.scope, change.provenance.at);
                plan.lines.push(hand_edit(scope, None, &file.digest, at, seq, plan.first));
            }
            let CoreFile { text, digest, is_text, .. } = file;
            let planned = PlannedFile { facts, old: bytes, text, is_text, digest, changed: false };
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
        state: &LedgerState,
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
            let file = self.plan_month(state, plan, change, name).map_err(failed)?;
            let found = item_blocks(&file.text).into_iter().map(|block| (block, read_item(block)));
            let Some((block, item)) = found.into_iter().find(|(_, item)| is_it(item)) else { continue };
            return match (&change.edit, file.is_text) {
                (_, true) => Ok((name.clone(), changed_note(&file.text, block, item, change)?)),
                (MemoryEdit::Add { .. }, false) => Ok((name.clone(), None)),
                (_, false) => Err(ChangeRefusal::NotText.into()),
            };
        }
        let MemoryEdit::Add { .. } = &change.edit else {
            let id = wanted.0.unwrap_or_default().chars().take(40).collect();
            return Err(ChangeRefusal::NoSuchItem(id).into());
        };
        let mut month_files = month_files(change.provenance.at);
        let (name, mut text) = loop {
            let name = format!("{folder}/{}", month_files.next().ok_or(ChangeRefusal::NotText)?);
            let file = self.plan_month(state, plan, change, &name).map_err(failed)?;
            if file.is_text {
                break (name, file.text.clone());
            }
        };
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

    /// Takes a month's file into the plan of a change, noting where it was edited by hand.
    fn plan_month<'p>(
        &self,
        state: &LedgerState,
        plan: &'p mut Plan,
        change: &MemoryChange,
        name: &str,
    ) -> io::Result<&'p PlannedFile> {
        let seq = plan.next_seq();
        let entry = match plan.files.entry(name.to_owned()) {
            Entry::Occupied(entry) => return Ok(entry.into_mut()),
            Entry::Vacant(entry) => entry,
        };
        let facts = self.files.facts(name)?;
        let old = if facts.is_some() { self.files.read(name, 0, u64::MAX)? } else { Vec::new() };
        let digest = self.digest_of(&old);
        let file = name.rsplit('/').next().unwrap_or(name);
        let known = state.month_digest(&change.scope, file).cloned();
        if known.unwrap_or_else(|| self.digest_of_empty()) != digest {
            let (scope, at) = (&change.scope, change.provenance.at);
            plan.lines.push(hand_edit(scope, Some(file.to_owned()), &digest, at, seq, plan.first));
        }
        let is_text = std::str::from_utf8(&old).is_ok();
        let text = String::from_utf8_lossy(&old).into_owned();
        Ok(entry.insert(PlannedFile { facts, old, text, is_text, digest, changed: false }))
    }
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

pub(super) const fn nothing(op: LedgerOp) -> EditedText {
    EditedText { text: String::new(), op, id: None, section: None, before: None, after: None }
}

pub(super) fn line_of(change: &MemoryChange, edited: &EditedText, seq: u64, batch: u64) -> LedgerLine {
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
