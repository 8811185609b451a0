//! What people agreed to for more than once, and whether it covers a call. A grant that was revoked is not in the list
//! any more.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::fingerprint::FileDigest;
use super::paths::{self, Place};
use super::shape::{is_plain_argument, runs_project_files, shape_of};
use super::shell::{ShellJudgement, ShellPart};
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
    /// The files that the commands run, as they were; a file without a digest was not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<FileDigest>,
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
    Commands(Vec<GrantedCommand>),
}

/// Which simple commands, in which folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantedCommand {
    /// Which.
    #[serde(flatten)]
    pub pattern: Pattern,
    /// The folders of the project it may run in, all of them: more than one after a `cd` that may fail.
    #[serde(default = "project_folder")]
    pub folders: Vec<String>,
}

fn project_folder() -> Vec<String> {
    vec![String::new()]
}

/// Which simple commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// This very one. Grants of older versions were for commands that begin with certain words (`begins`); they are
    /// read as grants for the command of these words alone.
    #[serde(alias = "begins")]
    Exactly(Vec<String>),
    /// Those of a shape: these words, then options and operands that are known to be harmless.
    Shape(String),
    /// A program of the project with plain arguments: no option, no assignment, no path elsewhere.
    ProgramWithPlainArguments(String),
}

impl Pattern {
    /// The shape of a command, or the command itself when it has none.
    pub fn of(argv: &[String], folders: &[String]) -> Self {
        match shape_of(argv, folders) {
            Some(shape) => Self::Shape(shape.words.to_owned()),
            None => Self::Exactly(argv.to_vec()),
        }
    }

    /// The program of a command with other plain arguments; nothing unless it is a file of the project.
    pub fn program_of(argv: &[String], folders: &[String]) -> Option<Self> {
        let program = argv.first().filter(|program| program.contains('/') && !program.starts_with('/'))?;
        let pattern = Self::ProgramWithPlainArguments(program.clone());
        pattern.varying(argv, folders).map(|_| pattern)
    }

    /// Whether this simple command is meant, and which of its words may differ from call to call.
    fn varying(&self, argv: &[String], folders: &[String]) -> Option<Vec<String>> {
        match self {
            Self::Exactly(words) => (!words.is_empty() && argv == words.as_slice()).then(Vec::new),
            Self::Shape(words) => {
                shape_of(argv, folders).filter(|shape| shape.words == words).map(|shape| shape.paths)
            }
            Self::ProgramWithPlainArguments(program) => {
                let (name, args) = argv.split_first()?;
                let inside = folders.iter().all(|folder| is_ordinary(folder, name));
                let plain = args.iter().all(|arg| is_plain_argument(arg, folders));
                (name == program && !folders.is_empty() && inside && plain).then(|| args.to_vec())
            }
        }
    }

    /// Whether the command runs files of the project, as far as is known.
    fn runs_project_files(&self) -> bool {
        match self {
            Self::Exactly(_) | Self::ProgramWithPlainArguments(_) => true,
            Self::Shape(words) => runs_project_files(words),
        }
    }
}

fn is_ordinary(folder: &str, path: &str) -> bool {
    matches!(paths::locate("", folder, path), Place::Inside(inside) if !paths::is_sensitive(&inside))
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(words) => f.write_str(&words.join(" ")),
            Self::Shape(words) => write!(f, "{words} …"),
            Self::ProgramWithPlainArguments(program) => write!(f, "{program} …"),
        }
    }
}

impl fmt::Display for GrantedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pattern.fmt(f)?;
        match self.folders.iter().rev().find(|folder| !folder.is_empty()) {
            Some(folder) => write!(f, " ({folder}/)"),
            None => Ok(()),
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
    /// Whether calls of this tool can be agreed to in advance.
    pub in_advance: bool,
    /// What is known about the command, when the tool is the shell.
    pub shell: Option<&'a ShellJudgement>,
    /// The files that the command runs, as they are; nothing when that cannot be determined.
    pub scripts: Option<&'a [FileDigest]>,
}

/// What an answer grants beyond its own call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Which calls.
    pub calls: Calls,
    /// While these files are as they are.
    pub scripts: Vec<FileDigest>,
    /// Where and how long.
    pub reach: Reach,
}

/// What a person's answer grants beyond this call; nothing for once, and nothing for a call that can only be allowed
/// once.
pub fn proposed(scope: Scope, thread: &ThreadId, now: Timestamp, call: &CallFacts<'_>) -> Option<Proposal> {
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
    let (calls, scripts) = grantable(call)?;
    Some(Proposal { calls, scripts, reach })
}

/// The calls that a longer answer to this one covers, and the files that have to stay as they are.
pub(super) fn grantable(call: &CallFacts<'_>) -> Option<(Calls, Vec<FileDigest>)> {
    if call.risk >= Risk::High || !call.in_advance {
        return None;
    }
    let Some(shell) = call.shell else { return Some((Calls::Any, Vec::new())) };
    let scripts = call.scripts.filter(|_| shell.grantable)?;
    let mut commands: Vec<GrantedCommand> = Vec::new();
    let mut varying = Varying::default();
    for part in &shell.parts {
        if part.free {
            varying.add_free(part);
            continue;
        }
        let pattern = Pattern::of(&part.argv, &part.folders);
        varying.add(part, pattern.varying(&part.argv, &part.folders)?, pattern.runs_project_files());
        let command = GrantedCommand { pattern, folders: part.folders.clone() };
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let fixed = scripts.iter().filter(|script| !varying.has(script)).cloned().collect();
    (!commands.is_empty()).then_some((Calls::Commands(commands), fixed))
}

/// Words of a line that may differ from call to call, with what else decides about them.
#[derive(Default)]
struct Varying<'a> {
    words: Vec<(&'a ShellPart, Vec<String>)>,
    /// Whether a part runs files of the project.
    runs: bool,
}

impl<'a> Varying<'a> {
    fn add(&mut self, part: &'a ShellPart, words: Vec<String>, runs: bool) {
        self.words.push((part, words));
        self.runs |= runs;
    }

    /// A part that the rules let run: what it reads may differ.
    fn add_free(&mut self, part: &'a ShellPart) {
        self.add(part, part.argv.iter().skip(1).cloned().collect(), false);
    }

    /// Whether a file is only named by one of these words, and so may be another one. Beside a part that runs files of
    /// the project it may be one of those: `git add Makefile && make`.
    fn has(&self, script: &FileDigest) -> bool {
        if self.runs && self.words.len() > 1 {
            return false;
        }
        let is = |folder: &str, word: &str| {
            let Place::Inside(named) = paths::locate("", folder, word) else { return false };
            let told = [paths::locate("", folder, &script.path), paths::locate("", "", &script.path)];
            told.contains(&Place::Inside(named))
        };
        self.words.iter().any(|(part, words)| {
            part.folders.iter().any(|folder| {
                let program = part.argv.first().is_some_and(|program| is(folder, program));
                !program && words.iter().any(|word| is(folder, word))
            })
        })
    }
}

/// Whether one grant alone covers the call: each part of a command line, not only its beginning.
pub fn covers(grant: &Grant, thread: &ThreadId, now: Timestamp, call: &CallFacts<'_>) -> bool {
    covering(std::slice::from_ref(grant), thread, now, call).is_some()
}

/// The grants that together cover the call: each part of a command line by one of them, or free by the rules. The files
/// it runs have to be as they were when these were given.
pub fn covering<'a>(
    grants: &'a [Grant],
    thread: &ThreadId,
    now: Timestamp,
    call: &CallFacts<'_>,
) -> Option<Vec<&'a Grant>> {
    if call.risk >= Risk::High || !call.in_advance {
        return None;
    }
    let holding = || grants.iter().filter(|grant| grant.tool == call.tool && holds(grant, thread, now));
    let Some(shell) = call.shell else {
        return Some(vec![holding().find(|grant| grant.calls == Calls::Any)?]);
    };
    let scripts = call.scripts.filter(|_| shell.grantable)?;
    let mut used: Vec<&Grant> = Vec::new();
    let mut varying = Varying::default();
    for part in &shell.parts {
        if part.free {
            varying.add_free(part);
            continue;
        }
        let (grant, words, runs) = holding()
            .filter(|grant| !is_stale(grant, scripts))
            .find_map(|grant| matching(grant, part).map(|(words, runs)| (grant, words, runs)))?;
        varying.add(part, words, runs);
        if !used.iter().any(|known| known.id == grant.id) {
            used.push(grant);
        }
    }
    let is_known = |script: &FileDigest| used.iter().any(|grant| grant.scripts.contains(script));
    let unchanged = scripts.iter().all(|script| is_known(script) || varying.has(script));
    (unchanged && !used.is_empty()).then_some(used)
}

/// Whether a file of the grant is another one now.
fn is_stale(grant: &Grant, scripts: &[FileDigest]) -> bool {
    grant
        .scripts
        .iter()
        .any(|then| scripts.iter().any(|now| now.path == then.path && now.digest != then.digest))
}

/// The words of the part that may differ, and whether it runs files of the project, when the grant has this part.
fn matching(grant: &Grant, part: &ShellPart) -> Option<(Vec<String>, bool)> {
    match &grant.calls {
        Calls::Any => None,
        Calls::Commands(commands) => {
            commands.iter().filter(|command| command.folders == part.folders).find_map(|command| {
                let words = command.pattern.varying(&part.argv, &part.folders)?;
                Some((words, command.pattern.runs_project_files()))
            })
        }
    }
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

    fn command(command: &str) -> GrantedCommand {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let folders = project_folder();
        GrantedCommand { pattern: Pattern::of(&argv, &folders), folders }
    }

    fn exactly(words: &str) -> GrantedCommand {
        let words = words.split(' ').map(str::to_owned).collect();
        GrantedCommand { pattern: Pattern::Exactly(words), folders: project_folder() }
    }

    fn grant(id: u32, granted: &str, reach: Reach) -> Grant {
        let calls = Calls::Commands(vec![command(granted)]);
        Grant { id: GrantNumber(id), tool: "exec_shell".into(), calls, scripts: Vec::new(), reach }
    }

    fn facts(shell: &ShellJudgement) -> CallFacts<'_> {
        CallFacts {
            tool: "exec_shell",
            risk: shell.risk,
            in_advance: true,
            shell: Some(shell),
            scripts: Some(&[]),
        }
    }

    fn covered(grants: &[Grant], compound: Compound, command: &str) -> bool {
        let shell = judged(compound, command);
        covering(grants, &here(), NOW, &facts(&shell)).is_some()
    }

    #[test]
    fn each_part_of_a_line_needs_a_grant_or_must_be_free() {
        let grants = [grant(1, "git add .", Reach::Shape), grant(2, "git commit -m x", Reach::Project)];
        assert!(covered(&grants, Compound::Ask, "git add . && git commit -m y"));
        assert!(!covered(&grants[..1], Compound::Ask, "git add . && git commit -m x"));
        assert!(!covered(&grants, Compound::Ask, "git add . | tail -5"));
        assert!(covered(&grants, Compound::Analyze, "git add . | tail -5"));
        assert!(!covered(&grants, Compound::Analyze, "git add . | tail -5 > x"));
        assert!(!covered(&grants, Compound::Analyze, "git add . | tee x"));
        assert!(!covered(&grants, Compound::Analyze, "ls | git add ."));
    }

    #[test]
    fn a_grant_ends_at_its_moment_and_holds_in_its_thread() {
        let shell = judged(Compound::Ask, "git commit -m x");
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
            let grant = grant(1, "git commit -m x", reach.clone());
            assert_eq!(covers(&grant, &here(), NOW, &facts(&shell)), want, "{reach:?}");
        }
    }

    #[test]
    fn a_grant_is_for_its_tool_and_never_for_any_shell_command() {
        let shell = judged(Compound::Ask, "git commit -m x");
        let mut other = grant(1, "git commit -m x", Reach::Shape);
        other.tool = "write_file".into();
        assert!(!covers(&other, &here(), NOW, &facts(&shell)));
        let any = Grant { calls: Calls::Any, ..grant(1, "git commit -m x", Reach::Shape) };
        assert!(!covers(&any, &here(), NOW, &facts(&shell)));
        let write = Grant { tool: "write_file".into(), ..any };
        let call =
            |risk| CallFacts { tool: "write_file", risk, in_advance: true, shell: None, scripts: None };
        assert!(covers(&write, &here(), NOW, &call(Risk::Medium)));
        assert!(!covers(&write, &here(), NOW, &call(Risk::High)));
        let speaks = CallFacts { in_advance: false, ..call(Risk::Medium) };
        assert!(!covers(&write, &here(), NOW, &speaks));
        assert_eq!(proposed(Scope::Thread, &here(), NOW, &speaks), None);
        assert_eq!(proposed(Scope::Thread, &here(), NOW, &call(Risk::High)), None);
    }

    #[test]
    fn an_answer_grants_the_shape_that_was_shown_or_only_the_very_same_command() {
        let minutes = |n: u32| Scope::Minutes(n.try_into().unwrap());
        let of = |command: &str, scope| {
            let shell = judged(Compound::Ask, command);
            proposed(scope, &here(), NOW, &facts(&shell))
        };
        let proposal = |commands: &[GrantedCommand], reach| {
            Some(Proposal { calls: Calls::Commands(commands.to_vec()), scripts: Vec::new(), reach })
        };
        assert_eq!(of("git commit -m x", Scope::Once), None);
        let shape = [command("git commit -m x")];
        assert_eq!(shape[0].pattern, Pattern::Shape("git commit".into()));
        assert_eq!(of("git commit -m 'x y'", Scope::Shape), proposal(&shape, Reach::Shape));
        let until = Timestamp::from_millis(1_600_000);
        assert_eq!(
            of("git commit -m x", minutes(10)),
            proposal(&shape, Reach::Until { thread: here(), until })
        );
        assert_eq!(of("git commit", Scope::Shape), proposal(&[exactly("git commit")], Reach::Shape));
        assert_eq!(
            of("make -j build", Scope::Project),
            proposal(&[exactly("make -j build")], Reach::Project)
        );
        let both = [command("git add ."), command("git commit -m x")];
        assert_eq!(
            of("git add . && git commit -m x && git add x", Scope::Thread),
            proposal(&both, Reach::Thread(here()))
        );
        for command in
            ["make $x", "ls > x", "make < x", "rm x", "curl x", "touch .git/hooks/x", "make -C /etc"]
        {
            assert_eq!(of(command, Scope::Thread), None, "{command}");
        }
    }

    #[test]
    fn without_knowing_the_files_it_runs_nothing_is_granted_or_covered() {
        let shell = judged(Compound::Ask, "git commit -m x");
        let unknown = CallFacts { scripts: None, ..facts(&shell) };
        assert_eq!(proposed(Scope::Thread, &here(), NOW, &unknown), None);
        assert!(!covers(&grant(1, "git commit -m x", Reach::Shape), &here(), NOW, &unknown));
    }

    #[test]
    fn what_the_deny_list_has_stays_denied() {
        // Grants are asked only about calls that ask; this one never does.
        assert!(matches!(judged(Compound::Ask, "git push").verdict, Verdict::Deny { .. }));
    }

    #[test]
    fn a_program_of_the_project_is_granted_with_plain_arguments_when_somebody_names_it() {
        let argv = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let folders = project_folder();
        let pattern = Pattern::program_of(&argv("./bump.sh g1"), &folders).unwrap();
        let script = [FileDigest { path: "./bump.sh".into(), digest: Some("1".into()) }];
        let calls = Calls::Commands(vec![GrantedCommand { pattern, folders: folders.clone() }]);
        let grant = Grant { calls, scripts: script.to_vec(), ..grant(1, "x", Reach::Thread(here())) };
        let changed = [FileDigest { path: "./bump.sh".into(), digest: Some("2".into()) }];
        for (command, scripts, want) in [
            ("./bump.sh g1", &script, true),
            ("./bump.sh g2 g3", &script, true),
            ("./bump.sh", &script, true),
            ("./bump.sh g2", &changed, false),
            ("./bump.sh --force", &script, false),
            ("./bump.sh A=b", &script, false),
            ("./bump.sh ../x", &script, false),
            ("./bump.sh g1 > x", &script, false),
            ("./bump.sh $x", &script, false),
            ("./other.sh g1", &script, false),
        ] {
            let shell = judged(Compound::Ask, command);
            let facts = CallFacts { scripts: Some(scripts), ..facts(&shell) };
            assert_eq!(covers(&grant, &here(), NOW, &facts), want, "{command}");
        }
        for command in ["/bin/x a", "make a", "../x a", ".git/hooks/x a", "./x --all"] {
            assert_eq!(Pattern::program_of(&argv(command), &folders), None, "{command}");
        }
    }

    #[test]
    fn a_grant_survives_its_file() {
        let grants = [
            grant(1, "git commit -m x", Reach::Until { thread: here(), until: NOW }),
            Grant { calls: Calls::Any, ..grant(2, "x", Reach::Thread(here())) },
            Grant {
                scripts: vec![FileDigest { path: "Makefile".into(), digest: None }],
                ..grant(3, "npm test", Reach::Shape)
            },
        ];
        let text = serde_json::to_string(&grants).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Grant>>(&text).unwrap(), grants);
    }
}
