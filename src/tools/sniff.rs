//! Detects whether bytes are text, and their kind otherwise. Pure.

/// How much of a file's beginning is examined.
pub(super) const SAMPLE_BYTES: usize = 8 * 1024;

/// The binary kind of a file's beginning; `None` means text.
pub(super) fn binary_kind(sample: &[u8]) -> Option<&'static str> {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"%PDF-", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b", "application/gzip"),
        (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
        (b"\x28\xb5\x2f\xfd", "application/zstd"),
        (b"\xfd7zXZ\0", "application/x-xz"),
        (b"\x7fELF", "application/x-elf"),
        (b"SQLite format 3\0", "application/vnd.sqlite3"),
        (b"\0asm", "application/wasm"),
        (b"OggS", "audio/ogg"),
        (b"ID3", "audio/mpeg"),
        (b"\xff\xfe", "text in UTF-16"),
        (b"\xfe\xff", "text in UTF-16"),
    ];
    if let Some((_, kind)) = KNOWN.iter().find(|(magic, _)| sample.starts_with(magic)) {
        return Some(kind);
    }
    match (sample.starts_with(b"RIFF"), sample.get(8..12)) {
        (true, Some(b"WEBP")) => return Some("image/webp"),
        (true, Some(b"WAVE")) => return Some("audio/wav"),
        _ => {}
    }
    if sample.get(4..8) == Some(b"ftyp") {
        return Some("video/mp4");
    }
    sample.contains(&0).then_some("application/octet-stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_told_from_text() {
        for (sample, expected) in [
            (&b""[..], None),
            (b"fn main() {}\n", None),
            ("中文\n".as_bytes(), None),
            (b"caf\xe9 latin-1", None),
            (b"\xef\xbb\xbfwith a mark", None),
            (b"\x89PNG\r\n\x1a\nrest", Some("image/png")),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", Some("image/webp")),
            (b"\0\0\0\x18ftypmp42", Some("video/mp4")),
            (b"\xff\xfeh\0i\0", Some("text in UTF-16")),
            (b"words\0more", Some("application/octet-stream")),
        ] {
            assert_eq!(binary_kind(sample), expected, "{sample:?}");
        }
    }
}
