//! Files of messages: `/api/files/{thread}/{name}` with a credential, and `/files/{thread}/{name}` by a signed link,
//! which a browser can follow to download a file.
//!
//! The files come from other people, so a browser must save them and not open them; except plain images and sound, where
//! a credential was sent.

use std::path::{Component, Path as FsPath};
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::io::ReaderStream;

use super::credentials::LinkSignature;
use super::limiter::ClientAddress;
use super::problem::Problem;
use super::server::Web;
use crate::domain::ThreadId;
use crate::ports::OpenFile;

const LOCKED: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");

/// Serves a file to an authenticated caller.
pub(super) async fn file(
    State(web): State<Arc<Web>>,
    Path((thread, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    shown(&web, &thread.parse()?, &name).await
}

/// The response with a file: a browser may show what is safe.
pub(super) async fn shown(web: &Web, thread: &ThreadId, name: &str) -> Result<Response, Problem> {
    let mut response = serve(web, thread, name).await?;
    if media_type(name).1 {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("inline"));
    }
    Ok(response)
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileLink {
    /// A path of this server.
    url: String,
    /// RFC 3339.
    expires_at: String,
}

/// Creates a link that downloads a file without another credential, for a minute.
pub(super) async fn link(
    State(web): State<Arc<Web>>,
    Path((thread, name)): Path<(String, String)>,
) -> Result<Json<FileLink>, Problem> {
    let thread: ThreadId = thread.parse()?;
    drop(find(&web, &thread, &name).await?);
    let issued = web.credentials.sign_link(&thread, &name, web.clock.now());
    let issued =
        issued.ok_or_else(|| Problem::new(StatusCode::FORBIDDEN, "there is no token to sign with"))?;
    let url = format!(
        "/files/{}/{}?expires={}&signature={}",
        thread.file_name(),
        utf8_percent_encode(&name, NON_ALPHANUMERIC),
        issued.expires.as_millis(),
        issued.text
    );
    Ok(Json(FileLink { url, expires_at: issued.expires.rfc3339() }))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Signed {
    #[serde(default)]
    expires: String,
    #[serde(default)]
    signature: String,
}

/// Serves a file by a signed link.
pub(super) async fn linked(
    State(web): State<Arc<Web>>,
    Path((thread, name)): Path<(String, String)>,
    Query(signed): Query<Signed>,
    client: ClientAddress,
) -> Result<Response, Problem> {
    let thread: ThreadId = thread.parse()?;
    let refused =
        || Problem::new(StatusCode::FORBIDDEN, "this link is wrong or has expired: ask for a new one");
    web.refuse_if_blocked(&client)?;
    match web.credentials.check_link(&thread, &name, (&signed.expires, &signed.signature), web.clock.now()) {
        LinkSignature::Valid => {}
        LinkSignature::Expired => return Err(refused()),
        LinkSignature::Wrong => {
            web.count_failure(&client, "link")?;
            return Err(refused());
        }
    }
    let mut response = serve(&web, &thread, &name).await?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

async fn serve(web: &Web, thread: &ThreadId, name: &str) -> Result<Response, Problem> {
    let missing = || Problem::not_found("file");
    let OpenFile { length, content } = find(web, thread, name).await?;
    let disposition = format!("attachment; filename*=UTF-8''{}", utf8_percent_encode(name, NON_ALPHANUMERIC));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type(name).0)),
        (header::CONTENT_LENGTH, HeaderValue::from(length)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_str(&disposition).map_err(|_| missing())?),
        (header::CONTENT_SECURITY_POLICY, LOCKED),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
    ];
    Ok((headers, Body::from_stream(ReaderStream::new(content))).into_response())
}

async fn find(web: &Web, thread: &ThreadId, name: &str) -> Result<OpenFile, Problem> {
    if !is_plain_name(name) {
        return Err(Problem::bad("this is not a file name"));
    }
    let found = web.parts.files.open(thread, name).await.unwrap_or_else(|error| {
        tracing::warn!(error = &error as &dyn std::error::Error, "file cannot be read");
        None
    });
    found.ok_or_else(|| Problem::not_found("file"))
}

/// Whether a name is a single plain path component and not hidden.
fn is_plain_name(name: &str) -> bool {
    let mut components = FsPath::new(name).components();
    let one = matches!((components.next(), components.next()), (Some(Component::Normal(_)), None));
    let strange = |c: char| c.is_control() || matches!(c, '/' | '\\');
    one && name.len() <= 255 && !name.starts_with('.') && !name.contains(strange)
}

/// The media type by the file extension, and whether a browser may display it.
fn media_type(name: &str) -> (&'static str, bool) {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "png" => ("image/png", true),
        "jpg" | "jpeg" => ("image/jpeg", true),
        "gif" => ("image/gif", true),
        "webp" => ("image/webp", true),
        "ogg" | "oga" | "opus" => ("audio/ogg", true),
        "wav" => ("audio/wav", true),
        "mp3" => ("audio/mpeg", true),
        "m4a" => ("audio/mp4", true),
        "weba" | "webm" => ("audio/webm", true),
        "txt" | "md" | "log" | "csv" => ("text/plain; charset=utf-8", false),
        "json" => ("application/json", false),
        "pdf" => ("application/pdf", false),
        _ => ("application/octet-stream", false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_visible_component() {
        for (name, plain) in [
            ("a.png", true),
            ("报告 1.pdf", true),
            ("a..b", true),
            ("", false),
            (".", false),
            ("..", false),
            (".env", false),
            ("a/b", false),
            ("../a", false),
            ("/etc/passwd", false),
            ("a\\b", false),
            ("a\0b", false),
            ("a\nb", false),
        ] {
            assert_eq!(is_plain_name(name), plain, "{name:?}");
        }
        assert!(!is_plain_name(&"x".repeat(256)));
    }

    #[test]
    fn only_plain_pictures_and_sound_are_shown() {
        for (name, expected) in [
            ("a.ogg", ("audio/ogg", true)),
            ("a.PNG", ("image/png", true)),
            ("a.svg", ("application/octet-stream", false)),
            ("a.html", ("application/octet-stream", false)),
            ("a", ("application/octet-stream", false)),
            ("a.txt", ("text/plain; charset=utf-8", false)),
        ] {
            assert_eq!(media_type(name), expected, "{name}");
        }
    }
}
