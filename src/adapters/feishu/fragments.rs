//! Reassembles events that arrive in several frames: bounded in number, size and time. Knows no socket.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::frame::SocketFrame;

/// Deadline of an incomplete event: the platform sends it again.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most incomplete events at once.
const MOST_EVENTS: usize = 64;
/// Most pieces of one event.
const MOST_PIECES: usize = 512;
/// Most bytes of one event.
const MOST_BYTES: usize = 8 << 20;

/// The result of adding a frame.
#[derive(Debug, PartialEq)]
pub(super) enum Taken {
    /// The whole event, and the frame to acknowledge.
    Whole {
        frame: Box<SocketFrame>,
        payload: Vec<u8>,
    },
    /// Pieces are missing.
    Part,
    Refused(&'static str),
}

#[derive(Debug, Default)]
pub(super) struct Fragments {
    open: BTreeMap<String, Pieces>,
}

#[derive(Debug)]
struct Pieces {
    began: Instant,
    pieces: Vec<Option<Vec<u8>>>,
    bytes: usize,
}

impl Fragments {
    /// Adds an event frame.
    pub(super) fn take(&mut self, mut frame: SocketFrame, now: Instant) -> Taken {
        self.open.retain(|_, pieces| now.duration_since(pieces.began) < PATIENCE);
        let payload = frame.payload.take().unwrap_or_default();
        let number = |key| frame.header(key).and_then(|text| text.parse::<usize>().ok());
        let sum = number("sum").unwrap_or(1);
        if sum <= 1 {
            return match payload.len() > MOST_BYTES {
                true => Taken::Refused("the event is too long"),
                false => Taken::Whole { frame: Box::new(frame), payload },
            };
        }
        let (Some(seq), Some(id)) = (number("seq"), frame.header("message_id").map(str::to_owned)) else {
            return Taken::Refused("a piece without its number or id");
        };
        if seq >= sum || sum > MOST_PIECES {
            return Taken::Refused("a piece with a number out of range");
        }
        if !self.open.contains_key(&id) && self.open.len() >= MOST_EVENTS {
            self.forget_oldest();
        }
        let fresh = || Pieces { began: now, pieces: vec![None; sum], bytes: 0 };
        let pieces = self.open.entry(id.clone()).or_insert_with(fresh);
        if pieces.pieces.len() != sum {
            self.open.remove(&id);
            return Taken::Refused("pieces that disagree on their number");
        }
        pieces.put(seq, payload);
        if pieces.bytes > MOST_BYTES {
            self.open.remove(&id);
            return Taken::Refused("the event is too long");
        }
        if pieces.pieces.iter().any(Option::is_none) {
            return Taken::Part;
        }
        let whole = self.open.remove(&id).map(|pieces| pieces.pieces).unwrap_or_default();
        // Pieces may end inside a character: join the bytes before decoding them.
        Taken::Whole { frame: Box::new(frame), payload: whole.into_iter().flatten().flatten().collect() }
    }

    fn forget_oldest(&mut self) {
        let oldest = self.open.iter().min_by_key(|(_, pieces)| pieces.began).map(|(id, _)| id.clone());
        if let Some(oldest) = oldest {
            self.open.remove(&oldest);
        }
    }
}

impl Pieces {
    fn put(&mut self, seq: usize, payload: Vec<u8>) {
        if let Some(place) = self.pieces.get_mut(seq) {
            self.bytes += payload.len();
            self.bytes -= place.replace(payload).map_or(0, |earlier| earlier.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::adapters::feishu::frame::FrameHeader;

    fn piece(id: &str, sum: usize, seq: usize, payload: &[u8]) -> SocketFrame {
        let headers =
            [("type", "event"), ("message_id", id), ("sum", &sum.to_string()), ("seq", &seq.to_string())]
                .map(|(key, value)| FrameHeader { key: key.into(), value: value.into() });
        SocketFrame {
            method: 1,
            headers: headers.into(),
            payload: Some(payload.to_vec()),
            ..SocketFrame::default()
        }
    }

    fn whole(taken: Taken) -> Option<Vec<u8>> {
        match taken {
            Taken::Whole { payload, .. } => Some(payload),
            _ => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn pieces_in_any_order_make_the_event() {
        let (mut fragments, now) = (Fragments::default(), Instant::now());
        let text = "你好".as_bytes();
        assert_eq!(fragments.take(piece("m", 3, 2, &text[5..]), now), Taken::Part);
        assert_eq!(fragments.take(piece("m", 3, 0, &text[..1]), now), Taken::Part);
        assert_eq!(fragments.take(piece("m", 3, 0, &text[..1]), now), Taken::Part, "again");
        assert_eq!(whole(fragments.take(piece("m", 3, 1, &text[1..5]), now)).unwrap(), text);
        assert!(fragments.open.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn pieces_that_fit_nothing_are_refused() {
        let (mut fragments, now) = (Fragments::default(), Instant::now());
        for frame in [piece("m", 2, 2, b""), piece("m", 100_000, 1, b""), {
            let mut frame = piece("m", 2, 1, b"");
            frame.headers.retain(|header| header.key != "seq");
            frame
        }] {
            assert!(matches!(fragments.take(frame, now), Taken::Refused(_)));
        }
        assert_eq!(fragments.take(piece("m", 2, 0, b"a"), now), Taken::Part);
        assert!(matches!(fragments.take(piece("m", 3, 1, b"b"), now), Taken::Refused(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn old_pieces_are_forgotten() {
        let (mut fragments, now) = (Fragments::default(), Instant::now());
        assert_eq!(fragments.take(piece("m", 2, 0, b"a"), now), Taken::Part);
        assert_eq!(fragments.take(piece("m", 2, 1, b"b"), now + PATIENCE), Taken::Part);
        assert_eq!(whole(fragments.take(piece("m", 2, 0, b"a"), now + PATIENCE)).unwrap(), b"ab");
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_beginnings_stays_bounded() {
        let (mut fragments, now) = (Fragments::default(), Instant::now());
        for number in 0..1000 {
            assert_eq!(fragments.take(piece(&format!("m{number}"), 2, 0, b"a"), now), Taken::Part);
        }
        assert_eq!(fragments.open.len(), MOST_EVENTS);
        let big = vec![0; MOST_BYTES];
        assert_eq!(fragments.take(piece("big", 3, 0, &big), now), Taken::Part);
        assert!(matches!(fragments.take(piece("big", 3, 1, &big), now), Taken::Refused(_)));
    }

    proptest! {
        #[test]
        fn an_event_cut_anywhere_comes_back(payload in proptest::collection::vec(any::<u8>(), 0..60), size in 1usize..20, order in any::<u64>()) {
            let (mut fragments, now) = (Fragments::default(), Instant::now());
            let mut pieces: Vec<(usize, &[u8])> = payload.chunks(size).enumerate().collect();
            let sum = pieces.len();
            pieces.sort_by_key(|(seq, _)| (order.rotate_left(*seq as u32 * 7), *seq));
            let mut got = None;
            for (seq, bytes) in pieces {
                got = got.or(whole(fragments.take(piece("m", sum, seq, bytes), now)));
            }
            prop_assert_eq!(got, (sum > 0).then_some(payload));
        }
    }
}
