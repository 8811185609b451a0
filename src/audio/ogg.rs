//! The length of Ogg/Opus, read from its pages without decoding.

/// Granule positions of Opus count samples at this rate.
const TICKS_PER_MILLI: u64 = 48;
/// Bytes of a page before its table of segments.
const HEADER: usize = 27;
/// The granule position of a page on which no packet ends.
const NO_PACKET: u64 = u64::MAX;

struct Page<'a> {
    granule: u64,
    body: &'a [u8],
    rest: &'a [u8],
}

/// The length of an Ogg/Opus file; `None` where it is none.
pub fn opus_millis(bytes: &[u8]) -> Option<u64> {
    let first = page(bytes)?;
    let pre_skip = pre_skip(first.body)?;
    let (mut rest, mut last) = (first.rest, None);
    while let Some(page) = page(rest) {
        if page.granule != NO_PACKET {
            last = Some(page.granule);
        }
        rest = page.rest;
    }
    Some(last?.saturating_sub(pre_skip) / TICKS_PER_MILLI)
}

fn page(bytes: &[u8]) -> Option<Page<'_>> {
    let (header, behind) = bytes.split_at_checked(HEADER)?;
    if !header.starts_with(b"OggS") {
        return None;
    }
    let granule = u64::from_le_bytes(header.get(6..14)?.try_into().ok()?);
    let (table, behind) = behind.split_at_checked(usize::from(*header.get(26)?))?;
    let length = table.iter().map(|segment| usize::from(*segment)).sum();
    let (body, rest) = behind.split_at_checked(length)?;
    Some(Page { granule, body, rest })
}

/// The samples at the beginning that are not played.
fn pre_skip(head: &[u8]) -> Option<u64> {
    let field = head.strip_prefix(b"OpusHead")?.get(2..4)?;
    Some(u64::from(u16::from_le_bytes(field.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::super::encode_opus;
    use super::super::pcm::tests::tone;
    use super::*;

    #[test]
    fn the_length_is_that_of_the_sound() {
        for millis in [20, 1000, 4293] {
            let bytes = encode_opus(&tone(24_000, millis)).unwrap();
            assert_eq!(opus_millis(&bytes), Some(u64::from(millis)));
            let cut = bytes.get(..bytes.len() - 10).unwrap();
            assert!(opus_millis(cut).is_none_or(|told| told < u64::from(millis)), "{millis}");
        }
        for other in [b"".as_slice(), b"OggS", b"RIFF", &[0xff; 64]] {
            assert_eq!(opus_millis(other), None);
        }
    }
}
