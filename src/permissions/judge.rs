//! Judging a call as it is now: by the rules, the grants, and the files it names.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::details::{self, ChangePreview};
use super::grants::{GrantBook, StoredGrant};
use crate::domain::Class;
use crate::domain::{Approval, Effects, GrantNumber, Language, Risk, Scope, ThreadId, Timestamp};
use crate::policy::coverage::coverage;
use crate::policy::fingerprint::{FileDigest, digest_of, fingerprint};
use crate::policy::grants::{CallFacts, Grant, Proposal, covering, proposed};
use crate::policy::shell::{ShellCall, ShellJudgement, ShellRules};
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

    /// What an answer grants beyond the call it was given for. Reads files.
    pub fn propose(&self, approval: &Approval, scope: Scope, now: Timestamp) -> Option<Proposal> {
        let settings = &self.settings;
        let tool = approval.tool.as_str();
        // What was said once is no leave to say anything else to anybody.
        let in_advance = (settings.effects_of)(tool) != Some(Effects::Speaks);
        let mut facts = CallFacts { tool, risk: approval.risk, in_advance, shell: None, scripts: None };
        if tool != SHELL {
            return proposed(scope, &approval.thread, now, &facts);
        }
        let judged = settings.shell_judgement(&approval.input);
        let cwd = approval.input.get("cwd").and_then(Value::as_str).unwrap_or_default();
        let scripts = settings.script_digests(&judged, cwd);
        if fingerprint(tool, &approval.input, cwd, &scripts) != approval.fingerprint {
            // What the files hold now is not what was shown.
            return None;
        }
        facts.risk = facts.risk.max(judged.risk);
        facts.shell = Some(&judged);
        facts.scripts = settings.determined(cwd, &scripts);
        proposed(scope, &approval.thread, now, &facts)
    }
}

impl Judge for ProjectJudge {
    fn judge(&self, call: CallToJudge) -> BoxFuture<'_, Judgement> {
        let (settings, now) = (self.settings.clone(), self.clock.now());
        Box::pin(async move {
            let judged = tokio::task::spawn_blocking(move || settings.judge(&call, now)).await;
            judged.unwrap_or_else(|_| Judgement {
                ruling: Ruling::Deny("the call could not be judged".to_owned()),
                fingerprint: String::new(),
                summary: String::new(),
                details: None,
                risk: Risk::High,
                grants: Vec::new(),
            })
        })
    }
}

impl JudgeSettings {
    fn judge(&self, call: &CallToJudge, now: Timestamp) -> Judgement {
        if call.tool == SHELL { self.judge_shell(call, now) } else { self.judge_tool(call, now) }
    }

    fn shell_judgement(&self, input: &Value) -> ShellJudgement {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        shell::judge(&self.shell, &ShellCall { command: text("command"), cwd: text("cwd") })
    }

    fn judge_shell(&self, call: &CallToJudge, now: Timestamp) -> Judgement {
        let judged = self.shell_judgement(&call.input);
        let mut verdict = judged.verdict.clone();
        if verdict == Verdict::Allow(Class::ReadOnly)
            && let Some(path) = judged.reads.iter().map(|read| &read.path).find(|path| !self.is_within(path))
        {
            verdict = Verdict::ask(Risk::High, Reason::Outside(path.clone()));
        }
        let cwd = call.input.get("cwd").and_then(Value::as_str).unwrap_or_default();
        let scripts = self.script_digests(&judged, cwd);
        let facts = CallFacts {
            tool: &call.tool,
            risk: risk_of(&verdict, judged.risk).max(judged.risk),
            in_advance: true,
            shell: Some(&judged),
            scripts: self.determined(cwd, &scripts),
        };
        let (ruling, grants) = self.ruling(&verdict, &call.thread, now, &facts);
        let command = call.input.get("command").and_then(Value::as_str).unwrap_or_default();
        let more = || details::command(command, cwd, &judged.summary, self.language);
        Judgement {
            details: self.details(&verdict, &ruling, &facts, more),
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
        let in_advance = effects != Some(Effects::Speaks);
        let facts = CallFacts { tool: &call.tool, risk, in_advance, shell: None, scripts: None };
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
            None => Some(details::input(&call.input)),
        };
        Judgement {
            details: self.details(&verdict, &ruling, &facts, more),
            ruling,
            grants,
            fingerprint: fingerprint(&call.tool, &call.input, "", &files),
            summary: path
                .or(target)
                .map_or_else(|| call.tool.clone(), |what| format!("{} {what}", call.tool)),
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

    /// Whether a path that a command reads is in the project once links are followed. One that does not exist yet
    /// cannot be read either.
    fn is_within(&self, path: &str) -> bool {
        let full = if path.starts_with('/') { PathBuf::from(path) } else { self.project.join(path) };
        full.canonicalize().map_or(true, |real| real.starts_with(&self.project))
    }

    fn script_digests(&self, judged: &ShellJudgement, cwd: &str) -> Vec<FileDigest> {
        judged.scripts.iter().map(|script| self.digest(cwd, script)).collect()
    }

    /// The digests, unless a file without one is there: then nobody can tell whether it stays the same. Programs of the
    /// system are not files that a command can change.
    fn determined<'a>(&self, cwd: &str, scripts: &'a [FileDigest]) -> Option<&'a [FileDigest]> {
        const SYSTEM: &[&str] = &["/bin/", "/sbin/", "/usr/", "/opt/", "/lib"];
        let is_missing = |script: &FileDigest| {
            let full = self.project.join(cwd).join(&script.path);
            let system =
                !script.path.contains("..") && SYSTEM.iter().any(|begin| script.path.starts_with(begin));
            system || full.symlink_metadata().is_err()
        };
        scripts.iter().all(|script| script.digest.is_some() || is_missing(script)).then_some(scripts)
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
