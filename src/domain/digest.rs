//! Digests as text: names of bounded length for any key, and fingerprints of contents.

use ring::digest::{SHA256, digest};

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The first `bytes` bytes of the SHA-256 digest of a content, as hexadecimal digits.
pub fn short_digest(content: &[u8], bytes: usize) -> String {
    let whole = digest(&SHA256, content);
    hex(whole.as_ref().get(..bytes).unwrap_or(whole.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_lower_case_hexadecimal_digits() {
        assert_eq!(hex(&[0, 9, 10, 255]), "00090aff");
        assert_eq!(short_digest(b"abc", 4), "ba7816bf");
        assert_eq!(short_digest(b"abc", 99).len(), 64);
    }
}
