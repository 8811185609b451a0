//! A minimal parser of multipart bodies: fields by name.

use std::collections::BTreeMap;

/// The fields of a body, each with its bytes.
pub(super) fn fields(content_type: &str, body: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let boundary = content_type.split("boundary=").nth(1).unwrap_or_default().trim_matches('"');
    let mark = format!("--{boundary}").into_bytes();
    let mut out = BTreeMap::new();
    let mut starts: Vec<usize> =
        body.windows(mark.len()).enumerate().filter(|(_, w)| *w == mark).map(|(at, _)| at).collect();
    starts.push(body.len());
    for pair in starts.windows(2) {
        let part = &body[pair[0] + mark.len().min(body.len() - pair[0])..pair[1]];
        let Some(split) = part.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&part[..split]);
        let Some(name) = head.split(" name=\"").nth(1).and_then(|rest| rest.split('"').next()) else {
            continue;
        };
        let value = &part[split + 4..];
        out.insert(name.to_owned(), value.strip_suffix(b"\r\n").unwrap_or(value).to_vec());
    }
    out
}
