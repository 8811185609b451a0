//! May this call run, here and now? The rules are `policy`'s; this room brings what they need from outside: the
//! operator's settings, the grants, and the files a command names.

mod grants;
mod judge;

pub use grants::{GrantBook, Propose, Replace, StoredGrant};
pub use judge::{EffectsOf, JudgeSettings, ProjectJudge};
