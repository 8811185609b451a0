//! Which calls a longer approval grants, and which grants cover a call. Revoked grants are not in the list.

use super::grant::{Calls, Grant, GrantedCommand, Pattern};
use crate::domain::{Reach, Risk, Scope, ScopeKind, ThreadId, Timestamp};
use crate::policy::fingerprint::FileDigest;
use crate::policy::paths::{self, PathLocation};
use crate::policy::shell::{ShellJudgement, ShellPart, runs_its_arguments};

/// The facts of a call that needs approval.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    pub tool: &'a str,
    pub risk: Risk,
    /// Whether calls of this tool can be approved in advance.
    pub in_advance: bool,
    /// The judgement of the command, when the tool is the shell.
    pub shell: Option<&'a ShellJudgement>,
    /// The current files that the command runs; `None` when they cannot be determined.
    pub scripts: Option<&'a [FileDigest]>,
}

/// What an answer grants beyond its own call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantProposal {
    pub calls: Calls,
    /// Valid while these files are unchanged.
    pub scripts: Vec<FileDigest>,
    /// Where and how long it holds.
    pub reach: Reach,
}

/// The grant that an answer proposes; `None` for the scope `Once`, and for a call that can only be approved once.
pub fn proposed(
    scope: Scope,
    thread: &ThreadId,
    now: Timestamp,
    call: &CallFacts<'_>,
) -> Option<GrantProposal> {
    let reach = match scope {
        Scope::Once | Scope::PlusOne | Scope::PlusFive | Scope::Midnight => return None,
        Scope::Thread => Reach::Thread(thread.clone()),
        Scope::Minutes(minutes) | Scope::Program(minutes) => {
            let until = now.as_millis().saturating_add(i64::from(minutes.get()).saturating_mul(60_000));
            Reach::Until { thread: thread.clone(), until: Timestamp::from_millis(until) }
        }
        Scope::Shape => Reach::Shape,
        Scope::Project => Reach::Project,
    };
    let (calls, scripts) = match scope {
        Scope::Program(_) => named_program(call)?,
        _ => grantable(call)?,
    };
    Some(GrantProposal { calls, scripts, reach })
}

/// How far a yes to this call can reach. Only a command has a shape: for another tool that would mean every call.
pub fn offered(call: &CallFacts<'_>) -> Vec<ScopeKind> {
    let mut scopes = vec![ScopeKind::Once];
    if grantable(call).is_some() {
        scopes.extend([ScopeKind::Thread, ScopeKind::Minutes]);
        scopes.extend(call.shell.map(|_| ScopeKind::Shape));
        scopes.push(ScopeKind::Project);
    }
    scopes.extend(named_program(call).map(|_| ScopeKind::Program));
    scopes
}

/// The calls that a yes to the program of this command covers, and the files that have to stay as they are. Such a yes
/// names one program, so the command must be nothing but one call of it.
pub(in crate::policy) fn named_program(call: &CallFacts<'_>) -> Option<(Calls, Vec<FileDigest>)> {
    if call.risk >= Risk::High || !call.in_advance {
        return None;
    }
    let shell = call.shell.filter(|shell| shell.grantable)?;
    let [part] = shell.parts.as_slice() else { return None };
    let pattern = Pattern::program_of(&part.argv, &part.folders)?;
    let mut varying = Varying::default();
    varying.add(part, pattern.varying(&part.argv, &part.folders)?, pattern.runs_project_files());
    let fixed: Vec<FileDigest> =
        call.scripts?.iter().filter(|script| !varying.has(script)).cloned().collect();
    // A link leads to a program of another name, and one to outside the project has no digest.
    let name = |file: &FileDigest| file.path.rsplit('/').next().unwrap_or_default().to_owned();
    let runs_arguments = fixed.iter().any(|file| runs_its_arguments(&name(file)));
    if runs_arguments || fixed.is_empty() {
        return None;
    }
    let command = GrantedCommand { pattern, folders: part.folders.clone() };
    Some((Calls::Commands(vec![command]), fixed))
}

/// The calls that a longer approval of this one covers, and the files that must stay unchanged.
pub(in crate::policy) fn grantable(call: &CallFacts<'_>) -> Option<(Calls, Vec<FileDigest>)> {
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

/// Words of a line that may differ from call to call.
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

    /// Adds a part that the rules allow without approval: its operands may differ.
    fn add_free(&mut self, part: &'a ShellPart) {
        self.add(part, part.argv.iter().skip(1).cloned().collect(), false);
    }

    /// Whether a file is only named by one of these words, and so may differ. Beside a part that runs files of the
    /// project it may be one of those: `git add Makefile && make`.
    fn has(&self, script: &FileDigest) -> bool {
        if self.runs && self.words.len() > 1 {
            return false;
        }
        let is = |folder: &str, word: &str| {
            let PathLocation::Inside(named) = paths::locate("", folder, word) else { return false };
            let told = [paths::locate("", folder, &script.path), paths::locate("", "", &script.path)];
            told.contains(&PathLocation::Inside(named))
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

/// The grants that together cover the call: each part of a command line by one of them, or allowed by the rules. The
/// files it runs must be unchanged since the grants were given.
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

/// Whether a file of the grant has changed.
fn is_stale(grant: &Grant, scripts: &[FileDigest]) -> bool {
    grant
        .scripts
        .iter()
        .any(|then| scripts.iter().any(|now| now.path == then.path && now.digest != then.digest))
}

/// If the grant covers the part: the words that may differ, and whether it runs files of the project.
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

/// Whether a grant holds in this thread at this time.
pub fn holds(grant: &Grant, thread: &ThreadId, now: Timestamp) -> bool {
    match &grant.reach {
        Reach::Thread(of) => of == thread,
        Reach::Until { thread: of, until } => of == thread && now < *until,
        Reach::Shape | Reach::Project => true,
        Reach::Cap { .. } => false,
    }
}
