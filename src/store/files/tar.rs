//! Headers of a tar archive: POSIX ustar, with an extended header for names that do not fit. Pure.

/// The unit of an archive.
pub(super) const BLOCK: usize = 512;
/// Longest name without an extended header.
const NAME: usize = 100;

/// The header of a file, before its content.
pub(super) fn header(name: &str, length: u64, mode: u32, modified: i64) -> Vec<u8> {
    if name.len() <= NAME {
        return block(name.as_bytes(), length, mode, modified, b'0').to_vec();
    }
    let record = path_record(name);
    let length_of_record = record.len() as u64;
    let mut out = block(b"PaxHeader", length_of_record, 0o600, modified, b'x').to_vec();
    out.extend_from_slice(&record);
    out.resize(out.len().next_multiple_of(BLOCK), 0);
    // For programs that do not know extended headers.
    let end = name.floor_char_boundary(NAME);
    let short = name.get(..end).unwrap_or_default();
    out.extend_from_slice(&block(short.as_bytes(), length, mode, modified, b'0'));
    out
}

/// The end of the archive.
pub(super) fn trailer() -> Vec<u8> {
    vec![0; BLOCK * 2]
}

/// The zeros behind a content of this length.
pub(super) fn padding(length: u64) -> Vec<u8> {
    let block = BLOCK as u64;
    vec![0; usize::try_from(length.next_multiple_of(block).saturating_sub(length)).unwrap_or_default()]
}

/// `"<length> path=<name>\n"`, where the length counts its own digits.
fn path_record(name: &str) -> Vec<u8> {
    let rest = name.len() + " path=\n".len();
    let mut length = rest + rest.to_string().len();
    if length.to_string().len() + rest != length {
        length += 1;
    }
    format!("{length} path={name}\n").into_bytes()
}

fn block(name: &[u8], length: u64, mode: u32, modified: i64, kind: u8) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| {
        if let Some(field) = block.get_mut(at..at.saturating_add(bytes.len())) {
            field.copy_from_slice(bytes);
        }
    };
    put(0, name);
    put(100, format!("{:07o}\0", mode & 0o7777).as_bytes());
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{length:011o}\0").as_bytes());
    put(136, format!("{:011o}\0", modified.max(0)).as_bytes());
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    if let Some(field) = block.get_mut(148..156) {
        field.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_its_length_and_its_sum() {
        let header = header("a.txt", 9, 0o600, 1);
        assert_eq!(header.len(), BLOCK);
        assert_eq!(&header[..6], b"a.txt\0");
        assert_eq!(&header[124..136], b"00000000011\0");
        let sum: u32 = header
            .iter()
            .enumerate()
            .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) })
            .sum();
        assert_eq!(&header[148..156], format!("{sum:06o}\0 ").as_bytes());
        assert_eq!((padding(0).len(), padding(1).len(), padding(512).len()), (0, 511, 0));
    }

    #[test]
    fn the_length_of_an_extended_name_counts_itself() {
        for length in [85, 90, 91, 92, 93, 101, 985, 990, 991, 992, 993] {
            let record = path_record(&"x".repeat(length));
            let (told, _) = std::str::from_utf8(&record).unwrap().split_once(' ').unwrap();
            assert_eq!(told.parse::<usize>().unwrap(), record.len(), "{length}");
        }
        assert_eq!(header(&"x".repeat(101), 0, 0, 0).len(), BLOCK * 3);
    }
}
