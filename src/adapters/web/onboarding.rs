//! The onboarding over HTTP, as the operator: what it offers, the checks of its steps, and writing the project. There is
//! none once the project has a `ship.json`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

use super::body::JsonBody;
use super::problem::Problem;
use super::server::Web;
use crate::ports::{
    ModelCheck, ModelChoice, Onboarding, OnboardingAnswers, OnboardingError, OnboardingOffer, PlatformChoice,
    Probe, ProbeLevel,
};

/// What a platform said about the bot.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PlatformCheck {
    ok: bool,
    findings: Vec<Finding>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Finding {
    /// `ok`, `warning` or `error`.
    level: &'static str,
    message: String,
    advice: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ProjectWritten {
    written: bool,
}

impl From<OnboardingError> for Problem {
    fn from(error: OnboardingError) -> Self {
        match error {
            OnboardingError::Invalid { field, why } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, why).coded("invalid_answer").hint(field)
            }
            OnboardingError::Configured => Self::configured(),
            OnboardingError::NotWritten(why) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, why),
        }
    }
}

impl Problem {
    fn configured() -> Self {
        Self::new(StatusCode::CONFLICT, "the project has a ship.json already").coded("configured")
    }
}

impl Web {
    fn onboarding(&self) -> Result<&dyn Onboarding, Problem> {
        self.parts.onboarding.as_deref().ok_or_else(Problem::configured)
    }
}

/// The steps with what they offer.
pub(super) async fn show(
    State(web): State<Arc<Web>>,
    headers: HeaderMap,
) -> Result<Json<OnboardingOffer>, Problem> {
    Ok(Json(web.onboarding()?.offer(web.words(&headers))))
}

/// Calls a model, and lists the models of its server.
pub(super) async fn check_model(
    State(web): State<Arc<Web>>,
    headers: HeaderMap,
    JsonBody(choice): JsonBody<ModelChoice>,
) -> Result<Json<ModelCheck>, Problem> {
    Ok(Json(web.onboarding()?.check_model(choice, web.words(&headers)).await?))
}

/// Asks a platform for the bot's identity.
pub(super) async fn check_platform(
    State(web): State<Arc<Web>>,
    headers: HeaderMap,
    JsonBody(choice): JsonBody<PlatformChoice>,
) -> Result<Json<PlatformCheck>, Problem> {
    let found = web.onboarding()?.check_platform(choice, web.words(&headers)).await?;
    let ok = found.iter().all(|probe| probe.level != ProbeLevel::Error);
    let findings = found.into_iter().map(finding).collect();
    Ok(Json(PlatformCheck { ok, findings }))
}

fn finding(probe: Probe) -> Finding {
    let level = match probe.level {
        ProbeLevel::Ok => "ok",
        ProbeLevel::Warning => "warning",
        ProbeLevel::Error => "error",
    };
    Finding { level, message: probe.message, advice: probe.advice }
}

/// Writes the project's files. The daemon starts over with them at the same address.
pub(super) async fn apply(
    State(web): State<Arc<Web>>,
    headers: HeaderMap,
    JsonBody(answers): JsonBody<OnboardingAnswers>,
) -> Result<Json<ProjectWritten>, Problem> {
    web.onboarding()?.apply(answers, web.words(&headers)).await?;
    Ok(Json(ProjectWritten { written: true }))
}
