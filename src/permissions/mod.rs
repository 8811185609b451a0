//! May this call run, here and now? The rules are `policy`'s; this room brings what they need from outside: the
//! operator's settings, the grants, and the files a command names.

mod details;
mod grants;
mod judge;

pub use details::ChangePreview;
pub use grants::{GrantBook, Propose, Replace, StoredGrant};
pub use judge::{EffectsOf, JudgeSettings, Preview, ProjectJudge};
