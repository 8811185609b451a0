//! A cache from approval numbers to ids: lines of fixed length, so that any is found with one read. Missing lines are
//! rebuilt from the approvals.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::layout::private_file;
use crate::domain::{ApprovalId, ApprovalNumber};

/// The longest id, and the end of its line.
const LINE: usize = 65;
/// How far beyond the last line a number may be: limits the file's growth by a corrupt number.
const ROOM: u64 = 1_000_000;

/// The file of numbers.
#[derive(Clone, Debug)]
pub(super) struct ApprovalNumbers {
    path: PathBuf,
}

impl ApprovalNumbers {
    /// The file in this folder. Opens nothing.
    pub(super) fn new(state: &Path) -> Self {
        Self { path: state.join("approval-ids") }
    }

    /// Stores the id of a number.
    pub(super) fn note(&self, number: ApprovalNumber, id: &ApprovalId) -> io::Result<()> {
        self.note_all(std::iter::once((number, id)))
    }

    /// Stores the ids of several numbers.
    pub(super) fn note_all<'a>(
        &self,
        all: impl Iterator<Item = (ApprovalNumber, &'a ApprovalId)>,
    ) -> io::Result<()> {
        let file = private_file().create(true).write(true).truncate(false).open(&self.path)?;
        for (number, id) in all {
            let last = file.metadata()?.len() / LINE as u64;
            if u64::from(number.0) > last.saturating_add(ROOM) {
                tracing::warn!(%number, "approval number too large for the index");
                continue;
            }
            let mut line = Vec::with_capacity(LINE);
            writeln!(line, "{:<width$}", id.as_str(), width = LINE - 1)?;
            file.write_all_at(&line, place(number))?;
        }
        Ok(())
    }

    /// The id of a number.
    pub(super) fn find(&self, number: ApprovalNumber) -> io::Result<Option<ApprovalId>> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut line = [0; LINE];
        match file.read_exact_at(&mut line, place(number)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
            // A line that is missing or incomplete is no id.
            Ok(()) => Ok(str::from_utf8(&line).ok().and_then(|line| line.trim().parse().ok())),
        }
    }
}

const fn place(number: ApprovalNumber) -> u64 {
    number.0 as u64 * LINE as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_leads_to_its_approval_and_to_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let numbers = ApprovalNumbers::new(dir.path());
        let find = |number| numbers.find(ApprovalNumber(number)).unwrap();
        assert_eq!(find(1), None);
        let short: ApprovalId = "apr_0123456789ab".parse().unwrap();
        let long: ApprovalId = "x".repeat(64).parse().unwrap();
        numbers.note(ApprovalNumber(7), &long).unwrap();
        numbers.note(ApprovalNumber(3), &short).unwrap();
        assert_eq!((find(3), find(7)), (Some(short.clone()), Some(long)));
        assert_eq!((find(0), find(1), find(4), find(8), find(u32::MAX)), (None, None, None, None, None));
        numbers.note(ApprovalNumber(7), &short).unwrap();
        assert_eq!(find(7), Some(short));
    }

    #[test]
    fn a_number_out_of_all_proportion_makes_no_giant_file() {
        let dir = tempfile::tempdir().unwrap();
        let numbers = ApprovalNumbers::new(dir.path());
        let id: ApprovalId = "apr_0123456789ab".parse().unwrap();
        let all = [u32::MAX, 1, 2_000_000, 2, 900_000].map(ApprovalNumber);
        numbers.note_all(all.iter().map(|number| (*number, &id))).unwrap();
        let known = all.map(|number| numbers.find(number).unwrap().is_some());
        assert_eq!(known, [false, true, false, true, true]);
        let length = std::fs::metadata(dir.path().join("approval-ids")).unwrap().len();
        assert_eq!(length, 900_001 * LINE as u64);
    }
}
