//! Judging a call as it is now: by the rules, the grants, and the files it names.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::details::{self, ChangePreview};
use super::grants::{GrantBook, StoredGrant};
use crate::domain::Class;
use crate::domain::{Approval, Effects, GrantNumber, Language, Reach, Risk, Scope, ThreadId, Timestamp};
use crate::policy::fingerprint::{FileDigest, digest_of, fingerprint};
use crate::policy::grants::{CallFacts, Calls, Grant, covering, proposed};
use crate::policy::shell::{ReadPath, ShellCall, ShellJudgement, ShellRules};
use crate::policy::tools::ToolFacts;
use crate::policy::{Mode, Reason, Verdict, shell, tools};
use crate::ports::{BoxFuture, CallToJudge, Clock, Judge, Judgement, Ruling};

/// The tool that runs commands.
const SHELL: &str = "exec_shell";
/// A script longer than this is told from others by its beginning.
const DIGEST_BYTES: usize = 8 << 20;

/// Looks up what calls of a tool may do; nothing means that there is no such tool.
pub type EffectsOf = Arc<dyn Fn(&str) -> Option<Effects> + Send + Sync>;

/// Works out what a call would change, or why it would fail; nothing for a call that changes no text. Reads files,
/// writes none, and gives nothing away that the call itself could not reach.
pub type Preview = Arc<dyn Fn(&CallToJudge) -> Option<Result<ChangePreview, String>> + Send + Sync>;

/// Looks at what a command that only reads would read, and says what speaks against running it unasked.
pub type ObjectToReads = Arc<dyn Fn(Vec<ReadPath>) -> BoxFuture<'static, Option<Reason>> + Send + Sync>;

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
    /// The `.ship` directory, where the grants are.
    pub state: PathBuf,
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
}

impl ProjectJudge {
    /// A judge that goes by these settings.
    pub fn new(settings: JudgeSettings, clock: Arc<dyn Clock>) -> Self {
        Self { settings: Arc::new(settings), clock }
    }

    /// What an answer grants beyond the call it was given for.
    pub fn propose(&self, approval: &Approval, scope: Scope, now: Timestamp) -> Option<(Calls, Reach)> {
        // What was said once is no leave to say anything else to anybody.
        if (self.settings.effects_of)(&approval.tool) == Some(Effects::Speaks) {
            return None;
        }
        let shell = (approval.tool == SHELL).then(|| self.settings.shell_judgement(&approval.input));
        proposed(scope, &approval.thread, now, shell.as_ref())
    }
}

impl Judge for ProjectJudge {
    fn judge(&self, call: CallToJudge) -> BoxFuture<'_, Judgement> {
        let (settings, now) = (self.settings.clone(), self.clock.now());
        Box::pin(async move {
            let objection = settings.objection(&call).await;
            let judged = tokio::task::spawn_blocking(move || settings.judge(&call, now, objection)).await;
            judged.unwrap_or_else(|_| Judgement {
                ruling: Ruling::Deny("the call could not be judged".to_owned()),
                fingerprint: String::new(),
                summary: String::new(),
                details: None,
                whole: None,
                risk: Risk::High,
                grants: Vec::new(),
            })
        })
    }
}

impl JudgeSettings {
    fn judge(&self, call: &CallToJudge, now: Timestamp, objection: Option<Reason>) -> Judgement {
        if call.tool == SHELL { self.judge_shell(call, now, objection) } else { self.judge_tool(call, now) }
    }

    /// What speaks against a command that would otherwise run unasked.
    async fn objection(&self, call: &CallToJudge) -> Option<Reason> {
        if call.tool != SHELL {
            return None;
        }
        let judged = self.shell_judgement(&call.input);
        if judged.verdict != Verdict::Allow(Class::ReadOnly) {
            return None;
        }
        (self.object_to_reads)(judged.reads).await
    }

    fn shell_judgement(&self, input: &Value) -> ShellJudgement {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        shell::judge(&self.shell, &ShellCall { command: text("command"), cwd: text("cwd") })
    }

    fn judge_shell(&self, call: &CallToJudge, now: Timestamp, objection: Option<Reason>) -> Judgement {
        let judged = self.shell_judgement(&call.input);
        let mut verdict = judged.verdict.clone();
        if let (Verdict::Allow(Class::ReadOnly), Some(reason)) = (&verdict, objection) {
            verdict = Verdict::ask(Risk::High, reason);
        }
        let facts = CallFacts { tool: &call.tool, risk: judged.risk, shell: Some(&judged) };
        let cwd = call.input.get("cwd").and_then(Value::as_str).unwrap_or_default();
        let scripts: Vec<FileDigest> = judged.scripts.iter().map(|script| self.digest(cwd, script)).collect();
        let (ruling, grants) = self.ruling(&verdict, &call.thread, now, &facts);
        let command = call.input.get("command").and_then(Value::as_str).unwrap_or_default();
        let more = || details::command(command, cwd, &judged.summary, self.language);
        Judgement {
            details: self.details(&verdict, &ruling, more),
            whole: details::whole_command(&ruling, command),
            ruling,
            grants,
            fingerprint: fingerprint(&call.tool, &call.input, cwd, &scripts),
            summary: judged.summary.clone(),
            risk: risk_of(&verdict, judged.risk),
        }
    }

    fn judge_tool(&self, call: &CallToJudge, now: Timestamp) -> Judgement {
        let path = call.input.get("path").and_then(Value::as_str);
        let own_files = format!(".ship/files/{}", call.thread.file_name());
        let effects = (self.effects_of)(&call.tool);
        let target = call.input.get("thread").and_then(Value::as_str);
        let elsewhere = target.is_some_and(|target| target != call.thread.as_str());
        let facts = ToolFacts { tool: &call.tool, effects, elsewhere, path, own_files: &own_files };
        let verdict = tools::judge(self.modes.get(&call.tool).copied(), &facts);
        let risk = risk_of(&verdict, Risk::Medium);
        let facts = CallFacts { tool: &call.tool, risk, shell: None };
        let changes = !matches!(effects, Some(Effects::ReadOnly | Effects::Speaks));
        let preview = OnceCell::new();
        let preview = || preview.get_or_init(|| (self.preview)(call));
        // What a file holds now is part of what a change to it means. Where the call does not name the file, what would
        // be changed stands for it.
        let file = match path {
            _ if !changes => None,
            Some(path) => Some(self.digest("", path)),
            None => preview().as_ref().map(changed),
        };
        let files: Vec<FileDigest> = file.into_iter().collect();
        let (ruling, grants) = self.ruling(&verdict, &call.thread, now, &facts);
        let more = || match preview() {
            Some(preview) => Some(details::change(preview, self.language)),
            None => Some(details::input(&call.input, self.language)),
        };
        Judgement {
            details: self.details(&verdict, &ruling, more),
            whole: details::whole_call(&ruling, &call.input, preview),
            ruling,
            grants,
            fingerprint: fingerprint(&call.tool, &call.input, "", &files),
            summary: path
                .or(target)
                .map_or_else(|| call.tool.clone(), |what| details::line(&call.tool, what)),
            risk,
        }
    }

    /// May it run, and if only by grants, by which?
    fn ruling(
        &self,
        verdict: &Verdict,
        thread: &ThreadId,
        now: Timestamp,
        facts: &CallFacts<'_>,
    ) -> (Ruling, Vec<GrantNumber>) {
        match verdict {
            Verdict::Allow(class) => (Ruling::Allow(*class), Vec::new()),
            Verdict::Deny { reason } => (Ruling::Deny(reason.words(Language::En)), Vec::new()),
            Verdict::Ask { .. } => {
                // Grants that cannot be read grant nothing.
                let stored = GrantBook::read(&self.state).unwrap_or_else(|error| {
                    tracing::warn!(error = &error as &dyn std::error::Error, "no grant counts");
                    Vec::new()
                });
                let grants: Vec<Grant> = stored.into_iter().map(|StoredGrant { grant, .. }| grant).collect();
                match covering(&grants, thread, now, facts) {
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
        more: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        let (Verdict::Ask { reasons, .. }, Ruling::Ask) = (verdict, ruling) else { return None };
        let reasons = details::reasons(reasons, self.language);
        Some(match more() {
            Some(more) => format!("{reasons}\n\n{more}"),
            None => reasons,
        })
    }

    fn digest(&self, cwd: &str, path: &str) -> FileDigest {
        let full = self.project.join(cwd).join(path);
        let digest = read_bounded(&full).map(|content| digest_of(&content));
        FileDigest { path: path.to_owned(), digest }
    }
}

/// What would be changed, as something that is compared.
fn changed(preview: &Result<ChangePreview, String>) -> FileDigest {
    let shown = preview.as_ref().map_or_else(String::as_str, |preview| preview.diff.as_str());
    FileDigest { path: String::new(), digest: Some(digest_of(shown.as_bytes())) }
}

fn read_bounded(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    let file =
        std::fs::File::open(path).ok().filter(|file| file.metadata().is_ok_and(|facts| facts.is_file()))?;
    let mut content = Vec::new();
    file.take(DIGEST_BYTES as u64).read_to_end(&mut content).ok()?;
    Some(content)
}

fn risk_of(verdict: &Verdict, otherwise: Risk) -> Risk {
    match verdict {
        Verdict::Ask { risk, .. } => *risk,
        Verdict::Allow(_) => Risk::Low,
        Verdict::Deny { .. } => otherwise,
    }
}
