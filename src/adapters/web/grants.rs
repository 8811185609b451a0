//! Grants over HTTP, as the operator: listing and revoking them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use schemars::JsonSchema;
use serde::Serialize;

use super::problem::Problem;
use super::server::Web;
use crate::domain::{GrantNumber, GrantSummary};
use crate::ports::Revoker;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct GrantList {
    grants: Vec<GrantSummary>,
}

/// The active grants, oldest first.
pub(super) async fn list(State(web): State<Arc<Web>>) -> Result<Json<GrantList>, Problem> {
    let grants = web.parts.grants.list(web.clock.now()).await?;
    Ok(Json(GrantList { grants }))
}

/// Revokes a grant and returns it.
pub(super) async fn revoke(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
) -> Result<Json<GrantSummary>, Problem> {
    let number: GrantNumber = id.parse().map_err(|_| Problem::not_found("grant"))?;
    let by = Revoker { author: web.operator(&"web".parse()?)?.id, via: "http".to_owned() };
    let gone = web.parts.grants.revoke(number, by, web.clock.now()).await?;
    let gone = gone.ok_or_else(|| Problem::not_found("grant"))?;
    Ok(Json(gone))
}
