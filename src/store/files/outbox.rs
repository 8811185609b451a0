//! A thread's outbox: computes the outstanding deliveries from its lines.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use serde_json::value::{RawValue, to_raw_value};

use super::disk::refused;
use super::lines::ended_lines;
use crate::domain::{DeliveryId, Timestamp};
use crate::ports::{OutboxEntry, OutboxLine, StoreError};

/// Most permanently failed deliveries that are kept: a chat that refuses everything must not grow the file without
/// limit.
const KEPT_DEAD: usize = 100;

/// The state of an outbox.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outbox {
    /// Without a receipt and not failed permanently, in order.
    pub(super) undelivered: Vec<OutboxEntry>,
    /// Those of `undelivered` whose last attempt has no result.
    pub(super) cut_off: Vec<(DeliveryId, Timestamp)>,
    /// Failed permanently, with the entry where it is known.
    pub(super) dead: Vec<(Option<OutboxEntry>, OutboxLine)>,
}

impl Outbox {
    /// Reads an outbox; a missing one is empty.
    pub(super) fn read(path: &Path) -> Result<Self, StoreError> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Self::fold(parse(path, &bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(refused(path, source)),
        }
    }

    /// Folds the lines. A delivery counts once, however often it was added; a receipt takes precedence, at any
    /// position.
    pub(super) fn fold(lines: impl IntoIterator<Item = OutboxLine>) -> Self {
        let mut entries: Vec<OutboxEntry> = Vec::new();
        let mut dead: Vec<(DeliveryId, OutboxLine)> = Vec::new();
        let mut cut_off: Vec<(DeliveryId, Timestamp)> = Vec::new();
        let (mut known, mut delivered, mut given_up) = (HashSet::new(), HashSet::new(), HashSet::new());
        for line in lines {
            match line {
                OutboxLine::Entry(entry) => {
                    if known.insert(entry.id.clone()) {
                        entries.push(entry);
                    }
                }
                OutboxLine::Attempted { id, at } => {
                    cut_off.retain(|(other, _)| *other != id);
                    cut_off.push((id, at));
                }
                OutboxLine::Failed { id, .. } => cut_off.retain(|(other, _)| *other != id),
                OutboxLine::Receipt { id, .. } => {
                    delivered.insert(id);
                }
                OutboxLine::Dead { ref id, .. } => {
                    if given_up.insert(id.clone()) {
                        dead.push((id.clone(), line));
                    }
                }
            }
        }
        entries.retain(|entry| !delivered.contains(&entry.id));
        dead.retain(|(id, _)| !delivered.contains(id));
        let (lost, undelivered): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| given_up.contains(&entry.id));
        cut_off.retain(|(id, _)| known.contains(id) && !delivered.contains(id) && !given_up.contains(id));
        let mut lost: HashMap<_, _> = lost.into_iter().map(|entry| (entry.id.clone(), entry)).collect();
        let dead = dead.into_iter().map(|(id, line)| (lost.remove(&id), line)).collect();
        Self { undelivered, cut_off, dead }
    }

    /// The fewest lines with the same state, without the oldest permanent failures.
    pub(super) fn lines(self) -> Result<Vec<Box<RawValue>>, serde_json::Error> {
        let old = self.dead.len().saturating_sub(KEPT_DEAD);
        let dead = self.dead.into_iter().skip(old).flat_map(|(entry, line)| {
            let entry = entry.map(OutboxLine::Entry);
            entry.into_iter().chain([line])
        });
        let entries = self.undelivered.into_iter().map(OutboxLine::Entry);
        let cut_off = self.cut_off.into_iter().map(|(id, at)| OutboxLine::Attempted { id, at });
        dead.chain(entries).chain(cut_off).map(|line| to_raw_value(&line)).collect()
    }
}

fn parse(path: &Path, bytes: &[u8]) -> Vec<OutboxLine> {
    let mut lines = Vec::new();
    for (number, line) in ended_lines(bytes).enumerate() {
        match serde_json::from_slice(line) {
            Ok(line) => lines.push(line),
            Err(error) => {
                tracing::warn!(path = %path.display(), line = number.saturating_add(1), %error, "unreadable line skipped");
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Intent, OutboundIntent};
    use crate::ports::Receipt;

    const NOW: Timestamp = Timestamp::from_millis(0);

    fn id(index: usize) -> DeliveryId {
        DeliveryId::new("m", index)
    }

    fn entry(index: usize) -> OutboxEntry {
        let intent = OutboundIntent {
            thread_id: "web:chat:1".parse().unwrap(),
            correlation_id: "run".parse().unwrap(),
            reply_to: None,
            intent: Intent::AssistantText { text: format!("chunk {index}") },
        };
        OutboxEntry { id: id(index), at: NOW, intent, on_behalf_of: None }
    }

    fn put(index: usize) -> OutboxLine {
        OutboxLine::Entry(entry(index))
    }

    fn attempted(index: usize) -> OutboxLine {
        OutboxLine::Attempted { id: id(index), at: NOW }
    }

    fn failed(index: usize) -> OutboxLine {
        OutboxLine::Failed { id: id(index), at: NOW }
    }

    fn receipt(index: usize) -> OutboxLine {
        OutboxLine::Receipt { id: id(index), at: NOW, receipt: Receipt::default() }
    }

    fn dead(index: usize) -> OutboxLine {
        OutboxLine::Dead { id: id(index), at: NOW, reason: "blocked".into() }
    }

    #[test]
    fn what_has_neither_receipt_nor_death_is_undelivered_in_order() {
        let cases = [
            (vec![], vec![], 0),
            (vec![put(1), put(2), receipt(1)], vec![2], 0),
            (vec![put(1), put(2), put(3), receipt(2), dead(1)], vec![3], 1),
            (vec![put(1), put(1)], vec![1], 0),
            (vec![put(1), receipt(1), put(1)], vec![], 0),
            (vec![put(1), dead(1), receipt(1)], vec![], 0),
            (vec![receipt(9), dead(8), dead(8)], vec![], 1),
        ];
        for (lines, undelivered, dead) in cases {
            let outbox = Outbox::fold(lines.clone());
            assert_eq!(
                outbox.undelivered,
                undelivered.into_iter().map(entry).collect::<Vec<_>>(),
                "{lines:?}"
            );
            assert_eq!(outbox.dead.len(), dead, "{lines:?}");
        }
    }

    #[test]
    fn an_attempt_without_a_result_was_cut_off() {
        for (lines, cut_off) in [
            (vec![put(1)], vec![]),
            (vec![put(1), attempted(1)], vec![1]),
            (vec![put(1), attempted(1), failed(1)], vec![]),
            (vec![put(1), attempted(1), failed(1), attempted(1)], vec![1]),
            (vec![put(1), put(2), attempted(1), receipt(1), attempted(2)], vec![2]),
            (vec![put(1), attempted(1), dead(1)], vec![]),
            (vec![attempted(9)], vec![]),
        ] {
            let outbox = Outbox::fold(lines.clone());
            let found: Vec<_> = outbox.cut_off.iter().map(|(id, _)| id.clone()).collect();
            assert_eq!(found, cut_off.into_iter().map(id).collect::<Vec<_>>(), "{lines:?}");
        }
    }

    #[test]
    fn fewer_lines_come_to_the_same() {
        let mut lines = vec![put(1), put(2), put(3), put(4), receipt(2), dead(1), receipt(4), dead(7)];
        lines.extend([attempted(1), attempted(3), failed(3), attempted(3)]);
        let fewer = Outbox::fold(lines.clone()).lines().unwrap();
        assert_eq!(fewer.len(), 5);
        let parsed: Vec<OutboxLine> =
            fewer.iter().map(|line| serde_json::from_str(line.get()).unwrap()).collect();
        assert_eq!(Outbox::fold(parsed), Outbox::fold(lines));
    }

    #[test]
    fn of_what_was_given_up_only_the_newest_is_kept_and_nothing_is_forgotten_that_is_still_to_be_sent() {
        let mut lines = vec![put(0)];
        lines.extend((1..=2 * KEPT_DEAD).flat_map(|index| [put(index), dead(index)]));
        let fewer = Outbox::fold(lines).lines().unwrap();
        let parsed = fewer.iter().map(|line| serde_json::from_str(line.get()).unwrap());
        let left = Outbox::fold(parsed);
        assert_eq!(left.undelivered, [entry(0)]);
        let kept: Vec<_> = left.dead.into_iter().filter_map(|(entry, _)| entry).collect();
        assert_eq!(kept, (KEPT_DEAD + 1..=2 * KEPT_DEAD).map(entry).collect::<Vec<_>>());
    }

    #[test]
    fn torn_and_unreadable_lines_of_an_outbox_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("outbox.jsonl");
        let good = serde_json::to_string(&put(1)).unwrap();
        crate::store::replace_file(&path, format!("nonsense\n{good}\n{{\"line\":").as_bytes(), 0o600)
            .unwrap();
        assert_eq!(Outbox::read(&path).unwrap().undelivered, [entry(1)]);
        assert_eq!(Outbox::read(&dir.path().join("none")).unwrap(), Outbox::default());
    }
}
