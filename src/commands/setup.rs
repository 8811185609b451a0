//! What `run` and `chat` do before they start a daemon: read the settings, set up redaction and logs.

use std::io::{self, Write};
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};

use crate::app::ShellWorld;
use crate::config::{Env, Settings};
use crate::http_client::install_tls;
use crate::ports::AdapterTable;
use crate::store::daemon_log;
use crate::telemetry::{self, Console, Guard, Options, Redactor};

/// Reads the settings. Prints what is wrong with them and returns `None` where they are invalid.
pub(super) fn load_or_say(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    err: &mut dyn Write,
) -> io::Result<Option<Settings>> {
    match Settings::load(project, env, adapters) {
        Ok(settings) => Ok(Some(settings)),
        Err(errors) => writeln!(err, "{errors}").map(|()| None),
    }
}

/// Starts the log of a daemon in this process. Secrets of the settings and `token` are redacted from it and from the
/// output of commands. Logging ends when the guard is dropped.
pub(super) fn start_logging(
    settings: &Settings,
    env: &Env,
    token: Option<&SecretString>,
    console: Console,
) -> anyhow::Result<(ShellWorld, Guard)> {
    let secrets = settings.secrets.iter().chain(token);
    let redactor = Redactor::new(secrets.map(|secret| secret.expose_secret().to_owned()))?;
    let shell = ShellWorld { environment: env.all(), redactor: redactor.clone() };
    let guard = telemetry::init(Options {
        filter: env.get("SHIPAGENT_LOG").unwrap_or_default().to_owned(),
        console,
        logs: Some(Box::new(daemon_log(&settings.state)?)),
        redactor,
    })?;
    install_tls();
    Ok((shell, guard))
}
