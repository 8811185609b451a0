//! The platform's side of a frame, implemented independently of ours.

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Header {
    #[prost(string, required, tag = "1")]
    pub(super) key: String,
    #[prost(string, required, tag = "2")]
    pub(super) value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Frame {
    #[prost(uint64, required, tag = "1")]
    pub(super) seq: u64,
    #[prost(uint64, required, tag = "2")]
    pub(super) log: u64,
    #[prost(int32, required, tag = "3")]
    pub(super) service: i32,
    #[prost(int32, required, tag = "4")]
    pub(super) method: i32,
    #[prost(message, repeated, tag = "5")]
    pub(super) headers: Vec<Header>,
    #[prost(bytes = "vec", optional, tag = "8")]
    pub(super) payload: Option<Vec<u8>>,
}

impl Frame {
    pub(super) fn header(&self, key: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.key == key).map(|header| header.value.as_str())
    }
}

pub(super) fn headers<const N: usize>(pairs: [(&str, String); N]) -> Vec<Header> {
    pairs.into_iter().map(|(key, value)| Header { key: key.to_owned(), value }).collect()
}
