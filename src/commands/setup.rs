//! What `run` and `chat` do before they start a daemon: read the settings, set up redaction and logs.

use std::io::{self, Write};
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};

use super::cli_context::store_error_text;
use crate::adapters::web::BindError;
use crate::app::StartError;
use crate::config::{Env, Settings};
use crate::domain::Language;
use crate::environment::ShellEnvironment;
use crate::http_client::install_tls;
use crate::phrases::start as words;
use crate::ports::AdapterTable;
use crate::store::{OpenError, daemon_log};
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

/// The message for a state directory that cannot be opened.
pub(super) fn open_error_text(error: &OpenError, language: Language) -> String {
    match error {
        OpenError::Held { holder, .. } => match holder.pid {
            Some(pid) => words::another_daemon_process(pid, language),
            None => words::another_daemon(language).to_owned(),
        },
        OpenError::Store(error) => store_error_text(error, language),
    }
}

/// The message for an address that cannot be listened on.
pub(super) fn bind_error_text(error: &BindError, language: Language) -> String {
    match error {
        BindError::InUse(address) => words::address_in_use(address, language),
        BindError::NotPermitted(address) => words::address_not_permitted(address, language),
        BindError::Other { addr, source } => words::cannot_listen(addr, source, language),
    }
}

/// The message for a daemon that did not start.
pub(super) fn start_error_text(error: &StartError, language: Language) -> String {
    match error {
        StartError::Rule(rule) => words::bad_shell_rule(rule, language),
        StartError::Http(cause) => words::no_http_client(cause, language),
    }
}

/// Starts the log of a daemon in this process. Secrets of the settings and `token` are redacted from it and from the
/// output of commands. Logging ends when the guard is dropped.
pub(super) fn start_logging(
    settings: &Settings,
    env: &Env,
    token: Option<&SecretString>,
    console: Console,
) -> anyhow::Result<(ShellEnvironment, Guard)> {
    let shell = shell_environment(settings, env, token)?;
    let redactor = shell.redactor.clone();
    let guard = telemetry::init(Options {
        filter: env.get("SHIPAGENT_LOG").unwrap_or_default().to_owned(),
        console,
        logs: Some(Box::new(daemon_log(&settings.state)?)),
        redactor,
    })?;
    install_tls();
    Ok((shell, guard))
}

/// The same for a daemon that starts over in this process: the log goes on, without these secrets.
pub(super) fn change_redaction(
    settings: &Settings,
    env: &Env,
    token: Option<&SecretString>,
    logs: &Guard,
) -> anyhow::Result<ShellEnvironment> {
    let shell = shell_environment(settings, env, token)?;
    logs.redact_with(shell.redactor.clone());
    Ok(shell)
}

fn shell_environment(
    settings: &Settings,
    env: &Env,
    token: Option<&SecretString>,
) -> anyhow::Result<ShellEnvironment> {
    let secrets = settings.secrets.iter().chain(token);
    let redactor = Redactor::new(secrets.map(|secret| secret.expose_secret().to_owned()))?;
    Ok(ShellEnvironment { environment: env.all(), redactor })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Holder;

    #[test]
    fn failures_of_a_start_are_told_in_both_languages() {
        let busy = BindError::InUse("127.0.0.1:7717".parse().unwrap());
        assert_eq!(bind_error_text(&busy, Language::En), busy.to_string());
        assert!(bind_error_text(&busy, Language::Zh).contains("已被其他程序占用"));
        for pid in [None, Some(7)] {
            let held = OpenError::Held { path: "lock".into(), holder: Holder { pid, since: None } };
            assert_eq!(open_error_text(&held, Language::En), held.to_string());
            let chinese = open_error_text(&held, Language::Zh);
            assert!(chinese.contains("另一个守护进程"), "{chinese}");
            assert_eq!(chinese.contains('7'), pid.is_some(), "{chinese}");
        }
    }
}
