//! May this call run, here and now? May this person speak? The rules are `policy`'s; this room brings what they need from outside: the
//! operator's settings, the grants, and the files a command names.

mod access;
mod access_records;
#[cfg(test)]
mod changed_file_tests;
mod code;
mod details;
mod digests;
mod grants;
mod judge;
#[cfg(test)]
mod judge_tests;
mod shared_file;

pub use access::FileAccess;
pub use details::ChangePreview;
pub use grants::{GrantBook, Propose, Replace, StoredGrant};
pub use judge::{EffectsOf, HidesSecrets, JudgeSettings, ObjectToReads, Preview, ProjectJudge};
