//! The outbound side of all chat platforms. An outbox entry becomes one [`Block`], which `sender` has the platform send;
//! `draft_scheduler` has running turns shown. A platform implements [`OutboundPlatform`].

mod draft_scheduler;
mod draft_state;
mod draft_worker;
mod live_messages;
mod lower;
mod question;
mod retry;
mod sender;

pub use draft_scheduler::{DraftScheduler, DraftTask};
pub use draft_state::{DraftFrame, DraftTiming, DraftView};
pub use draft_worker::{DraftTarget, DraftTurn, Shown};
pub use live_messages::{LiveMessage, LiveMessages};
pub use lower::{
    Block, BlockButton, ButtonsBlock, FileBlock, QuestionSummary, approval_buttons, ask_back_buttons,
    is_first_part, lower, lower_entry,
};
pub use question::question;
pub use retry::{FeatureProbe, Reporter, retry};
pub use sender::{
    Outbound, OutboundNotes, OutboundPlatform, SentQuestion, Superseded, UnsendableFile, deliver, take_away,
};
