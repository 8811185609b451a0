//! `Agent.md` over HTTP, as the operator: its text, its earlier texts, and replacing it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body::JsonBody;
use super::problem::Problem;
use super::server::Web;
use crate::ports::{AuditEvent, AuditLine, EditableInstructions, InstructionsWrite};

pub(super) async fn show(State(web): State<Arc<Web>>) -> Result<Json<EditableInstructions>, Problem> {
    Ok(Json(web.parts.instructions.read().await?))
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct InstructionsText {
    text: String,
}

/// The text of an earlier version.
pub(super) async fn version(
    State(web): State<Arc<Web>>,
    Path(version): Path<String>,
) -> Result<Json<InstructionsText>, Problem> {
    let text = web.parts.instructions.version(&version).await?;
    text.map(|text| Json(InstructionsText { text })).ok_or_else(|| Problem::not_found("version"))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct InstructionsRequest {
    text: String,
    /// The text that was edited.
    before: String,
}

pub(super) async fn write(
    State(web): State<Arc<Web>>,
    JsonBody(InstructionsRequest { text, before }): JsonBody<InstructionsRequest>,
) -> Result<Json<EditableInstructions>, Problem> {
    let (by, now) = (web.operator(&"web".parse()?)?.id, web.clock.now());
    match web.parts.instructions.write(text, &before, &by, now).await? {
        InstructionsWrite::Written => {}
        InstructionsWrite::Conflict => {
            let text = "Agent.md was changed elsewhere since it was opened here";
            return Err(Problem::new(StatusCode::CONFLICT, text).hint("load it again and repeat the change"));
        }
        InstructionsWrite::Empty => {
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "Agent.md would be empty"));
        }
        InstructionsWrite::TooLong => {
            let text = "Agent.md would be larger than 256 KiB; all of it goes into every model call";
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, text));
        }
    }
    web.parts.audit.record(AuditLine {
        author: Some(by),
        via: Some("console".to_owned()),
        ..AuditLine::new(AuditEvent::InstructionsChanged, now)
    });
    Ok(Json(web.parts.instructions.read().await?))
}
