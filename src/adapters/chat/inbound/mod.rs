//! The inbound side of all chat platforms: parse → access → addressing → order per chat → durable inbox →
//! acknowledgement → files → enrich → submit. See [`Pipeline`].

mod access;
mod albums;
mod event;
mod files;
mod finish;
mod followups;
mod inbox;
mod order;
mod pending;
mod pipeline;
mod platform;
mod press;
mod recalls;
mod webhook;

pub use access::{AccessPolicy, Admission, AllowList};
pub use event::{Attachment, Content, Inbound, InboundFileKind, InboundMessage, Press, Recall, thread_of};
pub use files::{Downloads, FetchError, is_kept, keep, name_before};
pub use followups::Followups;
pub use inbox::{Finish, Finished, Inbox, InboxEntry, InboxTask, QueuedEvent, Unaccepted};
pub use order::{ChatQueues, Position, Speed};
pub use pipeline::{InFlight, Intake, Outcome, Pipeline};
pub use platform::{
    AdminAnswer, AdminCheck, AdminQuery, Fetched, InboundOptions, InboundPlatform, InboundProfile,
    LookupError, PressAnswer, PressedIn, Urgency,
};
pub use webhook::{Webhook, WebhookRequest, WebhookScheme};
