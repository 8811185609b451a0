//! The parts that the chat platforms share: access, addressing, approvals and their buttons, rate limits, drafts,
//! downloads, and the backlog of slow events. Knows no platform by name.

mod access_policy;
mod addressing_policy;
mod backlog;
mod buttons;
mod chat_queue;
mod draft_scheduler;
mod fetch;
mod groups;
mod pace;
pub mod probe;
mod question;
mod submit;
mod task_slot;
mod text_intake;
mod ttl_cache;

pub use access_policy::{AccessPolicy, Admission, AllowList};
pub use addressing_policy::{Addressed, AddressingPolicy, Facts};
pub use backlog::{Backlog, BacklogTask, Finish, Finished, Unaccepted};
pub use buttons::{Button, Menu, ask_back_label, ask_back_rows, decode, encode, label, rows};
pub use chat_queue::{ChatQueues, Position, Speed};
pub use draft_scheduler::{DraftMessage, DraftScheduler, DraftTarget, DraftTask, Frame};
pub use fetch::{Downloads, FetchError, is_kept, keep, name_before};
pub use groups::{GroupsSection, Respond, Threading};
pub use pace::{Pace, Rate};
pub use question::{fenced, plain_words, question};
pub use submit::{Submitted, submit};
pub use task_slot::TaskSlot;
pub use text_intake::{TextIntake, TextMessage, TextTaken};
pub use ttl_cache::TtlCache;

pub use crate::ports::{ChatParts, Deciders, MayAnswer};
