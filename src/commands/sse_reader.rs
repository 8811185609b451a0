//! Parser of server-sent events. Sans-IO: bytes in, events out, for any split of the bytes.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SseEvent {
    pub(super) name: String,
    pub(super) data: String,
}

/// The incomplete line and event so far.
#[derive(Debug, Default)]
pub(super) struct SseReader {
    line: Vec<u8>,
    event: SseEvent,
}

impl SseReader {
    /// Adds bytes; returns the events that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                events.extend(self.take_line(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n'])));
            }
        }
        events
    }

    fn take_line(&mut self, line: &str) -> Option<SseEvent> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return (!event.data.is_empty()).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if !self.event.data.is_empty() {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // Comments are keep-alives; other fields are not used by the daemon.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str = ": hi\n\nevent: state\ndata: {\"a\":1}\n\n: keep-alive\n\ndata: 你好\ndata:two\r\n\r\nevent: x\n\ndata: cut";

    fn expected() -> Vec<SseEvent> {
        let event = |name: &str, data: &str| SseEvent { name: name.to_owned(), data: data.to_owned() };
        vec![event("state", "{\"a\":1}"), event("", "你好\ntwo")]
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_bytes_are_cut(mut cuts in prop::collection::vec(0..STREAM.len(), 0..8)) {
            cuts.sort_unstable();
            let (mut reader, mut events, mut from) = (SseReader::default(), Vec::new(), 0);
            for cut in cuts.into_iter().chain([STREAM.len()]) {
                events.extend(reader.feed(STREAM.as_bytes().get(from..cut).unwrap()));
                from = cut;
            }
            prop_assert_eq!(events, expected());
        }

        #[test]
        fn any_bytes_are_borne(bytes: Vec<u8>) {
            SseReader::default().feed(&bytes);
        }
    }
}
