//! Start with threads but without a journal: unfinished work is determined from the thread files alone. A few files are
//! read during the start, the others in the background.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::catalog::visit_thread_files;
use super::layout::Layout;
use super::lines::ended_lines;
use crate::domain::ThreadId;
use crate::uimessage::{UiMessage, fold, holds_all_unfinished, unfinished_runs};

/// How much of the end of a file is read first.
const FIRST_LOOK: u64 = 64 * 1024;
/// How many files are read during the start.
const AT_ONCE: usize = 256;

/// The result of reading a few files.
#[derive(Debug)]
pub(super) struct QuickScan {
    pub(super) open: BTreeSet<ThreadId>,
    /// Whether there are further files.
    pub(super) more: bool,
}

/// Reads as many files as a start has time for.
pub(super) fn quick_scan(layout: &Layout) -> io::Result<QuickScan> {
    let (mut open, mut count) = (BTreeSet::new(), 0_usize);
    visit_thread_files(layout, |thread, metadata| {
        count = count.saturating_add(1);
        if count <= AT_ONCE {
            look(layout, thread, metadata.len(), &mut open);
        }
        count <= AT_ONCE
    })?;
    if count > 0 {
        tracing::warn!(unfinished = open.len(), "journal missing, thread files scanned");
    }
    Ok(QuickScan { open, more: count > AT_ONCE })
}

/// Reads every file while `goes_on` returns true. `None` where it was stopped.
pub(super) fn scan(layout: &Layout, goes_on: impl Fn() -> bool) -> io::Result<Option<BTreeSet<ThreadId>>> {
    let (mut open, mut whole) = (BTreeSet::new(), true);
    visit_thread_files(layout, |thread, metadata| {
        look(layout, thread, metadata.len(), &mut open);
        whole = goes_on();
        whole
    })?;
    Ok(whole.then_some(open))
}

/// Adds a thread whose file ends in something unfinished. A false positive is harmless: its actor finds nothing to do.
fn look(layout: &Layout, thread: ThreadId, length: u64, open: &mut BTreeSet<ThreadId>) {
    match is_unfinished(&layout.thread(&thread), length) {
        Ok(false) => {}
        Ok(true) => {
            open.insert(thread);
        }
        Err(error) => tracing::warn!(%thread, %error, "thread file not readable"),
    }
}

fn is_unfinished(path: &Path, length: u64) -> io::Result<bool> {
    let file = File::open(path)?;
    let mut look = FIRST_LOOK;
    loop {
        let tail = messages_from(&file, length.saturating_sub(look), length)?;
        if !unfinished_runs(&tail).is_empty() {
            return Ok(true);
        }
        if look >= length || holds_all_unfinished(&tail) {
            return Ok(false);
        }
        look = look.saturating_mul(4);
    }
}

/// The messages whose lines are complete between two offsets.
fn messages_from(file: &File, from: u64, to: u64) -> io::Result<Vec<UiMessage>> {
    let mut bytes = vec![0; usize::try_from(to.saturating_sub(from)).unwrap_or(0)];
    file.read_exact_at(&mut bytes, from)?;
    // A partial first line does not parse as a message.
    let messages = ended_lines(&bytes).filter_map(|line| serde_json::from_slice::<UiMessage>(line).ok());
    Ok(fold(messages.collect::<Vec<_>>()))
}
