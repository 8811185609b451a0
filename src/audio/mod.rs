//! Audio of voice messages: containers, durations, WAV and Ogg/Opus. Pure; nothing here touches a file or a program.

mod container;
mod durations;
mod ogg;
mod opus;
mod pcm;
mod wav;
mod webm;

pub use container::Container;
pub use ogg::opus_millis;
pub use opus::{decode_opus, encode_opus};
pub use pcm::{AudioError, Pcm};
pub use wav::{read_wav, wav_millis, write_wav};
pub use webm::decode_webm;
