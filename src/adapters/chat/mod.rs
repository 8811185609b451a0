//! What chat platforms have in common, so that none of them copies it: who may speak, which messages are for the
//! agent, how questions and their buttons look, how fast one may send, what is shown while a turn runs, where files
//! go, and how what takes a while to be handed in is neither lost nor in the way. Knows no platform by name.

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
