//! Judges calls: may this one run, here and now? The rules are in `policy`; this module brings what they need from outside: the
//! operator's settings, the grants, and the files a command names.

#[cfg(test)]
mod changed_file_tests;
mod details;
mod digests;
mod judge;
#[cfg(test)]
mod judge_tests;

pub use details::ChangePreview;
pub use judge::{EffectsOf, HidesSecrets, JudgeSettings, ObjectToReads, Preview, ProjectJudge};
