//! Parsers of the schema's `format`s: addresses, ids, host names. Pure.

use std::net::SocketAddr;

use super::problem::ConfigFault;
use super::resolve_budget::OWNERS;
use super::suggest::nearest;
use crate::domain::{AuthorId, time_zone};
use crate::policy::shell::check_rule;
use crate::ports::AdapterTable;

/// Platforms of ids besides those of the adapter table.
const OWN_PLATFORMS: [&str; 4] = ["web", "api", "cli", "task"];

/// The roles that may approve.
const ROLES: [&str; 3] = ["requester", "owners", "admins"];

/// All platforms of ids.
pub(super) fn platforms(adapters: &AdapterTable) -> Vec<&'static str> {
    adapters.names().chain(OWN_PLATFORMS).collect()
}

/// Checks a text against a format. An unknown format accepts every text.
pub(super) fn check(format: &str, text: &str, platforms: &[&str]) -> Result<(), ConfigFault> {
    match format {
        "http-url" => url(text).map(drop),
        "listen-address" => listen(text).map(drop),
        "author-id" => author(text, platforms).map(drop),
        "approver" => approver(text, platforms).map(drop),
        "exempt" if text == OWNERS => Ok(()),
        "exempt" => author(text, platforms).map(drop),
        "host-name" => host(text),
        "web-origin" => origin(text),
        "socket-path" => socket(text),
        "time-zone" => time_zone(text).map(drop).ok_or_else(|| ConfigFault::BadTimeZone(clip(text))),
        "command-start" => check_rule(text).map_err(|_| ConfigFault::BadRule(clip(text))),
        _ => Ok(()),
    }
}

/// Whether a text can name a model in `llm.models`.
pub(super) fn is_model_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    begins && name.len() <= 32 && name != "default" && name.chars().all(fits)
}

/// A URL without a trailing slash.
pub(super) fn url(text: &str) -> Result<String, ConfigFault> {
    let bad = || ConfigFault::BadUrl(clip(text));
    let parsed = reqwest::Url::parse(text).map_err(|_| bad())?;
    let web = matches!(parsed.scheme(), "http" | "https") && parsed.host_str().is_some_and(|h| !h.is_empty());
    // A query or fragment would end up in the middle of every URL that is built from this one.
    let plain = parsed.query().is_none() && parsed.fragment().is_none();
    if web && plain && text == text.trim() { Ok(text.trim_end_matches('/').to_owned()) } else { Err(bad()) }
}

/// Whether a text is an HTTP URL.
pub(crate) fn is_web_address(text: &str) -> bool {
    url(text).is_ok()
}

/// An address and port to listen on; `localhost` means the loopback address.
pub(super) fn listen(text: &str) -> Result<SocketAddr, ConfigFault> {
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numeric.parse().map_err(|_| ConfigFault::BadListen(clip(text)))
}

/// The id of a person.
pub(super) fn author(text: &str, platforms: &[&str]) -> Result<AuthorId, ConfigFault> {
    let bad = |meant| ConfigFault::BadAuthor { found: clip(text), meant };
    let id: AuthorId = text.parse().map_err(|_| bad(None))?;
    let (platform, rest) = text.split_once(':').unwrap_or((text, ""));
    if platforms.contains(&platform) {
        return Ok(id);
    }
    Err(bad(nearest(platform, platforms.iter().copied()).map(|platform| format!("{platform}:{rest}"))))
}

/// An entry of `approvals.approvers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approver {
    /// The author of the request.
    Requester,
    Owners,
    /// The administrators of the chat.
    Admins,
    Person(AuthorId),
}

/// Parses an entry of `approvals.approvers`.
pub(super) fn approver(text: &str, platforms: &[&str]) -> Result<Approver, ConfigFault> {
    match text {
        "requester" => Ok(Approver::Requester),
        "owners" => Ok(Approver::Owners),
        "admins" => Ok(Approver::Admins),
        id if id.contains(':') => author(id, platforms).map(Approver::Person),
        other => Err(ConfigFault::BadApprover {
            found: clip(other),
            meant: nearest(other, ROLES).map(str::to_owned),
        }),
    }
}

fn host(text: &str) -> Result<(), ConfigFault> {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let address = text.parse::<std::net::IpAddr>().is_ok();
    if address || (text.len() <= 253 && text.split('.').all(label)) {
        Ok(())
    } else {
        Err(ConfigFault::BadHost(clip(text)))
    }
}

/// The origin of a page, as a browser writes it.
fn origin(text: &str) -> Result<(), ConfigFault> {
    let named = |url: &reqwest::Url| matches!(url.scheme(), "http" | "https") && !text.contains('*');
    let parsed = reqwest::Url::parse(text).ok().filter(named);
    let written = parsed.map(|url| url.origin().ascii_serialization());
    match written {
        Some(written) if written == text => Ok(()),
        meant => Err(ConfigFault::BadOrigin { found: clip(text), meant }),
    }
}

/// Directories with the sockets of many programs, which cannot be allowed as a whole.
const SHARED_DIRECTORIES: [&str; 3] = ["/dev/shm", "/var/run", "/var/tmp"];

/// The path of a socket, or of a folder below a top-level directory: absolute, without `..`, and never inside
/// the daemon's own state.
fn socket(text: &str) -> Result<(), ConfigFault> {
    let name = |name: &str| {
        let folded = name.trim().to_lowercase();
        !folded.is_empty() && folded != "." && folded != ".." && folded != ".ship"
    };
    let names: Vec<&str> =
        text.strip_prefix('/').unwrap_or_default().trim_end_matches('/').split('/').collect();
    let shared = SHARED_DIRECTORIES.contains(&text.trim_end_matches('/'));
    if names.len() >= 2 && names.into_iter().all(name) && !shared && !text.contains(char::is_control) {
        Ok(())
    } else {
        Err(ConfigFault::BadSocket(clip(text)))
    }
}

fn clip(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_knows_its_own() {
        let platforms = platforms(&crate::adapters::builtin());
        for (format, good, bad) in [
            (
                "http-url",
                &["https://api.openai.com/v1", "http://127.0.0.1:8080", "http://[::1]:1/", "HTTPS://a.b/"][..],
                &[
                    "",
                    "api.openai.com/v1",
                    "ftp://a.b",
                    "http://",
                    "https://a.b/?c=d",
                    "https://a.b/#c",
                    " http://a.b",
                ][..],
            ),
            (
                "listen-address",
                &["127.0.0.1:7717", "0.0.0.0:80", "[::1]:7717", "localhost:7717", "127.0.0.1:0"],
                &["", "7717", ":7717", "127.0.0.1", "127.0.0.1:70000", "example.org:80", "localhost:"],
            ),
            (
                "author-id",
                &["telegram:user:123456", "feishu:user:ou_1", "web:user:me"],
                &[
                    "",
                    "123456",
                    "@somebody",
                    "telegram:chat:1",
                    "telegram:user:",
                    "telegrm:user:1",
                    "msn:user:1",
                ],
            ),
            (
                "approver",
                &["requester", "owners", "admins", "qq:user:A1"],
                &["", "owner", "everybody", "telegram:chat:1"],
            ),
            (
                "socket-path",
                &["/run/docker.sock", "/run/postgresql", "/tmp/.X11-unix/", "/home/ann/.gnupg/S.gpg-agent"],
                &[
                    "",
                    "/",
                    "/run",
                    "/tmp/",
                    "/var/run/",
                    "/dev/shm",
                    "run/docker.sock",
                    "~/agent",
                    "/run/../etc/x",
                    "/run/./x",
                    "/run//x",
                    "/home/ann/app/.ship/run/x",
                    "/home/ann/app/.SHIP",
                    "/run/x\n",
                ],
            ),
            (
                "time-zone",
                &["Asia/Shanghai", "Europe/Berlin", "UTC"],
                &["", "CST", "GMT+8", "Asia/Nowhere", "+08:00"],
            ),
            (
                "host-name",
                &["agent.example.org", "localhost", "10.0.0.1", "::1"],
                &["", "https://a.b", "a.b:80", "a b", "a..b", "*.example.org"],
            ),
        ] {
            for text in good {
                assert_eq!(check(format, text, &platforms), Ok(()), "{format} {text:?}");
            }
            for text in bad {
                assert!(check(format, text, &platforms).is_err(), "{format} {text:?}");
            }
        }
    }

    #[test]
    fn an_origin_is_written_as_browsers_write_it() {
        for good in ["https://app.example.org", "http://localhost:3000", "http://[::1]:8080"] {
            assert_eq!(check("web-origin", good, &[]), Ok(()), "{good:?}");
        }
        let meant = |text: &str| match check("web-origin", text, &[]) {
            Err(ConfigFault::BadOrigin { meant, .. }) => meant,
            other => panic!("{text:?}: {other:?}"),
        };
        for bad in ["", "*", "null", "https://*.example.org", "app.example.org", "ftp://app.example.org"] {
            assert_eq!(meant(bad), None, "{bad:?}");
        }
        for near in ["https://app.example.org/", "https://app.example.org:443", "https://App.example.org"] {
            assert_eq!(meant(near).as_deref(), Some("https://app.example.org"), "{near:?}");
        }
    }
}
