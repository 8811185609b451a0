//! The format of the thread files, the stream to web clients, and the conversion to model prompts.
//!
//! The format is the AI SDK's UIMessage, version 6. Pure: no files, no sockets, no clock.

mod checkpoint;
mod chunk;
mod envelope;
mod history;
mod message;
mod parts;
mod recalled;
mod stream;
mod task_report;
mod to_model;
mod tool_part;

pub use checkpoint::{
    CHECKPOINT_BYTES, CHECKPOINT_VERSION, CheckpointReason, CheckpointRecord, Observation, OpenAsk,
    WrittenBy, behind_checkpoints, checkpoint_chain,
};
pub use chunk::{Chunk, FinishReason};
pub use envelope::{GATE, MENTION, PEER, SILENT, SPEAKER, VIA, words_in};
pub use history::{fold, holds_all_unfinished, unfinished_runs};
pub use message::{Metadata, Role, RunStatus, SPEECH, UiMessage, VOICE};
pub use parts::{CommandRecord, ErrorRecord, FilePart, Part, TextPart, TextState};
pub use recalled::{MOST_RECALLED, RECALL_TOKENS, RecalledText, fit_recalled};
pub use stream::{Cursor, replay};
pub use task_report::{TASK_DONE, TaskReport};
pub use to_model::{Content, ModelMessage, ModelToolCall, file_note, to_model, to_model_after};
pub use tool_part::{ApprovalAnswer, ApprovalAsk, ToolPart, ToolState, ToolType};
