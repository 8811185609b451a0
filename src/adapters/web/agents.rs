//! The agents that share their groups with this one, over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::problem::Problem;
use super::server::Web;
use crate::domain::AgentCard;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AgentList {
    agents: Vec<AgentRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Agent")]
struct AgentRow {
    id: String,
    name: String,
    aliases: Vec<String>,
    purpose: String,
    /// The last sign of life, RFC 3339.
    seen: String,
    away: bool,
    version: String,
}

/// The roster, this agent included; empty where nothing is shared.
pub(super) async fn list(State(web): State<Arc<Web>>) -> Result<Json<AgentList>, Problem> {
    let roster = match &web.parts.rooms {
        Some(rooms) => rooms.roster().await?,
        None => Vec::new(),
    };
    let now = web.clock.now();
    let told = |card: AgentCard| AgentRow {
        seen: card.at.rfc3339(),
        away: card.is_away(now),
        id: card.id.to_string(),
        name: card.name,
        aliases: card.aliases,
        purpose: card.purpose,
        version: card.version,
    };
    Ok(Json(AgentList { agents: roster.into_iter().map(told).collect() }))
}
