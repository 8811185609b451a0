//! Recognises the container of audio by its first bytes: names and content types of servers and clients are often wrong.

use super::durations::{amr_millis, flac_millis, mp3_millis, mp4_millis};
use super::webm::webm_millis;
use super::{opus_millis, wav_millis};

/// What a recording is stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    OggOpus,
    /// Ogg with another codec.
    Ogg,
    Wav,
    Mp3,
    Flac,
    Webm,
    Mp4,
    Amr,
    Silk,
    Unknown,
}

impl Container {
    pub fn of(bytes: &[u8]) -> Self {
        match bytes {
            [b'O', b'g', b'g', b'S', ..] if has_opus_head(bytes) => Self::OggOpus,
            [b'O', b'g', b'g', b'S', ..] => Self::Ogg,
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] => Self::Wav,
            [b'I', b'D', b'3', ..] => Self::Mp3,
            [0xff, second, ..] if second & 0xe0 == 0xe0 => Self::Mp3,
            [b'f', b'L', b'a', b'C', ..] => Self::Flac,
            [0x1a, 0x45, 0xdf, 0xa3, ..] => Self::Webm,
            [_, _, _, _, b'f', b't', b'y', b'p', ..] => Self::Mp4,
            [b'#', b'!', b'A', b'M', b'R', ..] => Self::Amr,
            [b'#', b'!', b'S', b'I', b'L', b'K', ..] | [2, b'#', b'!', b'S', b'I', b'L', b'K', ..] => {
                Self::Silk
            }
            _ => Self::Unknown,
        }
    }

    /// The name under which a server gets it. Servers choose the decoder by the extension.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::OggOpus | Self::Ogg => "voice.ogg",
            Self::Wav => "voice.wav",
            Self::Mp3 => "voice.mp3",
            Self::Flac => "voice.flac",
            Self::Webm => "voice.webm",
            Self::Mp4 => "voice.m4a",
            Self::Amr => "voice.amr",
            Self::Silk => "voice.silk",
            Self::Unknown => "voice.bin",
        }
    }

    pub const fn media_type(self) -> &'static str {
        match self {
            Self::OggOpus | Self::Ogg => "audio/ogg",
            Self::Wav => "audio/wav",
            Self::Mp3 => "audio/mpeg",
            Self::Flac => "audio/flac",
            Self::Webm => "audio/webm",
            Self::Mp4 => "audio/mp4",
            Self::Amr => "audio/amr",
            Self::Silk => "audio/silk",
            Self::Unknown => "application/octet-stream",
        }
    }

    /// The length of a recording, where it can be told without a decoder.
    pub fn millis(self, bytes: &[u8]) -> Option<u64> {
        match self {
            Self::OggOpus => opus_millis(bytes),
            Self::Wav => wav_millis(bytes),
            Self::Webm => webm_millis(bytes),
            Self::Mp4 => mp4_millis(bytes),
            Self::Mp3 => mp3_millis(bytes),
            Self::Flac => flac_millis(bytes),
            Self::Amr => amr_millis(bytes),
            Self::Ogg | Self::Silk | Self::Unknown => None,
        }
    }
}

/// The first page of Ogg/Opus begins with the identification header.
fn has_opus_head(bytes: &[u8]) -> bool {
    bytes.get(28..36).is_some_and(|head| head == b"OpusHead")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_known_by_its_first_bytes() {
        let mut opus = b"OggS".to_vec();
        opus.resize(28, 0);
        let ogg = opus.clone();
        opus.extend(b"OpusHead");
        for (bytes, expected) in [
            (opus.as_slice(), Container::OggOpus),
            (ogg.as_slice(), Container::Ogg),
            (b"RIFF\0\0\0\0WAVEfmt ", Container::Wav),
            (b"RIFF\0\0\0\0WEBP", Container::Unknown),
            (b"ID3\x04", Container::Mp3),
            (b"\xff\xfb\x90", Container::Mp3),
            (b"fLaC", Container::Flac),
            (b"\x1a\x45\xdf\xa3", Container::Webm),
            (b"\0\0\0\x20ftypM4A ", Container::Mp4),
            (b"#!AMR\n", Container::Amr),
            (b"\x02#!SILK_V3", Container::Silk),
            (b"{\"error\":1}", Container::Unknown),
            (b"", Container::Unknown),
        ] {
            assert_eq!(Container::of(bytes), expected, "{bytes:?}");
        }
    }
}
