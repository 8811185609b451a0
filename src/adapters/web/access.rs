//! Access over HTTP, as the operator: listing people and groups, confirming a code, and revoking access.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body::JsonBody;
use super::problem::Problem;
use super::server::Web;
use crate::domain::Role;
use crate::ports::{AccessList, AccessSubject, Member, PairingConfirmation};

/// The person who has access now.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Admitted {
    member: Member,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct InvitationCode {
    code: String,
    role: Role,
    /// RFC 3339.
    expires_at: String,
}

/// All admitted people and groups, and all open requests.
pub(super) async fn list(State(web): State<Arc<Web>>) -> Result<Json<AccessList>, Problem> {
    Ok(Json(web.parts.access.list(web.clock.now()).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ApproveRequest {
    code: String,
    #[serde(default)]
    role: Role,
}

/// Admits a person by their pairing code.
pub(super) async fn approve(
    State(web): State<Arc<Web>>,
    JsonBody(request): JsonBody<ApproveRequest>,
) -> Result<Json<Admitted>, Problem> {
    let (by, now) = (web.operator(&"web".parse()?)?.id, web.clock.now());
    match web.parts.access.approve(&request.code, request.role, &by, now).await? {
        PairingConfirmation::Confirmed(member) => Ok(Json(Admitted { member })),
        PairingConfirmation::NoSuchCode => Err(Problem::new(
            StatusCode::NOT_FOUND,
            "nobody waits with this code: it is wrong, was used, or is older than an hour",
        )),
        PairingConfirmation::Locked { until } => {
            let wait = until.millis_since(now).div_ceil(1000).max(1);
            let text = "too many wrong codes: none is looked at for a while";
            Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, text).after(wait))
        }
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct InviteRequest {
    #[serde(default)]
    role: Role,
}

/// Creates an invitation code for one person.
pub(super) async fn invite(
    State(web): State<Arc<Web>>,
    JsonBody(request): JsonBody<InviteRequest>,
) -> Result<Json<InvitationCode>, Problem> {
    let by = web.operator(&"web".parse()?)?.id;
    let invitation = web.parts.access.invite(request.role, &by, web.clock.now()).await?;
    let expires_at = invitation.expires.rfc3339();
    Ok(Json(InvitationCode { code: invitation.code, role: invitation.role, expires_at }))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RoleRequest {
    role: Role,
}

/// Changes the role of an admitted person.
pub(super) async fn change_role(
    State(web): State<Arc<Web>>,
    Path(who): Path<String>,
    JsonBody(request): JsonBody<RoleRequest>,
) -> Result<Json<Admitted>, Problem> {
    let person = who.parse().map_err(|bad| Problem::of_id("who", &who, &bad))?;
    let by = web.operator(&"web".parse()?)?.id;
    let changed = web.parts.access.change_role(&person, request.role, &by, web.clock.now()).await?;
    changed.map(|member| Json(Admitted { member })).ok_or_else(|| not_let_in(&who))
}

/// Revokes the access of a person (`telegram:user:1`) or a group (`telegram:chat:-1`).
pub(super) async fn revoke(
    State(web): State<Arc<Web>>,
    Path(who): Path<String>,
) -> Result<StatusCode, Problem> {
    let subject: AccessSubject = who.parse().map_err(|bad| Problem::of_id("who", &who, &bad))?;
    let by = web.operator(&"web".parse()?)?.id;
    if web.parts.access.revoke(&subject, &by, web.clock.now()).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(not_let_in(&who))
    }
}

fn not_let_in(who: &str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("{who} was not let in, so there is nothing to change"))
}
