//! `/api/files/{thread}/{name}`: what came with messages, and what was sent with answers.
//!
//! Files are other people's, so a browser is told to keep them, not to open them; plain pictures excepted.

use std::path::{Component, Path as FsPath, PathBuf};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio_util::io::ReaderStream;

use super::problem::Problem;
use super::server::Web;
use crate::domain::ThreadId;

const LOCKED: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");

/// Serves one file of one thread.
pub(super) async fn file(
    State(web): State<Arc<Web>>,
    Path((thread, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let thread: ThreadId = thread.parse()?;
    if !is_plain_name(&name) {
        return Err(Problem::bad("this is not a file name"));
    }
    let missing = || Problem::not_found("file");
    let path = resolve(&web.options.files, &thread, &name).await.ok_or_else(missing)?;
    let file = tokio::fs::File::open(path).await.map_err(|_| missing())?;
    let length = file.metadata().await.map_err(|_| missing())?.len();
    let (media_type, inline) = media_type(&name);
    let disposition = if inline {
        "inline".to_owned()
    } else {
        format!("attachment; filename*=UTF-8''{}", utf8_percent_encode(&name, NON_ALPHANUMERIC))
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CONTENT_LENGTH, HeaderValue::from(length)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_str(&disposition).map_err(|_| missing())?),
        (header::CONTENT_SECURITY_POLICY, LOCKED),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
    ];
    Ok((headers, Body::from_stream(ReaderStream::new(file))).into_response())
}

/// Whether a name names something in a folder, and nothing else: one plain component, not hidden.
fn is_plain_name(name: &str) -> bool {
    let mut components = FsPath::new(name).components();
    let one = matches!((components.next(), components.next()), (Some(Component::Normal(_)), None));
    let strange = |c: char| c.is_control() || matches!(c, '/' | '\\');
    one && name.len() <= 255 && !name.starts_with('.') && !name.contains(strange)
}

/// The file's real place, if that is inside the thread's folder; a link that leads out of it leads nowhere.
async fn resolve(files: &FsPath, thread: &ThreadId, name: &str) -> Option<PathBuf> {
    let folder = tokio::fs::canonicalize(files).await.ok()?.join(thread.file_name());
    let path = tokio::fs::canonicalize(folder.join(name)).await.ok()?;
    let regular = tokio::fs::metadata(&path).await.ok()?.is_file();
    (regular && path.starts_with(&folder)).then_some(path)
}

/// The media type by the name's ending, and whether a browser may show it by itself.
fn media_type(name: &str) -> (&'static str, bool) {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "png" => ("image/png", true),
        "jpg" | "jpeg" => ("image/jpeg", true),
        "gif" => ("image/gif", true),
        "webp" => ("image/webp", true),
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
    fn only_plain_pictures_are_shown() {
        for (name, expected) in [
            ("a.PNG", ("image/png", true)),
            ("a.svg", ("application/octet-stream", false)),
            ("a.html", ("application/octet-stream", false)),
            ("a", ("application/octet-stream", false)),
            ("a.txt", ("text/plain; charset=utf-8", false)),
        ] {
            assert_eq!(media_type(name), expected, "{name}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_out_of_the_folder_leads_nowhere() {
        let root = tempfile::tempdir().unwrap();
        let thread: ThreadId = "web:chat:1".parse().unwrap();
        let (files, secret) = (root.path().join("files"), root.path().join("secret"));
        let folder = files.join(thread.file_name());
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::File::create(&secret).unwrap();
        std::fs::File::create(folder.join("good.txt")).unwrap();
        std::os::unix::fs::symlink(&secret, folder.join("link.txt")).unwrap();
        assert!(resolve(&files, &thread, "good.txt").await.is_some());
        assert_eq!(resolve(&files, &thread, "link.txt").await, None);
        assert_eq!(resolve(&files, &thread, "none.txt").await, None);
    }
}
