//! The configuration over HTTP, as the operator: every key with its value and origin, and changes of the files.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::body::JsonBody;
use super::problem::Problem;
use super::server::Web;
use crate::ports::{
    AuditEvent, AuditLine, ConfigurationChanged, ConfigurationError, ConfigurationKeys, KeyChange,
};

/// Most keys of one change.
const MAX_CHANGES: usize = 100;

pub(super) async fn keys(State(web): State<Arc<Web>>) -> Result<Json<ConfigurationKeys>, Problem> {
    Ok(Json(web.parts.configuration.keys().await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigurationRequest {
    changes: Vec<RequestedChange>,
}

/// One key; a missing or empty value removes it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RequestedChange {
    key: String,
    #[serde(default)]
    value: Value,
}

/// Changes all of these keys, or none.
pub(super) async fn change(
    State(web): State<Arc<Web>>,
    JsonBody(request): JsonBody<ConfigurationRequest>,
) -> Result<Json<ConfigurationChanged>, Problem> {
    if request.changes.is_empty() || request.changes.len() > MAX_CHANGES {
        return Err(Problem::bad(format!("changes must have 1 to {MAX_CHANGES} entries")));
    }
    let changes: Vec<KeyChange> = request
        .changes
        .into_iter()
        .map(|change| KeyChange {
            key: change.key,
            value: Some(change.value).filter(|value| !value.is_null()),
        })
        .collect();
    let keys = changes.iter().map(|change| change.key.as_str()).collect::<Vec<_>>().join(", ");
    let changed = web.parts.configuration.change(changes).await?;
    if changed.changed {
        web.parts.audit.record(AuditLine {
            author: Some(web.operator(&"web".parse()?)?.id),
            via: Some("console".to_owned()),
            reason: Some(keys),
            ..AuditLine::new(AuditEvent::ConfigurationChanged, web.clock.now())
        });
    }
    Ok(Json(changed))
}

impl From<ConfigurationError> for Problem {
    fn from(error: ConfigurationError) -> Self {
        match error {
            ConfigurationError::Invalid(problems) => {
                let Some(first) = problems.into_iter().next() else {
                    return Self::new(StatusCode::UNPROCESSABLE_ENTITY, "the configuration would be invalid");
                };
                let place = first.line.map(|line| format!(":{line}")).unwrap_or_default();
                let key = if first.key.is_empty() { String::new() } else { format!("{}: ", first.key) };
                Self::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    format!("{}{place}: {key}{}", first.file, first.message),
                )
                .coded("invalid-configuration")
                .hint(first.fix)
                .in_line(first.line)
            }
            ConfigurationError::NotHere(key) => {
                let text = format!("{key} is not changed over HTTP");
                let hint = format!("run `shipagent config set {key} …` on the machine");
                Self::new(StatusCode::FORBIDDEN, text).coded("not-editable").hint(hint)
            }
            ConfigurationError::Failed(why) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, why),
        }
    }
}
