//! How long a recording is, read from its container without a decoder: MP4, MP3, FLAC and AMR.
//!
//! Recorders that stream leave the length in the header empty; then the fragments tell it.

/// Most samples that one table of an MP4 file may claim.
const MOST_SAMPLES: u64 = 100_000_000;

/// The length of a FLAC recording, from its stream information.
pub(super) fn flac_millis(bytes: &[u8]) -> Option<u64> {
    // Marker, block header, block and frame sizes; then 20 bits of rate, 8 of format and 36 of samples.
    let info = be(bytes.get(18..26)?);
    let (rate, samples) = (info >> 44, info & 0xf_ffff_ffff);
    millis(samples, rate).filter(|_| samples > 0)
}

/// The length of an AMR recording: frames of 20 ms, each with its own size.
pub(super) fn amr_millis(bytes: &[u8]) -> Option<u64> {
    const NARROW: [usize; 16] = [12, 13, 15, 17, 19, 20, 26, 31, 5, 0, 0, 0, 0, 0, 0, 0];
    const WIDE: [usize; 16] = [17, 23, 32, 36, 40, 46, 50, 58, 60, 5, 0, 0, 0, 0, 0, 0];
    let (sizes, mut rest) = match bytes.strip_prefix(b"#!AMR-WB\n") {
        Some(rest) => (WIDE, rest),
        None => (NARROW, bytes.strip_prefix(b"#!AMR\n")?),
    };
    let mut frames = 0;
    while let Some((head, tail)) = rest.split_first() {
        let size = sizes.get(usize::from(head >> 3 & 15)).copied().unwrap_or_default();
        let Some(tail) = tail.get(size..) else { break };
        rest = tail;
        frames += 1;
    }
    (frames > 0).then_some(frames * 20)
}

/// The length of an MP3 recording: the sum of its frames.
pub(super) fn mp3_millis(bytes: &[u8]) -> Option<u64> {
    let mut rest = without_id3(bytes);
    let (mut samples, mut rate) = (0_u64, 0);
    while let Some(frame) = Mp3Frame::of(rest) {
        (samples, rate) = (samples + frame.samples, frame.rate);
        let Some(tail) = rest.get(frame.bytes..) else { break };
        rest = tail;
    }
    millis(samples, rate).filter(|_| samples > 0)
}

fn without_id3(bytes: &[u8]) -> &[u8] {
    let Some([b'I', b'D', b'3', _, _, flags, sizes @ ..]) = bytes.get(..10) else { return bytes };
    let size = sizes.iter().fold(0_usize, |size, byte| size << 7 | usize::from(byte & 0x7f));
    let footer = if flags & 0x10 == 0 { 0 } else { 10 };
    bytes.get(10 + size + footer..).unwrap_or_default()
}

struct Mp3Frame {
    bytes: usize,
    samples: u64,
    rate: u64,
}

impl Mp3Frame {
    fn of(bytes: &[u8]) -> Option<Self> {
        // In kbit/s, by index: layers I, II and III of MPEG 1, then layer I and layers II and III of MPEG 2.
        const RATES: [[u16; 14]; 5] = [
            [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
            [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
            [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
            [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
            [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
        ];
        let &[0xff, second, third, _, ..] = bytes else { return None };
        if second & 0xe0 != 0xe0 {
            return None;
        }
        let (version, layer) = (second >> 3 & 3, second >> 1 & 3);
        let first_version = version == 3;
        let table = match (first_version, layer) {
            (true, 3) => 0,
            (true, 2) => 1,
            (true, 1) => 2,
            (false, 3) => 3,
            (false, 1 | 2) => 4,
            _ => return None,
        };
        let index = usize::from(third >> 4).checked_sub(1)?;
        let kilobits = usize::from(*RATES.get(table)?.get(index)?);
        let base = [44_100_usize, 48_000, 32_000].get(usize::from(third >> 2 & 3)).copied()?;
        let rate = match version {
            3 => base,
            2 => base / 2,
            0 => base / 4,
            _ => return None,
        };
        let padding = usize::from(third >> 1 & 1);
        let samples = match (layer, first_version) {
            (3, _) => 384,
            (1, false) => 576,
            _ => 1152,
        };
        let bytes = match layer {
            3 => (12_000 * kilobits / rate + padding) * 4,
            _ => samples / 8 * 1000 * kilobits / rate + padding,
        };
        Some(Self { bytes, samples: samples as u64, rate: rate as u64 })
    }
}

/// The length of an MP4 recording: as its header tells it, or the sum of its fragments.
pub(super) fn mp4_millis(bytes: &[u8]) -> Option<u64> {
    let mut length = Mp4Length::default();
    length.read(bytes, 0);
    let told = millis(length.duration, length.timescale).filter(|length| *length > 0);
    told.or_else(|| millis(length.fragments, length.media_timescale).filter(|length| *length > 0))
}

#[derive(Default)]
struct Mp4Length {
    timescale: u64,
    duration: u64,
    /// Ticks a second in the track, which its fragments count in.
    media_timescale: u64,
    default_sample: u64,
    fragment_sample: u64,
    fragments: u64,
}

impl Mp4Length {
    /// Reads boxes, and the boxes in them.
    fn read(&mut self, mut rest: &[u8], depth: u8) {
        while let (Some(size), Some(kind)) = (rest.get(..4), rest.get(4..8)) {
            let (head, size) = match be(size) {
                0 => (8, rest.len()),
                1 => (16, rest.get(8..16).map_or(0, |size| usize::try_from(be(size)).unwrap_or(usize::MAX))),
                size => (8, usize::try_from(size).unwrap_or(usize::MAX)),
            };
            let content = rest.get(head..size.min(rest.len())).unwrap_or_default();
            match kind {
                b"moov" | b"trak" | b"mdia" | b"mvex" | b"moof" | b"traf" if depth < 6 => {
                    self.read(content, depth + 1);
                }
                b"mvhd" => (self.timescale, self.duration) = header(content).unwrap_or_default(),
                b"mdhd" if self.media_timescale == 0 => {
                    self.media_timescale = header(content).unwrap_or_default().0;
                }
                b"trex" => self.default_sample = content.get(12..16).map(be).unwrap_or_default(),
                b"tfhd" => self.fragment_sample = fragment_default(content).unwrap_or(self.default_sample),
                b"trun" => self.add_run(content),
                _ => {}
            }
            match rest.get(size.max(8)..) {
                Some(tail) => rest = tail,
                None => return,
            }
        }
    }

    fn add_run(&mut self, content: &[u8]) {
        let (Some(flags), Some(count)) = (content.get(1..4).map(be), content.get(4..8).map(be)) else {
            return;
        };
        let has = |flag: u64| flags & flag != 0;
        let field = |flag: u64| if has(flag) { 4 } else { 0 };
        let (start, each) =
            (8 + field(1) + field(4), field(0x100) + field(0x200) + field(0x400) + field(0x800));
        if has(0x100) {
            let samples = content.get(start..).unwrap_or_default().chunks_exact(each);
            self.fragments += samples.filter_map(|sample| sample.get(..4)).map(be).sum::<u64>();
        } else {
            self.fragments += count.min(MOST_SAMPLES) * self.fragment_sample;
        }
    }
}

/// Time scale and duration of `mvhd` or `mdhd`.
fn header(content: &[u8]) -> Option<(u64, u64)> {
    let (scale, duration) = match content.first()? {
        1 => (content.get(20..24)?, content.get(24..32)?),
        _ => (content.get(12..16)?, content.get(16..20)?),
    };
    // All ones: not known.
    Some((be(scale), Some(be(duration)).filter(|_| duration.iter().any(|byte| *byte != 0xff)).unwrap_or(0)))
}

/// The default length of a sample that a fragment's header gives.
fn fragment_default(content: &[u8]) -> Option<u64> {
    let flags = be(content.get(1..4)?);
    let before = if flags & 1 == 0 { 0 } else { 8 } + if flags & 2 == 0 { 0 } else { 4 };
    if flags & 8 == 0 { None } else { content.get(8 + before..12 + before).map(be) }
}

/// At most eight bytes as a number, the first one the highest.
pub(super) fn be(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn millis(ticks: u64, rate: u64) -> Option<u64> {
    u64::try_from(u128::from(ticks) * 1000 / u128::from((rate > 0).then_some(rate)?)).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mp4_box(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
        [&(content.len() as u32 + 8).to_be_bytes(), kind.as_slice(), content].concat()
    }

    /// A full box with its fields of four bytes.
    fn fields(kind: &[u8; 4], first: u32, fields: &[u32]) -> Vec<u8> {
        let mut content = first.to_be_bytes().to_vec();
        content.extend(fields.iter().flat_map(|field| field.to_be_bytes()));
        mp4_box(kind, &content)
    }

    fn mp4(duration: u32, fragment: &[u8]) -> Vec<u8> {
        let track = mp4_box(b"mdia", &fields(b"mdhd", 0, &[0, 0, 48_000, 0]));
        let moov = [
            fields(b"mvhd", 0, &[0, 0, 1000, duration]),
            mp4_box(b"trak", &track),
            mp4_box(b"mvex", &fields(b"trex", 0, &[1, 1, 1024, 0, 0])),
        ]
        .concat();
        let mut all = mp4_box(b"ftyp", b"M4A ");
        all.extend([mp4_box(b"moov", &moov), fragment.to_vec()].concat());
        all
    }

    #[test]
    fn the_length_of_mp4_is_that_of_the_header_or_of_the_fragments() {
        assert_eq!(mp4_millis(&mp4(2500, b"")), Some(2500));
        let run = |flags: u32, values: &[u32]| {
            let traf = [fields(b"tfhd", 0, &[1]), fields(b"trun", flags, values)].concat();
            mp4_box(b"moof", &mp4_box(b"traf", &traf))
        };
        // 94 samples of 1024 at 48,000 a second.
        assert_eq!(mp4_millis(&mp4(0, &run(1, &[94, 0]))), Some(2005));
        // Three samples, each with length and size.
        assert_eq!(mp4_millis(&mp4(0, &run(0x301, &[3, 0, 24_000, 9, 24_000, 9, 48_000, 9]))), Some(2000));
        assert_eq!(mp4_millis(&mp4(0, b"")), None);
    }

    #[test]
    fn the_length_of_mp3_is_the_sum_of_its_frames() {
        // MPEG 1 layer III, 128 kbit/s, 44,100 Hz: 417 bytes a frame, 1152 samples.
        let frame: Vec<u8> = [0xff, 0xfb, 0x90, 0].into_iter().chain([0; 413]).collect();
        let mut all = b"ID3\x04\0\0\0\0\0\x05hello".to_vec();
        all.extend(frame.repeat(100));
        all.extend(b"TAG");
        assert_eq!(mp3_millis(&all), Some(2612));
        assert_eq!(mp3_millis(b"ID3\x04"), None);
        // MPEG 2 layer III, 64 kbit/s, 22,050 Hz: 208 bytes, 576 samples.
        let frame: Vec<u8> = [0xff, 0xf3, 0x80, 0].into_iter().chain([0; 204]).collect();
        assert_eq!(mp3_millis(&frame.repeat(10)), Some(261));
    }

    #[test]
    fn the_lengths_of_flac_and_amr_are_counted_in_samples_and_frames() {
        let mut flac = b"fLaC\0\0\0\x22".to_vec();
        flac.extend([0; 10]);
        flac.extend((44_100_u64 << 44 | 15 << 36 | 88_200).to_be_bytes());
        assert_eq!(flac_millis(&flac), Some(2000));
        let amr: Vec<u8> = b"#!AMR\n"
            .iter()
            .copied()
            .chain([0x3c; 1].into_iter().chain([0; 31]).cycle().take(32 * 50))
            .collect();
        assert_eq!(amr_millis(&amr), Some(1000));
        assert_eq!(amr_millis(b"#!AMR\n"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_length_or_none(head in 0..5_usize, bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let heads: [&[u8]; 5] =
                [b"\0\0\0\x10ftypM4A xxxx", b"ID3\x04\0\0", b"fLaC\0\0\0\x22", b"#!AMR\n", b""];
            let bytes = [heads[head], &bytes].concat();
            for read in [mp4_millis, mp3_millis, flac_millis, amr_millis] {
                let _: Option<u64> = read(&bytes);
            }
        }
    }
}
