//! WAV: read in the forms that programs and servers write, written as 16-bit samples with one channel.

use super::{AudioError, Pcm};

const PCM: u16 = 1;
const FLOAT: u16 = 3;
/// The format is in the first bytes of the subformat.
const EXTENSIBLE: u16 = 0xfffe;

/// The `fmt` chunk.
#[derive(Clone, Copy)]
struct Format {
    coding: u16,
    channels: u16,
    rate: u32,
    bits: u16,
}

impl Format {
    fn read(chunk: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u16::from_le_bytes(chunk.get(at..at + 2)?.try_into().ok()?));
        let rate = u32::from_le_bytes(chunk.get(4..8)?.try_into().ok()?);
        let coding = match word(0)? {
            EXTENSIBLE => word(24)?,
            coding => coding,
        };
        Some(Self { coding, channels: word(2)?, rate, bits: word(14)? })
    }

    fn frame_bytes(self) -> usize {
        usize::from(self.channels) * usize::from(self.bits / 8)
    }
}

fn damaged(what: &str) -> AudioError {
    AudioError::Damaged(what.to_owned())
}

/// The format and the samples. A program that writes to a pipe does not know the length beforehand and writes 0 or a
/// huge one: then the samples reach to the end.
fn chunks(bytes: &[u8]) -> Option<(Format, &[u8])> {
    let mut rest = bytes.strip_prefix(b"RIFF")?.get(4..)?.strip_prefix(b"WAVE")?;
    let mut format = None;
    loop {
        let (head, behind) = rest.split_at_checked(8)?;
        let (name, length) = head.split_at_checked(4)?;
        let length = usize::try_from(u32::from_le_bytes(length.try_into().ok()?)).ok()?;
        if name == b"data" {
            let length = if length == 0 { behind.len() } else { length.min(behind.len()) };
            return Some((format?, behind.get(..length)?));
        }
        let chunk = behind.get(..length.min(behind.len()))?;
        if name == b"fmt " {
            format = Some(Format::read(chunk)?);
        }
        // Chunks begin at even positions.
        rest = behind.get(length.saturating_add(length % 2)..)?;
    }
}

/// The length of a WAV file; `None` where it is none.
pub fn wav_millis(bytes: &[u8]) -> Option<u64> {
    let (format, data) = chunks(bytes)?;
    let frames = data.len().checked_div(format.frame_bytes())? as u64;
    frames.saturating_mul(1000).checked_div(u64::from(format.rate))
}

/// The sound of a WAV file, mixed to one channel.
///
/// # Errors
/// When it is damaged, or in a coding other than integers and floats.
pub fn read_wav(bytes: &[u8]) -> Result<Pcm, AudioError> {
    let (format, data) = chunks(bytes).ok_or_else(|| damaged("not a complete WAV file"))?;
    let size = usize::from(format.bits / 8);
    let value: fn(&[u8]) -> f32 = match (format.coding, format.bits) {
        (PCM, 8) => |bytes| (f32::from(bytes.first().copied().unwrap_or(128)) - 128.0) / 128.0,
        (PCM, 16 | 24 | 32) => integer,
        (FLOAT, 32) => |bytes| bytes.try_into().map(f32::from_le_bytes).unwrap_or_default(),
        (coding, bits) => return Err(damaged(&format!("coding {coding} with {bits} bits"))),
    };
    let frame = format.frame_bytes();
    if frame == 0 || format.rate == 0 {
        return Err(damaged("no channels or no rate"));
    }
    let channels = f32::from(format.channels);
    let mix = |frame: &[u8]| frame.chunks_exact(size).map(value).sum::<f32>() / channels;
    Ok(Pcm { rate: format.rate, samples: data.chunks_exact(frame).map(mix).collect() })
}

/// A little-endian signed integer of two to four bytes, as a share of its range.
fn integer(bytes: &[u8]) -> f32 {
    let mut whole = [0_u8; 4];
    for (place, byte) in whole.iter_mut().rev().zip(bytes.iter().rev()) {
        *place = *byte;
    }
    i32::from_le_bytes(whole) as f32 / 2_147_483_648.0
}

/// Sound as a WAV file with 16-bit samples.
pub fn write_wav(pcm: &Pcm) -> Vec<u8> {
    let length = u32::try_from(pcm.samples.len() * 2).unwrap_or(u32::MAX - 64);
    let mut bytes = Vec::with_capacity(44 + pcm.samples.len() * 2);
    bytes.extend(b"RIFF");
    bytes.extend((length + 36).to_le_bytes());
    bytes.extend(b"WAVEfmt ");
    bytes.extend(16_u32.to_le_bytes());
    bytes.extend(PCM.to_le_bytes());
    bytes.extend(1_u16.to_le_bytes());
    bytes.extend(pcm.rate.to_le_bytes());
    bytes.extend(pcm.rate.saturating_mul(2).to_le_bytes());
    bytes.extend(2_u16.to_le_bytes());
    bytes.extend(16_u16.to_le_bytes());
    bytes.extend(b"data");
    bytes.extend(length.to_le_bytes());
    for sample in &pcm.samples {
        bytes.extend(((sample.clamp(-1.0, 1.0) * 32_767.0) as i16).to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::pcm::tests::{power, tone};
    use super::*;

    /// A WAV file with these fields and samples.
    fn wav(coding: u16, channels: u16, bits: u16, told: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"RIFF\0\0\0\0WAVELIST\x03\0\0\0abc\0fmt \x10\0\0\0".to_vec();
        bytes.extend(coding.to_le_bytes());
        bytes.extend(channels.to_le_bytes());
        bytes.extend(8000_u32.to_le_bytes());
        bytes.extend([0; 6]);
        bytes.extend(bits.to_le_bytes());
        bytes.extend(b"data");
        bytes.extend(told.to_le_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn sound_comes_back_from_wav() {
        let tone = tone(22_050, 300);
        let bytes = write_wav(&tone);
        let back = read_wav(&bytes).unwrap();
        assert_eq!((back.rate, back.samples.len()), (22_050, tone.samples.len()));
        assert_eq!(wav_millis(&bytes), Some(300));
        assert!((power(&back) - power(&tone)).abs() < 0.001);
    }

    #[test]
    fn the_forms_that_programs_write_are_read() {
        let half = 0.5_f32.to_le_bytes();
        for (name, bytes, expected) in [
            ("16 bits", wav(1, 1, 16, 4, &[0, 0x40, 0, 0xc0]), vec![0.5, -0.5]),
            ("of unknown length", wav(1, 1, 16, 0x7fff_f000, &[0, 0x40]), vec![0.5]),
            ("without a length", wav(1, 1, 16, 0, &[0, 0x40]), vec![0.5]),
            ("two channels", wav(1, 2, 16, 4, &[0, 0x40, 0, 0]), vec![0.25]),
            ("8 bits", wav(1, 1, 8, 2, &[192, 128]), vec![0.5, 0.0]),
            ("24 bits", wav(1, 1, 24, 3, &[0, 0, 0x40]), vec![0.5]),
            ("floats", wav(3, 1, 32, 4, &half), vec![0.5]),
            ("a cut sample", wav(1, 1, 16, 9, &[0, 0x40, 7]), vec![0.5]),
        ] {
            assert_eq!(read_wav(&bytes).map(|pcm| pcm.samples), Ok(expected), "{name}");
        }
    }

    #[test]
    fn what_is_no_wav_is_an_error_and_no_panic() {
        for bytes in [
            b"".to_vec(),
            b"RIFF".to_vec(),
            b"RIFF\0\0\0\0WAVEdata\x02\0\0\0ab".to_vec(),
            wav(7, 1, 8, 1, &[1]),
            wav(1, 0, 16, 2, &[1, 2]),
            wav(1, 1, 0, 2, &[1, 2]),
        ] {
            assert!(read_wav(&bytes).is_err(), "{bytes:?}");
            assert!(wav_millis(&bytes).is_none() || bytes.len() > 40, "{bytes:?}");
        }
    }
}
