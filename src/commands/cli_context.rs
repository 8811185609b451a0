//! Where and how a command looks at a project's state: the directory, and whoever reads what it finds.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use tokio::runtime::Runtime;

use super::terminal::Surface;
use crate::config::{Env, operator_language};
use crate::domain::{AuthorId, Language};
use crate::ports::{StoreError, StoreErrorKind};
use crate::store::State;
use crate::telemetry::Redactor;

/// Whoever gives commands on the machine itself holds everything the operator holds.
const OPERATOR: &str = "cli:user:operator";
/// What they speak through.
pub(super) const VIA: &str = "cli";

/// Where and how a command looks.
#[derive(Debug)]
pub(super) struct CliContext {
    /// The `.ship` directory, which need not exist.
    pub(super) state: PathBuf,
    /// What the project keeps.
    pub(super) store: State,
    runtime: Runtime,
    /// The language of whoever looks.
    pub(super) language: Language,
    /// The clock of whoever looks.
    pub(super) zone: TimeZone,
    /// What it is shown on.
    pub(super) surface: Surface,
}

impl CliContext {
    /// A look at the project in this directory; nothing, with a word to `err`, where there is none.
    pub(super) fn at(project: &Path, env: &Env, err: &mut dyn Write) -> io::Result<Option<Self>> {
        // A mistake in the configuration is no reason to keep people from what is there.
        let language = operator_language(project, env);
        if !project.is_dir() {
            writeln!(err, "{}", no_project(project, language))?;
            return Ok(None);
        }
        let (zone, surface) = (TimeZone::system(), Surface::of(&io::stdout(), env));
        Self::with(project.join(".ship"), language, zone, surface).map(Some)
    }

    /// A look at this `.ship` directory.
    pub(super) fn with(
        state: PathBuf,
        language: Language,
        zone: TimeZone,
        surface: Surface,
    ) -> io::Result<Self> {
        let store = State::files_beside_daemon(&state);
        let redactor = Redactor::new::<&str>([]).map_err(io::Error::other)?;
        store.audit.redact_with(Box::new(move |text| redactor.apply(text).into_owned()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { state, store, runtime, language, zone, surface })
    }

    /// Waits for an answer of the store.
    pub(super) fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        self.runtime.block_on(answer)
    }

    /// Changes something, with its lines in the audit trail on the disk; nothing where the project has no state, for a
    /// command must not make any.
    pub(super) fn change<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<Option<T>, StoreError> {
        if !self.state.is_dir() {
            return Ok(None);
        }
        self.wait(async {
            let done = work.await;
            self.store.audit.flush().await;
            done.map(Some)
        })
    }

    /// Words for a state file that cannot be read or written.
    pub(super) fn trouble(&self, error: &StoreError) -> String {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        let subject = error.subject();
        match (error.kind(), self.language) {
            (StoreErrorKind::Invalid, Language::Zh) => {
                format!("{subject} 无法理解，其中的内容都不生效：请修复或删除它{cause}")
            }
            (StoreErrorKind::Unavailable, Language::Zh) => format!("无法访问 {subject}{cause}"),
            (StoreErrorKind::Full, Language::Zh) => format!("磁盘已满，无法写入 {subject}"),
            (StoreErrorKind::Closed, _) | (_, Language::En) => format!("{error}{cause}"),
        }
    }
}

pub(super) fn operator() -> anyhow::Result<AuthorId> {
    Ok(OPERATOR.parse()?)
}

/// There is no such project.
pub(super) fn no_project(project: &Path, language: Language) -> String {
    match language {
        Language::En => format!("{} is not a directory: name the project with -C DIR", project.display()),
        Language::Zh => format!("{} 不是目录：请用 -C DIR 指定项目", project.display()),
    }
}
