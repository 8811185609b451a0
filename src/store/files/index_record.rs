//! One record of a thread's index: a line of the thread file in 24 bytes, with a checksum.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::lines::fnv;
use crate::domain::{CorrelationId, MessageId};
use crate::uimessage::Role;

/// The size of a record.
pub(super) const RECORD_BYTES: usize = 24;

/// Offsets have 40 bits: a thread file may have one tebibyte.
const OFFSET_BITS: u32 = 40;

/// What stands for the speaker of a checkpoint: only the agent's own messages are any.
const CHECKPOINT_ROLE: u64 = 3;

/// What a line is to its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// Its first line: determines its position.
    First,
    /// A later one: the last determines its content.
    Later,
    /// Ignored: unreadable, or with another role than the first line.
    Void,
}

/// A line of the thread file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineRecord {
    /// The hash of the message's id.
    pub(super) id: u64,
    pub(super) offset: u64,
    /// Its length, with the line end.
    pub(super) length: u32,
    /// The hash of the run's id: enough to exclude most others.
    pub(super) run: u16,
    pub(super) role: Role,
    pub(super) kind: RecordKind,
    /// Whether it is a checkpoint.
    pub(super) checkpoint: bool,
}

impl LineRecord {
    /// The offset of the next line.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.length))
    }

    pub(super) fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let kind: u64 = match self.kind {
            RecordKind::First => 0,
            RecordKind::Later => 1,
            RecordKind::Void => 2,
        };
        let role: u64 = match self.role {
            Role::System => 0,
            Role::User => 1,
            Role::Assistant if self.checkpoint => CHECKPOINT_ROLE,
            Role::Assistant => 2,
        };
        let place =
            self.offset | (kind << OFFSET_BITS) | (role << (OFFSET_BITS + 2)) | (u64::from(self.run) << 48);
        let sum = checksum(self.id, place, self.length);
        let mut bytes = [0; RECORD_BYTES];
        let words = self.id.to_le_bytes().into_iter().chain(place.to_le_bytes());
        let words = words.chain(self.length.to_le_bytes()).chain(sum.to_le_bytes());
        for (slot, byte) in bytes.iter_mut().zip(words) {
            *slot = byte;
        }
        bytes
    }

    /// Parses a record; `None` where it is damaged.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (id, rest) = bytes.split_first_chunk::<8>()?;
        let (place, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (sum, _) = rest.split_first_chunk::<4>()?;
        let (id, place, length) =
            (u64::from_le_bytes(*id), u64::from_le_bytes(*place), u32::from_le_bytes(*length));
        if u32::from_le_bytes(*sum) != checksum(id, place, length) {
            return None;
        }
        let kind = match (place >> OFFSET_BITS) & 3 {
            0 => RecordKind::First,
            1 => RecordKind::Later,
            2 => RecordKind::Void,
            _ => return None,
        };
        let speaker = (place >> (OFFSET_BITS + 2)) & 3;
        let role = match speaker {
            0 => Role::System,
            1 => Role::User,
            2 | CHECKPOINT_ROLE => Role::Assistant,
            _ => return None,
        };
        let run = u16::try_from(place >> 48).ok()?;
        Some(Self {
            id,
            offset: place & ((1 << OFFSET_BITS) - 1),
            length,
            run,
            role,
            kind,
            checkpoint: speaker == CHECKPOINT_ROLE,
        })
    }
}

/// A map by id hash.
pub(super) type ByHash<T> = HashMap<u64, T, BuildHasherDefault<IdentityHasher>>;
/// A set of id hashes.
pub(super) type Hashes = HashSet<u64, BuildHasherDefault<IdentityHasher>>;

/// A hasher for keys that are hashes already: used for every line of a long thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= fnv(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Cheap, because it is computed for every record, and never zero for zeroes.
fn checksum(id: u64, place: u64, length: u32) -> u32 {
    let mixed = (id ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd) ^ place.rotate_left(29);
    let mixed = mixed.wrapping_mul(0xc4ce_b9fe_1a85_ec53) ^ u64::from(length);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    u32::try_from(mixed >> 32).unwrap_or(u32::MAX)
}

/// The hash of a message's id.
pub(super) fn id_hash(id: &MessageId) -> u64 {
    fnv(id.as_str().as_bytes())
}

/// The hash of a run's id.
pub(super) fn run_hash(run: &CorrelationId) -> u16 {
    let [a, b, ..] = fnv(run.as_str().as_bytes()).to_be_bytes();
    u16::from_be_bytes([a, b])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_record_survives_and_a_bent_one_is_refused(
            id: u64,
            offset in 0u64..1 << OFFSET_BITS,
            length: u32,
            run: u16,
            role in prop::sample::select(vec![Role::System, Role::User, Role::Assistant]),
            checkpoint: bool,
            kind in prop::sample::select(vec![RecordKind::First, RecordKind::Later, RecordKind::Void]),
            bit in 0usize..RECORD_BYTES * 8,
        ) {
            let checkpoint = checkpoint && role == Role::Assistant;
            let record = LineRecord { id, offset, length, run, role, kind, checkpoint };
            let mut bytes = record.to_bytes();
            prop_assert_eq!(LineRecord::from_bytes(&bytes), Some(record));
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(LineRecord::from_bytes(&bytes), None);
        }
    }

    #[test]
    fn zeroes_are_no_record() {
        assert_eq!(LineRecord::from_bytes(&[0; RECORD_BYTES]), None);
        assert_eq!(LineRecord::from_bytes(&[]), None);
    }
}
