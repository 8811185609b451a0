//! Where and how a command looks at a project's state: the directory, and whoever reads what it finds.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;

use super::terminal::Surface;
use crate::config::{Env, operator_language};
use crate::domain::{AuthorId, Language};
use crate::ports::StoreError;
use crate::store::AuditLog;
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
        Ok(Some(Self {
            state: project.join(".ship"),
            language,
            zone: TimeZone::system(),
            surface: Surface::of(&io::stdout(), env),
        }))
    }

    /// The audit trail, for what this command changes.
    pub(super) fn audit(&self) -> anyhow::Result<Arc<AuditLog>> {
        let redactor = Redactor::new::<&str>([])?;
        let log = AuditLog::start(&self.state, Box::new(move |text| redactor.apply(text).into_owned()))?;
        Ok(Arc::new(log))
    }

    /// Words for a state file that cannot be read or written.
    pub(super) fn trouble(&self, error: &StoreError) -> String {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        match (error, self.language) {
            (StoreError::Garbled { path, .. }, Language::Zh) => {
                format!("{} 无法理解，其中的内容都不生效：请修复或删除它{cause}", path.display())
            }
            (StoreError::Io { path, .. }, Language::Zh) => format!("无法访问 {}{cause}", path.display()),
            (StoreError::Full { path, .. }, Language::Zh) => format!("磁盘已满，无法写入 {}", path.display()),
            (error, _) => format!("{error}{cause}"),
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

/// A runtime for a command that does little.
pub(super) fn small_runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
