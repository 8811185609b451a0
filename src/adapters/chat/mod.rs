//! The parts that the chat platforms share: the inbound pipeline, access, addressing, approvals and their buttons, rate
//! limits, and drafts. Knows no platform by name.

mod addressing_policy;
mod buttons;
pub mod inbound;
mod outbound;
mod pace;
mod peer_book;
pub mod probe;
mod task_slot;
mod text_adapter;
mod token_cache;
mod ttl_cache;

pub use addressing_policy::{AddressingFacts, AddressingPolicy, GroupsSection, Respond, Threading};
pub use buttons::{Button, Menu, decode, rows};
pub use inbound::{AccessPolicy, Admission, AllowList, FetchError, is_kept, keep, name_before};
pub use outbound::{
    Block, BlockButton, ButtonsBlock, DraftFrame, DraftScheduler, DraftTarget, DraftTask, DraftTiming,
    DraftTurn, DraftView, FeatureProbe, FileBlock, LiveMessage, LiveMessages, Outbound, OutboundNotes,
    OutboundPlatform, QuestionSummary, Reporter, SentQuestion, Shown, Superseded, UnsendableFile,
    approval_buttons, ask_back_buttons, deliver, is_first_part, lower, lower_entry, question, retry,
    take_away,
};
pub use pace::{Pace, Rate};
pub use peer_book::{PeerBook, PeerMention, with_mentions};
pub use task_slot::TaskSlot;
pub use text_adapter::{
    LineReader, TextAdapter, TextConnection, TextLimits, TextLink, TextMessage, TextOutgoing, TextTransport,
};
pub use token_cache::{Granted, TokenCache};
pub use ttl_cache::TtlCache;

pub use crate::ports::{AnswerRights, ChatParts, MayAnswer};
