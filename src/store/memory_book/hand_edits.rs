//! Files that a person changed with an editor: their content is another than their newest ledger line says. Such a change is
//! noted in the ledger, by nobody, when the file is read next or before the daemon changes it.

use std::io;

use super::book::Book;
use super::files::{FileFacts, MemoryFiles};
use super::ledger::{LEDGER, LedgerState, StoredLine};
use super::notes::months;
use crate::domain::{CoreFile, LedgerLine, LedgerOp, Origin, ScopeKey, Tier, Timestamp};
use crate::policy::fingerprint::ContentDigest;

/// How much of a file is read at once for its digest.
const CHUNK: u64 = 256 * 1024;
/// What imported notes came by.
pub(super) const IMPORT: &str = "import";

/// A version of a month's file that its newest ledger line does not name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MonthVersion {
    /// Its name in the folder of the scope.
    pub(super) file: String,
    pub(super) digest: String,
}

impl<F: MemoryFiles> Book<F> {
    /// Whether a core file has another content than its newest ledger line says.
    pub(super) fn was_edited_by_hand(&self, state: &LedgerState, scope: &ScopeKey, digest: &str) -> bool {
        match state.core_digest(scope) {
            Some(known) => known != digest,
            None => digest != self.digest_of_empty(),
        }
    }

    /// Completes a change that was cut off, or notes that the core file was edited by hand.
    pub(super) fn settle(&self, state: &mut LedgerState, scope: &ScopeKey) -> io::Result<CoreFile> {
        let _lock = self.files.lock()?;
        self.catch_up(state)?;
        let file = self.read_core(scope)?.file;
        if self.was_edited_by_hand(state, scope, &file.digest) {
            let seq = state.next_seq();
            let line = hand_edit(scope, None, &file.digest, self.now(), seq, seq);
            self.append_made(state, vec![line])?;
        }
        Ok(file)
    }

    /// Notes which notes of these scopes were edited by hand. Reading them goes on where that fails.
    pub(super) fn note_edited_months(&self, scopes: &[ScopeKey]) {
        let mut state = self.state();
        for scope in scopes {
            if let Err(error) = self.note_months_of(&mut state, scope) {
                tracing::error!(%error, file = LEDGER, "ledger unavailable");
            }
        }
    }

    fn note_months_of(&self, state: &mut LedgerState, scope: &ScopeKey) -> io::Result<()> {
        state.refresh(&self.files)?;
        if state.is_settled() && self.edited_months(state, scope)?.is_empty() {
            return Ok(());
        }
        let _lock = self.files.lock()?;
        self.catch_up(state)?;
        let edited = self.edited_months(state, scope)?;
        self.enter_months(state, scope, edited, None)
    }

    /// The months' files that have another content than their newest ledger lines say. A version that was compared once is
    /// not read again.
    pub(super) fn edited_months(
        &self,
        state: &mut LedgerState,
        scope: &ScopeKey,
    ) -> io::Result<Vec<MonthVersion>> {
        let mut names = months(&self.files, scope)?;
        // A file that was removed by hand was edited as well.
        names.extend(state.months_of(scope).filter(|name| !names.contains(name)).collect::<Vec<_>>());
        let mut edited = Vec::new();
        for file in names {
            let name = format!("{}/{file}", scope.notes_folder());
            let facts = self.files.facts(&name)?;
            if facts.is_some() && state.is_month_as_compared(scope, &file, facts) {
                continue;
            }
            let digest = if facts.is_some() { self.digest_of_file(&name)? } else { self.digest_of_empty() };
            let is_known = match state.month_digest(scope, &file) {
                Some(known) => *known == digest,
                None => digest == self.digest_of_empty(),
            };
            match facts {
                Some(facts) if is_known => state.month_compared(scope, &file, facts),
                Some(_) | None if !is_known => edited.push(MonthVersion { file, digest }),
                Some(_) | None => {}
            }
        }
        Ok(edited)
    }

    /// Enters versions of months' files into the ledger, each as one edit of the whole file. The lock must be held.
    pub(super) fn enter_months(
        &self,
        state: &mut LedgerState,
        scope: &ScopeKey,
        versions: Vec<MonthVersion>,
        via: Option<&str>,
    ) -> io::Result<()> {
        let (first, now) = (state.next_seq(), self.now());
        let count = versions.len() as u64;
        let lines =
            versions.into_iter().zip(first..).map(|(MonthVersion { file, digest }, seq)| LedgerLine {
                via: via.map(str::to_owned),
                last: first.saturating_add(count.saturating_sub(1)),
                ..hand_edit(scope, Some(file), &digest, now, seq, first)
            });
        self.append_made(state, lines.collect())
    }

    /// Enters changes into the ledger that the files have already.
    fn append_made(&self, state: &mut LedgerState, lines: Vec<LedgerLine>) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let lines: Vec<StoredLine> =
            lines.into_iter().map(|line| StoredLine::Change(Box::new(line))).collect();
        state.append(&self.files, &lines)?;
        state.settled = true;
        Ok(())
    }

    fn digest_of_file(&self, name: &str) -> io::Result<String> {
        let mut digest = ContentDigest::new();
        let mut offset = 0_u64;
        loop {
            let piece = self.files.read(name, offset, CHUNK)?;
            if piece.is_empty() {
                return Ok(self.shortened(&digest.finish()));
            }
            offset = offset.saturating_add(piece.len() as u64);
            digest.add(&piece);
        }
    }
}

/// What is known of a month's file.
#[derive(Debug, Default)]
pub(super) struct KnownMonth {
    /// The version that its newest ledger line names.
    pub(super) digest: String,
    /// The file when it was last compared with that version, and was the same.
    pub(super) compared: Option<FileFacts>,
}

/// The line that notes a file which was edited by hand: core memory, or a month's file of notes.
pub(super) fn hand_edit(
    scope: &ScopeKey,
    month: Option<String>,
    digest: &str,
    at: Timestamp,
    seq: u64,
    batch: u64,
) -> LedgerLine {
    LedgerLine {
        seq,
        id: None,
        scope: scope.clone(),
        tier: if month.is_some() { Tier::Notes } else { Tier::Core },
        op: LedgerOp::Edit,
        section: None,
        before: None,
        after: None,
        at,
        by: None,
        via: None,
        thread: None,
        from: Vec::new(),
        origin: Origin::Owner,
        reviewed: true,
        undoes: None,
        batch,
        last: seq,
        file: month,
        base: None,
        digest: Some(digest.to_owned()),
        erased: None,
    }
}
