//! The backup over HTTP, as the operator: a tar archive, streamed.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;

use super::problem::Problem;
use super::server::Web;
use crate::ports::{AuditEvent, AuditLine};

/// Everything from which the project can be restored, without `.env`.
pub(super) async fn download(State(web): State<Arc<Web>>) -> Result<Response, Problem> {
    let Some(pieces) = web.parts.backup.begin().await else {
        let text = "another backup is being made";
        return Err(Problem::new(StatusCode::CONFLICT, text).coded("backup-running"));
    };
    let now = web.clock.now();
    web.parts.audit.record(AuditLine {
        author: Some(web.operator(&"web".parse()?)?.id),
        via: Some("console".to_owned()),
        ..AuditLine::new(AuditEvent::BackupTaken, now)
    });
    let day: String = now.rfc3339().chars().take(10).collect();
    let name = format!("attachment; filename=\"shipagent-{day}.tar\"");
    let disposition =
        HeaderValue::from_str(&name).map_err(|_| Problem::bad("the name of the archive is no header"))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar")),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    let stream = unfold(pieces, |mut pieces| async move { pieces.recv().await.map(|piece| (piece, pieces)) });
    Ok((headers, Body::from_stream(stream)).into_response())
}
