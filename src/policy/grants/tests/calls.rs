//! Calls for tests of grants: commands judged by rules that deny `git push` and `rm`.

use crate::domain::{ThreadId, Timestamp};
use crate::policy::grants::CallFacts;
use crate::policy::shell::{ShellCall, ShellJudgement, ShellRules, judge};
use crate::policy::{Compound, Mode};

pub(super) const NOW: Timestamp = Timestamp::from_millis(1_000_000);

pub(super) fn thread(name: &str) -> ThreadId {
    name.parse().unwrap()
}

pub(super) fn here() -> ThreadId {
    thread("web:chat:1")
}

pub(super) fn judged(compound: Compound, command: &str) -> ShellJudgement {
    judged_in(compound, command, "")
}

pub(super) fn judged_in(compound: Compound, command: &str, cwd: &str) -> ShellJudgement {
    let rules = ShellRules::new(Mode::Ask, compound, &[] as &[&str], &["git push", "rm"], "/p").unwrap();
    judge(&rules, &ShellCall { command, cwd })
}

pub(super) fn facts(shell: &ShellJudgement) -> CallFacts<'_> {
    let (tool, risk) = ("exec_shell", shell.risk);
    CallFacts { tool, risk, in_advance: true, shell: Some(shell), scripts: Some(&[]) }
}
