//! Judges whether a call may run now. The rules are in `policy`; this module provides their inputs: the operator's
//! settings, the grants, and the files a command names.

#[cfg(test)]
mod changed_file_tests;
mod details;
mod digests;
mod judge;
#[cfg(test)]
mod judge_tests;

pub use details::ChangePreview;
pub use judge::{HidesSecrets, JudgeSettings, ObjectToReads, Preview, ProjectJudge, ToolEffects};
