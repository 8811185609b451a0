//! Judges a call in its current state: by the rules, the grants, and the files it names.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use super::details::{self, ChangePreview};
use super::digests::{CallFiles, FileOperands, digest_file, files_of};
use crate::blocking::{BlockingJobs, Panicked};
use crate::domain::Class;
use crate::domain::{Approval, Effects, GrantNumber, Language, Risk, Scope, ScopeKind, Timestamp};
use crate::files;
use crate::phrases::permissions::the_call;
use crate::policy::coverage::coverage;
use crate::policy::fingerprint::{FileDigest, digest_of, fingerprint};
use crate::policy::grants::{CallFacts, Grant, GrantProposal, covering, offered, proposed};
use crate::policy::paths::{PathClass, ResolvedPath};
use crate::policy::shell::{ReadPath, ShellCall, ShellJudgement, ShellRules};
use crate::policy::tools::ToolFacts;
use crate::policy::{Mode, Reason, Verdict, shell, tools};
use crate::ports::{BoxFuture, CallToJudge, Clock, Grants, Judge, Judgement, Ruling, StoreError};

/// The tool that runs commands.
const SHELL: &str = "exec_shell";
/// Longest summary of a call that could not be judged.
const SUMMARY_CHARS: usize = 200;
/// Deadline of a judgement; a file system that hangs must not block a conversation.
const DEADLINE: Duration = Duration::from_secs(5);
/// Most concurrent judgements, of all conversations and of one. With the tools' jobs they leave a quarter of the
/// daemon's blocking threads to the store.
const JOBS: usize = 6;
const JOBS_PER_THREAD: usize = 2;

/// A function from a tool's name to its effects; `None` for an unknown tool.
pub type ToolEffects = Arc<dyn Fn(&str) -> Option<Effects> + Send + Sync>;

/// Computes what a call would change, or why it would fail; `None` for a call that changes no text. Reads files, writes
/// none, and reveals nothing that the call itself could not read.
pub type Preview = Arc<dyn Fn(&CallToJudge) -> Option<Result<ChangePreview, String>> + Send + Sync>;

/// The reason not to run a command without approval that reads these paths; the flag says whether the sandbox hides
/// secrets. Accesses the disk.
pub type ObjectToReads = Arc<dyn Fn(&[ReadPath], bool) -> Option<Reason> + Send + Sync>;

/// Whether the sandbox hides secrets from commands that run without approval, as soon as it was probed.
pub type HidesSecrets = Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

pub struct JudgeSettings {
    /// The project directory, absolute and resolved.
    pub project: PathBuf,
    /// The operator's rules for the shell.
    pub shell: ShellRules,
    /// The operator's modes for other tools.
    pub modes: BTreeMap<String, Mode>,
    pub effects_of: ToolEffects,
    pub preview: Preview,
    pub object_to_reads: ObjectToReads,
    pub hides_secrets: HidesSecrets,
    pub grants: Arc<dyn Grants>,
    /// The language of reasons for a call without one.
    pub language: Language,
}

impl std::fmt::Debug for JudgeSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JudgeSettings").field("project", &self.project).finish_non_exhaustive()
    }
}

/// Judges the calls of one project.
#[derive(Clone, Debug)]
pub struct ProjectJudge {
    settings: Arc<JudgeSettings>,
    clock: Arc<dyn Clock>,
    jobs: BlockingJobs,
    deadline: Duration,
}

impl ProjectJudge {
    pub fn new(settings: JudgeSettings, clock: Arc<dyn Clock>) -> Self {
        let jobs = BlockingJobs::new(JOBS, JOBS_PER_THREAD);
        Self { settings: Arc::new(settings), clock, jobs, deadline: DEADLINE }
    }
}

impl JudgeSettings {
    /// The grant that an answer of this scope proposes. Reads files.
    fn propose(&self, approval: &Approval, scope: Scope, now: Timestamp) -> Option<GrantProposal> {
        let settings = self;
        let tool = approval.tool.as_str();
        let in_advance = tools::may_be_granted(tool, (settings.effects_of)(tool));
        let mut facts = CallFacts { tool, risk: approval.risk, in_advance, shell: None, scripts: None };
        if tool != SHELL {
            return proposed(scope, &approval.thread, now, &facts);
        }
        let judged = settings.shell_judgement(&approval.input);
        let cwd = settings.cwd(&approval.input, &files::own_files_of(&approval.thread)).relative;
        let cwd = &*cwd.to_string_lossy();
        let files = settings.files_of(cwd, &judged);
        if fingerprint(tool, &approval.input, cwd, &approval.memory_scope, &files.all())
            != approval.fingerprint
        {
            // The files have changed since they were shown.
            return None;
        }
        facts.risk = facts.risk.max(judged.risk);
        facts.shell = Some(&judged);
        facts.scripts = (!files.undetermined).then_some(&files.scripts[..]);
        proposed(scope, &approval.thread, now, &facts)
    }
}

#[cfg(test)]
impl ProjectJudge {
    pub(super) fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }
}

impl Judge for ProjectJudge {
    fn judge(&self, call: CallToJudge) -> BoxFuture<'_, Judgement> {
        let (settings, now) = (self.settings.clone(), self.clock.now());
        Box::pin(async move {
            let (thread, asked) = (call.thread.clone(), call.clone());
            let job = async {
                let hides = call.tool == SHELL && (settings.hides_secrets)().await;
                let grants = settings.grants.all().await;
                let outside = Outside { now, hides, grants };
                self.jobs.run(&thread, move || settings.judge(&call, &outside)).await
            };
            match timeout(self.deadline, job).await {
                Ok(Ok(judgement)) => judgement,
                Ok(Err(Panicked)) => Judgement {
                    ruling: Ruling::Deny("the call could not be judged".to_owned()),
                    ..self.settings.unjudged(&asked)
                },
                Err(_) => {
                    tracing::warn!(tool = asked.tool, %thread, "judging timed out");
                    self.settings.unjudged(&asked)
                }
            }
        })
    }

    fn propose(
        &self,
        approval: &Approval,
        scope: Scope,
        now: Timestamp,
    ) -> BoxFuture<'_, Option<GrantProposal>> {
        let (settings, approval) = (self.settings.clone(), approval.clone());
        Box::pin(async move {
            let thread = approval.thread.clone();
            let job = self.jobs.run(&thread, move || settings.propose(&approval, scope, now));
            match timeout(self.deadline, job).await {
                Ok(Ok(proposed)) => proposed,
                // The answer counts once.
                Ok(Err(error)) => {
                    tracing::error!(%error, "proposing a grant failed");
                    None
                }
                Err(_) => {
                    tracing::warn!(%thread, "proposing a grant timed out");
                    None
                }
            }
        })
    }
}

/// The facts that are looked up before a call is judged.
struct Outside {
    now: Timestamp,
    /// Whether the sandbox hides secrets from commands that run without approval.
    hides: bool,
    grants: Result<Vec<Grant>, StoreError>,
}

impl JudgeSettings {
    /// The judgement of a call whose files could not be read in time: a person is asked, and the answer has no binding,
    /// so that the call is judged and asked about again before it runs.
    fn unjudged(&self, call: &CallToJudge) -> Judgement {
        let argument = ["command", "path"].iter().find_map(|key| text_argument(&call.input, key));
        let what = argument.map(|text| shell::shown(&text).replace('\n', " ⏎ ")).unwrap_or_default();
        let summary: String = format!("{} {what}", call.tool).trim().chars().take(SUMMARY_CHARS).collect();
        let language = self.language_of(call);
        let reason = Reason::Unchecked(the_call(language).to_owned());
        Judgement {
            ruling: Ruling::Ask,
            fingerprint: format!("unchecked-{}", uuid::Uuid::new_v4().simple()),
            details: Some(format!(
                "{}\n\n{}",
                details::reasons(&[reason], language),
                details::input(&call.input, language)
            )),
            summary,
            whole: None,
            risk: Risk::High,
            scopes: vec![ScopeKind::Once],
            grants: Vec::new(),
        }
    }

    fn judge(&self, call: &CallToJudge, outside: &Outside) -> Judgement {
        if call.tool == SHELL { self.judge_shell(call, outside) } else { self.judge_tool(call, outside) }
    }

    fn shell_judgement(&self, input: &Value) -> ShellJudgement {
        let command = text_argument(input, "command").unwrap_or_default();
        let cwd = self.cwd(input, "").relative;
        shell::judge(&self.shell, &ShellCall { command: &command, cwd: &cwd.to_string_lossy() })
    }

    /// The folder a command would run in, as the tool resolves it.
    fn cwd(&self, input: &Value, own_files: &str) -> ResolvedPath {
        let written = text_argument(input, "cwd").unwrap_or_default();
        files::resolve(&self.project, own_files, &written)
    }

    /// The project files that a command depends on, as they are now.
    fn files_of(&self, cwd: &str, judged: &ShellJudgement) -> CallFiles {
        let operands = if judged.writes { FileOperands::Content } else { FileOperands::PathLocation };
        files_of(&self.project, cwd, &judged.depends, operands)
    }

    fn judge_shell(&self, call: &CallToJudge, outside: &Outside) -> Judgement {
        let own_files = files::own_files_of(&call.thread);
        let judged = self.shell_judgement(&call.input);
        let place = self.cwd(&call.input, &own_files);
        let mut verdict = judged.verdict.clone().and(by_cwd(&place));
        // Also for a line that is allowed by a rule or a grant: a name in it may be a link.
        for read in &judged.reads {
            let path = files::resolve_exact(&self.project, &own_files, &read.path);
            verdict = verdict.and(by_read(&path));
        }
        // What a pattern matches is known only now, and may be more than a rule or `mode: "allow"` means.
        let read_only = verdict == Verdict::Allow(Class::ReadOnly);
        let has_patterns = judged.reads.iter().any(|read| read.path.contains(['*', '?', '[']));
        let allowed = matches!(verdict, Verdict::Allow(_));
        if (read_only || (allowed && has_patterns))
            && let Some(reason) = (self.object_to_reads)(&judged.reads, read_only && outside.hides)
        {
            verdict = Verdict::ask(Risk::High, reason);
        }
        if call.by_program {
            verdict = verdict.and(asked_by_program());
        }
        let cwd = &*place.relative.to_string_lossy();
        let files = self.files_of(cwd, &judged);
        let facts = CallFacts {
            tool: &call.tool,
            risk: risk_of(&verdict, judged.risk).max(judged.risk),
            in_advance: !call.by_program,
            shell: Some(&judged),
            // A grant is bound to the scripts as they were when it was given.
            scripts: (!files.undetermined).then_some(&files.scripts[..]),
        };
        let (ruling, grants) = self.ruling(&verdict, call, outside, &facts);
        let command = text_argument(&call.input, "command").unwrap_or_default();
        let language = self.language_of(call);
        let more = || details::command(&command, cwd, &judged.summary, language);
        Judgement {
            details: details_of(&verdict, &ruling, &facts, language, more),
            whole: details::whole_command(&ruling, &command),
            ruling,
            grants,
            fingerprint: fingerprint(&call.tool, &call.input, cwd, &call.scope, &files.all()),
            summary: judged.summary.clone(),
            risk: risk_of(&verdict, judged.risk),
            scopes: offered(&facts),
        }
    }

    fn judge_tool(&self, call: &CallToJudge, outside: &Outside) -> Judgement {
        let own_files = files::own_files_of(&call.thread);
        let path = text_argument(&call.input, "path");
        let resolved = path.as_deref().map(|path| files::resolve(&self.project, &own_files, path));
        let effects = (self.effects_of)(&call.tool);
        let target = text_argument(&call.input, "thread");
        let elsewhere = target.as_deref().is_some_and(|target| target != call.thread.as_str());
        let facts = ToolFacts { tool: &call.tool, effects, elsewhere, path: resolved.as_ref() };
        let mut verdict = tools::judge(self.modes.get(&call.tool).copied(), &facts);
        if call.by_program && effects != Some(Effects::ReadOnly) {
            verdict = verdict.and(asked_by_program());
        }
        let risk = risk_of(&verdict, Risk::Medium);
        let in_advance = tools::may_be_granted(&call.tool, effects) && !call.by_program;
        let facts = CallFacts { tool: &call.tool, risk, in_advance, shell: None, scripts: None };
        let changes = !matches!(effects, Some(Effects::ReadOnly | Effects::Speaks));
        let preview = OnceCell::new();
        let preview = || preview.get_or_init(|| (self.preview)(call));
        // The content of a file is part of what a change to it means. Where the call does not name the file, the
        // changed text is used.
        let file = match &resolved {
            _ if !changes => None,
            Some(path) => Some(digest_file(&self.project, &path.relative)),
            None => preview().as_ref().map(changed),
        };
        let files: Vec<FileDigest> = file.into_iter().collect();
        let (ruling, grants) = self.ruling(&verdict, call, outside, &facts);
        let (ruling, grants) = match (&ruling, preview()) {
            // The call would fail: the model gets the error, and no person is asked.
            (Ruling::Ask, Some(Err(why))) if tools::subject(&call.tool, &call.input).is_some() => {
                (Ruling::Deny(why.clone()), Vec::new())
            }
            _ => (ruling, grants),
        };
        let language = self.language_of(call);
        let more = || match preview() {
            Some(preview) => Some(details::change(preview, language)),
            None => Some(details::input(&call.input, language)),
        };
        Judgement {
            details: details_of(&verdict, &ruling, &facts, language, more),
            whole: details::whole_call(&ruling, &call.input, preview),
            ruling,
            grants,
            fingerprint: fingerprint(&call.tool, &call.input, "", &call.scope, &files),
            summary: resolved
                .as_ref()
                .map(named)
                .or(target)
                .or_else(|| tools::subject(&call.tool, &call.input).map(str::to_owned))
                .map_or_else(|| call.tool.clone(), |what| details::line(&call.tool, &what)),
            risk,
            scopes: offered(&facts),
        }
    }

    /// Whether a call may run, and the grants that allow it.
    fn ruling(
        &self,
        verdict: &Verdict,
        call: &CallToJudge,
        outside: &Outside,
        facts: &CallFacts<'_>,
    ) -> (Ruling, Vec<GrantNumber>) {
        match verdict {
            Verdict::Allow(class) => (Ruling::Allow(*class), Vec::new()),
            Verdict::Deny { reason } => (Ruling::Deny(reason.words(Language::En)), Vec::new()),
            // A person's yes to later calls is no yes to what a program asks for.
            Verdict::Ask { .. } if call.by_program => (Ruling::Ask, Vec::new()),
            Verdict::Ask { .. } => {
                // Unreadable grants allow nothing.
                let grants = outside.grants.as_deref().unwrap_or_else(|error| {
                    tracing::warn!(error = error as &dyn std::error::Error, "grants unavailable");
                    &[]
                });
                match covering(grants, &call.thread, outside.now, facts) {
                    Some(used) => {
                        let used: Vec<GrantNumber> = used.iter().map(|grant| grant.id).collect();
                        tracing::info!(grants = ?used, tool = facts.tool, "allowed by grants");
                        (Ruling::Allow(Class::ProjectWritable), used)
                    }
                    None => (Ruling::Ask, Vec::new()),
                }
            }
        }
    }

    /// The language of the people of a call.
    fn language_of(&self, call: &CallToJudge) -> Language {
        call.language.unwrap_or(self.language)
    }
}

/// The details of the question; `None` where no approval is needed.
fn details_of(
    verdict: &Verdict,
    ruling: &Ruling,
    facts: &CallFacts<'_>,
    language: Language,
    more: impl FnOnce() -> Option<String>,
) -> Option<String> {
    let (Verdict::Ask { reasons, .. }, Ruling::Ask) = (verdict, ruling) else { return None };
    let told = format!("{}\n\n{}", details::reasons(reasons, language), coverage(facts, language));
    Some(match more() {
        Some(more) => format!("{told}\n\n{more}"),
        None => told,
    })
}

/// The file name for people: as written, and the link's target where that differs.
fn named(path: &ResolvedPath) -> String {
    let written = shell::shown(path.written.trim());
    let relative = shell::shown(&path.relative.to_string_lossy());
    let same = written == relative || written.strip_prefix("./") == Some(&relative);
    if same || path.class == PathClass::Outside { written } else { format!("{written} → {relative}") }
}

/// A text argument, read as the tools do: a number becomes its digits.
fn text_argument(input: &Value, key: &str) -> Option<String> {
    match input.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The verdict on a call that a program asks for. Permissions that the operator gave to people do not count.
fn asked_by_program() -> Verdict {
    Verdict::ask(Risk::Medium, Reason::AskedByProgram)
}

/// The verdict on the folder of a command.
fn by_cwd(place: &ResolvedPath) -> Verdict {
    let name = || place.written.clone();
    let verdict = match place.class {
        PathClass::Outside => Verdict::Deny { reason: Reason::Outside(name()) },
        PathClass::Reserved => Verdict::Deny { reason: Reason::Secret(name()) },
        PathClass::Secret => Verdict::ask(Risk::High, Reason::Secret(name())),
        PathClass::Sensitive | PathClass::Ordinary => Verdict::Allow(Class::ReadOnly),
    };
    match place.unchecked {
        Some(_) => verdict.and(Verdict::ask(Risk::High, Reason::Unchecked(name()))),
        None => verdict,
    }
}

/// The verdict on a path that a command reads without approval, after following links.
fn by_read(path: &ResolvedPath) -> Verdict {
    let name = || path.written.clone();
    match (path.class, &path.unchecked) {
        (PathClass::Outside, _) => Verdict::ask(Risk::High, Reason::Outside(name())),
        (PathClass::Reserved | PathClass::Secret, _) => Verdict::ask(Risk::High, Reason::Secret(name())),
        (_, Some(_)) => Verdict::ask(Risk::High, Reason::Unchecked(name())),
        (PathClass::Sensitive | PathClass::Ordinary, None) => Verdict::Allow(Class::ReadOnly),
    }
}

/// The change as a digest.
fn changed(preview: &Result<ChangePreview, String>) -> FileDigest {
    let shown = preview.as_ref().map_or_else(String::as_str, |preview| preview.diff.as_str());
    FileDigest { path: String::new(), digest: Some(digest_of(shown.as_bytes())) }
}

fn risk_of(verdict: &Verdict, otherwise: Risk) -> Risk {
    match verdict {
        Verdict::Ask { risk, .. } => *risk,
        Verdict::Allow(_) => Risk::Low,
        Verdict::Deny { .. } => otherwise,
    }
}
