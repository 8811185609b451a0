//! `shipagent open`: a link that logs in once, as text, as a QR code and in a browser.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use reqwest::Url;
use serde::Deserialize;
use serde_json::json;

use super::daemon_client::{DaemonClient, DaemonError};
use super::setup::load_or_say;
use crate::cli::{Exit, OpenArgs};
use crate::config::{Env, operator_language};
use crate::phrases::service as words;
use crate::ports::AdapterTable;

/// How long the daemon accepts a code.
const MINUTES: u64 = 5;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoginCodeAnswer {
    code: String,
    expires_at: String,
}

/// Prints the link; on a desktop, also opens it. Errors go to `err`.
///
/// # Errors
/// When nothing can be written to the terminal.
pub(super) fn run(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    args: &OpenArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let language = operator_language(project, env);
    let base = match args.base.as_deref().map(base_of) {
        Some(None) => {
            writeln!(err, "{}", words::bad_base(args.base.as_deref().unwrap_or_default(), language))?;
            return Ok(Exit::Usage);
        }
        Some(base) => base,
        None => None,
    };
    let Some(settings) = load_or_say(project, env, adapters, err)? else { return Ok(Exit::Configuration) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let issued: Result<_, DaemonError> = runtime.block_on(async {
        let client = DaemonClient::of_project(&settings)?;
        let code: LoginCodeAnswer = client.post("/api/login-code", &json!({})).await?;
        Ok((client.address(), code))
    });
    let (address, code) = match issued {
        Ok(issued) => issued,
        Err(DaemonError::NotRunning) => {
            writeln!(err, "{}", words::no_daemon_to_open(language))?;
            return Ok(Exit::Failed);
        }
        Err(error) => {
            writeln!(err, "{error}")?;
            return Ok(Exit::Failed);
        }
    };
    let base = base.unwrap_or_else(|| format!("http://{address}"));
    let link = format!("{base}/#token={}", code.code);
    if args.output.json {
        writeln!(out, "{:#}", json!({ "url": link, "expiresAt": code.expires_at }))?;
        return Ok(Exit::Ok);
    }
    if io::stdout().is_terminal() {
        writeln!(out, "{}\n", words::login_link(MINUTES, language))?;
        // A link that is too long for a code is printed without one.
        if let Ok(picture) = QrCode::new(&link) {
            let picture = picture.render::<Dense1x2>().quiet_zone(true).build();
            writeln!(out, "{picture}\n")?;
        }
        if !args.print && on_desktop(env) {
            start_browser(&link);
        }
    }
    writeln!(out, "{link}")?;
    Ok(Exit::Ok)
}

/// An address without a path, or with the path that a proxy adds, ready for `/#…`.
fn base_of(text: &str) -> Option<String> {
    let url =
        Url::parse(text).ok().filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host())?;
    let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    plain.then(|| url.as_str().trim_end_matches('/').to_owned())
}

fn on_desktop(env: &Env) -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env.filled(name).is_some())
}

/// A browser that cannot be started is no error: the link is printed as well.
fn start_browser(link: &str) {
    let mut command = Command::new("xdg-open");
    command.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    drop(command.spawn());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_an_address_without_query_and_credentials() {
        for (text, expected) in [
            ("https://agent.example.org", Some("https://agent.example.org")),
            ("https://agent.example.org/", Some("https://agent.example.org")),
            ("http://10.0.0.2:7717/bot/", Some("http://10.0.0.2:7717/bot")),
            ("agent.example.org", None),
            ("ftp://agent.example.org", None),
            ("https://user@agent.example.org", None),
            ("https://agent.example.org/?a=1", None),
            ("javascript:alert(1)", None),
            ("", None),
        ] {
            assert_eq!(base_of(text).as_deref(), expected, "{text}");
        }
    }
}
