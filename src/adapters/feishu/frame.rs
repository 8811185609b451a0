//! The frames of the long connection: protobuf whose required fields are written even when they are zero. Knows no
//! socket.

use prost::Message as _;

/// The values of `method`: connection control, or an event.
const CONTROL: i32 = 0;
const DATA: i32 = 1;

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct FrameHeader {
    #[prost(string, required, tag = "1")]
    pub(super) key: String,
    #[prost(string, required, tag = "2")]
    pub(super) value: String,
}

/// One frame on the wire.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct SocketFrame {
    #[prost(uint64, required, tag = "1")]
    pub(super) seq_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub(super) log_id: u64,
    #[prost(int32, required, tag = "3")]
    pub(super) service: i32,
    #[prost(int32, required, tag = "4")]
    pub(super) method: i32,
    #[prost(message, repeated, tag = "5")]
    pub(super) headers: Vec<FrameHeader>,
    #[prost(string, optional, tag = "6")]
    pub(super) payload_encoding: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub(super) payload_type: Option<String>,
    #[prost(bytes = "vec", optional, tag = "8")]
    pub(super) payload: Option<Vec<u8>>,
    #[prost(string, optional, tag = "9")]
    pub(super) log_id_new: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// The response to a ping; may carry a new client config.
    Pong,
    /// An event or a pressed button.
    Event,
    Other,
}

impl SocketFrame {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, prost::DecodeError> {
        Self::decode(bytes)
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }

    /// The ping of a connection of this service.
    pub(super) fn ping(service: i32) -> Self {
        Self { service, method: CONTROL, headers: vec![header("type", "ping")], ..Self::default() }
    }

    pub(super) fn kind(&self) -> FrameKind {
        match (self.method, self.header("type")) {
            (CONTROL, Some("pong")) => FrameKind::Pong,
            // A pressed button arrives as either type.
            (DATA, Some("event" | "card")) => FrameKind::Event,
            _ => FrameKind::Other,
        }
    }

    pub(super) fn header(&self, key: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.key == key).map(|header| header.value.as_str())
    }

    /// The acknowledgement: the same frame with the handling time and the result.
    pub(super) fn answered(mut self, millis: u64, payload: Vec<u8>) -> Self {
        self.headers.retain(|header| header.key != "biz_rt");
        self.headers.push(header("biz_rt", &millis.to_string()));
        self.payload = Some(payload);
        self
    }
}

fn header(key: &str, value: &str) -> FrameHeader {
    FrameHeader { key: key.to_owned(), value: value.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_ping_writes_its_zeros() {
        let bytes = SocketFrame::ping(7).bytes();
        // seq 0, log 0, service 7, method 0: the peer refuses a frame that leaves them out.
        assert_eq!(bytes[..8], [0x08, 0, 0x10, 0, 0x18, 7, 0x20, 0]);
        let read = SocketFrame::read(&bytes).unwrap();
        assert_eq!((read.header("type"), read.payload.as_ref()), (Some("ping"), None));
    }

    #[test]
    fn frames_are_told_apart() {
        for (method, name, kind) in [
            (0, "pong", FrameKind::Pong),
            (0, "ping", FrameKind::Other),
            (1, "event", FrameKind::Event),
            (1, "card", FrameKind::Event),
            (1, "pong", FrameKind::Other),
            (2, "event", FrameKind::Other),
        ] {
            let frame = SocketFrame { method, headers: vec![header("type", name)], ..SocketFrame::default() };
            assert_eq!(frame.kind(), kind, "{method} {name}");
        }
        assert_eq!(SocketFrame::default().kind(), FrameKind::Other);
    }

    #[test]
    fn an_answer_echoes_everything_and_adds_its_own() {
        let frame = SocketFrame {
            seq_id: 3,
            log_id: 4,
            service: 5,
            method: 1,
            headers: vec![header("type", "event"), header("message_id", "m"), header("biz_rt", "old")],
            payload_encoding: Some("e".into()),
            payload_type: Some("t".into()),
            payload: Some(b"question".to_vec()),
            log_id_new: Some("l".into()),
        };
        let mut expected = frame.clone();
        expected.headers = vec![header("type", "event"), header("message_id", "m"), header("biz_rt", "12")];
        expected.payload = Some(b"answer".to_vec());
        assert_eq!(frame.answered(12, b"answer".to_vec()), expected);
    }

    proptest! {
        #[test]
        fn a_frame_comes_back_from_its_bytes(
            numbers in any::<(u64, u64, i32, i32)>(),
            headers in proptest::collection::vec((".{0,8}", ".{0,8}"), 0..4),
            payload in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40)),
        ) {
            let (seq_id, log_id, service, method) = numbers;
            let headers = headers.iter().map(|(key, value)| header(key, value)).collect();
            let frame = SocketFrame { seq_id, log_id, service, method, headers, payload, ..SocketFrame::default() };
            prop_assert_eq!(SocketFrame::read(&frame.bytes()).unwrap(), frame);
        }

        #[test]
        fn whatever_arrives_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(frame) = SocketFrame::read(&bytes) {
                let _kind = frame.kind();
            }
        }
    }
}
