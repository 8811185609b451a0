//! Ogg/Opus to sound and back.

use std::io::Cursor;

use opus_pure::{
    Application, MAX_PACKET_BYTES, MAX_PACKET_SAMPLES, OggOpusReader, OggOpusWriter, OggPacket, OpusEncoder,
    OpusHead, Trim,
};

use super::{AudioError, Pcm};

/// What speech recognisers expect.
const DECODED_RATE: i32 = 16_000;
/// What voice messages are encoded at: all of speech is below half of it.
const ENCODED_RATE: u32 = 24_000;
const ENCODED_BITS: i32 = 24_000;
/// Samples of one packet: 20 ms.
const FRAME: usize = 480;
/// Granule positions count samples at 48 kHz.
const TICKS: usize = 2;

pub(super) fn damaged(error: opus_pure::Error) -> AudioError {
    AudioError::Damaged(error.to_string())
}

/// The sound of an Ogg/Opus file at 16 kHz, mixed to one channel.
///
/// # Errors
/// When it is damaged, or longer than this many seconds.
pub fn decode_opus(bytes: &[u8], most_secs: u64) -> Result<Pcm, AudioError> {
    let mut reader = OggOpusReader::new(Cursor::new(bytes)).map_err(damaged)?;
    let channels = usize::from(reader.head().channel_count).max(1);
    let mut decoder = reader.head().decoder(DECODED_RATE).map_err(damaged)?;
    let mut trim = Trim::new(reader.head(), DECODED_RATE, channels).map_err(damaged)?;
    let mut block = vec![0.0_f32; MAX_PACKET_SAMPLES * channels];
    let most = usize::try_from(most_secs.saturating_mul(DECODED_RATE.unsigned_abs().into()));
    let (most, mut samples) = (most.unwrap_or(usize::MAX), Vec::new());
    let mut packet = OggPacket::default();
    while reader.read_packet_into(&mut packet).map_err(damaged)? {
        let count = decoder.decode(&packet.data, MAX_PACKET_SAMPLES, &mut block).map_err(damaged)?;
        let decoded = block.get(..count * channels).unwrap_or_default();
        let mix = |frame: &[f32]| frame.iter().sum::<f32>() / channels as f32;
        samples.extend(trim.keep(&packet, decoded).chunks(channels).map(mix));
        if samples.len() > most {
            return Err(AudioError::TooLong(most_secs));
        }
    }
    Ok(Pcm { rate: DECODED_RATE.unsigned_abs(), samples })
}

/// Sound as an Ogg/Opus voice message. It decodes to exactly as many samples.
///
/// # Errors
/// When the encoder fails.
pub fn encode_opus(pcm: &Pcm) -> Result<Vec<u8>, AudioError> {
    let pcm = pcm.clone().resampled(ENCODED_RATE);
    let rate = i32::try_from(ENCODED_RATE).unwrap_or(i32::MAX);
    let mut encoder = OpusEncoder::new(rate, 1, Application::Voip).map_err(damaged)?;
    encoder.bitrate_bps = ENCODED_BITS;
    let head = OpusHead::for_encoder(&encoder, ENCODED_RATE);
    let pre_skip = usize::from(head.pre_skip);
    // The encoder runs behind its input, so that much silence pushes out the end; the last granule position says where
    // the sound ended.
    let frames = (pcm.samples.len() + pre_skip.div_ceil(TICKS)).div_ceil(FRAME).max(1);
    let end = pre_skip + pcm.samples.len() * TICKS;
    let mut writer = OggOpusWriter::new(Vec::new(), head).map_err(damaged)?;
    let mut packet = vec![0_u8; MAX_PACKET_BYTES];
    let mut input = pcm.samples.iter().copied().chain(std::iter::repeat(0.0));
    for index in 0..frames {
        let block: Vec<f32> = input.by_ref().take(FRAME).collect();
        let length = encoder.encode(&block, FRAME, &mut packet).map_err(damaged)?;
        let encoded = packet.get(..length).unwrap_or_default();
        if index + 1 == frames {
            let written = usize::try_from(writer.granule()).unwrap_or_default();
            let left = u32::try_from(end.saturating_sub(written)).unwrap_or_default();
            writer.write_packet_with_duration(encoded, left).map_err(damaged)?;
        } else {
            writer.write_packet(encoded).map_err(damaged)?;
        }
    }
    writer.finish().map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::super::Container;
    use super::super::pcm::tests::{power, tone};
    use super::*;

    #[test]
    fn sound_comes_back_from_opus() {
        for rate in [8_000, 16_000, 22_050, 44_100] {
            let tone = tone(rate, 700);
            let bytes = encode_opus(&tone).unwrap();
            assert_eq!(Container::of(&bytes), Container::OggOpus);
            let back = decode_opus(&bytes, 10).unwrap();
            assert!(back.millis().abs_diff(tone.millis()) <= 1, "{rate}: {}", back.millis());
            assert!((power(&back) - power(&tone)).abs() < 0.03, "{rate}: {} {}", power(&back), power(&tone));
        }
    }

    #[test]
    fn what_is_too_long_cut_or_no_audio_is_an_error_and_no_panic() {
        let bytes = encode_opus(&tone(16_000, 2_100)).unwrap();
        assert_eq!(decode_opus(&bytes, 2), Err(AudioError::TooLong(2)));
        for length in [0, 1, 27, 40, 100, bytes.len() / 2] {
            let cut = decode_opus(bytes.get(..length).unwrap(), 10);
            assert!(cut.is_err() || cut.is_ok_and(|pcm| pcm.millis() < 2_100), "{length}");
        }
        let mut broken = bytes;
        for byte in broken.iter_mut().skip(200).step_by(7) {
            *byte ^= 0x5a;
        }
        assert!(decode_opus(&broken, 10).is_err());
        assert!(decode_opus(b"{\"error\": \"no\"}", 10).is_err());
    }

    #[test]
    fn silence_of_no_length_is_a_file_too() {
        let bytes = encode_opus(&Pcm { rate: 16_000, samples: Vec::new() }).unwrap();
        assert_eq!(decode_opus(&bytes, 1).unwrap().samples.len(), 0);
    }
}
