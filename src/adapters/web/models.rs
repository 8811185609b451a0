//! The model of a thread over HTTP, as the operator.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::body::JsonBody;
use super::ingress::OWN_PLATFORMS;
use super::login::Caller;
use super::problem::Problem;
use super::server::Web;
use crate::domain::ThreadId;
use crate::ports::{AuditEvent, AuditLine};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelRequest {
    /// A name of `llm.models`; `null` is the default model.
    model: Option<String>,
}

/// The models that can be chosen, and the one that was.
pub(super) async fn show(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(web.models_of(&thread.parse()?).await?))
}

/// Chooses the model of a thread.
pub(super) async fn choose(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
    Extension(caller): Extension<Caller>,
    JsonBody(request): JsonBody<ModelRequest>,
) -> Result<Json<Value>, Problem> {
    let thread: ThreadId = thread.parse()?;
    let own = OWN_PLATFORMS.contains(&thread.platform().as_str());
    // The console chooses before the first message of a new conversation.
    if !own && !web.parts.store.exists(&thread).await? {
        return Err(Problem::not_found("thread"));
    }
    let name = request.model.as_deref().filter(|name| *name != "default");
    if !web.parts.models.choose(&thread, name).await? {
        let known: Vec<String> = web.parts.models.named().into_iter().map(|one| one.name).collect();
        let text = format!("there is no model named `{}`", name.unwrap_or_default());
        let hint = format!("known models: default, {}", known.join(", "));
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, text).coded("unknown-model").hint(hint));
    }
    web.parts.audit.record(AuditLine {
        thread: Some(thread.clone()),
        author: Some(web.operator(&"web".parse()?)?.id),
        via: Some(caller.via().to_owned()),
        reason: Some(name.unwrap_or("default").to_owned()),
        ..AuditLine::new(AuditEvent::ModelChosen, web.clock.now())
    });
    Ok(Json(web.models_of(&thread).await?))
}

impl Web {
    async fn models_of(&self, thread: &ThreadId) -> Result<Value, Problem> {
        let models = &self.parts.models;
        let chosen = models.chosen(thread).await?.map(|one| one.name);
        Ok(json!({ "default": models.default_model(), "models": models.named(), "chosen": chosen }))
    }
}
