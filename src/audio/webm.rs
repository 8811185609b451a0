//! WebM, which browsers record: the length of a recording, and its sound where that is Opus.
//!
//! Recorders that stream (the browser's MediaRecorder) leave the length in the header empty and sizes unknown; then the
//! blocks tell the length.

use opus_pure::{OggOpusWriter, OpusHead};

use super::durations::be;
use super::opus::{damaged, decode_opus};
use super::{AudioError, Pcm};

const SEGMENT: u64 = 0x1853_8067;
const INFO: u64 = 0x1549_a966;
const SCALE: u64 = 0x2a_d7b1;
const DURATION: u64 = 0x4489;
const TRACKS: u64 = 0x1654_ae6b;
const TRACK: u64 = 0xae;
const TRACK_NUMBER: u64 = 0xd7;
const CODEC: u64 = 0x86;
const CODEC_HEAD: u64 = 0x63a2;
const ENCODINGS: u64 = 0x6d80;
const CLUSTER: u64 = 0x1f43_b675;
const CLUSTER_TIME: u64 = 0xe7;
const BLOCK_GROUP: u64 = 0xa0;
const BLOCK: u64 = 0xa1;
const SIMPLE_BLOCK: u64 = 0xa3;

/// Bits of a block's flags: several frames in one block.
const LACING: u8 = 0x06;

/// Most tracks that are read; recordings have one or two.
const MOST_TRACKS: usize = 64;

/// The length of a recording: as its header tells it or up to its last block, which is longer.
pub(super) fn webm_millis(bytes: &[u8]) -> Option<u64> {
    let (mut scale, mut told, mut cluster, mut last) = (1_000_000_u64, None, 0_u64, None);
    for (id, value) in Elements(bytes) {
        match id {
            SCALE => scale = be(value),
            DURATION => told = float(value),
            CLUSTER_TIME => cluster = be(value),
            BLOCK | SIMPLE_BLOCK => {
                let Some(block) = Block::of(value) else { break };
                last = last.max(Some(cluster.saturating_add_signed(i64::from(block.at))));
            }
            _ => {}
        }
    }
    let in_header = told.filter(|ticks| *ticks > 0.0 && ticks.is_finite()).map(|ticks| ticks as u64);
    let ticks = in_header.max(last)?;
    Some(u64::try_from(u128::from(ticks) * u128::from(scale) / 1_000_000).unwrap_or(u64::MAX))
}

/// The sound of a WebM file with an Opus track, at 16 kHz and mixed to one channel.
///
/// # Errors
/// When it has no such track, is damaged, or is longer than this many seconds.
pub fn decode_webm(bytes: &[u8], most_secs: u64) -> Result<Pcm, AudioError> {
    decode_opus(&as_ogg(bytes)?, most_secs)
}

/// The packets of the first Opus track as an Ogg/Opus file.
fn as_ogg(bytes: &[u8]) -> Result<Vec<u8>, AudioError> {
    let other = |what: &str| AudioError::Damaged(what.to_owned());
    let mut tracks: Vec<Track<'_>> = Vec::new();
    let mut found = None;
    for (id, value) in Elements(bytes) {
        let is_full = tracks.len() >= MOST_TRACKS;
        match (id, tracks.last_mut()) {
            (TRACK, _) if is_full => return Err(other("too many tracks")),
            (TRACK, _) => tracks.push(Track::default()),
            (TRACK_NUMBER, Some(track)) => track.number = be(value),
            (CODEC, Some(track)) => track.is_opus = value.starts_with(b"A_OPUS"),
            (CODEC_HEAD, Some(track)) => track.head = value,
            (ENCODINGS, Some(track)) => track.is_encoded = true,
            (BLOCK | SIMPLE_BLOCK, _) => {
                if found.is_none() {
                    let track = tracks.iter().find(|track| track.is_opus && !track.is_encoded);
                    let track = track.ok_or_else(|| other("no Opus track"))?;
                    let head = track.opus_head().ok_or_else(|| other("no Opus header"))?;
                    found = Some((track.number, OggOpusWriter::new(Vec::new(), head).map_err(damaged)?));
                }
                let (Some((number, ogg)), Some(block)) = (&mut found, Block::of(value)) else { continue };
                // The last block of a recording that broke off may be empty.
                if block.track != *number || block.frame.is_empty() {
                    continue;
                }
                if block.flags & LACING != 0 {
                    return Err(other("several frames in one block"));
                }
                ogg.write_packet(block.frame).map_err(damaged)?;
            }
            _ => {}
        }
    }
    let (_, ogg) = found.ok_or_else(|| other("no sound"))?;
    ogg.finish().map_err(damaged)
}

#[derive(Default)]
struct Track<'a> {
    number: u64,
    is_opus: bool,
    /// Compressed or encrypted beside its codec.
    is_encoded: bool,
    head: &'a [u8],
}

impl Track<'_> {
    /// The identification header of Opus, for one or two channels.
    fn opus_head(&self) -> Option<OpusHead> {
        let [_, channels, skip_low, skip_high, _, _, _, _, gain_low, gain_high, 0, ..] =
            *self.head.strip_prefix(b"OpusHead")?
        else {
            return None;
        };
        Some(OpusHead {
            pre_skip: u16::from_le_bytes([skip_low, skip_high]),
            output_gain_q8: i16::from_le_bytes([gain_low, gain_high]),
            ..OpusHead::new(channels, 0).ok()?
        })
    }
}

/// A block of one track.
struct Block<'a> {
    track: u64,
    /// In ticks since the time of its cluster.
    at: i16,
    flags: u8,
    frame: &'a [u8],
}

impl<'a> Block<'a> {
    fn of(value: &'a [u8]) -> Option<Self> {
        let (track, rest) = number(value, Marker::Drop)?;
        let (&[high, low, flags], frame) = rest.split_first_chunk()?;
        Some(Self { track, at: i16::from_be_bytes([high, low]), flags, frame })
    }
}

/// The elements of a file in order, each with its content. Of those that contain the others that matter, the content
/// follows as elements of its own, so that a size that is not known needs no other treatment.
struct Elements<'a>(&'a [u8]);

impl<'a> Iterator for Elements<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (id, tail) = number(self.0, Marker::Keep)?;
        let (size, content) = number(tail, Marker::Drop)?;
        if matches!(id, SEGMENT | INFO | TRACKS | TRACK | CLUSTER | BLOCK_GROUP) {
            self.0 = content;
            return Some((id, &[]));
        }
        let size = usize::try_from(size).ok()?;
        // The last block of a recording that broke off is shorter than it says.
        let (value, rest) = content.split_at_checked(size).unwrap_or((content, &[]));
        self.0 = rest;
        Some((id, value))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Marker {
    /// Of an id, the length marker is a part.
    Keep,
    Drop,
}

/// The number of variable length at the beginning, and what follows it.
fn number(bytes: &[u8], marker: Marker) -> Option<(u64, &[u8])> {
    let first = *bytes.first()?;
    let length = usize::try_from(first.leading_zeros()).ok()? + 1;
    let digits = bytes.get(..length).filter(|_| length <= 8)?;
    let whole = be(digits);
    let bits = 7 * length;
    let number = if marker == Marker::Keep { whole } else { whole & ((1 << bits) - 1) };
    Some((number, bytes.get(length..)?))
}

fn float(bytes: &[u8]) -> Option<f64> {
    match bytes.len() {
        4 => Some(f64::from(f32::from_be_bytes(bytes.try_into().ok()?))),
        8 => Some(f64::from_be_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use opus_pure::OggOpusReader;
    use proptest::prelude::*;

    use super::super::encode_opus;
    use super::super::pcm::tests::{power, tone};
    use super::*;
    use crate::audio::Container;

    const UNKNOWN: [u8; 8] = [0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];

    fn element(id: &[u8], content: &[u8]) -> Vec<u8> {
        [id, &[0x08, 0, 0, 0, content.len() as u8], content].concat()
    }

    fn block(track: u8, at: u16, frame: &[u8]) -> Vec<u8> {
        let head = [0x80 | track, at.to_be_bytes()[0], at.to_be_bytes()[1], 0x80];
        let content = [&head, frame].concat();
        [&[0xa3][..], &(0x4000 | content.len() as u16).to_be_bytes(), &content].concat()
    }

    /// As a recorder streams it: no length in the header, sizes that are not known.
    fn streamed(info: &[u8], tracks: &[u8], clusters: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut all = element(&[0x1a, 0x45, 0xdf, 0xa3], b"webm");
        all.extend([&[0x18, 0x53, 0x80, 0x67], UNKNOWN.as_slice()].concat());
        all.extend(element(&[0x15, 0x49, 0xa9, 0x66], info));
        all.extend(element(&[0x16, 0x54, 0xae, 0x6b], tracks));
        for (time, blocks) in clusters {
            all.extend([&[0x1f, 0x43, 0xb6, 0x75], UNKNOWN.as_slice()].concat());
            all.extend(element(&[0xe7], &time.to_be_bytes()));
            all.extend(blocks);
        }
        all
    }

    fn track(number: u8, codec: &[u8], head: &[u8]) -> Vec<u8> {
        let inner = [
            element(&[0xd7], &[number]),
            element(&[0x86], codec),
            element(&[0x63, 0xa2], head),
            element(&[0xe1], &[0x9f, 0x81, 1]),
        ];
        element(&[0xae], &inner.concat())
    }

    fn opus_head() -> Vec<u8> {
        [b"OpusHead\x01\x01".as_slice(), &312_u16.to_le_bytes(), &48_000_u32.to_le_bytes(), &[0, 0, 0]]
            .concat()
    }

    /// A recording of a browser with a picture track beside the sound.
    fn recorded(millis: u32) -> Vec<u8> {
        let ogg = encode_opus(&tone(24_000, millis)).unwrap();
        let mut reader = OggOpusReader::new(Cursor::new(ogg)).unwrap();
        let (mut blocks, mut at) = (Vec::new(), 0);
        while let Some(packet) = reader.read_packet().unwrap() {
            blocks.extend(block(2, at, b"a picture"));
            blocks.extend(block(1, at, &packet.data));
            at += 20;
        }
        let tracks = [track(2, b"V_VP8", b""), track(1, b"A_OPUS", &opus_head())].concat();
        streamed(&[], &tracks, &[(0, blocks)])
    }

    #[test]
    fn the_length_is_that_of_the_header_or_of_the_last_block_whichever_is_longer() {
        let scale = element(&[0x2a, 0xd7, 0xb1], &1_000_000_u32.to_be_bytes());
        let blocks = || [0_u16, 60, 1500].map(|at| block(1, at, &[1, 2])).concat();
        let clusters = [(0, blocks()), (2000, blocks())];
        assert_eq!(Container::of(&streamed(&scale, &[], &clusters)), Container::Webm);
        assert_eq!(webm_millis(&streamed(&scale, &[], &clusters)), Some(3500));
        for (told, millis) in [(4321.5_f64, 4321), (1.0, 3500)] {
            let told = [scale.clone(), element(&[0x44, 0x89], &told.to_be_bytes())].concat();
            assert_eq!(webm_millis(&streamed(&told, &[], &clusters)), Some(millis));
        }
        assert_eq!(webm_millis(b"\x1a\x45\xdf\xa3"), None);
    }

    #[test]
    fn the_opus_track_of_a_recording_is_decoded() {
        let sound = decode_webm(&recorded(900), 10).unwrap();
        assert!(sound.millis().abs_diff(900) <= 40, "{}", sound.millis());
        assert!((power(&sound) - power(&tone(24_000, 900))).abs() < 0.03, "{}", power(&sound));
        assert_eq!(decode_webm(&recorded(2_100), 2), Err(AudioError::TooLong(2)));
    }

    #[test]
    fn an_empty_last_block_is_left_out_and_tracks_without_number_are_refused() {
        let mut broken_off = recorded(900);
        broken_off.extend(block(1, 900, &[]));
        assert!(decode_webm(&broken_off, 10).unwrap().millis().abs_diff(900) <= 40);
        let tracks = [b"\x1a\x45\xdf\xa3\x80".as_slice(), &[0xae, 0x80].repeat(1000)].concat();
        assert_eq!(decode_webm(&tracks, 10), Err(AudioError::Damaged("too many tracks".to_owned())));
    }

    #[test]
    fn what_has_no_opus_track_or_is_cut_is_an_error_and_no_panic() {
        let vorbis = streamed(&[], &track(1, b"A_VORBIS", b""), &[(0, block(1, 0, b"sound"))]);
        assert!(decode_webm(&vorbis, 10).is_err());
        let surround = [&opus_head()[..18], &[1]].concat();
        let surround = streamed(&[], &track(1, b"A_OPUS", &surround), &[(0, block(1, 0, b"sound"))]);
        assert!(decode_webm(&surround, 10).is_err());
        let whole = recorded(900);
        for length in [0, 4, 40, 100, whole.len() / 2] {
            let cut = decode_webm(whole.get(..length).unwrap(), 10);
            assert!(cut.is_err() || cut.is_ok_and(|pcm| pcm.millis() < 900), "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(tail in prop::collection::vec(any::<u8>(), 0..400), cut in 0..600_usize) {
            let bytes = [b"\x1a\x45\xdf\xa3".as_slice(), &tail].concat();
            let _: Option<u64> = webm_millis(&bytes);
            let mut broken = recorded(100);
            broken.truncate(cut);
            broken.extend(tail);
            drop(decode_webm(&broken, 10));
        }
    }
}
