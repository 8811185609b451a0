//! Start with threads but without a journal: unfinished work is determined from the thread files alone.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::catalog::thread_files;
use super::layout::Layout;
use super::lines::ended_lines;
use crate::domain::ThreadId;
use crate::uimessage::{UiMessage, fold, holds_all_unfinished, unfinished_runs};

/// How much of the end of a file is read first.
const FIRST_LOOK: u64 = 64 * 1024;

/// The threads whose files end in something unfinished. A false positive is harmless: its actor finds nothing to do.
pub(super) fn unfinished_by_files(layout: &Layout) -> io::Result<BTreeSet<ThreadId>> {
    let mut open = BTreeSet::new();
    let threads = thread_files(layout)?;
    if threads.is_empty() {
        return Ok(open);
    }
    for (thread, length) in threads {
        match is_unfinished(&layout.thread(&thread), length) {
            Ok(false) => {}
            Ok(true) => {
                open.insert(thread);
            }
            Err(error) => tracing::warn!(%thread, %error, "unreadable thread file skipped"),
        }
    }
    tracing::warn!(unfinished = open.len(), "no journal found; thread files scanned");
    Ok(open)
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
