//! The outbound side of all chat platforms: an outbox entry becomes one [`Block`], which the platform sends.

mod lower;
mod question;

pub use lower::{
    Block, BlockButton, ButtonsBlock, FileBlock, QuestionSummary, approval_buttons, ask_back_buttons,
    is_first_part, lower, lower_entry,
};
pub use question::question;
