//! Voice: the enrich step that turns recordings into text, and the speaker that turns answers into voice messages.
//!
//! `Recogniser` and `Synthesiser` are the providers; a server or a sandboxed program stands behind each. The codecs are
//! in [`crate::audio`].

mod chat_audio;
mod program;
mod recogniser;
mod server;
mod speaker;
mod synthesiser;
mod transcribe_step;
mod transcription_server;

pub use chat_audio::ChatAudio;
pub use program::{ProgramError, ProgramRunner, ProgramSpec, RecogniserProgram};
pub use recogniser::{Recogniser, Recording, SttError, Transcript};
pub use server::SpeechServer;
pub use speaker::Speaker;
pub use synthesiser::{SynthesisServer, Synthesiser, SynthesiserProgram, TtsError};
pub use transcribe_step::{TranscribeStep, TranscriptionLimits, WavChoice};
pub use transcription_server::TranscriptionServer;
