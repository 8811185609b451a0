//! Judging a call as it is now: by the rules, the grants, and the files it names.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use super::details::{self, ChangePreview};
use super::digests::{CallFiles, Operands, digest_file, files_of};
use crate::blocking::{BlockingJobs, Panicked};
use crate::domain::Class;
use crate::domain::{Approval, Effects, GrantNumber, Language, Risk, Scope, ScopeKind, ThreadId, Timestamp};
use crate::files;
use crate::policy::coverage::coverage;
use crate::policy::fingerprint::{FileDigest, digest_of, fingerprint};
use crate::policy::grants::{CallFacts, Grant, Proposal, covering, offered, proposed};
use crate::policy::paths::{PathClass, ResolvedPath};
use crate::policy::shell::{ReadPath, ShellCall, ShellJudgement, ShellRules};
use crate::policy::tools::ToolFacts;
use crate::policy::{Mode, Reason, Verdict, shell, tools};
use crate::ports::{BoxFuture, CallToJudge, Clock, Grants, Judge, Judgement, Ruling, StoreError};

/// The tool that runs commands.
const SHELL: &str = "exec_shell";
/// The most of a call that is shown in its one line when it could not be judged.
const SUMMARY_CHARS: usize = 200;
/// How long judging may take; a file system that hangs must not hold a conversation up.
const DEADLINE: Duration = Duration::from_secs(5);
/// Judgements at once, of all conversations and of one. With the tools' jobs they leave a quarter of the daemon's
/// blocking threads to the store.
const JOBS: usize = 6;
const JOBS_PER_THREAD: usize = 2;

/// Looks up what calls of a tool may do; nothing means that there is no such tool.
pub type EffectsOf = Arc<dyn Fn(&str) -> Option<Effects> + Send + Sync>;

/// Works out what a call would change, or why it would fail; nothing for a call that changes no text. Reads files,
/// writes none, and gives nothing away that the call itself could not reach.
pub type Preview = Arc<dyn Fn(&CallToJudge) -> Option<Result<ChangePreview, String>> + Send + Sync>;

/// What speaks against running a command unasked that reads these; the flag says whether the sandbox hides secrets.
/// Touches the disk.
pub type ObjectToReads = Arc<dyn Fn(&[ReadPath], bool) -> Option<Reason> + Send + Sync>;

/// Whether the sandbox hides secrets from commands that run unasked, as soon as that is known.
pub type HidesSecrets = Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

/// What a judge goes by.
pub struct JudgeSettings {
    /// The project directory, absolute and resolved.
    pub project: PathBuf,
    /// The operator's rules for the shell.
    pub shell: ShellRules,
    /// The operator's choice for other tools.
    pub modes: BTreeMap<String, Mode>,
    /// What calls of a tool may do.
    pub effects_of: EffectsOf,
    /// What calls would change.
    pub preview: Preview,
    /// What speaks against reading unasked.
    pub object_to_reads: ObjectToReads,
    /// Whether secrets are hidden from commands that run unasked.
    pub hides_secrets: HidesSecrets,
    /// What was allowed beyond single calls.
    pub grants: Arc<dyn Grants>,
    /// The language of reasons.
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
    /// A judge that goes by these settings.
    pub fn new(settings: JudgeSettings, clock: Arc<dyn Clock>) -> Self {
        let jobs = BlockingJobs::new(JOBS, JOBS_PER_THREAD);
        Self { settings: Arc::new(settings), clock, jobs, deadline: DEADLINE }
    }
}

impl JudgeSettings {
    /// What an answer grants beyond the call it was given for. Reads files.
    fn propose(&self, approval: &Approval, scope: Scope, now: Timestamp) -> Option<Proposal> {
        let settings = self;
        let tool = approval.tool.as_str();
        // What was said once is no leave to say anything else to anybody.
        let in_advance = (settings.effects_of)(tool) != Some(Effects::Speaks);
        let mut facts = CallFacts { tool, risk: approval.risk, in_advance, shell: None, scripts: None };
        if tool != SHELL {
            return proposed(scope, &approval.thread, now, &facts);
        }
        let judged = settings.shell_judgement(&approval.input);
        let cwd = settings.cwd(&approval.input, &files::own_files_of(&approval.thread)).relative;
        let cwd = &*cwd.to_string_lossy();
        let files = settings.files_of(cwd, &judged);
        if fingerprint(tool, &approval.input, cwd, &files.all()) != approval.fingerprint {
            // What the files hold now is not what was shown.
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
    /// A judge that gives up sooner.
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

    fn propose(&self, approval: &Approval, scope: Scope, now: Timestamp) -> BoxFuture<'_, Option<Proposal>> {
        let (settings, approval) = (self.settings.clone(), approval.clone());
        Box::pin(async move {
            let proposed = tokio::task::spawn_blocking(move || settings.propose(&approval, scope, now)).await;
            proposed.unwrap_or_else(|error| {
                tracing::error!(%error, "what an answer grants could not be worked out");
                None
            })
        })
    }
}

/// What was looked up before a call is judged.
struct Outside {
    now: Timestamp,
    /// Whether the sandbox keeps secrets from commands that run unasked.
    hides: bool,
    grants: Result<Vec<Grant>, StoreError>,
}

impl JudgeSettings {
    /// What is said of a call whose files could not be looked at in time: a person is asked, and the answer is bound to
    /// nothing, so that the call is judged and asked about again before it runs.
    fn unjudged(&self, call: &CallToJudge) -> Judgement {
        let argument = ["command", "path"].iter().find_map(|key| text_argument(&call.input, key));
        let what = argument.map(|text| shell::shown(&text).replace('\n', " ⏎ ")).unwrap_or_default();
        let summary: String = format!("{} {what}", call.tool).trim().chars().take(SUMMARY_CHARS).collect();
        let reason = Reason::Unchecked(match self.language {
            Language::En => "what the call would do".to_owned(),
            Language::Zh => "这个操作".to_owned(),
        });
        Judgement {
            ruling: Ruling::Ask,
            fingerprint: format!("unchecked-{}", uuid::Uuid::new_v4().simple()),
            details: Some(format!(
                "{}\n\n{}",
                details::reasons(&[reason], self.language),
                details::input(&call.input, self.language)
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

    /// The files of the project that a command depends on, as they are now.
    fn files_of(&self, cwd: &str, judged: &ShellJudgement) -> CallFiles {
        let operands = if judged.writes { Operands::Content } else { Operands::PathLocation };
        files_of(&self.project, cwd, &judged.depends, operands)
    }

    fn judge_shell(&self, call: &CallToJudge, outside: &Outside) -> Judgement {
        let own_files = files::own_files_of(&call.thread);
        let judged = self.shell_judgement(&call.input);
        let place = self.cwd(&call.input, &own_files);
        let mut verdict = judged.verdict.clone().and(by_cwd(&place));
        if verdict == Verdict::Allow(Class::ReadOnly) {
            for read in &judged.reads {
                let path = files::resolve_exact(&self.project, &own_files, &read.path);
                verdict = verdict.and(by_read(&path));
            }
        }
        if verdict == Verdict::Allow(Class::ReadOnly)
            && let Some(reason) = (self.object_to_reads)(&judged.reads, outside.hides)
        {
            verdict = Verdict::ask(Risk::High, reason);
        }
        let cwd = &*place.relative.to_string_lossy();
        let files = self.files_of(cwd, &judged);
        let facts = CallFacts {
            tool: &call.tool,
            risk: risk_of(&verdict, judged.risk).max(judged.risk),
            in_advance: true,
            shell: Some(&judged),
            // A grant is for what was seen when it was given.
            scripts: (!files.undetermined).then_some(&files.scripts[..]),
        };
        let (ruling, grants) = self.ruling(&verdict, &call.thread, outside, &facts);
        let command = text_argument(&call.input, "command").unwrap_or_default();
        let more = || details::command(&command, cwd, &judged.summary, self.language);
        Judgement {
            details: self.details(&verdict, &ruling, &facts, more),
            whole: details::whole_command(&ruling, &command),
            ruling,
            grants,
            fingerprint: fingerprint(&call.tool, &call.input, cwd, &files.all()),
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
        let verdict = tools::judge(self.modes.get(&call.tool).copied(), &facts);
        let risk = risk_of(&verdict, Risk::Medium);
        let in_advance = effects != Some(Effects::Speaks);
        let facts = CallFacts { tool: &call.tool, risk, in_advance, shell: None, scripts: None };
        let changes = !matches!(effects, Some(Effects::ReadOnly | Effects::Speaks));
        let preview = OnceCell::new();
        let preview = || preview.get_or_init(|| (self.preview)(call));
        // What a file holds now is part of what a change to it means. Where the call does not name the file, what would
        // be changed stands for it.
        let file = match &resolved {
            _ if !changes => None,
            Some(path) => Some(digest_file(&self.project, &path.relative)),
            None => preview().as_ref().map(changed),
        };
        let files: Vec<FileDigest> = file.into_iter().collect();
        let (ruling, grants) = self.ruling(&verdict, &call.thread, outside, &facts);
        let more = || match preview() {
            Some(preview) => Some(details::change(preview, self.language)),
            None => Some(details::input(&call.input, self.language)),
        };
        Judgement {
            details: self.details(&verdict, &ruling, &facts, more),
            whole: details::whole_call(&ruling, &call.input, preview),
            ruling,
            grants,
            fingerprint: fingerprint(&call.tool, &call.input, "", &files),
            summary: resolved
                .as_ref()
                .map(named)
                .or(target)
                .map_or_else(|| call.tool.clone(), |what| details::line(&call.tool, &what)),
            risk,
            scopes: offered(&facts),
        }
    }

    /// May it run, and if only by grants, by which?
    fn ruling(
        &self,
        verdict: &Verdict,
        thread: &ThreadId,
        outside: &Outside,
        facts: &CallFacts<'_>,
    ) -> (Ruling, Vec<GrantNumber>) {
        match verdict {
            Verdict::Allow(class) => (Ruling::Allow(*class), Vec::new()),
            Verdict::Deny { reason } => (Ruling::Deny(reason.words(Language::En)), Vec::new()),
            Verdict::Ask { .. } => {
                // Grants that cannot be read grant nothing.
                let grants = outside.grants.as_deref().unwrap_or_else(|error| {
                    tracing::warn!(error = error as &dyn std::error::Error, "no grant counts");
                    &[]
                });
                match covering(grants, thread, outside.now, facts) {
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

    /// What a person is told beside the summary; nothing where nobody is asked.
    fn details(
        &self,
        verdict: &Verdict,
        ruling: &Ruling,
        facts: &CallFacts<'_>,
        more: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        let (Verdict::Ask { reasons, .. }, Ruling::Ask) = (verdict, ruling) else { return None };
        let told =
            format!("{}\n\n{}", details::reasons(reasons, self.language), coverage(facts, self.language));
        Some(match more() {
            Some(more) => format!("{told}\n\n{more}"),
            None => told,
        })
    }
}

/// The file for people: as it was written, and where that leads to when it leads elsewhere.
fn named(path: &ResolvedPath) -> String {
    let written = shell::shown(path.written.trim());
    let relative = shell::shown(&path.relative.to_string_lossy());
    let same = written == relative || written.strip_prefix("./") == Some(&relative);
    if same || path.class == PathClass::Outside { written } else { format!("{written} → {relative}") }
}

/// A text argument, as the tools read it: a number is taken for its digits.
fn text_argument(input: &Value, key: &str) -> Option<String> {
    match input.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// What the folder of a command has against it.
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

/// What a path that a command reads unasked has against it once links are followed.
fn by_read(path: &ResolvedPath) -> Verdict {
    let name = || path.written.clone();
    match (path.class, &path.unchecked) {
        (PathClass::Outside, _) => Verdict::ask(Risk::High, Reason::Outside(name())),
        (PathClass::Reserved | PathClass::Secret, _) => Verdict::ask(Risk::High, Reason::Secret(name())),
        (_, Some(_)) => Verdict::ask(Risk::High, Reason::Unchecked(name())),
        (PathClass::Sensitive | PathClass::Ordinary, None) => Verdict::Allow(Class::ReadOnly),
    }
}

/// What would be changed, as something that is compared.
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
