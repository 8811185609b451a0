//! Parses a shell command and judges whether it may run. There are two parsers: the tolerant one (a real grammar) finds
//! every command, at any depth, for the deny list and the risk; the strict one accepts little, and only what both parse
//! in the same way can run without approval.

mod build_files;
mod danger;
mod deny;
mod depends;
mod found;
mod globals;
mod judge;
mod launchers;
mod named_files;
mod opaque;
mod parse;
mod plain;
mod protected;
mod readonly;
mod rules;
mod screen;
mod script;
#[cfg(test)]
mod tests;
mod unseen;
mod word;
mod wrappers;

pub use depends::{Dependencies, Dependency};
pub use judge::{GitUse, ReadPath, ShellCall, ShellJudgement, ShellPart, judge};
pub(in crate::policy) use launchers::{INTERPRETERS, SHELLS, runs_its_arguments};
pub use named_files::{has_script_name, named_in};
pub use plain::is_plain_call;
pub use readonly::{NotHardened, RepositoryConfig, Unasked, read_config, unasked};
pub use rules::{BadRule, ShellRules, check_rule};
pub use screen::{is_invisible, shown};
