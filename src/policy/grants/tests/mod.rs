//! Grants and the calls they cover.

mod corpus;
mod effects;
mod holding;

use super::CallFacts;
use crate::domain::{ThreadId, Timestamp};
use crate::policy::shell::{ShellCall, ShellJudgement, ShellRules, judge};
use crate::policy::{Compound, Mode};

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn thread(name: &str) -> ThreadId {
    name.parse().unwrap()
}

fn here() -> ThreadId {
    thread("web:chat:1")
}

fn judged(compound: Compound, command: &str) -> ShellJudgement {
    judged_in(compound, command, "")
}

fn judged_in(compound: Compound, command: &str, cwd: &str) -> ShellJudgement {
    let rules = ShellRules::new(Mode::Ask, compound, &[] as &[&str], &["git push", "rm"], "/p").unwrap();
    judge(&rules, &ShellCall { command, cwd })
}

fn facts(shell: &ShellJudgement) -> CallFacts<'_> {
    let (tool, risk) = ("exec_shell", shell.risk);
    CallFacts { tool, risk, in_advance: true, shell: Some(shell), scripts: Some(&[]) }
}
