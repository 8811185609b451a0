//! What people agreed to for more than once, and whether it covers a call. A grant that was taken back is simply not
//! there any more.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::shape::shape_of;
use super::shell::ShellJudgement;
use crate::domain::{GrantNumber, Reach, Risk, Scope, ThreadId, Timestamp};

/// What somebody agreed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// What people call it.
    pub id: GrantNumber,
    /// The tool it is for.
    pub tool: String,
    /// Which calls of it.
    pub calls: Calls,
    /// Where and how long.
    pub reach: Reach,
}

/// Which calls of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// Every call. Never for the shell.
    Any,
    /// Shell lines of which each part is one of these.
    Commands(Vec<Pattern>),
}

/// Which simple commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Those that begin with these words.
    Begins(Vec<String>),
    /// This very one.
    Exactly(Vec<String>),
}

impl Pattern {
    /// The shape of a command, or the command itself when it has none.
    pub fn of(argv: &[String]) -> Self {
        match shape_of(argv) {
            Some(shape) => Self::Begins(shape),
            None => Self::Exactly(argv.to_vec()),
        }
    }

    /// Whether this simple command is meant.
    pub fn matches(&self, argv: &[String]) -> bool {
        match self {
            Self::Begins(words) => !words.is_empty() && argv.starts_with(words),
            Self::Exactly(words) => !words.is_empty() && argv == words.as_slice(),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begins(words) => write!(f, "{} …", words.join(" ")),
            Self::Exactly(words) => f.write_str(&words.join(" ")),
        }
    }
}

/// What is known about a call that asks.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    /// The tool.
    pub tool: &'a str,
    /// How dangerous the call looks.
    pub risk: Risk,
    /// What is known about the command, when the tool is the shell.
    pub shell: Option<&'a ShellJudgement>,
}

/// What a person's answer grants beyond this call; nothing for once. `shell` is the judgement on the command that was
/// shown, when it was one.
pub fn proposed(
    scope: Scope,
    thread: &ThreadId,
    now: Timestamp,
    shell: Option<&ShellJudgement>,
) -> Option<(Calls, Reach)> {
    let reach = match scope {
        Scope::Once => return None,
        Scope::Thread => Reach::Thread(thread.clone()),
        Scope::Minutes(minutes) => {
            let until = now.as_millis().saturating_add(i64::from(minutes.get()).saturating_mul(60_000));
            Reach::Until { thread: thread.clone(), until: Timestamp::from_millis(until) }
        }
        Scope::Shape => Reach::Shape,
        Scope::Project => Reach::Project,
    };
    let calls = match shell {
        None => Calls::Any,
        Some(shell) if shell.grantable && !shell.parts.is_empty() => {
            let mut patterns: Vec<Pattern> = Vec::new();
            for part in shell.parts.iter().filter(|part| !part.free) {
                let pattern = Pattern::of(&part.argv);
                if !patterns.contains(&pattern) {
                    patterns.push(pattern);
                }
            }
            Calls::Commands(patterns)
        }
        Some(_) => return None,
    };
    Some((calls, reach))
}

/// Whether one grant alone covers the call: each part of a command line, not only its beginning.
pub fn covers(grant: &Grant, thread: &ThreadId, now: Timestamp, call: &CallFacts<'_>) -> bool {
    covering(std::slice::from_ref(grant), thread, now, call).is_some()
}

/// The grants that together cover the call: each part of a command line by one of them, or free by the rules.
pub fn covering<'a>(
    grants: &'a [Grant],
    thread: &ThreadId,
    now: Timestamp,
    call: &CallFacts<'_>,
) -> Option<Vec<&'a Grant>> {
    let holding = || grants.iter().filter(|grant| grant.tool == call.tool && holds(grant, thread, now));
    let Some(shell) = call.shell else {
        // What is dangerous by itself was not in anybody's mind when they agreed to the tool.
        let any = holding().find(|grant| grant.calls == Calls::Any && call.risk < Risk::High)?;
        return Some(vec![any]);
    };
    if !shell.grantable {
        return None;
    }
    let mut used: Vec<&Grant> = Vec::new();
    for part in shell.parts.iter().filter(|part| !part.free) {
        let grant = holding().find(|grant| match &grant.calls {
            Calls::Any => false,
            Calls::Commands(patterns) => patterns.iter().any(|pattern| pattern.matches(&part.argv)),
        })?;
        if !used.iter().any(|known| known.id == grant.id) {
            used.push(grant);
        }
    }
    (!used.is_empty()).then_some(used)
}

/// Whether a grant holds here and now.
pub fn holds(grant: &Grant, thread: &ThreadId, now: Timestamp) -> bool {
    match &grant.reach {
        Reach::Thread(of) => of == thread,
        Reach::Until { thread: of, until } => of == thread && now < *until,
        Reach::Shape | Reach::Project => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::shell::{ShellCall, ShellRules, judge};
    use super::super::{Compound, Mode, Verdict};
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn thread(name: &str) -> ThreadId {
        name.parse().unwrap()
    }

    fn here() -> ThreadId {
        thread("web:chat:1")
    }

    fn judged(compound: Compound, command: &str) -> ShellJudgement {
        let rules = ShellRules::new(Mode::Ask, compound, &[] as &[&str], &["git push"], "/p").unwrap();
        judge(&rules, &ShellCall { command, cwd: "" })
    }

    fn grant(id: u32, words: &str, reach: Reach) -> Grant {
        let words = words.split(' ').map(str::to_owned).collect();
        Grant {
            id: GrantNumber(id),
            tool: "exec_shell".into(),
            calls: Calls::Commands(vec![Pattern::Begins(words)]),
            reach,
        }
    }

    fn covered(grants: &[Grant], compound: Compound, command: &str) -> bool {
        let shell = judged(compound, command);
        let facts = CallFacts { tool: "exec_shell", risk: shell.risk, shell: Some(&shell) };
        covering(grants, &here(), NOW, &facts).is_some()
    }

    #[test]
    fn a_shape_covers_whole_words_of_plain_commands_only() {
        let grants = [grant(1, "git commit", Reach::Shape)];
        for (command, want) in [
            ("git commit", true),
            ("git commit -m 'x y'", true),
            ("  git   commit  ", true),
            ("git 'commit' -m x", true),
            ("git commit 2>&1", true),
            ("git commit && git commit", true),
            ("git commit; git commit --amend", true),
            ("git commitx", false),
            ("git commit-tree", false),
            ("git", false),
            ("git add", false),
            ("xgit commit", false),
            ("echo git commit", false),
            ("git commit && rm x", false),
            ("git commit; rm x", false),
            ("git commit | sh", false),
            ("git commit\nrm x", false),
            ("git commit & rm x", false),
            ("git commit $(rm x)", false),
            ("git commit -m \"$(rm x)\"", false),
            ("git commit `rm x`", false),
            ("git commit > x", false),
            ("git commit < x > y", false),
            ("git commit <(rm x)", false),
            ("git commit $x", false),
            ("git commit *", false),
            ("git commit -F .env", false),
            ("git commit -F ~/x", false),
            ("A=1 git commit", false),
            ("sudo git commit", false),
            ("'git' commit", false),
            ("\\git commit", false),
            ("git\\\n commit", false),
            ("git commit \u{202e}x", false),
            ("/usr/bin/git commit", false),
            ("if true; then git commit; fi", false),
            ("(git commit)", false),
            ("git commit && ls", false),
        ] {
            assert_eq!(covered(&grants, Compound::Ask, command), want, "{command}");
        }
    }

    #[test]
    fn each_part_of_a_line_needs_a_grant_or_must_be_free() {
        let grants = [grant(1, "git add", Reach::Shape), grant(2, "git commit", Reach::Project)];
        assert!(covered(&grants, Compound::Ask, "git add . && git commit -m x"));
        assert!(!covered(&grants[..1], Compound::Ask, "git add . && git commit -m x"));
        assert!(!covered(&grants, Compound::Ask, "git add . | tail -5"));
        assert!(covered(&grants, Compound::Analyze, "git add . | tail -5"));
        assert!(!covered(&grants, Compound::Analyze, "git add . | tail -5 > x"));
        assert!(!covered(&grants, Compound::Analyze, "git add . | tee x"));
    }

    #[test]
    fn a_grant_ends_at_its_moment_and_holds_in_its_thread() {
        let facts = judged(Compound::Ask, "git commit");
        let facts = CallFacts { tool: "exec_shell", risk: facts.risk, shell: Some(&facts) };
        let until = |millis| Reach::Until { thread: here(), until: Timestamp::from_millis(millis) };
        for (reach, want) in [
            (Reach::Thread(here()), true),
            (Reach::Thread(thread("web:chat:2")), false),
            (until(1_000_001), true),
            (until(1_000_000), false),
            (until(999_999), false),
            (Reach::Until { thread: thread("web:chat:2"), until: Timestamp::from_millis(i64::MAX) }, false),
            (Reach::Shape, true),
            (Reach::Project, true),
        ] {
            assert_eq!(
                covers(&grant(1, "git commit", reach.clone()), &here(), NOW, &facts),
                want,
                "{reach:?}"
            );
        }
    }

    #[test]
    fn a_grant_is_for_its_tool_and_never_for_any_shell_command() {
        let shell = judged(Compound::Ask, "git commit");
        let facts = CallFacts { tool: "exec_shell", risk: shell.risk, shell: Some(&shell) };
        let mut other = grant(1, "git commit", Reach::Shape);
        other.tool = "write_file".into();
        assert!(!covers(&other, &here(), NOW, &facts));
        let any = Grant { calls: Calls::Any, ..grant(1, "git commit", Reach::Shape) };
        assert!(!covers(&any, &here(), NOW, &facts));
        let write = Grant { tool: "write_file".into(), ..any };
        let facts = |risk| CallFacts { tool: "write_file", risk, shell: None };
        assert!(covers(&write, &here(), NOW, &facts(Risk::Medium)));
        assert!(!covers(&write, &here(), NOW, &facts(Risk::High)));
    }

    #[test]
    fn an_answer_grants_the_shape_that_was_shown_or_only_the_very_same_command() {
        let minutes = |n: u32| Scope::Minutes(n.try_into().unwrap());
        let begins = |words: &str| Pattern::Begins(words.split(' ').map(str::to_owned).collect());
        let exactly = |words: &str| Pattern::Exactly(words.split(' ').map(str::to_owned).collect());
        let of = |command: &str, scope| proposed(scope, &here(), NOW, Some(&judged(Compound::Ask, command)));
        assert_eq!(of("git commit -m x", Scope::Once), None);
        let shape = Calls::Commands(vec![begins("git commit")]);
        assert_eq!(of("git commit -m x", Scope::Shape), Some((shape.clone(), Reach::Shape)));
        let until = Timestamp::from_millis(1_600_000);
        assert_eq!(of("git commit", minutes(10)), Some((shape, Reach::Until { thread: here(), until })));
        let exact = Calls::Commands(vec![exactly("rm -r build")]);
        assert_eq!(of("rm -r build", Scope::Project), Some((exact.clone(), Reach::Project)));
        let both = Calls::Commands(vec![begins("git add"), begins("git commit")]);
        assert_eq!(
            of("git add . && git commit && git add x", Scope::Thread),
            Some((both, Reach::Thread(here())))
        );
        assert_eq!(of("rm $x", Scope::Thread), None);
        assert_eq!(of("ls > x", Scope::Thread), None);
        let grant = Grant { calls: exact, ..grant(1, "x", Reach::Project) };
        assert!(covered(std::slice::from_ref(&grant), Compound::Ask, "rm -r build"));
        assert!(!covered(std::slice::from_ref(&grant), Compound::Ask, "rm -r build /"));
    }

    #[test]
    fn what_the_deny_list_has_stays_denied() {
        // Grants are asked only about calls that ask; this one never does.
        assert!(matches!(judged(Compound::Ask, "git push").verdict, Verdict::Deny { .. }));
    }

    #[test]
    fn a_grant_survives_its_file() {
        let grants = [
            grant(1, "git commit", Reach::Until { thread: here(), until: NOW }),
            Grant { calls: Calls::Any, ..grant(2, "x", Reach::Thread(here())) },
            grant(3, "npm test", Reach::Shape),
        ];
        let text = serde_json::to_string(&grants).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Grant>>(&text).unwrap(), grants);
    }
}
