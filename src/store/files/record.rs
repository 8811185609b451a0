//! The lines of the journal: their content, and how a valid line is distinguished from a partial one.
//!
//! A line is `["<checksum>",{…}]`: the checksum covers the bytes of the second element, so that a line that a power
//! loss left incomplete is never taken for a valid one.

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::lines::fnv;
use crate::domain::ThreadId;

/// Lines at an offset of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Append<'a> {
    /// The offset of the first of them. Everything from there on is replaced.
    pub(super) at: u64,
    /// The lines, byte for byte, without their line ends.
    pub(super) lines: Cow<'a, [Box<RawValue>]>,
}

impl Append<'_> {
    /// The bytes in the file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        join(&self.lines)
    }
}

/// Lines with their line ends.
pub(super) fn join(lines: &[Box<RawValue>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(lines.iter().map(|line| line.get().len().saturating_add(1)).sum());
    for line in lines {
        bytes.extend_from_slice(line.get().as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// One line of the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Record<'a> {
    /// The first line of every journal: the unfinished work when it was begun.
    Checkpoint { open: Vec<ThreadId> },
    Commit {
        thread: ThreadId,
        /// Whether the thread has work left after it.
        open: bool,
        /// For the thread file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        messages: Option<Append<'a>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outbox: Option<Append<'a>>,
    },
    /// An outbox was rewritten without settled deliveries. Its state is the same.
    Rewrite { thread: ThreadId, outbox: Append<'a> },
    /// A thread was deleted, with everything that was written to it before.
    Delete { thread: ThreadId },
}

impl Record<'_> {
    /// The line with its line end.
    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        let body = serde_json::to_vec(self)?;
        let mut line = Vec::with_capacity(body.len().saturating_add(24));
        line.extend_from_slice(format!("[\"{:016x}\",", fnv(&body)).as_bytes());
        line.extend_from_slice(&body);
        line.extend_from_slice(b"]\n");
        Ok(line)
    }

    /// Parses a line without its line end; `None` where it is not a complete line of ours.
    pub(super) fn decode(line: &[u8]) -> Option<Record<'static>> {
        let (sum, rest) = line.strip_prefix(b"[\"")?.split_at_checked(16)?;
        let body = rest.strip_prefix(b"\",")?.strip_suffix(b"]")?;
        let expected = format!("{:016x}", fnv(body));
        if sum != expected.as_bytes() {
            return None;
        }
        serde_json::from_slice(body).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn a_line_keeps_its_bytes_and_any_damage_is_seen() {
        let thread: ThreadId = "web:chat:1".parse().unwrap();
        let lines = vec![raw(r#"{"b":1.50,"a":"\u4f60\u2028 x"}"#), raw("{ }")];
        let messages = Some(Append { at: 7, lines: Cow::Owned(lines) });
        let line = Record::Commit { thread, open: true, messages, outbox: None }.encode().unwrap();
        let whole = line.strip_suffix(b"\n").unwrap();
        let Some(Record::Commit { open: true, messages: Some(back), outbox: None, .. }) =
            Record::decode(whole)
        else {
            panic!("not read back");
        };
        assert_eq!(back.at, 7);
        assert_eq!(back.bytes(), b"{\"b\":1.50,\"a\":\"\\u4f60\\u2028 x\"}\n{ }\n");
        for cut in 0..whole.len() {
            assert!(Record::decode(&whole[..cut]).is_none(), "cut at {cut}");
            let mut bent = whole.to_vec();
            bent[cut] ^= 0x01;
            assert!(Record::decode(&bent).is_none(), "bent at {cut}");
        }
    }
}
