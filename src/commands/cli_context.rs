//! What the commands that read state share: the state, the output surface, language, time zone and clock.

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

/// A person with a shell on this machine has the operator's rights.
const OPERATOR: &str = "cli:user:operator";
/// The `via` of audit lines.
pub(super) const VIA: &str = "cli";

/// The context of a command that reads state.
#[derive(Debug)]
pub(super) struct CliContext {
    /// The `.ship` directory, which need not exist.
    pub(super) state: PathBuf,
    pub(super) store: State,
    runtime: Runtime,
    pub(super) language: Language,
    /// The reader's time zone.
    pub(super) zone: TimeZone,
    pub(super) surface: Surface,
}

impl CliContext {
    /// The context of the project in this directory; `None`, with a message on `err`, where there is no project.
    pub(super) fn at(project: &Path, env: &Env, err: &mut dyn Write) -> io::Result<Option<Self>> {
        // An invalid configuration must not hide the state.
        let language = operator_language(project, env);
        if !project.is_dir() {
            writeln!(err, "{}", words::no_project(project.display(), language))?;
            return Ok(None);
        }
        let (zone, surface) = (TimeZone::system(), Surface::of(&io::stdout(), env));
        Self::with(project.join(".ship"), language, zone, surface).map(Some)
    }

    /// The context of this `.ship` directory.
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

    /// Blocks on a future of the store.
    pub(super) fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        self.runtime.block_on(answer)
    }

    /// Runs a change and flushes its audit lines; `None` where the project has no state, because a command must not
    /// create any.
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

    /// The message for a state file that cannot be read or written.
    pub(super) fn trouble(&self, error: &StoreError) -> String {
        store_error_text(error, self.language)
    }
}

/// The message for a state file that cannot be read or written.
pub(super) fn store_error_text(error: &StoreError, language: Language) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let subject = error.subject();
    match error.kind() {
        StoreErrorKind::Invalid => words::store_invalid(subject, &cause, language),
        StoreErrorKind::Unavailable => words::store_unreachable(subject, &cause, language),
        StoreErrorKind::Full => words::store_full(subject, &cause, language),
        StoreErrorKind::Closed => words::store_closed(language).to_owned(),
    }
}

pub(super) fn operator() -> anyhow::Result<AuthorId> {
    Ok(OPERATOR.parse()?)
}
