//! Where and how a command looks at a project's state: the directory, and whoever reads what it finds.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use tokio::runtime::Runtime;

use super::terminal::Surface;
use crate::config::{Env, operator_language};
use crate::domain::{AuthorId, Language};
use crate::phrases::commands as words;
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
            writeln!(err, "{}", words::no_project(project.display(), language))?;
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
        match error.kind() {
            StoreErrorKind::Invalid => words::store_invalid(subject, &cause, self.language),
            StoreErrorKind::Unavailable => words::store_unreachable(subject, &cause, self.language),
            StoreErrorKind::Full => words::store_full(subject, &cause, self.language),
            StoreErrorKind::Closed => words::store_closed(self.language).to_owned(),
        }
    }
}

pub(super) fn operator() -> anyhow::Result<AuthorId> {
    Ok(OPERATOR.parse()?)
}
